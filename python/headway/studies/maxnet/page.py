"""Plot: figures 5 to 8 and table I, published and ours."""

from collections.abc import Iterator
from itertools import product
from typing import TYPE_CHECKING

import numpy as np
import polars as pl

from headway.figures import (
    PUBLISHED,
    Panel,
    Series,
    curves,
    label_of,
    style_of,
    timeseries,
    variant_of,
)
from headway.metrics.stats import Array
from headway.publish import Drawn, Page
from headway.studies.common.runs import estimate
from headway.studies.common.shown import curve, figures, table
from headway.studies.maxnet.claims import TABLE_I
from headway.studies.maxnet.experiments import (
    CONTROLS,
    HIGHER_MU,
    LAYOUTS,
    LOSSES,
    MU,
    RATE_BPS,
    RAW_SLOT_S,
    RTT_SLOT_S,
    Found,
    Lossy,
    framed,
    of_table,
    of_trial,
    sharing_of,
)
from headway.study import Agreement, StudyContext
from headway.table import Table
from headway.units import BITS_PER_BYTE

if TYPE_CHECKING:
    from matplotlib.figure import Figure

Cells = dict[str, list[list[Lossy]]]
"""Runs of table I by control and loss."""
_LAYOUT_NAMES = {"one": "one flow", "four": "four flows", "two": "57 and 29 ms"}
_BUFFER_NAMES = {"small": "30 KB", "large": "400 KB"}
_SHOWN_S = 20.0
_FLOWS = "Figures 5 to 8: goodput, RTT and losses of the queue, whole runs"
_GOODPUT, _QUEUE = "goodput Mbit/s", "mean queue ms"
_LABELS = {control: label_of(control) for control in CONTROLS}
_PER_CONTROL = zip(
    Agreement.per_row(
        _LABELS,
        "{}: goodputs on the kernel agree with the simulator's to within 5 %.",
        prefix="kernel-goodput-",
        table=_FLOWS, columns=(_GOODPUT,), most=0.01, relative=0.05, unit="Mbit/s",
    ),
    Agreement.per_row(
        _LABELS,
        "{}: mean queues on the kernel agree with the simulator's to within 10 % or a packet's "
        "time.",
        prefix="kernel-queue-",
        table=_FLOWS, columns=(_QUEUE,), most=1500 * BITS_PER_BYTE / RATE_BPS * 1e3, relative=0.1,
        unit="ms",
    ),
    strict=True,
)  # fmt: skip
AGREEMENTS = tuple(one for both in _PER_CONTROL for one in both)
"""Tolerances within which kernel and simulator must agree, for every control."""


def page(_ctx: StudyContext, found: Found) -> Page:
    """The report's tables, figures and data."""
    cells = {one: [of_table(found, one, loss) for loss in LOSSES] for one in CONTROLS}
    data = [
        {"control": control, "loss": loss / 100, "run": run, "goodput_mbps": row.goodput_mbps}
        for control in CONTROLS
        for loss in LOSSES
        for run, row in enumerate(cells[control][loss], start=1)
    ]
    return Page(
        tables=[_table_i(cells), _flows(found), _mu(found)],
        figures=figures(
            *_single_flow(found),
            *_several_flows(found),
            (
                "Table I",
                "Throughput over 10 s by random loss, with 95 % intervals of the mean.",
                _loss_figure(cells),
            ),
        ),
        data={"table_i": pl.DataFrame(data)},
    )


def _table_i(cells: Cells) -> Table:
    def mean(control: str, loss: int) -> float:
        return estimate(cells[control][loss], "goodput_mbps").mean

    def apart(control: str, loss: int) -> str:
        return f"{100 * (mean(control, loss) / TABLE_I[control][loss] - 1):+.0f} %"

    return table(
        "Table I: throughput in Mbit/s over 10 s",
        LOSSES,
        [
            ("loss", lambda loss: f"{loss} %"),
            *(
                column
                for one in CONTROLS
                for column in (
                    (f"{_LABELS[one]}, published", lambda loss, one=one: TABLE_I[one][loss]),
                    ("ours", (lambda loss, one=one: mean(one, loss), 2)),
                    ("apart", lambda loss, one=one: apart(one, loss)),
                )
            ),
        ],
        "Means of the runs; loss on data and on ACKs; the bottleneck's queue holds 30 KB.",
    )


def _joined(values: Array, digits: int) -> str:
    return " ".join(f"{value:.{digits}f}" for value in values)


def _flows(found: Found) -> Table:
    rows = [
        (buffer, layout, control, of_trial(found, layout, control, buffer))
        for buffer, layout, control in product(_BUFFER_NAMES, _LAYOUT_NAMES, CONTROLS)
    ]
    return table(
        _FLOWS,
        rows,
        {
            "buffer": lambda row: _BUFFER_NAMES[row[0]],
            "flows": lambda row: _LAYOUT_NAMES[row[1]],
            "control": lambda row: _LABELS[row[2]],
            _GOODPUT: (lambda row: float(row[3].goodputs_mbps.sum()), 2),
            "each": lambda row: _joined(row[3].goodputs_mbps, 2),
            "mean RTT ms": lambda row: _joined(row[3].rtts_ms, 1),
            _QUEUE: (lambda row: row[3].queue_ms, 2),
            "lost %": (lambda row: 100 * row[3].dropped_share, 3),
            "lost in the second half %": (lambda row: 100 * row[3].later_dropped_share, 3),
        },
        "The paper states a queue of 30 KB. Its RTTs above 52 ms require a larger queue, and "
        "windows of 70 packets, which the send buffers of such hosts allowed.",
    )


def _mu(found: Found) -> Table:
    rows = [
        (mu, layout, sharing_of(found, framed(layout, mu)))
        for mu, layout in product((MU, *HIGHER_MU), _LAYOUT_NAMES)
    ]
    return table(
        "MaxNet with higher mu, 30 KB, 9.9 of 10 Mbit/s",
        rows,
        {
            "mu": lambda row: f"{row[0] / 1024:.3f}",
            "flows": lambda row: _LAYOUT_NAMES[row[1]],
            "goodput Mbit/s": (lambda row: float(row[2].goodputs_mbps.sum()), 2),
            "queue ms": (lambda row: row[2].queue_ms, 2),
            "queue sd ms": (lambda row: row[2].later_queue_sd_ms, 2),
            "lost later %": (lambda row: 100 * row[2].later_dropped_share, 3),
            "price ms": (lambda row: row[2].price_ms, 1),
        },
        "Token buckets count Ethernet's headers: 9.9 Mbit/s of IP pass, routers are told 10. "
        "The queue's standard deviation and losses are those of the second half.",
    )


def _line(label: str, values: Array, slot_s: float, control: str, number: int = 0) -> Series:
    ends = slot_s * (1 + np.arange(values.size))
    shown = (ends <= _SHOWN_S) & ~np.isnan(values)
    return Series(label, ends[shown], values[shown], variant_of(style_of(control), number))


def _single_flow(found: Found) -> Iterator[Drawn]:
    ones = {control: of_trial(found, "one", control, "large") for control in CONTROLS}
    for title, label, field, slot_s in (
        ("Figure 5", "raw throughput (Mbit/s)", "raw_mbps", RAW_SLOT_S),
        ("Figure 6", "RTT (ms)", "rtt_courses_ms", RTT_SLOT_S),
    ):
        lines = [
            _line(_LABELS[control], getattr(one, field)[0], slot_s, control)
            for control, one in ones.items()
        ]
        caption = f"One flow of each control, the larger buffer: {label}."
        yield title, caption, timeseries([Panel(label, lines)], height_mm=70)


def _several_flows(found: Found) -> Iterator[Drawn]:
    for title, layout in (("Figure 7", "four"), ("Figure 8", "two")):
        numbered = [f"flow {number + 1}" for number in range(LAYOUTS[layout])]
        names = ["57 ms", "29 ms"] if layout == "two" else numbered
        panels = []
        for control in CONTROLS:
            raw = of_trial(found, layout, control, "large").raw_mbps
            lines = [_line(one, raw[n], RAW_SLOT_S, "maxnet", n) for n, one in enumerate(names)]
            panels.append(Panel("raw (Mbit/s)", lines, title=_LABELS[control]))
        flows = _LAYOUT_NAMES[layout]
        caption = f"Raw throughput of {flows}, the larger buffer; means of a second."
        yield title, caption, timeseries(panels, height_mm=45)


def _loss_figure(cells: Cells) -> "Figure":
    panels = []
    for control, label in _LABELS.items():
        means = [estimate(rows, "goodput_mbps") for rows in cells[control]]
        ours = curve(label, LOSSES, means, style_of(control))
        published = curve("published", LOSSES, TABLE_I[control], PUBLISHED, line=False)
        panels.append((label, [ours, published]))
    return curves(panels, x_label="loss (%)", y_label="throughput (Mbit/s)")
