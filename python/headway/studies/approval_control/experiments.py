"""Setup: the experiments of thesis sections 6.3.3.2 and 6.3.3.3, and what a request looks like.

*Parking lot*: two routers of 100 Mbit/s; three transfers of 10 MB, with cross traffic and without.
*Pattern*: 28 transfers of three sizes at given times. *Load*: requests without data, in an open
loop. *Pool*: one request for the whole capacity, and small ones after it. *Codes*: requests for
every rate that has a code. Two handshakes, with a request and without. *Headers*: an upload with
plain TCP, with ECN, with XCP and with RCP.

Run: each trial is reduced to the routers' answers and counters and the transfers' windows.
"""

import math
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import numpy.typing as npt
import polars as pl

from headway import metrics
from headway.claims import Evidence
from headway.experiment import Chain, Dumbbell, Experiment, Flow
from headway.metrics.stats import Array, or_nan
from headway.models import quick_start
from headway.studies.common import lab, network
from headway.study import StudyContext
from headway.trace import Trace
from headway.units import NS_PER_S

Router = Mapping[str, int | str]
Ints = npt.NDArray[np.int64]

MBIT = 1_000_000
RTT_S = lab.RTT_MS / 1e3
RATES_BPS: Array = np.array(quick_start.RATES_BPS, dtype=np.float64)
"""The rate of each Quick-Start rate code; 0 for code 0."""
LOT_BPS = 100 * MBIT
LOT_KBPS = 81_920
"""The rate that requests in the parking lot ask for: the thesis' "82 Mbit/s"."""
INTERVAL_MS, SLOTS = 200, 2
TARGET: Router = {"algorithm": "target", "interval_ms": INTERVAL_MS, "slots": SLOTS}
LOT_START_S = 3.0
ROUTER_1, ROUTER_2 = 0, 2
"""Numbers of the routers' forward links, which carry the transfers."""

PATTERN = (
    (0.0, 2_000_000),
    *((4.0 + 1.0 * i, 200_000) for i in range(2)),
    *((7.0 + 0.1 * i, 200_000) for i in range(5)),
    *((10.0 + 0.05 * i, 20_000) for i in range(20)),
)
"""Start in seconds and size in bytes of each transfer of the pattern (section 6.3.3.2)."""
BURST = range(8, 28)
"""Numbers of the pattern's twenty small transfers, which start from 10 s on."""
PATTERN_KBPS = 10_000
"""The rate that the pattern's transfers request: the default of appendix B.3.4."""
PATTERN_ROUTERS: Mapping[str, Router] = {
    "target": TARGET,
    "ewma": {**TARGET, "estimator": "ewma"},
    "fair": {**TARGET, "algorithm": "fair"},
    "optimistic": {**TARGET, "algorithm": "optimistic"},
}
LATER_MS = tuple(range(25, INTERVAL_MS, 25))
"""Delays of the pattern in further trials of the fair algorithm, so that it begins later in a
slot."""

LOAD_BPS = 100 * MBIT
LOAD_CODES = (4, 5, 6, 7, 8)
"""Rates that requests ask for, equally often: 0.64 to 10.24 Mbit/s. The thesis does not print the
mix of figure 6.29."""
LOAD_MEAN_BPS = sum(40_000 * 2**code for code in LOAD_CODES) / len(LOAD_CODES)
REQUESTED = tuple(LOAD_BPS * factor for factor in (0.5, 1.0, 2.0, 5.0, 10.0, 20.0, 50.0))
"""Sum of the rates that all requests of a second ask for, in bit/s."""
INTERVALS_MS = (100, 200, 500, 1000)
MORE_SLOTS = 4
"""Slots of one trial of the target algorithm at the densest requests."""
MORE_SLOTS_TRIAL = f"load-target-{MORE_SLOTS}slots-{REQUESTED[-1] / MBIT:.0f}M"
UPLOAD_BYTES = 1_000_000
"""Size of the upload whose packet headers are measured."""


def experiments(ctx: StudyContext) -> dict[str, Experiment]:
    """Parking lots, patterns, loads, a pool, all codes, two handshakes, and uploads."""
    seed = ctx.seed
    trials = {f"lot-{name}": _lot_trial(name == "cross", seed) for name in ("alone", "cross")}
    trials |= {f"pattern-{name}": _pattern_trial(r, seed) for name, r in PATTERN_ROUTERS.items()}
    trials |= {late_key(ms): _pattern_trial(PATTERN_ROUTERS["fair"], seed, ms) for ms in LATER_MS}
    length_s = 20.0 if ctx.quick else 120.0
    for requested in REQUESTED:
        for interval_ms in INTERVALS_MS:
            for name in ("target", "fair", "optimistic"):
                if name == "target" or interval_ms == INTERVAL_MS:
                    router = {**TARGET, "algorithm": name, "interval_ms": interval_ms}
                    key = load_key(name, interval_ms, requested)
                    trials[key] = _load_trial(router, requested, length_s, seed)
    trials[MORE_SLOTS_TRIAL] = _load_trial(
        {**TARGET, "slots": MORE_SLOTS}, REQUESTED[-1], length_s, seed
    )
    small = _requests([1], 0.002, 3.0, start_s=1.01)
    # The flow stops before its second request, which would follow after 1000 s.
    large = _requests([15], 1000.0, 1.001, start_s=1.0)
    trials["pool"] = _requesting({**TARGET, "capacity_kbps": 1_310_720}, [small, large], 4.0, seed)
    # All of these requests are in one slot of a router that can grant all of them.
    router = {**TARGET, "interval_ms": 10_000, "capacity_kbps": 2**32 - 1}
    trials["codes"] = _requesting(router, [_requests(range(1, 16), 0.005, 2.0)], 3.0, seed)
    syn = {
        # The responder announces its scaled window in an extra ACK after the SYN-ACK.
        "extra-ack": _response(1000, 0.0, "one", f"{lab.CONTROL}+{lab.SLOW_START}"),
        # A SYN with a Quick-Start request. In this trial the host that opens the
        # connection sends the data.
        "request-in-syn": _flow("1 MB", lab.asking(LOT_KBPS), data_volume="1 MB"),
    }
    for name, flow in syn.items():
        until_s = 0.75 * RTT_S
        trials[name] = lab.experiment(lab.path(), [flow], duration_s=2, seed=seed, sample_s=until_s)
    for name in ("plain", "ecn", *network.SCHEMES):
        trials[f"header-{name}"] = _upload(name, seed)
    return trials


def late_key(later_ms: int) -> str:
    """Name of a trial of the fair algorithm with a later pattern: "pattern-fair-25ms"."""
    return f"pattern-fair-{later_ms}ms"


def load_key(algorithm: str, interval_ms: int, requested_bps: float) -> str:
    """A trial's name by algorithm, slot length and requested rate: "load-target-200ms-1000M"."""
    return f"load-{algorithm}-{interval_ms}ms-{requested_bps / MBIT:.0f}M"


def _flow(app: dict[str, Any] | str, control: Any, **more: Any) -> Flow:
    """A flow of the host that opens the connection; ``app`` may be the size of an upload."""
    return Flow.model_validate(
        {
            "app": {"kind": "bulk", "size": app} if isinstance(app, str) else app,
            "control": control,
            "rmem": lab.RMEM,
            "initial_rwnd": network.WINDOW,
            "delayed_ack": False,
            "extra_ack": True,
            **more,
        }
    )


def _response(size_bytes: int, start_s: float, name: str, control: Any) -> Flow:
    flow = lab.requests(
        [size_bytes], control=control, name=name, start_s=start_s, initial_rwnd=network.WINDOW
    )
    return flow.model_copy(update={"extra_ack": True})


def _cbr(rate_bps: int, hop: int, start_s: float, stop_s: float, name: str) -> Flow:
    app = {"kind": "cbr", "packet": "1500 B", "interval": f"{12e12 / rate_bps:.0f} ns"}
    times = {"start": f"{start_s} s", "stop": f"{stop_s} s"}
    hops = {"from_hop": hop, "to_hop": hop + 1}
    return Flow.model_validate({"app": app, "name": name, **times, **hops})


def _lot_trial(cross: bool, seed: int) -> Experiment:
    """Three transfers of 10 MB through two routers, RTT 200 ms."""
    hop = {"rate": f"{LOT_BPS} bit/s", "delay": f"{lab.RTT_MS / 4:g} ms", "buffer": "1000 pkts"}
    forward = {**hop, "quick_start": dict(TARGET)}
    path: Any = Chain.model_validate({"hops": [{"forward": forward, "reverse": hop}] * 2})
    # The host that opens the connection sends the data, so the data takes the links with cross
    # traffic.
    epochs = [["10000000 B", "100 B", f"{idle_s} s"] for idle_s in (5, 5, 0)]
    flows = [
        _flow(
            {"kind": "vectors", "epochs": epochs},
            lab.asking(LOT_KBPS, ssthresh=1),
            name="transfer",
            start=f"{LOT_START_S:g} s",
        )
    ]
    if cross:
        # The third transfer begins during the second router's full load.
        flows.append(_cbr(30 * MBIT, 0, 0.0, LOT_START_S + 4.0, "cross-1"))
        flows.append(_cbr(LOT_BPS, 1, 13.0, 23.0, "cross-2"))
    return lab.experiment(path, flows, duration_s=40, seed=seed, sample_s=0.05, record=("flows",))


def _pattern_trial(router: Router, seed: int, later_ms: int = 0) -> Experiment:
    """28 transfers at given times over the thesis' link, all later by ``later_ms``."""
    path = lab.path(buffer_pkts=50).model_dump(mode="json")
    path["reverse"]["quick_start"] = dict(router)
    control = lab.asking(PATTERN_KBPS)
    flows = [
        _response(size, start_s + later_ms / 1e3, f"transfer{number}", control)
        for number, (start_s, size) in enumerate(PATTERN)
    ]
    topology = Dumbbell.model_validate(path)
    return lab.experiment(topology, flows, duration_s=25, seed=seed, sample_s=0.05)


def _requests(
    codes: Sequence[int], mean_interval_s: float, stop_s: float, start_s: float = 0.0
) -> Flow:
    gap = f"{mean_interval_s * 1e9:.0f} ns"
    app = {"kind": "requests", "codes": tuple(codes), "mean_interval": gap}
    times = {"start": f"{start_s:g} s", "stop": f"{stop_s:.9g} s"}
    return Flow.model_validate({"app": app, "name": f"requests{codes[0]}", **times})


def _requesting(router: Router, flows: list[Flow], length_s: float, seed: int) -> Experiment:
    """Requests without data on a path of 10 Gbit/s, on which the requests are no load."""
    path = {"kind": "dumbbell", "rate": "10 Gbit/s", "rtt": "2 ms", "buffer": "10000 pkts"}
    topology = Dumbbell.model_validate({**path, "quick_start": {**router, "max_requests": 0}})
    return lab.experiment(topology, flows, duration_s=length_s, seed=seed)


def _load_trial(router: Router, requested_bps: float, length_s: float, seed: int) -> Experiment:
    """Requests without data that together ask for ``requested_bps`` per second."""
    flow = _requests(LOAD_CODES, LOAD_MEAN_BPS / requested_bps, length_s)
    router = {**router, "capacity_kbps": LOAD_BPS // 1000}
    return _requesting(router, [flow], length_s + 1.0, seed)


def _upload(name: str, seed: int) -> Experiment:
    """An upload with plain headers, with ECN, or with the headers of XCP or RCP."""
    path = lab.path(router=None)
    control: Any = f"{lab.CONTROL}+{lab.SLOW_START}"
    if name in network.SCHEMES:
        path, control = network.guided(path, name), network.control(name)
    flow = _flow(f"{UPLOAD_BYTES} B", control, ecn="on" if name == "ecn" else "off")
    return lab.experiment(path, [flow], duration_s=10, seed=seed)


# ---- Run ----


@dataclass(frozen=True)
class Answers:
    """A router's answers to requests in their order, arrays of one length."""

    flows: Ints
    times_ns: Ints
    asked_bps: Array
    granted_bps: Array
    """0: denied."""
    loads_bps: Array
    """The load as the router estimated it."""
    outstanding_bps: Array
    """H of eq. 4.17: sum of the rates that the router granted earlier and still remembers."""

    def each(self) -> Iterator[tuple[float, ...]]:
        """Time, requested and granted rate, load, and H of every answer."""
        columns = (
            self.times_ns, self.asked_bps, self.granted_bps, self.loads_bps, self.outstanding_bps
        )  # fmt: skip
        return zip(*(column.tolist() for column in columns), strict=True)


@dataclass(frozen=True)
class Readings:
    """A router's counters over time."""

    times_ns: Ints
    loads_bps: Array
    outstanding_bps: Array


@dataclass(frozen=True)
class Start:
    """The sender's window after a transfer has sent a Quick-Start request."""

    before_pkts: float
    """The window when the request was sent."""
    used_after_s: float
    """Time until the window was nearly as large as the granted rate allows; infinite: never."""
    used_pkts: float
    """The window when it had nearly reached the size that the granted rate allows."""
    rtt_s: float
    """The round-trip time that the sender had measured when it used the grant."""
    largest_pkts: float
    """The largest window in the two round trips after the request."""


@dataclass(frozen=True)
class Lot:
    """Observations of three transfers through two routers."""

    answers: Mapping[int, Answers]
    """Answers to the transfers' requests by router, 1 or 2."""
    starts: tuple[Start, ...]
    readings: Readings
    """Counters of router 1."""
    link_times_s: Array
    link_rates_bps: Array
    """Rate of router 1's link."""


@dataclass(frozen=True)
class Pattern:
    """28 transfers at given times."""

    answers: Answers
    readings: Readings
    offered_bytes: Array
    """Bytes offered to the router's queue up to each reading."""
    response_s: Array
    """Server response time of each transfer."""

    @property
    def burst_bps(self) -> Array:
        """Grants to the first requests of the burst's twenty transfers."""
        flows, first = np.unique(self.answers.flows, return_index=True)
        return self.answers.granted_bps[np.sort(first[np.isin(flows, list(BURST))])]

    @property
    def burst_fairness(self) -> float:
        """Jain's index of the burst's grants."""
        return _jain(self.burst_bps)


@dataclass(frozen=True)
class Load:
    """Requests without data."""

    asked_bps_per_s: float
    """Sum of the rates asked for, per second."""
    granted_bps_per_s: float
    fairness: float
    """Jain's index of the granted rates, denials as 0."""
    best_fairness: float
    """Jain's index if every request were approved."""
    answers: Answers


@dataclass(frozen=True)
class Handshake:
    """Packets that both hosts sent before the SYN-ACK arrived."""

    syn_pkts: float
    syn_bytes: float
    answer_pkts: float
    requests: float
    """Requests that a router counted."""


@dataclass(frozen=True)
class Headers:
    """Header bytes of an upload."""

    bytes_per_pkt: float
    """Mean over the upload's packets. The few packets without data change it by less than half a
    byte."""


Row = Lot | Pattern | Load | Answers | Handshake | Headers


@dataclass(frozen=True)
class Found:
    """The observations of all trials, grouped by experiment and looked up by key."""

    lots: Evidence[Lot]
    patterns: Evidence[Pattern]
    loads: Evidence[Load]
    requests: Evidence[Answers]
    """Trials of the pool and of all rate codes."""
    handshakes: Evidence[Handshake]
    headers: Evidence[Headers]


def gather(_ctx: StudyContext, rows: Mapping[str, Row]) -> Found:
    """Group the observations by experiment."""
    return Found(
        Evidence.of(Lot, rows),
        Evidence.of(Pattern, rows),
        Evidence.of(Load, rows),
        Evidence.of(Answers, rows),
        Evidence.of(Handshake, rows),
        Evidence.of(Headers, rows),
    )


def observe(key: str, trace: Trace) -> Row:
    """Reduce a trial to the routers' answers and counters."""
    observers: dict[str, Callable[[Trace], Row]] = {
        "lot": _lot,
        "pattern": _pattern,
        "load": _load,
        "pool": _answers,
        "codes": _answers,
        "header": _headers,
    }
    kind = key.split("-", maxsplit=1)[0]
    return observers.get(kind, _handshake)(trace)


def _headers(trace: Trace) -> Headers:
    """Headers on the link that carries the data."""
    last = trace["link_counters"].filter(pl.col("link") == 0).sort("time_ns")[-1]
    if trace["flow_counters"].sort("time_ns")["retransmits_pkts"][-1]:
        return Headers(math.nan)  # not measured: retransmitted data would count as headers
    overhead = float(last["arrived_bytes"][0]) - UPLOAD_BYTES
    return Headers(float(round(overhead / float(last["arrived_pkts"][0]))))


def _answers(trace: Trace, link: int = 0, flow: int | None = None) -> Answers:
    rows = metrics.router_events(trace, "quick-start").filter(pl.col("link") == link)
    rows = rows.sort("time_ns", maintain_order=True)
    if flow is not None:
        rows = rows.filter(pl.col("flow") == flow)
    return Answers(
        _ints(rows["flow"]),
        _ints(rows["time_ns"]),
        RATES_BPS[rows["requested_code"].to_numpy()],
        RATES_BPS[rows["granted_code"].to_numpy()],
        _floats(rows["usage_bps"]),
        _floats(rows["outstanding_bps"]),
    )


def _readings(trace: Trace, link: int) -> Readings:
    rows = metrics.router_counters(trace, "quick-start")
    rows = rows.filter(pl.col("link") == link).sort("time_ns")
    loads_bps, outstanding_bps = _floats(rows["usage_bps"]), _floats(rows["outstanding_bps"])
    return Readings(_ints(rows["time_ns"]), loads_bps, outstanding_bps)


def _lot(trace: Trace) -> Lot:
    links = {1: ROUTER_1, 2: ROUTER_2}
    answers = {router: _answers(trace, link, flow=0) for router, link in links.items()}
    starts = tuple(
        _start(trace, asked_ns, _soon_granted(answers[2], asked_ns))
        for asked_ns in answers[1].times_ns.tolist()
    )
    readings = _readings(trace, ROUTER_1)
    return Lot(answers, starts, readings, *lab.link_rate(trace, ROUTER_1))


def _soon_granted(answers: Answers, asked_ns: int) -> float:
    """The rate that the next router granted, bit/s; 0 if the request did not reach it."""
    index = int(np.searchsorted(answers.times_ns, asked_ns))
    if index == answers.times_ns.size or answers.times_ns[index] > asked_ns + lab.RTT_MS * 1e6:
        return 0.0
    return float(answers.granted_bps[index])


def _start(trace: Trace, asked_ns: int, granted_bps: float) -> Start:
    rows = trace["flow_state"].filter(pl.col("flow") == 0).sort("time_ns", maintain_order=True)
    before = rows.filter(pl.col("time_ns") <= asked_ns)["cwnd_pkts"]
    after = rows.filter(pl.col("time_ns") > asked_ns)
    soon = after.filter(pl.col("time_ns") < asked_ns + 2 * lab.RTT_MS * 1_000_000)["cwnd_pkts"]
    granted_pkts = quick_start.window_pkts(granted_bps, rtt_s=RTT_S) if granted_bps else math.inf
    used = after.filter(pl.col("cwnd_pkts") > 0.9 * granted_pkts)
    return Start(
        before_pkts=float(before[-1]) if before.len() else 0.0,
        used_after_s=(used["time_ns"][0] - asked_ns) / NS_PER_S if used.height else math.inf,
        used_pkts=float(used["cwnd_pkts"][0]) if used.height else 0.0,
        rtt_s=used["srtt_us"][0] / 1e6 if used.height else math.nan,
        largest_pkts=float(soon.max() or 0),  # type: ignore[arg-type]
    )


def _pattern(trace: Trace) -> Pattern:
    times_s = [lab.response_times_s(trace, flow)[0] for flow in range(len(PATTERN))]
    readings = _readings(trace, lab.DOWNLINK)
    offered = trace["link_counters"].filter(pl.col("link") == lab.DOWNLINK).sort("time_ns")
    assert _ints(offered["time_ns"]).tolist() == readings.times_ns.tolist()
    answers, offered_bytes = _answers(trace, lab.DOWNLINK), _floats(offered["arrived_bytes"])
    return Pattern(answers, readings, offered_bytes, np.array(times_s))


def _load(trace: Trace) -> Load:
    answers = _answers(trace)
    length_s = (trace.experiment.flows[0].stop or trace.duration_ns) / NS_PER_S
    return Load(
        float(answers.asked_bps.sum()) / length_s,
        float(answers.granted_bps.sum()) / length_s,
        _jain(answers.granted_bps),
        _jain(answers.asked_bps),
        answers,
    )


def _jain(rates_bps: Array) -> float:
    return or_nan(metrics.jain_index(rates_bps.tolist()))


def _handshake(trace: Trace) -> Handshake:
    """Count the packets of the first three quarters of a round trip."""
    rows = trace["link_counters"].filter(pl.col("time_ns") == round(lab.RTT_MS * 0.75e6))
    sent, answered = (rows.filter(pl.col("link") == link) for link in (0, lab.DOWNLINK))
    return Handshake(
        float(sent["arrived_pkts"][0]),
        float(sent["arrived_bytes"][0]),
        float(answered["arrived_pkts"][0]),
        float(_answers(trace).asked_bps.size),
    )


def _ints(column: pl.Series) -> Ints:
    return np.asarray(column.to_numpy(), dtype=np.int64)


def _floats(column: pl.Series) -> Array:
    return np.asarray(column.to_numpy(), dtype=np.float64)
