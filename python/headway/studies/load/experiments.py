"""Setup: 200 persistent connections on 10 Mbit/s, by scheme and load, and by threshold."""

from __future__ import annotations

from headway.experiment import Experiment
from headway.studies.common import lab, network, pairs
from headway.studies.common.pairs import Scheme
from headway.study import StudyContext
from headway.workloads import published

HOURS, QUICK_HOURS = 2.0, 0.2
IDLE_HOURS = 10.0
"""In both forms: the idle link has few responses, so its simulation is fast."""
PAIRS = 200

LOADS = (0.05, 0.1, 0.2, 0.3, 0.5, 0.7, 0.9)
IDLE = 0.02
SMALL, MODERATE, HIGH = LOADS[0], 0.3, 0.7
SCHEMES = (
    pairs.SLOW_START,
    pairs.JUMP_START,
    pairs.INITIAL_START,
    pairs.LARGE_INITIAL_START,
    pairs.MEGA_START,
)
ROUTERS = pairs.ROUTERS
"""Quick-Start for every transfer, by approval algorithm; figures 6.44 and 6.46."""

NETWORK_LOADS, QUICK_NETWORK_LOADS = LOADS, (MODERATE, LOADS[-1])
"""Loads of XCP and RCP, figure 6.45."""

CHIS = (1, 1_000, 3_000, 10_000, 30_000, 100_000, 300_000, 1_000_000)
CHI_LOAD = MODERATE
CHI_MEANS = (published.LARGER_MEAN_RESPONSE_BYTES, published.MEAN_RESPONSE_BYTES)


def experiments(ctx: StudyContext) -> dict[str, Experiment]:
    """One trial per scheme and load, and per activation threshold and mean size."""
    hours = QUICK_HOURS if ctx.quick else HOURS
    larger = published.LARGER_MEAN_RESPONSE_BYTES
    trials = {
        key(scheme.key, load): _trial(ctx, larger, load, hours, scheme)
        for load in LOADS
        for scheme in pairs.present((*SCHEMES, *ROUTERS))
    }
    for scheme in pairs.NETWORK:
        for load in network_loads(ctx):
            trials[key(scheme.key, load)] = _trial(
                ctx, larger, load, hours, scheme, buffer_pkts=network.UNLIMITED_PKTS
            )
    trials[key("slow-start", IDLE)] = _trial(ctx, larger, IDLE, IDLE_HOURS, pairs.SLOW_START)
    for mean_bytes in CHI_MEANS:
        trials[chi_key(mean_bytes, None)] = _trial(
            ctx, mean_bytes, CHI_LOAD, hours, pairs.SLOW_START
        )
        for chi in CHIS:
            for scheme in pairs.present([chi_scheme(chi)]):
                trials[chi_key(mean_bytes, chi)] = _trial(ctx, mean_bytes, CHI_LOAD, hours, scheme)
    return trials


def network_loads(ctx: StudyContext) -> tuple[float, ...]:
    """Loads at which XCP and RCP run."""
    return QUICK_NETWORK_LOADS if ctx.quick else NETWORK_LOADS


def _trial(
    ctx: StudyContext,
    mean_bytes: int,
    load: float,
    hours: float,
    scheme: Scheme,
    *,
    buffer_pkts: int = pairs.BUFFER_PKTS,
) -> Experiment:
    return pairs.workload_experiment(
        pairs.workload(
            pairs.synthetic(mean_bytes), load=load, hours=hours, seed=ctx.seed, persistent=True
        ),
        [scheme],
        rtts_ms=[lab.RTT_MS],
        pairs=PAIRS,
        buffer_pkts=buffer_pkts,
        seed=ctx.seed,
    )


def key(scheme: str, load: float) -> str:
    """A trial's name: "jump-start-30"."""
    return f"{scheme}-{round(100 * load):02d}"


def chi_key(mean_bytes: int, chi: int | None) -> str:
    """A trial's name by mean response and threshold; None: slow start."""
    return f"mean{mean_bytes // 1000}-{'slow-start' if chi is None else f'chi{chi}'}"


def chi_scheme(chi: int) -> Scheme:
    """Quick-Start for transfers of more than ``chi`` bytes."""
    return pairs.quick_start(f"quick-start-chi{chi}", f"above {chi} B", chi_bytes=chi)
