"""Setup: 200 persistent connections on 10 Mbit/s, by scheme and load, and by threshold."""

from headway.experiment import Experiment
from headway.studies.common import lab, network, pairs
from headway.studies.common.pairs import Scheme
from headway.study import StudyContext
from headway.workloads import published

LOADS = (0.05, 0.1, 0.2, 0.3, 0.5, 0.7, 0.9)
IDLE, MODERATE = 0.02, 0.3
SCHEMES = (
    *(pairs.SLOW_START, pairs.JUMP_START, pairs.INITIAL_START),
    *(pairs.LARGE_INITIAL_START, pairs.MEGA_START),
)
MEAN_BYTES = published.LARGER_MEAN_RESPONSE_BYTES
CHIS = (1, 1_000, 3_000, 10_000, 30_000, 100_000, 300_000, 1_000_000)
"""Thresholds of figure 6.47."""


def experiments(ctx: StudyContext) -> dict[str, Experiment]:
    """One trial per scheme and load, and per activation threshold and mean size."""
    hours = 0.2 if ctx.quick else 2.0

    def trial(
        scheme: Scheme,
        load: float,
        *,
        hours: float = hours,
        mean_bytes: int = MEAN_BYTES,
        buffer_pkts: int = pairs.BUFFER_PKTS,
    ) -> Experiment:
        vectors = pairs.synthetic(mean_bytes)
        return pairs.workload_experiment(
            pairs.workload(vectors, load=load, hours=hours, seed=ctx.seed, persistent=True),
            [scheme],
            rtts_ms=[lab.RTT_MS],
            pairs=200,
            buffer_pkts=buffer_pkts,
            seed=ctx.seed,
        )

    schemes = pairs.present((*SCHEMES, *pairs.ROUTERS))
    trials = {key(scheme.key, load): trial(scheme, load) for load in LOADS for scheme in schemes}
    for scheme in pairs.NETWORK:
        for load in (MODERATE, LOADS[-1]) if ctx.quick else LOADS:
            unlimited = trial(scheme, load, buffer_pkts=network.UNLIMITED_PKTS)
            trials[key(scheme.key, load)] = unlimited
    # This trial has the same length in both forms: the idle link has few responses, so its
    # simulation is fast.
    trials[key("slow-start", IDLE)] = trial(pairs.SLOW_START, IDLE, hours=10)
    for mean_bytes in (MEAN_BYTES, published.MEAN_RESPONSE_BYTES):
        slow = trial(pairs.SLOW_START, MODERATE, mean_bytes=mean_bytes)
        trials[chi_key(mean_bytes, None)] = slow
        for chi in CHIS:
            quick = pairs.quick_start(f"quick-start-chi{chi}", f"above {chi} B", chi_bytes=chi)
            for scheme in pairs.present([quick]):
                own = trial(scheme, MODERATE, mean_bytes=mean_bytes)
                trials[chi_key(mean_bytes, chi)] = own
    return trials


def key(scheme: str, load: float) -> str:
    """A trial's name: "jump-start-30"."""
    return f"{scheme}-{round(100 * load):02d}"


def chi_key(mean_bytes: int, chi: int | None) -> str:
    """A trial's name by mean response and threshold; None: slow start."""
    return f"mean{mean_bytes // 1000}-{'slow-start' if chi is None else f'chi{chi}'}"
