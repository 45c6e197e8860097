"""``headway try --plot``: one trial's time series as a picture.

Each flow has a line. With more than MOST_FLOWS flows, each control has one line for all its flows
together. Every table is read once for any number of flows.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np
import polars as pl

from headway.errors import HeadwayError
from headway.metrics.stats import Array
from headway.units import BITS_PER_BYTE, NS_PER_S

if TYPE_CHECKING:
    from matplotlib.figure import Figure

    from headway.figures import Panel, Series, Style
    from headway.trace import FlowSummary, Trace

FORMATS = ("svg", "pdf", "png")

MOST_FLOWS = 10
"""Most flows that are drawn with one line each."""
_SLOTS, _GOODPUT_SLOTS = 120, 60
"""Number of intervals that a run is divided into, for means over flows and for goodputs."""
_PANEL_MM = 38


def check_format(path: Path, option: str = "plot") -> str:
    """The picture's format, from the end of its file name. Raises HeadwayError."""
    name = path.suffix.removeprefix(".").lower()
    if name not in FORMATS:
        raise HeadwayError(f"{option}: {path}: name a file that ends in .{', .'.join(FORMATS)}")
    return name


def plot_trace(trace: Trace, path: Path) -> None:
    """Write the picture of a trace; raises HeadwayError for a wrong format or a failed write."""
    from headway.figures import save_figure

    file_format = check_format(path)
    save_figure(trace_figure(trace), path.with_suffix(""), [file_format])


def plot_beside(traces: Mapping[str, Trace], path: Path) -> None:
    """Write goodputs, windows and RTTs of all flows of several traces as one picture.

    ``traces`` maps labels to traces. Raises HeadwayError.
    """
    from headway.figures import Panel, save_figure, timeseries, variant_of

    file_format = check_format(path)
    panels: dict[str, list[Series]] = {}
    for number, (label, trace) in enumerate(traces.items()):
        whole = _panels_per_flow(trace) if len(trace.tcp_flows()) <= MOST_FLOWS else []
        for panel in whole or _panels_per_control(trace):
            for series in panel.series:
                one = replace(
                    series,
                    label=f"{label}, {series.label}",
                    style=variant_of(series.style, number),
                )
                panels.setdefault(panel.y_label, []).append(one)
    drawn = [Panel(label, series) for label, series in panels.items() if series]
    if not drawn:
        raise HeadwayError("plot: no flow with data")
    save_figure(timeseries(drawn, height_mm=_PANEL_MM), path.with_suffix(""), [file_format])


def plot_transfers_of(groups: Sequence[Mapping[str, Any]], path: Path) -> None:
    """Write the picture of a digest's transfers. Raises HeadwayError if none is complete."""
    from headway.figures import save_figure, transfers

    file_format = check_format(path, "plot-transfers")
    try:
        figure = transfers(groups)
    except ValueError as error:
        raise HeadwayError(f"plot-transfers: {error}; use a longer --duration") from None
    save_figure(figure, path.with_suffix(""), [file_format])


def trace_figure(trace: Trace) -> Figure:
    """Goodputs, congestion windows, RTTs, queues and one-way delays over one time axis."""
    from headway.figures import Panel, timeseries

    per_flow = len(trace.tcp_flows()) <= MOST_FLOWS
    panels = [
        *(_panels_per_flow(trace) if per_flow else _panels_per_control(trace)),
        Panel("queue (kB)", _queues(trace)),
    ]
    if trace.udp_flows():
        panels.append(Panel("one-way delay (ms)", _delays(trace)))
    return timeseries([one for one in panels if one.series], height_mm=_PANEL_MM)


# ---- A line per flow ----


@dataclass(frozen=True)
class _Drawn:
    """Label and style of a flow, or of all flows of a control."""

    label: str
    style: Style


def _panels_per_flow(trace: Trace) -> list[Panel]:
    from headway.figures import Panel

    drawn = _flows(trace)
    state = _by(trace["flow_state"], "flow")
    return [
        Panel("goodput (Mbit/s)", _goodputs(trace, {flow: (flow,) for flow in drawn}, drawn)),
        _windows(trace, drawn, state),
        Panel(
            "RTT (ms)", [_step_series(one, state[n], "srtt_us", 1e3) for n, one in drawn.items()]
        ),
    ]


def _windows(trace: Trace, drawn: Mapping[int, _Drawn], state: Mapping[int, pl.DataFrame]) -> Panel:
    """Congestion windows; of a capture, which does not have them, packets in flight."""
    from headway.figures import Panel

    known = trace["flow_state"]["cwnd_pkts"].null_count() < trace["flow_state"].height
    column = "cwnd_pkts" if known or not trace["flow_state"].height else "inflight_pkts"
    label = "cwnd (packets)" if column == "cwnd_pkts" else "in flight (packets)"
    return Panel(label, [_step_series(one, state[n], column, 1) for n, one in drawn.items()])


def _flows(trace: Trace) -> dict[int, _Drawn]:
    """Label and style by TCP flow; several flows of one scheme get shades of its colour."""
    from headway.figures import label_of, style_of, variant_of

    schemes = {flow: _scheme(trace.flows[flow]) for flow in trace.tcp_flows()}
    several = Counter(schemes.values())
    before: Counter[str] = Counter()
    drawn = {}
    for flow, scheme in schemes.items():
        given = trace.experiment.flows[flow].name
        number = f", flow {flow}" if several[scheme] > 1 else ""
        style = variant_of(style_of(scheme), before[scheme])
        drawn[flow] = _Drawn(given or f"{label_of(scheme)}{number}", style)
        before[scheme] += 1
    return drawn


def _scheme(flow: FlowSummary) -> str:
    """A flow's control, with its startup unless it is the control's default."""
    from headway.registry import registry

    control = (flow.control or "").removeprefix("kernel:")
    own = next((one.startup for one in registry().controls if one.name == control), flow.startup)
    return control if flow.startup in (None, own) else f"{control}+{flow.startup}"


def _step_series(drawn: _Drawn, rows: pl.DataFrame, column: str, unit: float) -> Series:
    """A series of a signal that is recorded when it changes."""
    from headway.figures import Series

    known = rows.drop_nulls(column)
    times_s = known["time_ns"].to_numpy() / NS_PER_S
    return Series(drawn.label, times_s, known[column].to_numpy() / unit, drawn.style, step=True)


def _by(table: pl.DataFrame, column: str) -> dict[int, pl.DataFrame]:
    """Split a table by flow or link in one pass; keys without rows give an empty table."""

    class Parts(dict[int, pl.DataFrame]):
        def __missing__(self, key: int) -> pl.DataFrame:
            return table.clear()

    cut = table.partition_by(column, as_dict=True, include_key=False)
    return Parts({int(key[0]): part for key, part in cut.items()})


# ---- A line per control ----


def _panels_per_control(trace: Trace) -> list[Panel]:
    from headway.figures import Panel, label_of, style_of

    groups: dict[str, list[int]] = {}
    for flow in trace.tcp_flows():
        groups.setdefault(_scheme(trace.flows[flow]), []).append(flow)
    members = dict(enumerate(groups.values()))
    drawn = {
        number: _Drawn(f"{label_of(scheme)}, {len(flows)} flows", style_of(scheme))
        for number, (scheme, flows) in enumerate(groups.items())
    }
    return [
        Panel("goodput of all (Mbit/s)", _goodputs(trace, members, drawn)),
        Panel("mean cwnd (packets)", _means(trace, members, drawn, "cwnd_pkts", 1)),
        Panel("mean RTT (ms)", _means(trace, members, drawn, "srtt_us", 1e3)),
    ]


def _means(
    trace: Trace,
    members: Mapping[int, Sequence[int]],
    drawn: Mapping[int, _Drawn],
    column: str,
    unit: float,
) -> list[Series]:
    """For each slot of time, the mean over the flows of their values at the end of the slot."""
    from headway.figures import Series

    slot_ns = _slot_ns(trace, _SLOTS)
    rows = (
        trace["flow_state"]
        .drop_nulls(column)
        .group_by("flow", (pl.col("time_ns") // slot_ns).alias("slot"))
        .agg(pl.col(column).sort_by("time_ns").last())
    )
    last_values = np.full((len(trace.flows), _SLOTS), np.nan, dtype=np.float32)
    slots = np.minimum(rows["slot"].to_numpy(), _SLOTS - 1)
    last_values[rows["flow"].to_numpy(), slots] = rows[column].to_numpy() / unit
    # in a slot without a change, a flow keeps the value of the previous slot
    latest = np.where(np.isnan(last_values), 0, np.arange(_SLOTS))
    last_values = np.take_along_axis(last_values, np.maximum.accumulate(latest, axis=1), axis=1)
    times_s = (np.arange(_SLOTS) + 1) * slot_ns / NS_PER_S
    lines = []
    for number, one in drawn.items():
        own = last_values[list(members[number])]
        known = ~np.isnan(own).all(axis=0)
        lines.append(
            Series(one.label, times_s[known], np.nanmean(own[:, known], axis=0), one.style)
        )
    return lines


# ---- Both ----


def _slot_ns(trace: Trace, slots: int) -> int:
    return -(-trace.duration_ns // slots)


def _goodputs(
    trace: Trace, members: Mapping[int, Sequence[int]], drawn: Mapping[int, _Drawn]
) -> list[Series]:
    """Goodput of each group of flows in Mbit/s: new in-order bytes between counter readings."""
    from headway.figures import Series

    group = np.full(len(trace.flows), -1)
    for number, flows in members.items():
        group[list(flows)] = number
    counters = trace["flow_counters"]
    totals = (
        counters.select(
            "time_ns", "delivered_bytes", group=pl.Series(group)[counters["flow"].cast(pl.Int64)]
        )
        .group_by("group", "time_ns")
        .agg(pl.col("delivered_bytes").sum())
        .sort("time_ns")
    )
    parts = _by(totals, "group")
    lines = []
    for number, one in drawn.items():
        times_ns, total = _spaced(parts[number], _slot_ns(trace, _GOODPUT_SLOTS))
        if times_ns.size > 1:
            rates_bps = BITS_PER_BYTE * np.diff(total) / np.diff(times_ns) * NS_PER_S
            middle_s = (times_ns[1:] + times_ns[:-1]) / 2 / NS_PER_S
            lines.append(Series(one.label, middle_s, rates_bps / 1e6, one.style))
    return lines


def _spaced(rows: pl.DataFrame, least_ns: int) -> tuple[Array, Array]:
    """Times in ns and total bytes at time 0 and at the last counter reading of each slot."""
    rows = rows.filter(pl.col("time_ns") > 0)
    times_ns = np.concatenate([[0.0], rows["time_ns"].to_numpy()])
    total = np.concatenate([[0.0], rows["delivered_bytes"].to_numpy()])
    slots = times_ns // least_ns
    last = np.append(slots[1:] != slots[:-1], True)
    last[0] = True
    return times_ns[last], total[last]


def _queues(trace: Trace) -> list[Series]:
    """Queues in kB of every link towards the receivers; in a network, the longest queues."""
    from headway.figures import QUEUE, variant_of

    rows = _by(trace["queue"], "link")
    if trace.experiment.topology.graph().is_row:
        links = [n for n, name in enumerate(trace.links) if name.startswith("forward")]
        labels = ["queue"] if len(links) == 1 else [f"queue of hop {n}" for n in range(len(links))]
    else:
        sums = trace["queue"].group_by("link").agg(pl.col("queue_bytes").mean())
        longest = sums.sort("queue_bytes", "link", descending=[True, False]).head(MOST_FLOWS)
        links = sorted(longest["link"].to_list())
        labels = [f"queue of {trace.links[link]}" for link in links]
    return [
        _step_series(_Drawn(label, variant_of(QUEUE, number)), rows[link], "queue_bytes", 1e3)
        for number, (link, label) in enumerate(zip(links, labels, strict=True))
        if number < MOST_FLOWS
    ]


def _delays(trace: Trace) -> list[Series]:
    from headway.figures import VOIP, Series, variant_of

    rows = _by(trace["udp"].drop_nulls(), "flow")
    flows = trace.udp_flows()[:MOST_FLOWS]
    lines = []
    for number, flow in enumerate(flows):
        given = trace.experiment.flows[flow].name
        label = given or ("datagrams" if len(flows) == 1 else f"datagrams, flow {flow}")
        times_s = rows[flow]["sent_ns"].to_numpy() / NS_PER_S
        delays_ms = rows[flow]["owd_ns"].to_numpy() / 1e6
        lines.append(Series(label, times_s, delays_ms, variant_of(VOIP, number)))
    return lines
