"""Setup: a long transfer past routers that are wrong about their link, and a long path."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from headway.experiment import Experiment
from headway.studies.common import lab
from headway.study import StudyContext

LARGE_KBPS, SMALL_KBPS = 81_920, 5_120
"""What is asked for: more than the link has, or less (section 6.5.3.2)."""
LENGTH_S = 30.0
TRANSFER_BYTES = 100_000_000
BUFFER_PKTS = 50
RTT_S = lab.RTT_MS / 1e3

CASES: Mapping[str, tuple[float, int, float]] = {
    # name: (the router's capacity over the link's, what is asked for, theta)
    "right": (1.0, LARGE_KBPS, 1.0),
    "under": (0.1, LARGE_KBPS, 1.0),
    "over": (10.0, LARGE_KBPS, 1.0),
    "over-small": (10.0, SMALL_KBPS, 1.0),
    "half": (1.0, LARGE_KBPS, 0.5),
}
SHARED_BPS = 100_000_000

LONG_BPS, LONG_RTT_MS, LONG_BUFFER_PKTS = 10**9, 233, 2000
LONG_KBPS = 1_310_720
SIZES = (1_000_000, 3_000_000, 10_000_000, 30_000_000, 100_000_000)


def _trial(
    control: Any,
    size_bytes: int,
    length_s: float,
    seed: int,
    router: Mapping[str, int] | None,
    *,
    link_bps: int = lab.LINK_BPS,
    rtt_ms: float = lab.RTT_MS,
    buffer_pkts: int = BUFFER_PKTS,
) -> Experiment:
    """One transfer from the opener, which so can ask in its SYN."""
    path = lab.path(rate_bps=link_bps, rtt_ms=rtt_ms, buffer_pkts=buffer_pkts)
    fields = path.model_dump(mode="json")
    fields["quick_start"] = router and dict(router)
    fields["access_rate"] = f"{max(10 * link_bps, 10**9)} bit/s"
    flow = {
        "app": {"kind": "bulk", "size": f"{size_bytes} B"},
        "control": control,
        "start": "0 s",
        "receive_buffer": "268435456 B" if link_bps > 10**8 else lab.RECEIVE_BUFFER,
        "receive_window": "8388480 B",
        "delayed_ack": False,
        # Else the SYN-ACK's window of 64 KiB would bound the first round trip.
        "extra_ack": True,
    }
    return Experiment.model_validate(
        {
            "topology": fields,
            "flows": [flow],
            "duration": f"{length_s:g} s",
            "stack": lab.STACK,
            "seed": seed,
            "sample": f"{RTT_S:g} s",
            "record": ("drops",),
        }
    )


def experiments(ctx: StudyContext) -> dict[str, Experiment]:
    """One trial per case, and per size on the long path."""
    slow = f"{lab.CONTROL}+slow-start"
    trials = {"slow-start": _trial(slow, TRANSFER_BYTES, LENGTH_S, ctx.seed, None)}
    for name, (ratio, kbps, theta) in CASES.items():
        router = {
            "capacity_kbps": round(ratio * lab.LINK_BPS / 1000),
            "threshold_permille": round(1000 * theta),
            "interval_ms": 200,
        }
        trials[name] = _trial(lab.asking(kbps), TRANSFER_BYTES, LENGTH_S, ctx.seed, router)
    trials["shared"] = _trial(
        lab.asking(LARGE_KBPS),
        10 * TRANSFER_BYTES,
        LENGTH_S,
        ctx.seed,
        {"capacity_kbps": 10_000, "interval_ms": 200},
        link_bps=SHARED_BPS,
    )
    for size in SIZES:
        router = {"capacity_kbps": 2 * LONG_BPS // 1000, "interval_ms": 200}
        for name, control, known in (
            ("slow-start", slow, None),
            ("quick-start", lab.asking(LONG_KBPS), router),
        ):
            trials[long_key(name, size)] = _trial(
                control,
                size,
                60.0,
                ctx.seed,
                known,
                link_bps=LONG_BPS,
                rtt_ms=LONG_RTT_MS,
                buffer_pkts=LONG_BUFFER_PKTS,
            )
    return trials


def long_key(name: str, size_bytes: int) -> str:
    """A trial's name on the long path: "long-quick-start-3MB"."""
    return f"long-{name}-{size_bytes // 1_000_000}MB"
