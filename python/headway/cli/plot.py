"""``headway try --plot``: one trial's time series as a picture."""

from __future__ import annotations

from pathlib import Path

import polars as pl

from headway.errors import HeadwayError
from headway.figures import QUEUE, VOIP, Panel, Series, Style, save_figure, style_of, timeseries
from headway.trace import Trace
from headway.units import NS_PER_S

FORMATS = ("svg", "pdf", "png")


def check_format(path: Path) -> str:
    """The picture's format by its file name; raises HeadwayError with those allowed."""
    name = path.suffix.removeprefix(".").lower()
    if name not in FORMATS:
        raise HeadwayError(f"plot: {path}: name a file that ends in .{', .'.join(FORMATS)}")
    return name


def plot_trace(trace: Trace, path: Path) -> None:
    """Congestion windows, the bottleneck's queue and one-way delays over time."""
    file_format = check_format(path)
    panels = [Panel("cwnd (packets)", [_cwnd(trace, flow) for flow in trace.tcp_flows()])]
    queue = trace["queue"].filter(pl.col("link") == 0)
    panels.append(
        Panel("queue (bytes)", [_series("queue", queue, "queue_bytes", 1.0, QUEUE, step=True)])
    )
    delays = [
        _series(
            trace.flows[flow].name,
            trace["udp"].filter(pl.col("flow") == flow).drop_nulls().rename({"sent_ns": "time_ns"}),
            "owd_ns",
            1e6,
            VOIP,
        )
        for flow in trace.udp_flows()
    ]
    if delays:
        panels.append(Panel("one-way delay (ms)", delays))
    panels = [panel for panel in panels if panel.series]
    save_figure(timeseries(panels), path.with_suffix(""), [file_format])


def _cwnd(trace: Trace, flow: int) -> Series:
    rows = trace["flow_state"].filter(pl.col("flow") == flow)
    style = style_of(trace.flows[flow].control or "")
    return _series(trace.flows[flow].name, rows, "cwnd_pkts", 1.0, style, step=True)


def _series(
    label: str, rows: pl.DataFrame, column: str, scale: float, style: Style, *, step: bool = False
) -> Series:
    return Series(
        label,
        rows["time_ns"].to_numpy() / NS_PER_S,
        rows[column].to_numpy() / scale,
        style,
        step=step,
    )
