"""Plot: figures 2 to 5, tables 1 and 2 as pictures, and whole trials to zoom into."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import TYPE_CHECKING

import numpy as np

from headway import metrics
from headway.figures import (
    QUEUE,
    VOIP,
    Bars,
    Pairs,
    Panel,
    Sample,
    Series,
    cdf,
    grouped_bars,
    label_of,
    one_of,
    published_vs_measured,
    style_of,
    timeseries,
)
from headway.publish import Figures
from headway.report import ZoomChart
from headway.studies.collateral_damage.cells import Cell, Found
from headway.studies.collateral_damage.experiments import FIGURE_2, ZOOMED
from headway.studies.collateral_damage.observe import EPOCHS_SHOWN, Course
from headway.studies.collateral_damage.published import (
    CELLS,
    CONTROLS,
    DELAY,
    FLOW_COUNTS,
    GOODPUT,
    LABELS,
    RTTS_MS,
    CellKey,
    cell_name,
    flows_name,
)

if TYPE_CHECKING:
    from matplotlib.figure import Figure


_NAMES = {**LABELS, "cubic26": label_of("cubic26")}
"""In legends; the CUBIC of today has another colour."""


def figures(found: Found) -> Figures:
    """The paper's figures by file name: (title, caption, figure)."""
    made: Figures = {
        "delay": (
            "Median delay of the call",
            "Median one-way delay of the datagrams in every cell, measured and published. Without "
            "TCP flows it is half the RTT and 1.5 ms for the datagram itself.",
            delay({cell: found[cell].mean("owd_median_ms") for cell in CELLS}),
        )
    }
    if (epochs := found.first(FIGURE_2).figure_2) is not None:
        made["figure-2"] = (
            "Figure 2",
            f"Congestion window (above) and one-way delay (below) beside the queue, over "
            f"{EPOCHS_SHOWN} congestion epochs of one H-TCP flow at 100 ms RTT.",
            timeseries(_figure_2(epochs, FIGURE_2), height_mm=62),
        )
    made["figure-3"] = (
        "Figure 3",
        "Distribution of the datagrams' one-way delay at 50 ms RTT, all trials.",
        cdf(
            [
                (
                    f"({letter}) {flows_name(flows)}",
                    [Sample(_NAMES[c], c, found[RTTS_MS[0], c, flows].owd_ms()) for c in CONTROLS],
                )
                for letter, flows in zip("abc", FLOW_COUNTS, strict=True)
            ],
            x_label="one-way delay (ms)",
        ),
    )
    made["figure-4"] = (
        "Figure 4",
        "Queue-full events per minute in the minute in the middle of the trials. Bars: mean of "
        "the middle trials; lines: their standard deviation.",
        _bars(found, "queue_full_per_minute", "events per minute"),
    )
    made["figure-5"] = (
        "Figure 5",
        "Retransmitted packets of a trial, all flows together. Trials last until every flow has "
        "seen twenty epochs, so NewReno's single-flow trials are longer.",
        _bars(found, "retransmits_pkts", "retransmitted packets", "ab"),
    )
    made["table-1"] = (
        "Table 1 as a picture",
        "Summed goodputs of all cells with 95 % intervals over the trials; on the dotted line both "
        "agree.",
        published_vs_measured(
            [_pairs(found, "", "kB/s", "goodput_kbytes_s", lambda cell: GOODPUT[cell].mean)],
            labels=_NAMES,
        ),
    )
    made["table-2"] = (
        "Table 2 as a picture",
        "Delays of all cells with 95 % intervals over the trials; on the dotted line both agree.",
        published_vs_measured(
            [
                _pairs(found, "median delay", "ms", "owd_median_ms", lambda c: DELAY[c].median),
                _pairs(found, "mean", "ms", "owd_mean_ms", lambda cell: DELAY[cell].mean),
                _pairs(found, "standard deviation", "ms", "owd_sd_ms", lambda c: DELAY[c].sd),
            ],
            labels=_NAMES,
        ),
    )
    return made


def delay(medians_ms: Mapping[CellKey, float]) -> Figure:
    """Table 2's medians, to 0.1 ms as the paper prints them, beside the paper's."""

    def bars(rtt_ms: int, control: str) -> Bars:
        cells = [(rtt_ms, control, flows) for flows in FLOW_COUNTS]
        return Bars(
            _NAMES[control],
            control,
            np.array([round(medians_ms[cell], 1) for cell in cells]),
            published=np.array([DELAY[cell].median for cell in cells]),
        )

    return grouped_bars(
        [(f"RTT {rtt} ms", [bars(rtt, control) for control in CONTROLS]) for rtt in RTTS_MS],
        groups=[str(flows) for flows in FLOW_COUNTS],
        x_label="bulk TCP flows beside the call",
        y_label="median one-way delay (ms)",
    )


def _pairs(
    found: Found,
    title: str,
    unit: str,
    name: str,
    published: Callable[[CellKey], float],
) -> Pairs:
    """A quantity of the trials beside the paper's, by control."""
    own = {control: [key for key in CELLS if key[1] == control] for control in CONTROLS}
    return Pairs(
        title,
        unit,
        {c: np.array([published(key) for key in keys]) for c, keys in own.items()},
        {c: np.array([found[key].mean(name) for key in keys]) for c, keys in own.items()},
        {c: np.array([_half_width(found[key], name) for key in keys]) for c, keys in own.items()},
    )


def _half_width(cell: Cell, name: str) -> float:
    half_width = metrics.confidence_interval(cell.values(name)).half_width
    return float("nan") if half_width is None else half_width


def _bars(found: Found, name: str, y_label: str, letters: str = "") -> Figure:
    def bars(rtt_ms: int) -> list[Bars]:
        return [
            Bars(
                _NAMES[control],
                control,
                np.array([found[rtt_ms, control, n].mean(name) for n in FLOW_COUNTS]),
                np.array([found[rtt_ms, control, n].sd(name) for n in FLOW_COUNTS]),
            )
            for control in CONTROLS
        ]

    titles = [
        f"({letters[i]}) {rtt} ms" if letters else f"{rtt} ms" for i, rtt in enumerate(RTTS_MS)
    ]
    return grouped_bars(
        [(title, bars(rtt)) for title, rtt in zip(titles, RTTS_MS, strict=True)],
        groups=[str(n) for n in FLOW_COUNTS],
        x_label="TCP flows",
        y_label=y_label,
    )


def _figure_2(epochs: Course, cell: CellKey) -> list[Panel]:
    queue = [_queue(epochs)]
    return [
        Panel("cwnd (packets)", _cwnds(epochs, cell), "queue (kB)", queue, "(a)"),
        Panel("one-way delay (ms)", [_owd(epochs)], "queue (kB)", queue, "(b)"),
    ]


def zoom_charts(found: Found) -> list[ZoomChart]:
    """Windows, queue and delays of the trials that were recorded in full."""
    courses = [(cell, found.first(cell).course) for cell in ZOOMED]
    return [
        ZoomChart(
            cell_name(cell),
            [
                Panel("cwnd (packets)", _cwnds(course, cell)),
                Panel("one-way delay (ms)", [_owd(course)], "queue (kB)", [_queue(course)]),
            ],
        )
        for cell, course in courses
        if course is not None
    ]


def _cwnds(course: Course, cell: CellKey) -> list[Series]:
    _, control, flows = cell
    return [
        Series(
            "cwnd" if flows == 1 else f"cwnd of flow {number}",
            line.time_s,
            line.value,
            one_of(style_of(control), shade),
            step=True,
        )
        for shade, (number, line) in enumerate(course.cwnds_pkts.items())
    ]


def _queue(course: Course) -> Series:
    return Series("queue", course.queue_kb.time_s, course.queue_kb.value, QUEUE, step=True)


def _owd(course: Course) -> Series:
    return Series("one-way delay", course.owd_ms.time_s, course.owd_ms.value, VOIP)
