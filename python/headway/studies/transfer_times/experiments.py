"""Setup and run: downloads by size, capacity and requested rate, and first flights by packet."""

import math
from collections.abc import Callable, Collection, Mapping
from dataclasses import dataclass
from functools import partial
from itertools import product
from typing import Any

import numpy as np
import polars as pl

from headway.claims import Evidence
from headway.experiment import Dumbbell, Experiment, Flow
from headway.metrics.stats import Array
from headway.models import startup
from headway.models._checks import Floats
from headway.models.quick_start import RATES_BPS
from headway.studies.common import lab, network
from headway.studies.common.in_turn import in_turn
from headway.study import StudyContext
from headway.trace import Trace
from headway.units import NS_PER_S

QS_RATE_BPS = 5.12e6
BASE, JUMP = lab.SLOW_START, "jump-start"
EARLY, LATE = "quick-start", "quick-start-late"
RTTS_MS = (50, 100, 200)
"""RTTs of the simulations; figures 6.38 and 6.39 have more lines, from the equations."""
SIZES_BYTES = (
    *(1e3, 1.5e3, 2e3, 3e3, 5e3, 7e3, 10e3, 14e3, 20e3, 30e3, 40e3, 50e3, 65e3, 80e3),
    *(100e3, 115e3, 135e3, 150e3, 200e3, 300e3, 500e3, 700e3),
    *(1e6, 1.5e6, 2e6, 3e6, 5e6, 7e6, 10e6),
)
QUICK_SIZES_BYTES = (1e3, 5e3, 10e3, 30e3, 50e3, 100e3, 115e3, 135e3, 150e3, 300e3, 1e6, 5e6, 10e6)
BUFFERS_PKTS = (1000, 10_000)
"""Queue sizes: the thesis', and one that never overflows. The equations assume no loss, but with
the thesis' queue slow start overshoots at the end of some of the largest transfers."""
CAPACITY_SIZE_BYTES = 1e6
"""Transfer size of figure 6.40. The thesis does not print it, but says that slow start takes "of
the order of 2 s"."""
AROUND_CODES_MBPS = ((39.0, 43.0, 47.0), (79.0, 83.0, 87.0))
"""Factors on a rate that can be requested: capacities below it, above it, and further above by the
same distance."""
CAPACITIES_BPS = (
    *(2e6, 5e6, 10e6, 20e6),
    *(1e6 * mbps for around in AROUND_CODES_MBPS for mbps in around),
    *(90e6, 200e6, 500e6, 1000e6),
)
CAPACITY_SCHEMES = (BASE, JUMP, "quick-start", "quick-start-5", "quick-start-b")
"""Figure 6.40. Quick-Start requests the capacity, or 5.12 Mbit/s without and with QS-b."""
LONG_SIZES_BYTES = (100e3, 1e6, 10e6)
LONG_RATES_BPS = RATES_BPS[1:]
"""Every rate that can be requested, 80 kbit/s to 1.31 Gbit/s."""
LABELS = {
    BASE: "Slow-Start",
    "initial-start": "Initial-Start",
    JUMP: "Jump-Start",
    "mega-start": "Mega-Start",
    EARLY: "Quick-Start, early",
    LATE: "Quick-Start, late",
}
"""The schemes of table 6.1."""
_MODELS: Mapping[str, Callable[..., Floats]] = {
    BASE: startup.slow_start_response_s,
    "initial-start": partial(startup.slow_start_response_s, window_pkts=10),
    JUMP: startup.jump_start_response_s,
    "mega-start": partial(startup.paced_response_s, rate_bps=10e6),
    EARLY: partial(startup.paced_response_s, rate_bps=QS_RATE_BPS),
    LATE: partial(startup.late_quick_start_response_s, rate_bps=QS_RATE_BPS),
}


def model_s(scheme: str, sizes_bytes: Floats, rtt_ms: float = lab.RTT_MS) -> Floats:
    """Response times by table 6.1 for a scheme on the lab's path."""
    return _MODELS[scheme](sizes_bytes, path=lab.model_path(rtt_ms=rtt_ms))


@dataclass(frozen=True)
class Flight:
    """An upload that is observed for one round trip."""

    control: str
    size_bytes: float
    rtt_ms: float


_JUMP, _MEGA = f"{lab.CONTROL}+jump-start", f"{lab.CONTROL}+mega-start"
JUMPS = {
    # In these flows the transfer's size s, K_data and K_rate, in turn, limit the rate.
    "flight-jump-20kB-rtt200": Flight(_JUMP, 20e3, 200),
    "flight-jump-50kB-rtt200": Flight(_JUMP, 50e3, 200),
    "flight-jump-1MB-rtt200": Flight(_JUMP, 1e6, 200),
    "flight-jump-1MB-rtt50": Flight(_JUMP, 1e6, 50),
    "flight-jump-20kB-rtt10": Flight(_JUMP, 20e3, 10),
}
"""Uploads whose first flights are compared with eq. 4.12."""
TIMED = {
    **JUMPS,
    # a window that needs one timer, and one that needs as many timers as a round trip has ticks
    "flight-jump-4kB-rtt200": Flight(_JUMP, 3.0 * lab.MSS_BYTES, 200),
    "flight-jump-65kB-rtt10": Flight(f"{_JUMP}:js_max_rate_kbps=0", 45.0 * lab.MSS_BYTES, 10),
}
"""Uploads whose first flights are compared with eq. 5.1."""
SPACED_MBPS = (10, 12, 15, 24, 96)
"""Rates of first flights whose packets should leave one by one."""
FLIGHTS = TIMED | {
    f"flight-mega-{mbps}Mbps-rtt50": Flight(
        f"{_MEGA}:ms_rate_kbps={1000 * mbps}:pacing_chunk_pkts=1", 2e6, 50
    )
    for mbps in SPACED_MBPS
}
LOSSY_PKTS = (10, 20, 30, 40)
"""Queues that a Jump-Start of 45 packets overflows if all packets leave at once."""
PIECES_BYTES = (100_000, 10_000, 4_000)
"""Sizes of an application's writes. The first is all of the data that is timed."""


def sizes(ctx: StudyContext) -> Floats:
    """Response sizes of this form, bytes."""
    return np.array(QUICK_SIZES_BYTES if ctx.quick else SIZES_BYTES)


def kernel_sizes(ctx: StudyContext) -> tuple[float, ...]:
    """Response sizes of the form on the kernel."""
    if ctx.quick:
        return (1e3, 10e3, 50e3, 150e3, 1e6)
    return (
        *(1e3, 2e3, 5e3, 10e3, 20e3, 30e3, 50e3, 65e3),
        *(100e3, 150e3, 300e3, 500e3, 1e6, 3e6, 10e6),
    )


def key(scheme: str, rtt_ms: int = lab.RTT_MS, buffer_pkts: int = BUFFERS_PKTS[0]) -> str:
    """Key of a trial over all sizes: "jump-start-rtt200-b1000"."""
    return f"{scheme}-rtt{rtt_ms}-b{buffer_pkts}"


def capacity_key(scheme: str, rate_bps: float) -> str:
    """Key of a trial of figure 6.40: "capacity-slow-start-43"."""
    return f"capacity-{scheme}-{rate_bps / 1e6:g}"


def long_key(rate_bps: int | None) -> str:
    """Key of a trial of figure 6.41: "long-quick-start-80kbps", or that of slow start."""
    return f"long-{BASE}" if rate_bps is None else f"long-quick-start-{rate_bps // 1000}kbps"


def experiments(ctx: StudyContext) -> dict[str, Experiment]:
    """Trials over sizes, capacities and requested rates, and trials of first flights."""

    def trial(
        path: Dumbbell,
        sizes_bytes: Collection[float],
        one: Callable[[float, float], Flow],
        spacing_s: float = 40.0,
    ) -> Experiment:
        # transfers follow each other on an idle link; the longest takes 10 s
        flows = [one(size, spacing_s * number) for number, size in enumerate(sizes_bytes)]
        return lab.experiment(path, flows, duration_s=spacing_s * len(flows), seed=ctx.seed)

    all_sizes = sizes(ctx)
    trials = {}
    for scheme, rtt_ms, pkts in product(LABELS, RTTS_MS, BUFFERS_PKTS):
        path = lab.path(rtt_ms=rtt_ms, buffer_pkts=pkts)
        trials[key(scheme, rtt_ms, pkts)] = trial(path, all_sizes, partial(download, scheme))
    # Initial windows: 3 packets with Linux 2.6.24; 2 packets with Linux 2.6.18 and with the stack
    # linux-2.6.
    older = partial(_request, f"{lab.CONTROL}+initial-start:is_window_pkts=3")
    trials["window3"] = trial(lab.path(), all_sizes, older)
    for scheme in network.SCHEMES:  # figure 6.37
        path = network.guided(lab.path(buffer_pkts=BUFFERS_PKTS[0]), scheme)
        guided = partial(_request, network.control(scheme), window=network.WINDOW)
        trials[key(scheme)] = trial(path, all_sizes, guided)
    for scheme, bps in product(CAPACITY_SCHEMES, CAPACITIES_BPS):
        path, own = lab.path(rate_bps=bps), _capacity_flow(scheme, bps)
        trials[capacity_key(scheme, bps)] = trial(path, [CAPACITY_SIZE_BYTES], own)
    # a router that grants every rate that a request can name
    router = {"capacity_kbps": 2 * lab.LONG_BPS // 1000, "interval_ms": lab.LONG_RTT_MS}
    path = lab.long_path(router=router)
    slow = partial(_request, f"{lab.CONTROL}+slow-start")
    trials[long_key(None)] = trial(path, LONG_SIZES_BYTES, slow, spacing_s=120)
    for bps in LONG_RATES_BPS:
        control = lab.quick_start(bps, early=True)
        # the largest scaled window below 8 MiB
        own = partial(_request, control, window="8388480 B", known=True)
        trials[long_key(bps)] = trial(path, LONG_SIZES_BYTES, own, spacing_s=120)
    return {**trials, **_uploads(ctx)}


def experiments_on_kernel(ctx: StudyContext) -> dict[str, Experiment]:
    """A trial per scheme and RTT with one flow per size, one after the other."""
    trials = {}
    for scheme, rtt_ms in product(LABELS, RTTS_MS):
        starts, end_s = in_turn(kernel_sizes(ctx), rtt_ms)
        path = lab.path(rtt_ms=rtt_ms, buffer_pkts=BUFFERS_PKTS[1])
        pairs = zip(kernel_sizes(ctx), starts, strict=True)
        flows = [download(scheme, size, start_s) for size, start_s in pairs]
        trials[f"{scheme}-rtt{rtt_ms}"] = lab.experiment(path, flows, duration_s=end_s)
    return trials


def download(scheme: str, size_bytes: float, start_s: float) -> Flow:
    """One download with a scheme's startup."""
    control = f"{lab.CONTROL}+{scheme}"
    if scheme in (EARLY, LATE):
        control = lab.quick_start(QS_RATE_BPS, early=scheme == EARLY)
    window = None if scheme == BASE else lab.RECEIVE_WINDOW
    return _request(control, size_bytes, start_s, window=window, known=scheme == EARLY)


def _request(
    control: str | Mapping[str, Any],
    size_bytes: float,
    start_s: float,
    *,
    window: str | None = None,
    known: bool = False,
) -> Flow:
    """A download; ``known``: the server knows its size from the start."""
    return lab.requests(
        [size_bytes],
        control=control,
        start_s=start_s,
        initial_rwnd=window,
        data_volume_bytes=size_bytes if known else None,
    )


def _capacity_flow(scheme: str, rate_bps: float) -> Callable[[float, float], Flow]:
    window = "1100000 B"  # the whole transfer
    if not scheme.startswith("quick-start"):
        control = f"{lab.CONTROL}+{scheme}"
        return partial(_request, control, window=None if scheme == BASE else window)
    asked_bps = rate_bps if scheme == "quick-start" else min(QS_RATE_BPS, rate_bps)
    ssthresh = ":qs_ssthresh=1" if scheme == "quick-start-b" else ""
    control = lab.quick_start(asked_bps, early=True) + ssthresh
    return partial(_request, control, window=window, known=True)


def _uploads(ctx: StudyContext) -> dict[str, Experiment]:
    """Uploads whose sender is recorded: writes in pieces, first flights, and lossy Jump-Starts."""

    def trial(path: Dumbbell, control: str, app: dict[str, str], **more: Any) -> Experiment:
        windows = {"rmem": lab.RMEM, "initial_rwnd": lab.RECEIVE_WINDOW}
        acks = {"extra_ack": True, "delayed_ack": False, "nodelay": True}
        fields = {"app": app, "control": control, "start": "0 s", **windows, **acks}
        return lab.experiment(path, [Flow.model_validate(fields)], seed=ctx.seed, **more)

    def bulk(size_bytes: float) -> dict[str, str]:
        return {"kind": "bulk", "size": f"{size_bytes:.0f} B"}

    trials = {}
    for scheme, piece in product((BASE, JUMP), PIECES_BYTES):
        # the application writes 320 Mbit/s with each size of its writes
        app = {"kind": "pingpong", "request": f"{piece} B", "mean_interval": f"{piece / 40:g} us"}
        # long enough for the echo of the first write to return through the full queue
        more: dict[str, Any] = {"duration_s": 6, "sample_s": 0.001}
        control = f"{lab.CONTROL}+{scheme}"
        trials[f"pieces-{scheme}-{piece}"] = trial(lab.path(), control, app, **more)
    for name, one in FLIGHTS.items():
        # ten times the pacing rate, so that bursts arrive separately and are not queued together
        path, app = lab.path(rate_bps=100e6, rtt_ms=one.rtt_ms), bulk(one.size_bytes)
        trials[name] = trial(path, one.control, app, duration_s=2, record=("queue",))
    for pkts in LOSSY_PKTS:
        path, at_once = lab.path(buffer_pkts=pkts), f"{_JUMP}:pacing_chunk_pkts=64"
        more = {"duration_s": 20, "record": ("flows", "drops")}
        trials[f"recovery-b{pkts}"] = trial(path, at_once, bulk(2e6), **more)
    return trials


CWR = 2
"""In this state and in the states after it Linux has reduced its window."""
APART_NS = 500_000
"""Packets of one burst are closer together than half a tick of 1 ms."""
HEADER_BYTES = lab.MTU_BYTES - lab.MSS_BYTES


@dataclass(frozen=True)
class Transfers:
    """Observations of transfers that follow one after the other."""

    response_s: Array
    """The first response time of each flow; NaN where it did not complete."""


@dataclass(frozen=True)
class Pieces:
    """Observations of an upload that the application wrote in pieces."""

    delivered_s: float
    """From the first write until 100 kB have been delivered, read every millisecond."""


@dataclass(frozen=True)
class FirstFlight:
    """Packets that reached the bottleneck in the round trip after the first packet with data."""

    pkts: float
    payload_bytes: float
    bursts: float
    """Groups of packets that arrived together."""
    largest_burst_pkts: float


@dataclass(frozen=True)
class Recovery:
    """A first flight that lost packets. All values are NaN where recovery did not end."""

    paced_pkts: float
    lost_pkts: float
    """Packets of the flight that were lost. Each is retransmitted."""
    window_pkts: float
    """The window at the end of recovery, before the ACK that ended recovery lets it grow."""


Row = Transfers | Pieces | FirstFlight | Recovery


@dataclass(frozen=True)
class Results:
    """Rows by kind. Response times are in seconds, NaN where a transfer did not complete."""

    sizes_bytes: Floats
    transfers: Evidence[Transfers]
    pieces: Evidence[Pieces]
    flights: Evidence[FirstFlight]
    recoveries: Evidence[Recovery]

    def times(self, scheme: str, rtt_ms: int = 200, buffer_pkts: int = BUFFERS_PKTS[0]) -> Array:
        """Response times over the transfer sizes."""
        return self.transfers[key(scheme, rtt_ms, buffer_pkts)].response_s

    def at(self, scheme: str, size_bytes: float) -> float:
        """The response time of one size at 200 ms."""
        (index,) = np.flatnonzero(self.sizes_bytes == size_bytes)
        return float(self.times(scheme)[index])

    def speedup(self, scheme: str, rtt_ms: int = 200) -> Array:
        """Slow start's response times divided by this scheme's."""
        return self.times(BASE, rtt_ms) / self.times(scheme, rtt_ms)

    def by_capacity(self, scheme: str) -> Array:
        """Response times over CAPACITIES_BPS."""
        keys = (capacity_key(scheme, rate) for rate in CAPACITIES_BPS)
        return np.array([self.transfers[key].response_s[0] for key in keys])

    def long_slow_start(self) -> Array:
        """Slow start's response times on the long path, over LONG_SIZES_BYTES."""
        return self.transfers[long_key(None)].response_s

    def long_quick_start(self) -> Array:
        """Quick-Start's response times over (LONG_RATES_BPS, LONG_SIZES_BYTES)."""
        return np.array([self.transfers[long_key(rate)].response_s for rate in LONG_RATES_BPS])

    def by_piece(self, scheme: str) -> Array:
        """Time from the first write until PIECES_BYTES[0] are delivered, over PIECES_BYTES."""
        keys = (f"pieces-{scheme}-{piece}" for piece in PIECES_BYTES)
        return np.array([self.pieces[key].delivered_s for key in keys])


def gather(ctx: StudyContext, rows: Mapping[str, Row]) -> Results:
    """Observations, grouped by the kind of trial."""
    return Results(
        sizes(ctx),
        Evidence.of(Transfers, rows),
        Evidence.of(Pieces, rows),
        Evidence.of(FirstFlight, rows),
        Evidence.of(Recovery, rows),
    )


def observe(key: str, trace: Trace) -> Row:
    """Response times, or counts of a first flight."""
    kind = key.partition("-")[0]
    if kind == "pieces":
        return _pieces(trace)
    if kind == "flight":
        return first_flight(trace, FLIGHTS[key].rtt_ms)
    if kind == "recovery":
        return recovery(trace)
    return transfers(key, trace)


def transfers(_key: str, trace: Trace) -> Transfers:
    """The first response of every flow."""
    times = [lab.response_times_s(trace, number) for number in range(len(trace.flows))]
    return Transfers(np.array([own[0] if own.size else np.nan for own in times]))


def _pieces(trace: Trace) -> Pieces:
    written = trace["responses"].filter(pl.col("epoch") == 0)["start_ns"]
    delivered = trace["flow_counters"].filter(pl.col("delivered_bytes") >= PIECES_BYTES[0])
    if written.is_empty() or delivered.is_empty():
        return Pieces(math.nan)
    return Pieces(float(delivered["time_ns"].to_numpy().min() - written[0]) / NS_PER_S)


def first_flight(trace: Trace, rtt_ms: float) -> FirstFlight:
    """Count the packets of a first flight by the growth of the bottleneck's queue."""
    rows = trace["queue"].filter(pl.col("link") == 0).sort("time_ns", maintain_order=True)
    bytes_more = np.diff(rows["queue_bytes"].to_numpy().astype(np.int64), prepend=0)
    with_data = bytes_more > 2 * HEADER_BYTES
    times_ns, payload_bytes = rows["time_ns"].to_numpy()[with_data], bytes_more[with_data]
    within = times_ns < times_ns[0] + 1e6 * rtt_ms
    starts = np.flatnonzero(np.diff(times_ns[within], prepend=-APART_NS - 1) > APART_NS)
    burst_pkts = np.diff(starts, append=int(within.sum()))
    return FirstFlight(
        pkts=float(within.sum()),
        payload_bytes=float((payload_bytes[within] - HEADER_BYTES).sum()),
        bursts=float(burst_pkts.size),
        largest_burst_pkts=float(burst_pkts.max()),
    )


def recovery(trace: Trace) -> Recovery:
    """Losses of the first round trip, and the window after recovery."""
    rows = trace["flow_state"].filter(pl.col("flow") == 0).sort("time_ns", maintain_order=True)
    state = rows["state"].to_numpy()
    ends = np.flatnonzero((state[:-1] >= CWR) & (state[1:] < CWR)) + 1
    if not ends.size:
        return Recovery(math.nan, math.nan, math.nan)
    # Until the first ACK of data, one round trip after the handshake, cwnd is the paced window.
    until_ns = 2 * lab.RTT_MS * 1e6
    first = rows["time_ns"].to_numpy() < until_ns
    return Recovery(
        paced_pkts=float(rows["cwnd_pkts"].to_numpy()[first].max()),
        lost_pkts=float(trace["drops"].filter(pl.col("time_ns") < until_ns).height),
        # At the end of recovery both cwnd and ssthresh equal the window, and ssthresh keeps this
        # value.
        window_pkts=float(rows["ssthresh_pkts"].to_numpy()[ends[0]]),
    )
