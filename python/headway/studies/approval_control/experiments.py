"""Setup: the experiments of thesis sections 6.3.3.2 and 6.3.3.3, and what a request looks like.

*Parking lot*: two routers of 100 Mbit/s; three transfers of 10 MB, with cross traffic and without.
*Pattern*: 28 transfers of three sizes at given times. *Load*: requests without data, in an open
loop. *Pool*: one request for the whole capacity, and small ones after it. *Codes*: requests for
every rate that has a code. Two handshakes, with a request and without. *Headers*: an upload with
plain TCP, with ECN, with XCP and with RCP.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from headway import models
from headway.experiment import Chain, Experiment, Flow, Record
from headway.studies.common import lab, network

Router = Mapping[str, int | str]

MBIT = 1_000_000
LOT_BPS = 100 * MBIT
LOT_KBPS = 81_920
"""The rate that requests in the parking lot ask for: the thesis' "82 Mbit/s"."""
INTERVAL_MS, SLOTS = 200, 2
TARGET: Router = {"algorithm": "target", "interval_ms": INTERVAL_MS, "slots": SLOTS}

LOT_START_S = 3.0
LOT_BYTES, LOT_IDLE_S = 10_000_000, 5.0
CROSS_BPS = 30 * MBIT
FULL_CROSS_S = (13.0, 23.0)
"""Begin and end of the second router's full load. The third transfer begins in between."""
ROUTER_1, ROUTER_2 = 0, 2
"""Numbers of the routers' forward links, which carry the transfers."""

PATTERN = (
    (0.0, 2_000_000),
    *((4.0 + 1.0 * i, 200_000) for i in range(2)),
    *((7.0 + 0.1 * i, 200_000) for i in range(5)),
    *((10.0 + 0.05 * i, 20_000) for i in range(20)),
)
"""Start in seconds and size in bytes (section 6.3.3.2)."""
BURST = range(8, 28)
"""The twenty small transfers from 10 s on."""
PATTERN_KBPS = 10_000
"""The rate that they ask for: the default of appendix B.3.4."""
PATTERN_ROUTERS: Mapping[str, Router] = {
    "target": TARGET,
    "ewma": {**TARGET, "estimator": "ewma"},
    "fair": {**TARGET, "algorithm": "fair"},
    "optimistic": {**TARGET, "algorithm": "optimistic"},
}

LATER_MS = tuple(range(25, INTERVAL_MS, 25))
"""How much later the pattern begins within the fair algorithm's slots in further trials."""

LOAD_BPS = 100 * MBIT
LOAD_CODES = (4, 5, 6, 7, 8)
"""0.64 to 10.24 Mbit/s, equally often. The mix of figure 6.29 is not printed."""
LOAD_MEAN_BPS = sum(40_000 * 2**code for code in LOAD_CODES) / len(LOAD_CODES)
REQUESTED = tuple(LOAD_BPS * factor for factor in (0.5, 1.0, 2.0, 5.0, 10.0, 20.0, 50.0))
"""Requested bandwidth per second."""
INTERVALS_MS = (100, 200, 500, 1000)
LOAD_S, QUICK_LOAD_S = 120.0, 20.0
DENSE = REQUESTED[-1]
MORE_SLOTS = 4
"""Slots of one trial of the target algorithm at the densest requests."""
MORE_SLOTS_TRIAL = f"load-target-{MORE_SLOTS}slots-{DENSE / MBIT:.0f}M"

HEADERS = ("plain", "ecn", *network.SCHEMES)
UPLOAD_BYTES = 1_000_000
"""Size of the upload whose packet headers are measured."""

POOL_KBPS = 1_310_720
POOL_AT_S = 1.0


def back(router: Router, **changes: Any) -> dict[str, Any]:
    """Settings of a link whose router answers Quick-Start requests."""
    return {"quick_start": dict(router), **changes}


def experiments(*, quick: bool, seed: int) -> dict[str, Experiment]:
    """All trials by key."""
    trials = {"lot-alone": parking_lot(False, seed), "lot-cross": parking_lot(True, seed)}
    trials |= {f"pattern-{name}": pattern(r, seed) for name, r in PATTERN_ROUTERS.items()}
    trials |= {late_key(ms): pattern(PATTERN_ROUTERS["fair"], seed, ms) for ms in LATER_MS}
    length_s = QUICK_LOAD_S if quick else LOAD_S
    for requested in REQUESTED:
        for interval_ms in INTERVALS_MS:
            for name in ("target", "fair", "optimistic"):
                if name == "target" or interval_ms == INTERVAL_MS:
                    router = {**TARGET, "algorithm": name, "interval_ms": interval_ms}
                    trials[load_key(name, interval_ms, requested)] = load(
                        router, requested, length_s, seed
                    )
    trials[MORE_SLOTS_TRIAL] = load({**TARGET, "slots": MORE_SLOTS}, DENSE, length_s, seed)
    trials["pool"] = pool(seed)
    trials["codes"] = codes(seed)
    trials["extra-ack"] = extra_ack(seed)
    trials["request-in-syn"] = request_in_syn(seed)
    for name in HEADERS:
        trials[f"header-{name}"] = upload(name, seed)
    return trials


def late_key(later_ms: int) -> str:
    """A fair algorithm's trial with the pattern later within a slot: "pattern-fair-25ms"."""
    return f"pattern-fair-{later_ms}ms"


def load_key(algorithm: str, interval_ms: int, requested_bps: float) -> str:
    """A trial's name: "load-target-200ms-1000M"."""
    return f"load-{algorithm}-{interval_ms}ms-{requested_bps / MBIT:.0f}M"


def _hosts(**changes: Any) -> dict[str, Any]:
    return {
        "receive_buffer": lab.RECEIVE_BUFFER,
        "receive_window": "8388480 B",
        "delayed_ack": False,
        "extra_ack": True,
        **changes,
    }


def _cbr(rate_bps: int, hop: int, start_s: float, stop_s: float, name: str) -> Flow:
    return Flow.model_validate(
        {
            "app": {"kind": "cbr", "packet": "1500 B", "interval": f"{12e12 / rate_bps:.0f} ns"},
            "name": name,
            "start": f"{start_s} s",
            "stop": f"{stop_s} s",
            "from_hop": hop,
            "to_hop": hop + 1,
        }
    )


def parking_lot(cross: bool, seed: int) -> Experiment:
    """Three transfers of 10 MB through two routers, RTT 200 ms."""
    hop = {
        "rate": f"{LOT_BPS} bit/s",
        "delay": f"{lab.RTT_MS / 4:g} ms",
        "buffer": "1000 pkts",
    }
    path = Chain.model_validate(
        {"hops": [{"forward": {**hop, **back(TARGET)}, "reverse": hop} for _ in range(2)]}
    )
    think = [LOT_IDLE_S, LOT_IDLE_S, 0.0]
    transfer = Flow.model_validate(
        _hosts(
            # The opener sends the data, so the data takes the links with cross traffic.
            app={
                "kind": "vectors",
                "epochs": [[f"{LOT_BYTES} B", "100 B", f"{idle:g} s"] for idle in think],
            },
            control=lab.asking(LOT_KBPS, ssthresh=1),
            name="transfer",
            start=f"{LOT_START_S:g} s",
        )
    )
    flows = [transfer]
    if cross:
        flows.append(_cbr(CROSS_BPS, 0, 0.0, LOT_START_S + 4.0, "cross-1"))
        flows.append(_cbr(LOT_BPS, 1, *FULL_CROSS_S, "cross-2"))
    return _experiment(path, flows, 40.0, seed, 0.05, ("flows",))


def pattern(router: Router, seed: int, later_ms: int = 0) -> Experiment:
    """28 transfers at given times over the thesis' link, all later by ``later_ms``."""
    path = lab.path(buffer_pkts=50).model_dump(mode="json")
    path["reverse"] |= back(router)
    flows = [
        _one_response(
            size,
            start_s + later_ms / 1e3,
            f"transfer{number}",
            _hosts(control=lab.asking(PATTERN_KBPS)),
        )
        for number, (start_s, size) in enumerate(PATTERN)
    ]
    return _experiment(path, flows, 25.0, seed, 0.05, ())


def _one_response(size_bytes: int, start_s: float, name: str, hosts: dict[str, Any]) -> Flow:
    epoch = [f"{lab.REQUEST_BYTES} B", f"{size_bytes} B", "0 s"]
    return Flow.model_validate(
        {
            **hosts,
            "app": {"kind": "vectors", "epochs": [epoch]},
            "name": name,
            "start": f"{start_s:g} s",
        }
    )


def load(router: Router, requested_bps: float, length_s: float, seed: int) -> Experiment:
    """Requests without data that together ask for ``requested_bps`` per second."""
    path = _fast_path({**router, "capacity_kbps": LOAD_BPS // 1000, "max_requests": 0})
    flow = _requests(LOAD_CODES, LOAD_MEAN_BPS / requested_bps, 0.0, length_s)
    return _experiment(path, [flow], length_s + 1.0, seed, None, ())


def pool(seed: int) -> Experiment:
    """One request for the whole capacity, and many small ones after it."""
    path = _fast_path({**TARGET, "capacity_kbps": POOL_KBPS, "max_requests": 0})
    small = _requests((1,), 0.002, POOL_AT_S + 0.01, 3.0)
    # The flow stops before its second request, which would follow after 1000 s.
    large = _requests((15,), 1000.0, POOL_AT_S, POOL_AT_S + 1e-3)
    return _experiment(path, [small, large], 4.0, seed, None, ())


def codes(seed: int) -> Experiment:
    """Requests for all rates, in one slot of a router that can grant all of them."""
    router = {**TARGET, "interval_ms": 10_000, "capacity_kbps": 2**32 - 1, "max_requests": 0}
    return _experiment(
        _fast_path(router), [_requests(tuple(range(1, 16)), 0.005, 0.0, 2.0)], 3.0, seed, None, ()
    )


def _fast_path(router: Router) -> dict[str, Any]:
    """A path of 10 Gbit/s, on which the requests themselves are no load."""
    return {
        "kind": "dumbbell",
        "rate": "10 Gbit/s",
        "rtt": "2 ms",
        "buffer": "10000 pkts",
        **back(router),
    }


def _requests(
    asked: tuple[int, ...], mean_interval_s: float, start_s: float, stop_s: float
) -> Flow:
    return Flow.model_validate(
        {
            "app": {
                "kind": "requests",
                "codes": asked,
                "mean_interval": f"{mean_interval_s * 1e9:.0f} ns",
            },
            "name": f"requests{asked[0]}",
            "start": f"{start_s:g} s",
            "stop": f"{stop_s:.9g} s",
        }
    )


def extra_ack(seed: int) -> Experiment:
    """One SYN, and a responder that sends its scaled window in an ACK after the SYN-ACK."""
    flow = _one_response(1000, 0.0, "one", _hosts(control=f"{lab.CONTROL}+slow-start"))
    return _experiment(lab.path(), [flow], 2.0, seed, lab.RTT_MS / 1e3 * 0.75, ())


def request_in_syn(seed: int) -> Experiment:
    """The same SYN with a request. Here the opener sends the data."""
    flow = Flow.model_validate(
        _hosts(
            app={"kind": "bulk", "size": "1 MB"}, control=lab.asking(LOT_KBPS), data_volume="1 MB"
        )
    )
    return _experiment(lab.path(), [flow], 2.0, seed, lab.RTT_MS / 1e3 * 0.75, ())


def upload(name: str, seed: int) -> Experiment:
    """An upload with plain headers, with ECN, or with the headers of XCP or RCP."""
    path = lab.path(router=None)
    guided = name in network.SCHEMES
    flow = Flow.model_validate(
        _hosts(
            app={"kind": "bulk", "size": f"{UPLOAD_BYTES} B"},
            control=network.control(name) if guided else f"{lab.CONTROL}+{lab.SLOW_START}",
            ecn="on" if name == "ecn" else "off",
        )
    )
    topology = network.guided(path, name) if guided else path
    return _experiment(topology, [flow], 10.0, seed, None, ())


def _experiment(
    topology: Any,
    flows: list[Flow],
    duration_s: float,
    seed: int,
    sample_s: float | None,
    record: tuple[Record, ...],
) -> Experiment:
    return Experiment.model_validate(
        {
            "topology": topology,
            "flows": tuple(flows),
            "duration": f"{duration_s:g} s",
            "stack": lab.STACK,
            "seed": seed,
            "sample": None if sample_s is None else f"{sample_s:g} s",
            "record": record,
        }
    )


def rate_bps(code: int) -> float:
    """The rate of a code in bit/s; 0 for code 0."""
    return float(models.quick_start.RATES_BPS[code])


def window_pkts(granted_bps: float, *, rtt_s: float = lab.RTT_MS / 1e3) -> float:
    """The window of a grant, not rounded."""
    return models.quick_start.window_pkts(granted_bps, rtt_s=rtt_s)
