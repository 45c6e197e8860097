"""Setup: long transfers through routers that assume a wrong capacity, and a long path."""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from headway.experiment import Dumbbell, Experiment, Flow
from headway.studies.common import lab, network
from headway.study import StudyContext
from headway.units import fixed_memory

LARGE_KBPS, SMALL_KBPS = 81_920, 5_120
"""Rates that the transfer requests: above and below the link's rate (section 6.5.3.2)."""
RTT_S = lab.RTT_MS / 1e3

CASES: Mapping[str, tuple[float, int, float]] = {
    # name: (the capacity that the router assumes, divided by the link's; the requested rate in
    # kbit/s; theta)
    "right": (1.0, LARGE_KBPS, 1.0),
    "under": (0.1, LARGE_KBPS, 1.0),
    "over": (10.0, LARGE_KBPS, 1.0),
    "over-small": (10.0, SMALL_KBPS, 1.0),
    "half": (1.0, LARGE_KBPS, 0.5),
}
TODAY = "over-today"
"""Trial in which the router assumes ten times its link's capacity, with hosts of today's Linux."""
TODAYS_STACK = "linux-6"


@dataclass(frozen=True)
class Guided:
    """A trial of XCP and RCP: the capacity that routers assume, and the run's length."""

    ratio: float
    """The capacity that the router assumes, divided by the link's."""
    length_s: float = 30.0
    buffer_pkts: int = network.UNLIMITED_PKTS


GUIDED: Mapping[str, Guided] = {
    "right": Guided(1.0),
    "under": Guided(0.1),
    "half": Guided(0.5),
    "standing": Guided(1.4, length_s=150.0),
    "within-two": Guided(1.75, length_s=60.0),
    "double": Guided(2.0, length_s=15.0),
    "small": Guided(2.0, buffer_pkts=lab.SMALL_BUFFER_PKTS),
}
"""Trials of both protocols. Eq. 6.15 allows a ratio of 1.565."""
RATIOS, QUICK_RATIOS = (1.1, 1.2, 1.4, 1.5), (1.1, 1.2, 1.4)
"""Ratios c/r at which RCP is compared with eq. 6.14. The closer to the bound, the later the queue
converges."""

LONG_KBPS = 1_310_720
"""Requested rate: the next Quick-Start rate above the long path's rate."""
LONG_ROUTER = {"capacity_kbps": 2 * lab.LONG_BPS // 1000, "interval_ms": lab.LONG_RTT_MS}
SIZES = (100_000, 200_000, 300_000, 500_000, 1_000_000, 2_000_000, 3_000_000, 5_000_000, 8_000_000)
"""Transfer sizes on the long path. No transfer needs more than the largest window."""
SLOW = f"{lab.CONTROL}+{lab.SLOW_START}"
LONG_SCHEMES: Mapping[str, Any] = {"slow-start": SLOW, "quick-start": lab.asking(LONG_KBPS)}


def experiments(ctx: StudyContext) -> dict[str, Experiment]:
    """One trial per case, and per size and scheme on the long path."""
    seed = ctx.seed
    trials = {"slow-start": _trial(SLOW, seed, None)}
    for name in (*CASES, TODAY):
        ratio, kbps, theta = CASES[name.removesuffix("-today")]
        router = {
            "capacity_kbps": round(ratio * lab.LINK_BPS / 1000),
            "threshold_permille": round(1000 * theta),
            "interval_ms": lab.RTT_MS,
        }
        stack = TODAYS_STACK if name == TODAY else lab.STACK
        trials[name] = _trial(lab.asking(kbps), seed, router, stack=stack)
    router = {"capacity_kbps": 10_000, "interval_ms": lab.RTT_MS}
    trials["shared"] = _trial(lab.asking(LARGE_KBPS), seed, router, link_bps=100_000_000)
    for size in SIZES:
        # The receiver sends a short response when the transfer has arrived.
        app = {"kind": "vectors", "epochs": [[f"{size} B", "100 B", "0 s"]]}
        for scheme, control in LONG_SCHEMES.items():
            trials[long_key(scheme, size)] = lab.experiment(
                lab.long_path(router=LONG_ROUTER),
                [_flow(app, control, rmem=fixed_memory("268435456 B"))],
                duration_s=60,
                seed=seed,
                record=("drops",),
            )
    for scheme in network.SCHEMES:
        for name, case in GUIDED.items():
            trials[f"{scheme}-{name}"] = _guided_trial(scheme, case, seed)
    small = GUIDED["small"]
    trials["xcp-small-halved"] = _guided_trial("xcp", small, seed, on_loss=network.HALVE)
    trials["xcp-small-today"] = _guided_trial("xcp", small, seed, stack=TODAYS_STACK)
    for ratio in QUICK_RATIOS if ctx.quick else RATIOS:
        case = Guided(ratio, 150.0 if ctx.quick else 400.0)
        trials[ratio_key(ratio)] = _guided_trial("rcp", case, seed)
    return trials


def ratio_key(ratio: float) -> str:
    """Key of a trial of RCP for eq. 6.14: "rcp-ratio-110"."""
    return f"rcp-ratio-{round(100 * ratio)}"


def long_key(scheme: str, size_bytes: int) -> str:
    """A trial's name on the long path: "long-quick-start-3000kB"."""
    return f"long-{scheme}-{size_bytes // 1000}kB"


def _guided_trial(
    scheme: str, case: Guided, seed: int, *, stack: str = lab.STACK, **tunables: int
) -> Experiment:
    """An unlimited flow through routers that assume ``case.ratio`` times the link's rate."""
    path = lab.path(buffer_pkts=case.buffer_pkts)
    return lab.experiment(
        network.guided(path, scheme, told_bps=case.ratio * lab.LINK_BPS),
        [_flow({"kind": "bulk"}, network.control(scheme, **tunables))],
        duration_s=case.length_s,
        stack=stack,
        seed=seed,
        sample_s=RTT_S,
    )


def _trial(
    control: Any,
    seed: int,
    router: Mapping[str, int] | None,
    *,
    link_bps: int = lab.LINK_BPS,
    stack: str = lab.STACK,
) -> Experiment:
    """One transfer from the host that opens the connection, whose SYN can carry the request."""
    path = lab.path(rate_bps=link_bps, buffer_pkts=lab.SMALL_BUFFER_PKTS).model_dump(mode="json")
    path["quick_start"] = router and dict(router)
    path["access_rate"] = f"{max(10 * link_bps, 10**9)} bit/s"
    size_bytes = 100_000_000 * link_bps // lab.LINK_BPS
    return lab.experiment(
        Dumbbell.model_validate(path),
        [_flow({"kind": "bulk", "size": f"{size_bytes} B"}, control)],
        duration_s=30,
        stack=stack,
        seed=seed,
        sample_s=RTT_S,
        record=("drops",),
    )


def _flow(app: dict[str, Any], control: Any, rmem: str = lab.RMEM) -> Flow:
    return Flow.model_validate(
        {
            "app": app,
            "control": control,
            "start": "0 s",
            "rmem": rmem,
            "initial_rwnd": network.WINDOW,
            "delayed_ack": False,
            # Without this setting the SYN-ACK's window of 64 KiB would limit the first round trip.
            "extra_ack": True,
        }
    )
