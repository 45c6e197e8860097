"""Writes the page of a validation: tables, distributions, and figures of congestion windows."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

import polars as pl

from headway.figures import Panel, Series, label_of, save_figure, timeseries
from headway.figures.style import BLUE, VERMILLION, Style
from headway.metrics.stats import Array
from headway.trace import Trace
from headway.units import NS_PER_S
from headway.validation import builtin, cost, parts
from headway.validation.compare import (
    RETRANSMITS_PKTS,
    RETRANSMITS_RELATIVE,
    RETRANSMITS_SHARE,
    Comparison,
    Interval,
    Spread,
    retransmits_share,
    spreads,
)

if TYPE_CHECKING:
    from matplotlib.figure import Figure

_TITLE = "# How far the simulator and the kernel differ"
KNOWN = "## Known differences"
"""The heading of the hand-written text at the page's end. Generating the page again keeps this
text."""
_NOTHING_KNOWN = f"{KNOWN}\n\nNone has been explained yet.\n"
_SIM, _KERNEL = Style(VERMILLION, "o"), Style(BLUE, "s", "--")


@dataclass(frozen=True)
class Windows:
    """The congestion windows of all TCP flows of a run over time, for a figure."""

    titles: tuple[str, ...]
    times_s: tuple[Array, ...]
    cwnds_pkts: tuple[Array, ...]


def windows_of(trace: Trace) -> Windows:
    """Read the congestion window of each TCP flow from a trace."""
    flows = trace.tcp_flows()
    rows = [trace["flow_state"].filter(pl.col("flow") == flow) for flow in flows]
    return Windows(
        tuple(f"{label_of(trace.flows[flow].control or '')}, flow {flow}" for flow in flows),
        tuple(of_flow["time_ns"].to_numpy() / NS_PER_S for of_flow in rows),
        tuple(of_flow["cwnd_pkts"].to_numpy().copy() for of_flow in rows),
    )


def overlay(sim: Windows, kernel: Windows, path: Path) -> Path:
    """Plot each flow's congestion window on both backends in one panel, as SVG."""
    [file] = save_figure(overlay_figure(sim, kernel), path, ["svg"])
    return file


def overlay_figure(sim: Windows, kernel: Windows) -> Figure:
    """A figure with each flow's congestion window on both backends in one panel."""
    both = (("kernel", kernel, _KERNEL), ("simulator", sim, _SIM))
    panels = [
        Panel(
            "cwnd (packets)",
            [
                Series(label, run.times_s[number], run.cwnds_pkts[number], style, step=True)
                for label, run, style in both
            ],
            title=title,
        )
        for number, title in enumerate(sim.titles)
    ]
    return timeseries(panels, height_mm=45)


def page(
    comparisons: Sequence[Comparison],
    about: Mapping[str, Any],
    previous: str | None = None,
    sections: Sequence[str] = (),
) -> str:
    """The page in Markdown.

    ``about`` has date, kernel and headway. The page keeps the hand-written part of ``previous``,
    and its sections that were not measured again.
    """
    kept = previous[previous.index(KNOWN) :] if previous and KNOWN in previous else _NOTHING_KNOWN
    others = (*(each.title for each in (*parts.PARTS, *builtin.BUILTIN_TARGETS)), cost.TITLE)
    for title in reversed(others):
        if (old := _section(previous or "", title)) is not None:
            kept = f"{old}{kept}"
    made = f"""{_TITLE}

Made by `headway validate` on {about["date"]}, Linux {about["kernel"]}, Headway
{about["headway"]}: {_how_measured(comparisons, about)}
A difference is (simulator − kernel) / kernel. The column after it has the 95 % interval of the
difference of the means (Welch). With random loss, two trials with the same seed lose packets with
the same numbers on both backends. The difference is then the median of the differences of such
pairs of trials, and the interval is that of their mean. One-way delay is that of the bottleneck:
queueing delay plus propagation delay.

{_tables(comparisons)}
{kept}"""
    return with_sections(made, sections)


def part_section(
    part: parts.Part, comparisons: Sequence[Comparison], about: Mapping[str, Any]
) -> str:
    """The page's section on a further part, with its numbers and the targets of the matrix."""
    measured = dict.fromkeys(c.scenario.control for c in comparisons)
    asked = part.name if len(comparisons) == len(part.scenarios) else ",".join(measured)
    return f"""{part.title}

Made by `headway validate --only {asked}` on {about["date"]}, Linux {about["kernel"]}, Headway
{about["headway"]}: {_how_measured(comparisons, about)}
{part.remark}
{_not_measured(part, comparisons)}
{_tables(comparisons)}"""


def _not_measured(part: parts.Part, comparisons: Sequence[Comparison]) -> str:
    """A line that names the controls whose scenarios were not measured; empty if all were."""
    measured = {c.scenario for c in comparisons}
    missing = [scenario for scenario in part.scenarios if scenario not in measured]
    if not missing:
        return ""
    controls = ", ".join(dict.fromkeys(scenario.control for scenario in missing))
    return f"{len(missing)} of its {len(part.scenarios)} scenarios were not measured: {controls}.\n"


def with_parts(previous: str | None, sections: Sequence[str]) -> str:
    """The previous page with these sections; without a page, a page of only these sections."""
    return with_sections(previous or f"{_TITLE}\n\n{_NOTHING_KNOWN}", sections)


def _how_measured(comparisons: Sequence[Comparison], about: Mapping[str, Any]) -> str:
    lengths = [about["duration_s"] or c.scenario.duration_s for c in comparisons]
    trials = [len(c.kernels) for c in comparisons]
    repeated = sum(c.repeated for c in comparisons)
    return f"""{len(comparisons)} scenarios of {_range(lengths)} s, of which the first fifth is
left out, on both backends with stack linux-6. Each scenario has {_range(trials)} trials on
the kernel and five times as many in the simulator. Each trial's seed determines when its flows
start, equally on both. The medians of the trials are compared. {repeated} kernel runs were
repeated because the emulator was late, or because the kernel skipped the call of a control that
sets ssthresh."""


def _tables(comparisons: Sequence[Comparison]) -> str:
    """Tables of the differences' distribution and of the scenarios, and the kernel's warnings."""
    distribution = "\n".join(_spread_row(name, s) for name, s in spreads(comparisons).items())
    share = retransmits_share(comparisons)
    rows = "\n".join(_row(c) for c in comparisons)
    warned = [c for c in comparisons if c.warnings]
    doubts = "\n".join(f"- `{c.scenario.key}`: {'; '.join(c.warnings)}" for c in warned)
    if doubts:
        doubts = f"\nRuns with a warning of the kernel backend:\n\n{doubts}\n"
    return f"""\
| over the scenarios, absolute | median | 90th percentile | largest | target | holds |
|---|---|---|---|---|---|
{distribution}

Retransmissions agree in {share:.0%} of the scenarios; the target is {RETRANSMITS_SHARE:.0%}.
They agree if the simulator's median is within {RETRANSMITS_RELATIVE:.0%} of the kernel's or
within {RETRANSMITS_PKTS} packets.
{_beyond_chance(comparisons)}

| scenario | s | trials | goodput, kernel Mbit/s | diff. | 95 % | median OWD, kernel ms | diff. \
| 95 % | p95 OWD, kernel ms | diff. | sent again, kernel | sim. | agree | share diff. |
|---|---|---|---|---|---|---|---|---|---|---|---|---|---|---|
{rows}
{doubts}"""


def with_sections(page: str, sections: Sequence[str]) -> str:
    """The page with these sections.

    A section replaces the one with the same title; a new section is put before the hand-written
    part.
    """
    for section in sections:
        title = section.splitlines()[0]
        old = _section(page, title)
        page = (
            page.replace(old, f"{section}\n")
            if old is not None
            else page.replace(KNOWN, f"{section}\n{KNOWN}")
        )
    return page


def _section(page: str, title: str) -> str | None:
    """The text of a page's section from its title to the next title; None without the section."""
    if (begin := page.find(f"{title}\n")) < 0:
        return None
    end = page.find("\n## ", begin)
    return page[begin : end + 1] if end >= 0 else page[begin:]


def _percent(value: float | None, sign: str = "") -> str:
    return "–" if value is None else f"{value:{sign}.1%}"


def _spread_row(name: str, spread: Spread) -> str:
    target = "–"
    if spread.median_target is not None:
        target = f"≤ {_percent(spread.median_target)}, ≤ {_percent(spread.p90_target)}"
    holds = {None: "–", True: "yes", False: "no"}[spread.holds]
    cells = [name, _percent(spread.median), _percent(spread.p90), _percent(spread.largest)]
    return "| " + " | ".join([*cells, target, holds]) + " |"


def _ms(value_us: float | None) -> str:
    return "–" if value_us is None else f"{value_us / 1e3:.1f}"


def _range(numbers: Sequence[int]) -> str:
    least, most = min(numbers), max(numbers)
    return str(least) if least == most else f"{least} to {most}"


def _interval(interval: Interval | None) -> str:
    return "–" if interval is None else " … ".join(_percent(end, "+") for end in interval)


def _beyond_chance(comparisons: Sequence[Comparison]) -> str:
    """The sentence on how many scenarios have a difference that chance does not explain."""
    findings = []
    for what, intervals in (
        ("goodput", [c.goodput_interval for c in comparisons]),
        ("median one-way delay", [c.owd_interval for c in comparisons]),
    ):
        known = [interval for interval in intervals if interval is not None]
        beyond = sum(not low <= 0 <= high for low, high in known)
        findings.append(f"for {what} in {beyond} of {len(known)}")
    beyond_chance = " and ".join(findings)
    return f"A difference's interval excludes 0 {beyond_chance} scenarios; chance alone gives 5 %."


def _row(c: Comparison) -> str:
    cells = [
        f"`{c.scenario.key}`", str(c.scenario.duration_s), str(len(c.kernels)),
        f"{c.kernel.goodput_bps / 1e6:.3f}",
        _percent(c.goodput, "+"), _interval(c.goodput_interval),
        _ms(c.kernel.owd_median_us), _percent(c.owd_median, "+"), _interval(c.owd_interval),
        _ms(c.kernel.owd_p95_us), _percent(c.owd_p95, "+"),
        str(c.kernel.retransmits_pkts), str(c.sim.retransmits_pkts),
        "yes" if c.retransmits_agree else "no", _percent(c.shares),
    ]  # fmt: skip
    return "| " + " | ".join(cells) + " |"
