"""Plot: tables 1 and 2 beside the published ones, figures 2 to 5, and parts of docs/ pages."""

from collections.abc import Callable, Mapping, Sequence
from functools import partial
from itertools import product
from typing import TYPE_CHECKING, TypeVar

import numpy as np
import polars as pl

from headway import figures as draw
from headway import metrics
from headway.claims import Claim, told
from headway.figures import Bars, Pairs, Panel, Sample, Series, label_of, style_of, variant_of
from headway.metrics.stats import Array, or_nan
from headway.publish import Figures, Page
from headway.report import ReportCell, ReportTable, Section, ZoomChart
from headway.studies.collateral_damage import experiments as setup
from headway.studies.collateral_damage.experiments import (
    CELLS,
    CLAIM_IDS,
    CONTROLS,
    DELAYS,
    FIGURE_2,
    FLOW_COUNTS,
    GOODPUT,
    GOODPUT_SD,
    LABELS,
    PUBLISHED,
    ROWS,
    RTTS_MS,
    SPREAD,
    TOLERANCES,
    CellKey,
    Error,
    cell_name,
    delay_errors,
    flows_name,
)
from headway.studies.collateral_damage.observe import EPOCHS_SHOWN, NUMBERS, Course, Found
from headway.studies.common.shown import figures, table
from headway.study import StudyContext
from headway.table import Cell, Table, markdown

if TYPE_CHECKING:
    from matplotlib.figure import Figure

_Value = TypeVar("_Value")
_Row = tuple[int, str]
_Number = Callable[[CellKey], float]
_NAMES = {**LABELS, "cubic26": label_of("cubic26")}
"""Styles of the controls in legends; the study's CUBIC has another colour than today's CUBIC."""
_BESIDE = [name for n in FLOW_COUNTS for name in (f"{n}: paper", f"{n}: ours")]
"""Columns of tables with published and measured numbers."""
_FIVE_FLOWS = (
    "The paper's goodput of several flows can exceed what the link carries. It is a sum of "
    "averages, each over the lifetime of its own flow: a flow that ends early still counts as "
    "if it had run beside all others. Lifetimes that differ by some seconds in a trial of some "
    "minutes add about one per cent. Datagrams that the full queue drops add a little more."
)
_TIME_SERIES = (
    "First trial of some cells. Drag to zoom into a time range, double arrows undo, a click on a "
    "legend entry hides its line."
)


def page(_ctx: StudyContext, found: Found) -> Page:
    """Tables 1 and 2 beside the published ones, figures 2 to 5, time series, all numbers."""
    return Page(
        tables=printed(found),
        figures=_figures(found),
        data=_data(found),
        summary=_summary(found),
        facts=_facts(found),
        report_tables=_marked(found),
        sections=(
            Section("Five flows", [_FIVE_FLOWS], tables=_lifetimes(found)),
            Section("Time series", [_TIME_SERIES], charts=_zoom_charts(found)),
        ),
    )


def errors(found: Found) -> list[Error]:
    """How far each statistic of table 2 differs from the published value."""
    return delay_errors(lambda cell, name: found[cell].mean(name))


def _summary(found: Found) -> list[tuple[str, str]]:
    median, mean, sd = errors(found)
    deviations = f"{sd.mean_abs_ms:.1f} ms / {100 * sd.largest_relative:.0f} %"
    return [
        ("mean error of the 18 median delays", f"{median.mean_abs_ms:.1f} ms"),
        ("largest error of a median", f"{median.largest_ms:.1f} ms"),
        ("mean / largest error of the means", f"{mean.mean_abs_ms:.1f} / {mean.largest_ms:.1f} ms"),
        ("mean / largest error of the deviations", deviations),
    ]


def _facts(found: Found) -> list[tuple[str, str]]:
    trials = list(found.rows.values())
    lengths = [trial.numbers.length_s for trial in trials]
    epochs = [trial.numbers.epochs for trial in trials]
    settings = "; ".join(
        f"{LABELS[name]}: {', '.join(f'{k} = {v}' for k, v in tunables.items()) or 'defaults'}"
        for name, tunables in setup.SETTINGS.items()
    )
    queue = f"{setup.RATE}, {setup.BUFFER} drop-tail as in dummynet"
    return [
        ("Path", f"{queue}, both ways; half the RTT each way"),
        ("Hosts", f"{trials[0].hosts} on 1 Gbit/s access links"),
        ("Controls", settings),
        ("Datagrams", "186-byte IP packets every 20 ms, one way, from the start of the trial"),
        (
            "Lengths",
            f"{min(lengths):.0f} to {max(lengths):.0f} s; "
            f"{min(epochs):.0f} to {max(epochs):.0f} congestion epochs per flow",
        ),
        ("Statistics", "per quantity, highest and lowest trial dropped, mean of the others"),
        (
            "Delay statistics",
            "all datagrams sent after every flow's first congestion event and before the first "
            "flow stops",
        ),
        (
            "Starts and stops",
            f"starts at random within {setup.START_SPREAD_RTTS:g} RTT, {setup.VOIP_LEAD_S:g} s "
            "after the datagrams; each flow writes for the trial's length and then drains its send "
            "buffer",
        ),
    ]


def _data(found: Found) -> dict[str, pl.DataFrame]:
    """Every trial's numbers, and each cell's beside the published ones."""
    trials: list[dict[str, object]] = []
    means: list[dict[str, object]] = []
    for key in CELLS:
        cell = found[key]
        named = dict(zip(("rtt_ms", "control", "flows"), key, strict=True))
        for number, one in enumerate(cell.trials, start=1):
            trials.append({**named, "trial": number, **vars(one.numbers)})
        means.append(
            {
                **named,
                **{name: cell.mean(name) for name in NUMBERS},
                GOODPUT_SD: cell.sd(GOODPUT),
                **{f"published_{name}": PUBLISHED[name][key] for name in TOLERANCES},
            }
        )
    return {"trials": pl.DataFrame(trials), "cells": pl.DataFrame(means)}


def _head(row: _Row) -> list[str]:
    return [f"{row[0]} ms", LABELS[row[1]]]


def _of_row(row: _Row, of_cell: Callable[[CellKey], Sequence[_Value]]) -> list[_Value]:
    """Cells of a table's row for one, two and five flows."""
    return [value for flows in FLOW_COUNTS for value in of_cell((*row, flows))]


def _beside(row: _Row, name: str, ours: _Number) -> list[float]:
    """Published and measured numbers."""
    return _of_row(row, lambda cell: (PUBLISHED[name][cell], round(ours(cell), 1)))


def printed(found: Found) -> list[Table]:
    """Tables 1 and 2 with published beside measured, and how far apart they are."""

    def numbers(row: _Row, name: str) -> list[float]:
        return _beside(row, name, lambda cell: found[cell].mean(name))

    goodputs: list[list[Cell]] = [[*_head(row), *numbers(row, GOODPUT)] for row in ROWS]
    delays: list[list[Cell]] = [
        [*_head(row), statistic, *numbers(row, name)]
        for row, (statistic, name) in product(ROWS, DELAYS.items())
    ]
    return [
        Table(
            "Table 1: goodput in kB/s, summed over 1, 2 and 5 flows",
            ["RTT", "control", *_BESIDE],
            goodputs,
            "Per-flow goodputs over each flow's own lifetime, as tcptrace gives them, then summed.",
        ),
        Table(
            "Table 2: one-way delay of the datagrams in ms, with 1, 2 and 5 flows",
            ["RTT", "control", "", *_BESIDE],
            delays,
        ),
        table(
            "Distance from table 2 over its 18 cells, in ms",
            errors(found),
            {
                "statistic": lambda error: error.statistic,
                "mean error": (lambda error: error.mean_abs_ms, 2),
                "largest": (lambda error: error.largest_ms, 2),
                "largest %": lambda error: f"{100 * error.largest_relative:.1f} %",
                "where": lambda error: cell_name(error.worst_cell),
            },
        ),
    ]


def _texts(*texts: str) -> list[ReportCell]:
    return [ReportCell(text) for text in texts]


def _checked(found: Found, cell: CellKey, name: str) -> list[ReportCell]:
    """A published number, and the measured one with its verdict."""
    paper, ours, tolerance = PUBLISHED[name][cell], found[cell].mean(name), TOLERANCES[name]
    holds = tolerance.check(paper, ours).holds
    measured = ReportCell(f"{ours:.1f}", "holds" if holds else "fails", f"tolerance {tolerance}")
    return [ReportCell(f"{paper:.1f}"), measured]


def _marked(found: Found) -> list[ReportTable]:
    """Tables 1 and 2 for the report; measured values out of tolerance are marked."""

    def goodputs(cell: CellKey) -> list[ReportCell]:
        spreads = _texts(f"{PUBLISHED[GOODPUT_SD][cell]:.2f}", f"{found[cell].sd(GOODPUT):.2f}")
        return [*_checked(found, cell, GOODPUT), *spreads]

    def delays(cell: CellKey, name: str) -> list[ReportCell]:
        off = found[cell].mean(name) - PUBLISHED[name][cell]
        return [*_checked(found, cell, name), ReportCell(f"{off:+.1f}")]

    def groups(heads: int, columns: int) -> list[tuple[str, int]]:
        return [("", heads), *((flows_name(flows), columns) for flows in FLOW_COUNTS)]

    tolerances = ", ".join(f"{one} {TOLERANCES[name]}" for one, name in DELAYS.items())
    return [
        ReportTable(
            "Table 1. Goodput summed over the flows, kB/s (1 kB = 1000 bytes)",
            ["RTT", "control"] + ["paper", "measured", "paper σ", "σ"] * len(FLOW_COUNTS),
            [[*_texts(*_head(row)), *_of_row(row, goodputs)] for row in ROWS],
            f"Mean of the middle trials; tolerance {TOLERANCES[GOODPUT]}. σ is over the same "
            "trials.",
            groups(2, 4),
        ),
        ReportTable(
            "Table 2. One-way delay of the datagrams, ms",
            ["RTT", "control", "statistic"] + ["paper", "measured", "off"] * len(FLOW_COUNTS),
            [
                [*_texts(*_head(row), statistic), *_of_row(row, partial(delays, name=name))]
                for row, (statistic, name) in product(ROWS, DELAYS.items())
            ],
            "Base delay included, lost datagrams left out. Tolerances, the larger margin: "
            f"{tolerances}.",
            groups(3, 3),
        ),
    ]


def _lifetimes(found: Found) -> list[ReportTable]:
    """Why five flows seem to get more than the link carries: one trial, and all cells."""
    key = (50, "cubic26", 5)
    lives = found[key].trials[0].lifetimes

    def row(name: str, first: float, last: float, size: int, rate: float) -> list[str]:
        times = [f"{time:.2f}" for time in (first, last, last - first)]
        return [name, *times, f"{size / 1e6:.3f}", f"{rate:.2f}"]

    rows = [
        row(f"flow {number}", one.first_s, one.last_s, one.unique_bytes, one.goodput_kbytes_s)
        for number, one in enumerate(lives, start=1)
    ]
    first, last = min(life.first_s for life in lives), max(life.last_s for life in lives)
    total = sum(life.unique_bytes for life in lives)
    summed = sum(life.goodput_kbytes_s for life in lives)
    rows += [
        ["sum of the column", "", "", "", f"{total / 1e6:.3f}", f"{summed:.2f}"],
        row("all bytes over the whole span", first, last, total, total / (last - first) / 1e3),
    ]
    return [
        ReportTable(
            f"One trial: {cell_name(key)}",
            ["", "first packet (s)", "last packet (s)", "lifetime (s)", "MB", "kB/s"],
            [_texts(*one) for one in rows],
        ),
        ReportTable(
            "All cells, kB/s",
            [
                *("RTT", "control", "flows", "paper"),
                *("summed", "= link", "+ lost datagrams", "+ lifetimes"),
            ],
            [_texts(*_excess(found, key)) for key in CELLS],
            "Link: what full-sized segments carry beside all the datagrams. Lost datagrams leave "
            "room for TCP. Lifetimes: what summing per-flow averages adds (or start, end and "
            "retransmissions take).",
        ),
    ]


def _excess(found: Found, key: CellKey) -> list[str]:
    """Quantities into which the report splits a cell's goodput."""
    cell, link = found[key], setup.LINK_GOODPUT_KBYTES_S
    summed = cell.mean(GOODPUT)
    room = cell.mean("voip_loss") * setup.DATAGRAMS_BPS / 8 * setup.PAYLOAD_SHARE / 1e3
    parts = [f"{summed:.2f}", f"{link:.2f}", f"{room:+.2f}", f"{summed - link - room:+.2f}"]
    return [*_head(key[:2]), str(key[2]), f"{PUBLISHED[GOODPUT][key]:.1f}", *parts]


def _figures(found: Found) -> Figures:
    """The paper's figures by file name."""
    epochs = found.first(FIGURE_2).figure_2
    samples = [
        (
            f"({letter}) {flows_name(flows)}",
            [Sample(_NAMES[c], c, found[RTTS_MS[0], c, flows].owd_ms()) for c in CONTROLS],
        )
        for letter, flows in zip("abc", FLOW_COUNTS, strict=True)
    ]
    titles = {"median": "median delay", "mean": "mean", "sd": "standard deviation"}
    delays = [_pairs(found, titles[one], "ms", name) for one, name in DELAYS.items()]
    return {
        "delay": (
            "Median delay of the call",
            "Median one-way delay of the datagrams in every cell, measured and published. Without "
            "TCP flows it is half the RTT and 1.5 ms for the datagram itself.",
            delay({cell: found[cell].mean(DELAYS["median"]) for cell in CELLS}),
        ),
        **figures(
            (
                "Figure 2",
                "Congestion window (above) and one-way delay (below) beside the queue, over "
                f"{EPOCHS_SHOWN} congestion epochs of one H-TCP flow at 100 ms RTT.",
                draw.timeseries(_panels(epochs, FIGURE_2, figure_2=True), height_mm=62),
            )
            if epochs
            else None,
            (
                "Figure 3",
                "Distribution of the datagrams' one-way delay at 50 ms RTT, all trials.",
                draw.cdf(samples, x_label="one-way delay (ms)"),
            ),
            (
                "Figure 4",
                "Queue-full events per minute in the minute in the middle of the trials. Bars: "
                "mean of the middle trials; lines: their standard deviation.",
                _bars(found, "queue_full_per_minute", "events per minute", ("", "")),
            ),
            (
                "Figure 5",
                "Retransmitted packets of a trial, all flows together. Trials last until every "
                "flow has seen twenty epochs, so NewReno's single-flow trials are longer.",
                _bars(found, "retransmits_pkts", "retransmitted packets", ("(a) ", "(b) ")),
            ),
        ),
        "table-1": (
            "Table 1 as a picture",
            "Summed goodputs of all cells with 95 % intervals over the trials; on the dotted line "
            "both agree.",
            draw.published_vs_measured([_pairs(found, "", "kB/s", GOODPUT)], labels=_NAMES),
        ),
        "table-2": (
            "Table 2 as a picture",
            "Delays of all cells with 95 % intervals over the trials; on the dotted line both "
            "agree.",
            draw.published_vs_measured(delays, labels=_NAMES),
        ),
    }


def delay(medians_ms: Mapping[CellKey, float]) -> "Figure":
    """Table 2's medians, to 0.1 ms as the paper prints them, beside the paper's."""

    def bars(control: str, cells: list[CellKey]) -> Bars:
        ours = np.array([round(medians_ms[cell], 1) for cell in cells])
        paper = np.array([PUBLISHED[DELAYS["median"]][cell] for cell in cells])
        return Bars(_NAMES[control], control, ours, published=paper)

    labels = ("bulk TCP flows beside the call", "median one-way delay (ms)")
    return _grouped(bars, ("RTT ", "RTT "), *labels)


def _bars(found: Found, name: str, y_label: str, titles: tuple[str, str]) -> "Figure":
    def bars(control: str, cells: list[CellKey]) -> Bars:
        means = np.array([found[cell].mean(name) for cell in cells])
        return Bars(_NAMES[control], control, means, np.array([found[c].sd(name) for c in cells]))

    return _grouped(bars, titles, "TCP flows", y_label)


def _grouped(
    bars: Callable[[str, list[CellKey]], Bars], titles: tuple[str, str], x_label: str, y_label: str
) -> "Figure":
    """A panel per round-trip time, a group per number of flows."""
    panels = [
        (f"{title}{rtt} ms", [bars(c, [(rtt, c, n) for n in FLOW_COUNTS]) for c in CONTROLS])
        for title, rtt in zip(titles, RTTS_MS, strict=True)
    ]
    groups = [str(flows) for flows in FLOW_COUNTS]
    return draw.grouped_bars(panels, groups=groups, x_label=x_label, y_label=y_label)


def _pairs(found: Found, title: str, unit: str, name: str) -> Pairs:
    """A quantity of the trials beside the paper's, by control."""

    def by_control(value: _Number) -> dict[str, Array]:
        return {c: np.array([value(key) for key in CELLS if key[1] == c]) for c in CONTROLS}

    def half_width(key: CellKey) -> float:
        return or_nan(metrics.confidence_interval(found[key].values(name)).half_width)

    ours = by_control(lambda key: found[key].mean(name))
    return Pairs(title, unit, by_control(PUBLISHED[name].__getitem__), ours, by_control(half_width))


def _panels(course: Course, cell: CellKey, *, figure_2: bool = False) -> list[Panel]:
    """Upper panel: windows.

    Lower panel: delays and queue. Figure 2 has the queue in both panels.
    """
    _, control, flows = cell
    windows = [
        Series(
            "cwnd" if flows == 1 else f"cwnd of flow {number}",
            line.time_s,
            line.value,
            variant_of(style_of(control), shade),
            step=True,
        )
        for shade, (number, line) in enumerate(course.cwnds_pkts.items())
    ]
    owd, held = course.owd_ms, course.queue_kb
    delays = [Series("one-way delay", owd.time_s, owd.value, draw.VOIP)]
    queue = ("queue (kB)", [Series("queue", held.time_s, held.value, draw.QUEUE, step=True)])
    below = Panel("one-way delay (ms)", delays, *queue, "(b)" if figure_2 else "")
    if figure_2:
        return [Panel("cwnd (packets)", windows, *queue, "(a)"), below]
    return [Panel("cwnd (packets)", windows), below]


def _zoom_charts(found: Found) -> list[ZoomChart]:
    """Windows, queue and delays of the trials that were recorded in full."""
    courses = [(cell, found.first(cell).course) for cell in setup.ZOOMED]
    return [ZoomChart(cell_name(cell), _panels(one, cell)) for cell, one in courses if one]


def _medians(claims: Sequence[Claim]) -> str:
    """Table 2's medians beside the measured ones."""
    measured, name = _measured(claims), DELAYS["median"]
    rows: list[list[Cell]] = [
        [*_head(row), *_beside(row, name, lambda cell: measured(cell, name))] for row in ROWS
    ]
    return "\n".join(markdown(["RTT", "control", *_BESIDE], rows))


def _measured(claims: Sequence[Claim]) -> Callable[[CellKey, str], float]:
    known = {one.id: one.measured for one in claims if isinstance(one.measured, float)}
    return lambda cell, name: known[CLAIM_IDS[cell, name]]


def _errors(claims: Sequence[Claim]) -> str:
    """How far table 2 differs from the paper's, and which numbers are out of tolerance."""

    def off(error: Error) -> str:
        return (
            f"{error.mean_abs_ms:.1f} ms off on average and {error.largest_ms:.1f} ms at most "
            f"({cell_name(error.worst_cell)})"
        )

    median, mean, sd = delay_errors(_measured(claims))
    by_id = {claim.id: claim for claim in claims}
    outside = [
        f"- {claim.id}, {claim.statement}: {claim.measured} instead of {claim.published} "
        f"{claim.unit}, {claim.tolerance}"
        for (_, name), number in CLAIM_IDS.items()
        if name != GOODPUT_SD and (claim := by_id[number]).verdict == "fails"
    ]
    if by_id[SPREAD].verdict == "fails":
        outside.append(_spread(by_id[SPREAD]))
    text = (
        f"The {len(CELLS)} medians of table 2 are {off(median)}, the means {off(mean)}, the "
        f"standard deviations {off(sd)} or {100 * sd.largest_relative:.0f} % (full form, "
        "seed 1). Numbers of both tables outside of their tolerance:"
    )
    return "\n".join([text, "", *(outside or ["None."])])


def _verdicts(claims: Sequence[Claim]) -> str:
    """How many claims hold, and which claims do not."""
    lines = [f"{told(claims)}. The others fail or hold in part:", ""]
    lines += [
        _spread(claim)
        if claim.id == SPREAD
        else f"- {claim.id}, {claim.statement}: {claim.measured}"
        f"{f' {claim.unit}' if claim.unit else ''} ({claim.verdict})"
        for claim in claims
        if claim.verdict in ("fails", "in part") and not claim.same_as
    ]
    return "\n".join(lines)


def _spread(claim: Claim) -> str:
    return (
        f"- {claim.id} and the {len(CELLS) - 1} like it, table 1, standard deviations of goodput: "
        f"{claim.tolerance}. {claim.note}"
    )


PARTS = (
    ("paper-001-medians", _medians),
    ("paper-001-errors", _errors),
    ("paper-001-verdicts", _verdicts),
)
"""Parts of pages that are made of the locked claims."""
