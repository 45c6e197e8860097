"""Plot: figures 5 to 8 and table I, published and ours."""

from __future__ import annotations

import numpy as np
import polars as pl

from headway.claims import Evidence
from headway.figures import (
    PUBLISHED,
    Curve,
    Panel,
    Series,
    curves,
    label_of,
    one_of,
    style_of,
    timeseries,
)
from headway.metrics.stats import Array, confidence_interval
from headway.publish import Figures, Page
from headway.studies.maxnet import published
from headway.studies.maxnet.experiments import (
    CONTROLS,
    HIGHER_MU,
    LAYOUTS,
    LOSSES,
    MU,
    RATE_BPS,
    key,
    told,
)
from headway.studies.maxnet.measures import of_table, sharing
from headway.studies.maxnet.observe import RAW_SLOT_S, RTT_SLOT_S, Row
from headway.study import Agreement
from headway.table import Cell, Table
from headway.units import BITS_PER_BYTE

Found = Evidence[Row]

_LAYOUT_NAMES = {"one": "one flow", "four": "four flows", "two": "57 and 29 ms"}
_BUFFER_NAMES = {"small": "30 KB", "large": "400 KB"}
_SHOWN_S = 20.0
_FLOWS = "Figures 5 to 8: goodput, RTT and losses of the queue, whole runs"
_GOODPUT, _QUEUE = "goodput Mbit/s", "mean queue ms"
PACKET_MS = 1500 * BITS_PER_BYTE / RATE_BPS * 1e3

AGREEMENTS = tuple(
    agreement
    for control in CONTROLS
    for agreement in (
        Agreement(
            f"kernel-goodput-{control}",
            f"{label_of(control)}: goodputs on the kernel are the simulator's to 5 %.",
            table=_FLOWS,
            row=label_of(control),
            columns=(_GOODPUT,),
            most=0.01,
            relative=0.05,
            unit="Mbit/s",
        ),
        Agreement(
            f"kernel-queue-{control}",
            f"{label_of(control)}: mean queues on the kernel are the simulator's to 10 % or a "
            "packet's time.",
            table=_FLOWS,
            row=label_of(control),
            columns=(_QUEUE,),
            most=PACKET_MS,
            relative=0.1,
            unit="ms",
        ),
    )
)
"""As near as the kernel is asked to come to the simulator with every protocol of routers."""


def page(found: Found) -> Page:
    """Tables, figures and data."""
    cells = {
        control: [[row.goodput_mbps for row in of_table(found, control, loss)] for loss in LOSSES]
        for control in CONTROLS
    }
    return Page(
        tables=[_table_i(cells), _flows(found), _mu(found)],
        figures={**_courses(found), **_loss_figure(cells)},
        data={"table_i": _data(cells)},
    )


def _mean(values: list[float]) -> tuple[float, float]:
    estimate = confidence_interval(values)
    return estimate.mean, estimate.half_width or 0.0


def _table_i(cells: dict[str, list[list[float]]]) -> Table:
    rows: list[list[Cell]] = []
    for at, loss in enumerate(LOSSES):
        row: list[Cell] = [f"{loss} %"]
        for control in CONTROLS:
            mean, _ = _mean(cells[control][at])
            value = published.TABLE_I[control][at]
            row += [value, round(mean, 2), f"{100 * (mean / value - 1):+.0f} %"]
        rows.append(row)
    columns = ["loss"]
    for control in CONTROLS:
        columns += [f"{label_of(control)}, published", "ours", "apart"]
    return Table(
        "Table I: throughput in Mbit/s over 10 s",
        columns,
        rows,
        "Means of the runs; loss on data and on ACKs; the bottleneck's queue holds 30 KB.",
    )


def _data(cells: dict[str, list[list[float]]]) -> pl.DataFrame:
    rows = [
        {"control": control, "loss": loss / 100, "run": run + 1, "goodput_mbps": value}
        for control in CONTROLS
        for at, loss in enumerate(LOSSES)
        for run, value in enumerate(cells[control][at])
    ]
    return pl.DataFrame(rows)


def _joined(values: Array, digits: int) -> str:
    return " ".join(f"{value:.{digits}f}" for value in values)


def _flows(found: Found) -> Table:
    rows: list[list[Cell]] = []
    for buffer, buffer_name in _BUFFER_NAMES.items():
        for layout, layout_name in _LAYOUT_NAMES.items():
            for control in CONTROLS:
                one = sharing(found, key(layout, control, buffer))
                rows.append(
                    [
                        buffer_name,
                        layout_name,
                        label_of(control),
                        round(float(one.goodputs_mbps.sum()), 2),
                        _joined(one.goodputs_mbps, 2),
                        _joined(one.rtts_ms, 1),
                        round(one.queue_ms, 2),
                        round(100 * one.dropped_share, 3),
                        round(100 * one.later_dropped_share, 3),
                    ]
                )
    return Table(
        _FLOWS,
        [
            "buffer",
            "flows",
            "control",
            _GOODPUT,
            "each",
            "mean RTT ms",
            _QUEUE,
            "lost %",
            "lost in the second half %",
        ],
        rows,
        "30 KB is what the paper states; its RTTs above 52 ms ask for more, and for windows of "
        "70 packets, which the send buffers of such hosts gave.",
    )


def _mu(found: Found) -> Table:
    rows: list[list[Cell]] = []
    for mu in (MU, *HIGHER_MU):
        for layout, name in _LAYOUT_NAMES.items():
            one = sharing(found, told(layout, mu))
            rows.append(
                [
                    f"{mu / 1024:.3f}",
                    name,
                    round(float(one.goodputs_mbps.sum()), 2),
                    round(one.queue_ms, 2),
                    round(one.later_queue_sd_ms, 2),
                    round(100 * one.later_dropped_share, 3),
                    round(one.price_ms, 1),
                ]
            )
    return Table(
        "MaxNet with higher mu, 30 KB, 9.9 of 10 Mbit/s",
        ["mu", "flows", "goodput Mbit/s", "queue ms", "queue sd ms", "lost later %", "price ms"],
        rows,
        "Token buckets count Ethernet's headers: 9.9 Mbit/s of IP pass, routers are told 10. "
        "The queue's standard deviation and losses are those of the second half.",
    )


def _line(label: str, values: Array, slot_s: float, look: str, number: int = 0) -> Series:
    ends = slot_s * (1 + np.arange(values.size))
    shown = (ends <= _SHOWN_S) & ~np.isnan(values)
    return Series(label, ends[shown], values[shown], one_of(style_of(look), number))


def _courses(found: Found) -> Figures:
    made: Figures = {}
    ones = {control: sharing(found, key("one", control, "large")) for control in CONTROLS}
    for number, label, field, slot_s in (
        ("5", "raw throughput (Mbit/s)", "raw_mbps", RAW_SLOT_S),
        ("6", "RTT (ms)", "rtt_courses_ms", RTT_SLOT_S),
    ):
        lines = [
            _line(label_of(control), getattr(one, field)[0], slot_s, control)
            for control, one in ones.items()
        ]
        made[f"figure-{number}"] = (
            f"Figure {number}",
            f"One flow of each control, the larger buffer: {label}.",
            timeseries([Panel(label, lines)], height_mm=70),
        )
    for number, layout in (("7", "four"), ("8", "two")):
        panels = []
        for control in CONTROLS:
            one = sharing(found, key(layout, control, "large"))
            names = [f"flow {at + 1}" for at in range(LAYOUTS[layout])]
            if layout == "two":
                names = ["57 ms", "29 ms"]
            panels.append(
                Panel(
                    "raw (Mbit/s)",
                    [
                        _line(name, one.raw_mbps[at], RAW_SLOT_S, "maxnet", at)
                        for at, name in enumerate(names)
                    ],
                    title=label_of(control),
                )
            )
        made[f"figure-{number}"] = (
            f"Figure {number}",
            f"Raw throughput of {_LAYOUT_NAMES[layout]}, the larger buffer; means of a second.",
            timeseries(panels, height_mm=45),
        )
    return made


def _loss_figure(cells: dict[str, list[list[float]]]) -> Figures:
    x = np.array(LOSSES, dtype=np.float64)
    panels = []
    for control in CONTROLS:
        means, widths = (np.array(v) for v in zip(*map(_mean, cells[control]), strict=True))
        panels.append(
            (
                label_of(control),
                [
                    Curve(
                        label_of(control),
                        x,
                        means,
                        style_of(control),
                        markers=True,
                        low=means - widths,
                        high=means + widths,
                    ),
                    Curve(
                        "published",
                        x,
                        np.array(published.TABLE_I[control]),
                        PUBLISHED,
                        line=False,
                        markers=True,
                    ),
                ],
            )
        )
    return {
        "table-i": (
            "Table I",
            "Throughput over 10 s by random loss, with 95 % intervals of the mean.",
            curves(panels, x_label="loss (%)", y_label="throughput (Mbit/s)"),
        )
    }
