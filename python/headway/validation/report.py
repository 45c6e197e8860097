"""The page of a validation: its table, its distribution, and pictures of both windows."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

import polars as pl

from headway.figures import Panel, Series, label_of, save_figure, timeseries
from headway.figures.style import BLUE, VERMILLION, Style
from headway.trace import Trace
from headway.units import NS_PER_S
from headway.validation import builtin, cost
from headway.validation.compare import (
    RETRANSMITS_PKTS,
    RETRANSMITS_RELATIVE,
    RETRANSMITS_SHARE,
    Comparison,
    Spread,
    retransmits_share,
    spreads,
)

if TYPE_CHECKING:
    from matplotlib.figure import Figure

KNOWN = "## Known differences"
"""From this heading on, the page is written by people and kept."""
_NOTHING_KNOWN = f"{KNOWN}\n\nNone has been explained yet.\n"
_SIM, _KERNEL = Style(VERMILLION, "o"), Style(BLUE, "s", "--")


def overlay(sim: Trace, kernel: Trace, path: Path) -> Path:
    """Both backends' congestion windows of each flow over each other, as SVG."""
    [file] = save_figure(overlay_figure(sim, kernel), path, ["svg"])
    return file


def overlay_figure(sim: Trace, kernel: Trace) -> Figure:
    """Both backends' congestion windows of each flow over each other."""
    panels = []
    for flow in sim.tcp_flows():
        series = []
        for label, trace, style in (("kernel", kernel, _KERNEL), ("simulator", sim, _SIM)):
            rows = trace["flow_state"].filter(pl.col("flow") == flow)
            series.append(
                Series(
                    label,
                    rows["time_ns"].to_numpy() / NS_PER_S,
                    rows["cwnd_pkts"].to_numpy(),
                    style,
                    step=True,
                )
            )
        control = label_of(sim.flows[flow].control or "")
        panels.append(Panel("cwnd (packets)", series, title=f"{control}, flow {flow}"))
    return timeseries(panels, height_mm=45)


def page(
    comparisons: Sequence[Comparison],
    about: Mapping[str, Any],
    previous: str | None = None,
    sections: Sequence[str] = (),
) -> str:
    """The page in Markdown.

    ``about`` has date, kernel, headway, duration_s, trials and loss_trials.
    Of the ``previous`` page what people wrote is kept, and sections that are not measured anew.
    """
    kept = previous[previous.index(KNOWN) :] if previous and KNOWN in previous else _NOTHING_KNOWN
    for title in (cost.TITLE, builtin.TITLE):
        if (old := _section(previous or "", title)) is not None:
            kept = f"{old}{kept}"
    distribution = "\n".join(_spread_row(name, s) for name, s in spreads(comparisons).items())
    share = retransmits_share(comparisons)
    rows = "\n".join(_row(c) for c in comparisons)
    warned = [c for c in comparisons if c.warnings]
    repeated = sum(c.repeated for c in comparisons)
    doubts = "\n".join(f"- `{c.scenario.key}`: {'; '.join(c.warnings)}" for c in warned)
    if doubts:
        doubts = f"\nRuns that the kernel backend itself doubts:\n\n{doubts}\n"
    made = f"""# How far the simulator and the kernel differ

Made by `headway validate` on {about["date"]}, Linux {about["kernel"]}, Headway
{about["headway"]}: {len(comparisons)} scenarios of {about["duration_s"]} s, the first fifth left
out, on both backends with stack linux-6. Trials of each: {about["trials"]}, with random loss
{about["loss_trials"]} on the kernel and five times as many in the simulator; medians are compared.
{repeated} kernel runs were repeated because the emulator could not keep time. A
difference is (simulator − kernel) / kernel. One-way delay is that of the bottleneck: its queue
and its propagation.

| over the scenarios, absolute | median | 90th percentile | largest | target | holds |
|---|---|---|---|---|---|
{distribution}

Packets sent again agree within {RETRANSMITS_RELATIVE:.0%} or {RETRANSMITS_PKTS} packets in
{share:.0%} of the scenarios; the target is {RETRANSMITS_SHARE:.0%}.

| control | flows | Mbit/s | ms | BDP | loss | VoIP | goodput, kernel Mbit/s | diff. \
| median OWD, kernel ms | diff. | p95 OWD, kernel ms | diff. | sent again, kernel | sim. \
| share diff. |
|---|---|---|---|---|---|---|---|---|---|---|---|---|---|---|---|
{rows}
{doubts}
{kept}"""
    return with_sections(made, sections)


def with_sections(page: str, sections: Sequence[str]) -> str:
    """The page with these sections, each in its old one's place or before what people wrote."""
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
    """A section with its title, up to the next one."""
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


def _row(c: Comparison) -> str:
    s = c.scenario
    cells = [
        s.control, str(s.flows), str(s.rate_mbps), str(s.rtt_ms), f"{s.buffer_bdp:g}",
        f"{s.loss:.0%}", "yes" if s.voip else "no",
        f"{c.kernel.goodput_bps / 1e6:.3f}", _percent(c.goodput, "+"),
        _ms(c.kernel.owd_median_us), _percent(c.owd_median, "+"),
        _ms(c.kernel.owd_p95_us), _percent(c.owd_p95, "+"),
        str(c.kernel.retransmits_pkts), str(c.sim.retransmits_pkts), _percent(c.shares),
    ]  # fmt: skip
    return "| " + " | ".join(cells) + " |"
