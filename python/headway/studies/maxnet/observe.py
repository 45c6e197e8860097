"""Run: rates, delays and prices as the paper recorded them, and what losses did to windows."""

from __future__ import annotations

import math
from dataclasses import dataclass

import numpy as np
import polars as pl

from headway import metrics
from headway.metrics.flows import RECOVERY, RTO, UNDO
from headway.metrics.stats import Array, or_nan
from headway.metrics.windows import Window, counter_change
from headway.studies.maxnet.experiments import RATE_BPS, WIRE
from headway.studies.maxnet.wire import Wire, wire
from headway.trace import Trace
from headway.units import BITS_PER_BYTE, NS_PER_S

RAW_SLOT_S, RTT_SLOT_S = 1.0, 0.025
"""Raw throughput and RTT are averaged over these, as in figures 5 to 8."""
PACKET_BITS = 1500 * BITS_PER_BYTE
LEAST_WINDOW_PKTS = 4
"""Smaller windows have no half of their own, as those of timeouts that follow one another."""
IN_RECOVERY = 3
"""State of a sender whose ssthresh is that of a loss already."""
FULL_SHARE = 0.9
"""A flow has reached its rate in the first slot of 25 ms with this part of its later mean."""


@dataclass(frozen=True)
class Sharing:
    """One, two or four flows without random loss; all of the run, unless it says otherwise."""

    goodputs_mbps: Array
    """Of each flow."""
    raw_mbps: tuple[Array, ...]
    """Packets in flight by RTT of each flow, in slots of a second."""
    rate_after_s: Array
    """When each flow's raw throughput first reached its rate; NaN: never."""
    rtts_ms: Array
    """Mean RTT of each flow's packets: the path's, and their time at the bottleneck."""
    rtt_courses_ms: tuple[Array, ...]
    """The same in slots of 25 ms."""
    queue_ms: float
    """Mean length of the bottleneck's queue, what is being sent included, as time."""
    dropped_share: float
    """Of the packets offered to the bottleneck."""
    later_dropped_share: float
    """The same in the second half."""
    offered_mbps: float
    """IP rate offered to the bottleneck in the second half."""
    later_queue_sd_ms: float
    """Standard deviation over time of the queue in the second half, as time."""
    price_ms: float
    """The router's price at the end; NaN: there was none."""
    price_errors_ms: Array
    """By how much each second's change of the price differs from equation 2."""
    price_queue_ms: Array
    """The price less the queueing delay at every second."""
    window_rate_pps: Array
    """Mean of each flow's window over its smallest smoothed RTT, in the second half."""


@dataclass(frozen=True)
class Lossy:
    """One flow over 10 s with random loss."""

    goodput_mbps: float
    kept: Array
    """cwnd after each fast recovery began, as a part of that before it, if it was not undone."""
    timeouts_kept: Array
    """ssthresh after each timeout outside of recoveries, if it was not undone, as a part of cwnd
    before."""
    timeouts_cwnd_pkts: Array
    """cwnd after each timeout."""


Row = Sharing | Lossy | Wire


def observe(key: str, trace: Trace) -> Row:
    """One trial."""
    if key == WIRE:
        return wire(trace)
    return _lossy(trace) if key.startswith("loss") else _sharing(trace)


def _lossy(trace: Trace) -> Lossy:
    states = trace["flow_state"].sort("time_ns", maintain_order=True)
    backoffs = trace["backoffs"].select("time_ns", "kind", "cwnd_pkts", "ssthresh_pkts").rows()
    times, windows = states["time_ns"].to_numpy(), states["cwnd_pkts"].to_numpy()
    phases = states["state"].to_numpy()
    kept, timeouts, after = [], [], []
    for at, (time_ns, kind, before, ssthresh) in enumerate(backoffs):
        row = int(np.searchsorted(times, time_ns))
        taken_back = at + 1 < len(backoffs) and backoffs[at + 1][1] == UNDO
        if row in {0, times.size} or taken_back:
            continue
        if kind == RECOVERY:
            kept.append(windows[row] / windows[row - 1])
        elif kind == RTO and before >= LEAST_WINDOW_PKTS:
            after.append(float(windows[row]))
            if phases[row - 1] < IN_RECOVERY:
                timeouts.append(ssthresh / before)
    return Lossy(
        metrics.goodput_bps(trace, 0, metrics.whole_run(trace)) / 1e6,
        np.array(kept, dtype=np.float64),
        np.array(timeouts, dtype=np.float64),
        np.array(after, dtype=np.float64),
    )


def _sharing(trace: Trace) -> Sharing:
    whole = metrics.whole_run(trace)
    later = (whole[1] // 2, whole[1])
    numbers = range(len(trace.flows))
    queue = metrics.queue_bytes(trace, 0, whole)
    arrived, dropped = (_counted(trace, name, whole) for name in ("arrived_pkts", "dropped_pkts"))
    states = [trace.rows_of("flow_state", "flow", at) for at in numbers]
    prices = _prices(trace)
    sojourn_ms = or_nan(queue.mean) / (metrics.throughput_bps(trace, 0, whole) / 8) * 1e3
    waiting = _course(trace.rows_of("queue", "link", 0), "queue_bytes", RTT_SLOT_S, whole[1])
    waits_ms = np.nan_to_num(waiting) * BITS_PER_BYTE / RATE_BPS * 1e3
    bases_ms = [_base_ms(trace, at) for at in numbers]
    raws = [
        _raw_course(rows, base_ms + waits_ms, whole[1])
        for rows, base_ms in zip(states, bases_ms, strict=True)
    ]
    return Sharing(
        np.array([metrics.goodput_bps(trace, at, whole) / 1e6 for at in numbers]),
        tuple(_in_slots(raw, RAW_SLOT_S) for raw in raws),
        np.array([_rate_after_s(raw) for raw in raws]),
        np.array([base_ms + sojourn_ms for base_ms in bases_ms]),
        tuple(base_ms + waits_ms for base_ms in bases_ms),
        or_nan(queue.mean) * BITS_PER_BYTE / RATE_BPS * 1e3,
        dropped / arrived if arrived else math.nan,
        _counted(trace, "dropped_pkts", later) / max(_counted(trace, "arrived_pkts", later), 1),
        _counted(trace, "arrived_bytes", later) * BITS_PER_BYTE / (later[1] - later[0]) * 1e3,
        or_nan(metrics.queue_bytes(trace, 0, later).sd) * BITS_PER_BYTE / RATE_BPS * 1e3,
        *prices,
        np.array([_window_rate(trace, at, later) for at in numbers]),
    )


def _base_ms(trace: Trace, flow: int) -> float:
    """The RTT of a flow's path without a queue."""
    experiment = trace.experiment
    return (experiment.base_rtt_ns + 2 * experiment.flows[flow].delay) / 1e6


def _counted(trace: Trace, column: str, window: Window) -> int:
    return counter_change(trace, "link", 0, column, window)


def _course(rows: pl.DataFrame, column: str, slot_s: float, end_ns: int) -> Array:
    """The mean over time of a signal that is recorded on change, in slots."""
    values, times = rows[column].cast(pl.Float64).to_numpy(), rows["time_ns"].to_numpy() / NS_PER_S
    known = ~np.isnan(values)
    values, times = values[known], times[known]
    edges = np.arange(0, end_ns / NS_PER_S + slot_s / 2, slot_s)
    if values.size == 0:
        return np.full(edges.size - 1, math.nan)
    # the integral of a step function, at its steps and at the slots' edges
    totals = np.concatenate([[0.0], np.cumsum(values[:-1] * np.diff(times))])
    at = np.searchsorted(times, edges, side="right") - 1
    sums = totals[np.maximum(at, 0)] + values[np.maximum(at, 0)] * (
        edges - times[np.maximum(at, 0)]
    )
    means = np.diff(np.where(at < 0, math.nan, sums)) / slot_s
    return np.asarray(means, dtype=np.float64)


def _raw_course(rows: pl.DataFrame, rtts_ms: Array, end_ns: int) -> Array:
    """Packets in flight divided by the RTT, in slots of 25 ms."""
    flight = _course(rows, "inflight_pkts", RTT_SLOT_S, end_ns)
    return np.asarray(np.nan_to_num(flight) * PACKET_BITS / (rtts_ms * 1e3), dtype=np.float64)


def _in_slots(raw: Array, slot_s: float) -> Array:
    """Means of the slots of 25 ms over longer ones."""
    slots = round(slot_s / RTT_SLOT_S)
    whole = raw[: raw.size // slots * slots]
    return np.asarray(whole.reshape(-1, slots).mean(axis=1), dtype=np.float64)


def _rate_after_s(raw: Array) -> float:
    """When FULL_SHARE of the mean of the second half was first reached; NaN: never."""
    hits = np.flatnonzero(raw >= FULL_SHARE * raw[raw.size // 2 :].mean())
    return float(hits[0] + 1) * RTT_SLOT_S if hits.size else math.nan


def _window_rate(trace: Trace, flow: int, window: Window) -> float:
    cwnd = or_nan(metrics.cwnd_pkts(trace, flow, window).mean)
    least_us = trace.rows_of("flow_state", "flow", flow)["srtt_us"].min()
    return cwnd / (float(least_us) / 1e6) if isinstance(least_us, int) else math.nan


def _prices(trace: Trace) -> tuple[float, Array, Array]:
    """The last price, what it departs from equation 2, and what from the queue, in ms."""
    empty = np.empty(0)
    links = trace.experiment.topology.links()
    routers = [router for router in links[0][0].routers if router.name == "maxnet"]
    if not routers:
        return math.nan, empty, empty
    mu = routers[0].tunables["mu"] / 1024
    counters = metrics.router_counters(trace, "maxnet").filter(pl.col("link") == 0).sort("time_ns")
    offered = trace.rows_of("link_counters", "link", 0).sort("time_ns")
    times_s = counters["time_ns"].to_numpy() / NS_PER_S
    price_ms = counters["price_us"].to_numpy() / 1e3
    bits = offered["arrived_bytes"].to_numpy() * BITS_PER_BYTE
    expected_ms = (np.diff(bits) / RATE_BPS - mu * np.diff(times_s)) * 1e3
    errors = np.diff(price_ms) - expected_ms
    queue = trace.rows_of("queue", "link", 0)
    at = np.searchsorted(queue["time_ns"].to_numpy(), counters["time_ns"].to_numpy(), "right") - 1
    waits_ms = queue["queue_bytes"].to_numpy()[np.maximum(at, 0)] * BITS_PER_BYTE / RATE_BPS * 1e3
    return float(price_ms[-1]), np.asarray(errors, dtype=np.float64), price_ms - waits_ms
