"""Setup: 10 Mbit/s, 28 ms and 56 ms, one, four and two flows, and random loss.

Run: rates, delays and prices as the paper recorded them, what losses did to windows, and which TCP
options a capture has.
"""

import itertools
import math
import random
import struct
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

import numpy as np
import polars as pl

from headway import metrics
from headway.claims import Evidence
from headway.experiment import Dumbbell, Experiment
from headway.metrics.flows import RECOVERY, RTO, UNDO
from headway.metrics.stats import Array, or_nan
from headway.metrics.windows import Window, counter_change
from headway.study import StudyContext
from headway.trace import Trace
from headway.units import BITS_PER_BYTE, NS_PER_S, fixed_memory

RATE_BPS = 10e6
RTT_MS = 28
FAR_DELAY_MS = 14
"""Additional one-way delay of host A's path compared with host C's."""
BUFFERS_BYTES = {"small": 30_000, "large": 400_000}
"""Queue sizes: the printed one, and one that no flow of these hosts fills, as the printed RTTs
require."""
SEND_BUFFERS = {"small": None, "large": fixed_memory("131072 B")}
"""Send buffers of the hosts: unlimited, and the maximum of tcp_wmem until Linux 2.6.17, about 70
packets."""
FAST_ALPHA_PKTS = 38
"""FAST's alpha in packets, fitted to the RTT of four flows (fit.py), because the paper does not
print it."""
CONTROLS = ("maxnet", "fast", "bic")
LAYOUTS = {"one": 1, "four": 4, "two": 2}
"""Figures 5 and 6, the first and the second half of section IV.B."""
LOSSES = (0, 1, 2, 3, 4, 5)
"""Table I, %."""
QUEUE = "queue-mu1024"
"""The trial whose price is compared with the queue."""
WIRE = "wire"
"""The trial whose packets are captured."""
MU = 983
"""mu = 0.96 in units of 1/1024, as the paper stores it."""
HIGHER_MU = (1003, 1014, 1024)
"""0.98, 0.99 and 1."""
FRAMED_BPS = RATE_BPS * 1500 / 1514
"""IP rate of a token bucket of 10 Mbit/s that counts Ethernet's headers, as Linux's does."""
RAW_SLOT_S, RTT_SLOT_S = 1.0, 0.025
"""Slots over which raw throughput and RTT are averaged, as in figures 5 to 8."""


def experiments(ctx: StudyContext) -> dict[str, Experiment]:
    """Trials of figures 5 to 8 with both queue sizes, of table I, and with higher values of mu."""
    trials = {}
    for layout in LAYOUTS:
        for control in CONTROLS:
            for buffer in BUFFERS_BYTES:
                trials[key(layout, control, buffer)] = figure(ctx, layout, control, buffer)
        for mu in (MU, *HIGHER_MU):
            trials[framed(layout, mu)] = figure(ctx, layout, mu=mu, rate_bps=FRAMED_BPS)
    trials[QUEUE] = figure(ctx, "one", buffer="large", mu=1024, sample="20 ms")
    for loss in LOSSES:
        for control in CONTROLS:
            for run in range(1, 7 if ctx.quick else 31):
                trials[lossy(control, loss, run)] = _trial(
                    ctx,
                    "one",
                    control,
                    loss=loss / 100,
                    duration="10 s",
                    seed=ctx.seed * 1000 + run,
                    record=("flows",) if control == "maxnet" else (),
                )
    capture = {"snaplen": "100 B"}
    trials[WIRE] = _trial(
        ctx, "one", "maxnet", loss=0.05, duration="4 s", record=(), capture=capture
    )
    return trials


def key(layout: str, control: str, buffer: str = "small") -> str:
    """The trial of a figure: "four-bic-large"."""
    return f"{layout}-{control}-{buffer}"


def framed(layout: str, mu: int) -> str:
    """A trial whose router is configured with more than its link's rate: "told-four-mu1014"."""
    return f"told-{layout}-mu{mu}"


def lossy(control: str, loss: int, run: int) -> str:
    """A trial of table I: "loss3-fast-r2"."""
    return f"loss{loss}-{control}-r{run}"


def figure(
    ctx: StudyContext, layout: str, control: str = "maxnet", buffer: str = "small", **more: Any
) -> Experiment:
    """Flows without random loss."""
    length, record = "30 s" if ctx.quick else "60 s", ("flows", "queue", "drops")
    return _trial(ctx, layout, control, buffer, duration=length, record=record, **more)


def _trial(
    ctx: StudyContext,
    layout: str,
    control: str,
    buffer: str = "small",
    *,
    loss: float = 0.0,
    mu: int = MU,
    rate_bps: float = RATE_BPS,
    alpha_pkts: int = FAST_ALPHA_PKTS,
    **more: Any,
) -> Experiment:
    """One flow, four, or one of 56 ms and one of 28 ms, started one after the other.

    Both directions are alike, with loss on every interface of the router and MaxNet's price.
    """
    price = {"name": "maxnet", "tunables": {"mu": mu, "capacity_kbps": round(RATE_BPS / 1e3)}}
    link = {
        "rate": f"{rate_bps:.0f} bit/s",
        "buffer": f"{BUFFERS_BYTES[buffer]} B",
        "loss": loss,
        "routers": [price] if control == "maxnet" else [],
    }
    path = {**link, "rtt": f"{RTT_MS} ms", "reverse": {**link, "delay": f"{RTT_MS / 2:g} ms"}}
    chance = random.Random(f"{ctx.seed}/maxnet/{layout}")
    starts_s = [0.01 * (number + chance.random()) for number in range(LAYOUTS[layout])]
    tunables = {"alpha": alpha_pkts} if control == "fast" else {}
    flows = [
        {
            "control": {"name": control, "tunables": tunables},
            "name": f"flow {number + 1}",
            "start": f"{0 if layout == 'one' else start_s:.6f} s",
            "delay": f"{FAR_DELAY_MS if layout == 'two' and number == 0 else 0} ms",
            # With a send buffer that limits the window, packets leave in bursts, and the price then
            # does not equal the queueing delay.
            "wmem": SEND_BUFFERS[buffer] if mu == MU else None,
        }
        for number, start_s in enumerate(starts_s)
    ]
    hosts = {"topology": Dumbbell.model_validate(path), "flows": flows, "stack": "linux-2.6"}
    return Experiment.model_validate({**hosts, "seed": ctx.seed, "sample": "1 s", **more})


@dataclass(frozen=True)
class Sharing:
    """One, two or four flows without random loss.

    Values are over the whole run unless stated otherwise.
    """

    goodputs_mbps: Array
    """Of each flow."""
    raw_mbps: tuple[Array, ...]
    """Packets in flight by RTT of each flow, in slots of a second."""
    rate_after_s: Array
    """Time at which each flow's raw throughput first reached its steady rate; NaN: never."""
    rtts_ms: Array
    """Mean RTT of each flow's packets: the path's, and their time at the bottleneck."""
    rtt_courses_ms: tuple[Array, ...]
    """Mean RTT of each flow's packets, in slots of 25 ms."""
    queue_ms: float
    """Mean queue of the bottleneck as a time, including the packet in transmission."""
    dropped_share: float
    """Part of the packets offered to the bottleneck that the queue dropped."""
    later_dropped_share: float
    """The part of packets that the queue dropped in the run's second half."""
    offered_mbps: float
    """IP rate offered to the bottleneck in the second half."""
    later_queue_sd_ms: float
    """Standard deviation over time of the queue in the second half, as time."""
    price_ms: float
    """The router's price at the end of the run; NaN: the router has no price."""
    price_errors_ms: Array
    """By how much each second's change of the price differs from equation 2."""
    prices_ms: Array
    """The router's price, at every sample."""
    waits_ms: Array
    """The queueing delay at the same times."""
    window_rate_pps: Array
    """Mean of each flow's window in the run's second half, divided by the flow's smallest smoothed
    RTT.
    """


@dataclass(frozen=True)
class Lossy:
    """One flow over 10 s with random loss."""

    goodput_mbps: float
    kept: Array
    """cwnd after each fast recovery began, as a part of cwnd before; recoveries that were undone
    are left out."""
    timeouts_kept: Array
    """ssthresh after each timeout outside of recoveries, as a part of cwnd before; timeouts that
    were undone are left out."""
    timeouts_cwnd_pkts: Array
    """cwnd after each retransmission timeout."""


@dataclass(frozen=True)
class Wire:
    """TCP options in all packets of a captured connection."""

    lengths_bytes: Array
    """Lengths of MaxNet's options, each including its first two bytes."""
    echoes: Array
    prices: Array
    """Values of the two fields of each MaxNet option, three bytes each in network order."""
    sack_blocks: Array
    """Number of blocks in each SACK option."""


Row = Sharing | Lossy | Wire
Found = Evidence[Row]


def of_trial(found: Found, layout: str, control: str = "maxnet", buffer: str = "small") -> Sharing:
    """The trial of a figure."""
    return sharing_of(found, key(layout, control, buffer))


def sharing_of(found: Found, name: str) -> Sharing:
    """The trial with this key. It must be one without random loss."""
    row = found[name]
    assert isinstance(row, Sharing)
    return row


def of_table(found: Found, control: str, loss: int) -> list[Lossy]:
    """All runs of a cell of table I. Raises MissingTrialError without any."""
    names = (lossy(control, loss, run) for run in itertools.count(1))
    keys = list(itertools.takewhile(found.__contains__, names)) or [lossy(control, loss, 1)]
    return [row for row in map(found.__getitem__, keys) if isinstance(row, Lossy)]


def of_wire(found: Found) -> Wire:
    """The trial whose packets are captured."""
    row = found[WIRE]
    assert isinstance(row, Wire)
    return row


def observe(key: str, trace: Trace) -> Row:
    """What is kept of a trial, by its kind."""
    if key == WIRE:
        return wire(trace)
    return _lossy(trace) if key.startswith("loss") else sharing(trace)


def _lossy(trace: Trace) -> Lossy:
    states = trace["flow_state"].sort("time_ns", maintain_order=True)
    backoffs = trace["backoffs"].select("time_ns", "kind", "cwnd_pkts", "ssthresh_pkts").rows()
    times, windows = states["time_ns"].to_numpy(), states["cwnd_pkts"].to_numpy()
    phases = states["state"].to_numpy()
    kept, timeouts, after = [], [], []
    for number, (time_ns, kind, before, ssthresh) in enumerate(backoffs):
        row = int(np.searchsorted(times, time_ns))
        undone = number + 1 < len(backoffs) and backoffs[number + 1][1] == UNDO
        if row in {0, times.size} or undone:
            continue
        if kind == RECOVERY:
            kept.append(windows[row] / windows[row - 1])
        elif kind == RTO and before >= 4:
            # Windows below 4 packets, as after several timeouts in a row, cannot be halved.
            after.append(float(windows[row]))
            if phases[row - 1] < 3:  # not in Recovery, where a loss has already set ssthresh
                timeouts.append(ssthresh / before)
    goodput_mbps = metrics.goodput_bps(trace, 0, metrics.whole_run(trace)) / 1e6
    return Lossy(goodput_mbps, *(np.array(v, dtype=np.float64) for v in (kept, timeouts, after)))


def sharing(trace: Trace) -> Sharing:
    """Observe a trial without random loss."""
    whole = metrics.whole_run(trace)
    later = (whole[1] // 2, whole[1])
    flows = range(len(trace.flows))
    queue = metrics.queue_bytes(trace, 0, whole)
    arrived, dropped = (_counted(trace, name, whole) for name in ("arrived_pkts", "dropped_pkts"))
    sojourn_ms = or_nan(queue.mean) / (metrics.throughput_bps(trace, 0, whole) / 8) * 1e3
    waiting = _course(trace.rows_of("queue", "link", 0), "queue_bytes", RTT_SLOT_S, whole[1])
    waits_ms = np.nan_to_num(waiting) * BITS_PER_BYTE / RATE_BPS * 1e3
    # the RTT of each flow's path without a queue
    base_ns, of = trace.experiment.base_rtt_ns, trace.experiment.flows
    bases_ms = [(base_ns + 2 * of[flow].delay) / 1e6 for flow in flows]
    raws = [
        _raw_course(trace.rows_of("flow_state", "flow", flow), base_ms + waits_ms, whole[1])
        for flow, base_ms in zip(flows, bases_ms, strict=True)
    ]
    return Sharing(
        np.array([metrics.goodput_bps(trace, flow, whole) / 1e6 for flow in flows]),
        tuple(_in_slots(raw, RAW_SLOT_S) for raw in raws),
        np.array([_rate_after_s(raw) for raw in raws]),
        np.array([base_ms + sojourn_ms for base_ms in bases_ms]),
        tuple(base_ms + waits_ms for base_ms in bases_ms),
        or_nan(queue.mean) * BITS_PER_BYTE / RATE_BPS * 1e3,
        dropped / arrived if arrived else math.nan,
        _counted(trace, "dropped_pkts", later) / max(_counted(trace, "arrived_pkts", later), 1),
        _counted(trace, "arrived_bytes", later) * BITS_PER_BYTE / (later[1] - later[0]) * 1e3,
        or_nan(metrics.queue_bytes(trace, 0, later).sd) * BITS_PER_BYTE / RATE_BPS * 1e3,
        *_prices(trace),
        np.array([_window_rate(trace, flow, later) for flow in flows]),
    )


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
    step = np.maximum(at, 0)
    sums = totals[step] + values[step] * (edges - times[step])
    means = np.diff(np.where(at < 0, math.nan, sums)) / slot_s
    return np.asarray(means, dtype=np.float64)


def _raw_course(rows: pl.DataFrame, rtts_ms: Array, end_ns: int) -> Array:
    """Packets in flight divided by the RTT, in slots of 25 ms."""
    flight = np.nan_to_num(_course(rows, "inflight_pkts", RTT_SLOT_S, end_ns))
    return np.asarray(flight * (1500 * BITS_PER_BYTE) / (rtts_ms * 1e3), dtype=np.float64)


def _in_slots(raw: Array, slot_s: float) -> Array:
    """Means of the slots of 25 ms over longer ones."""
    slots = round(slot_s / RTT_SLOT_S)
    whole = raw[: raw.size // slots * slots]
    return np.asarray(whole.reshape(-1, slots).mean(axis=1), dtype=np.float64)


def _rate_after_s(raw: Array) -> float:
    """When 90 % of the mean of the second half was first reached; NaN: never."""
    hits = np.flatnonzero(raw >= 0.9 * raw[raw.size // 2 :].mean())
    return float(hits[0] + 1) * RTT_SLOT_S if hits.size else math.nan


def _window_rate(trace: Trace, flow: int, window: Window) -> float:
    cwnd = or_nan(metrics.cwnd_pkts(trace, flow, window).mean)
    least_us = trace.rows_of("flow_state", "flow", flow)["srtt_us"].min()
    return cwnd / (float(least_us) / 1e6) if isinstance(least_us, int) else math.nan


def _prices(trace: Trace) -> tuple[float, Array, Array, Array]:
    """The last price, its differences from equation 2, all prices and queueing delays, in ms."""
    forward = trace.experiment.topology.links()[0][0]
    routers = [router for router in forward.routers if router.name == "maxnet"]
    if not routers:
        return math.nan, np.empty(0), np.empty(0), np.empty(0)
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
    return float(price_ms[-1]), np.asarray(errors, dtype=np.float64), price_ms, waits_ms


def wire(trace: Trace) -> Wire:
    """Read a trace's capture."""
    maxnet, blocks = [], []
    for packet in _packets(trace.capture or b""):
        for kind, data in _options(packet):
            if kind == 42:  # MaxNet
                echo, price = (int.from_bytes(field, "big") for field in (data[0:3], data[3:6]))
                maxnet.append((len(data) + 2, echo, price))
            elif kind == 5:  # SACK
                blocks.append(len(data) // 8)
    columns = [np.array(column, dtype=np.float64) for column in zip(*maxnet, strict=True)]
    lengths, echoes, prices = columns or [np.empty(0)] * 3
    return Wire(lengths, echoes, prices, np.array(blocks, dtype=np.float64))


def _packets(capture: bytes) -> Iterator[bytes]:
    """IPv4 packets of a capture in pcapng, as far as they were kept."""
    at = 0
    while at + 12 <= len(capture):
        kind, length = struct.unpack_from("<II", capture, at)
        if kind == 6:  # an enhanced packet block
            kept = struct.unpack_from("<I", capture, at + 20)[0]
            yield capture[at + 28 : at + 28 + kept]
        at += length


def _options(packet: bytes) -> Iterator[tuple[int, bytes]]:
    """Kind and data of each TCP option."""
    tcp = packet[4 * (packet[0] & 15) :]
    options = tcp[20 : 4 * (tcp[12] >> 4)]
    at = 0
    while at < len(options) and options[at] != 0:  # the end of options
        if options[at] == 1:  # no operation
            at += 1
            continue
        length = options[at + 1]
        yield options[at], options[at + 2 : at + length]
        at += length
