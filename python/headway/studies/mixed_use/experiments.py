"""Setup: 450 host pairs, half of each round-trip time's with a startup, half with slow start."""

from __future__ import annotations

from headway.experiment import Experiment
from headway.studies.common import pairs
from headway.study import StudyContext
from headway.workloads import published

LOADS = (0.15, 0.3, 0.45, 0.6, 0.75)
SCHEMES = (pairs.JUMP_START, pairs.INITIAL_START, pairs.MEGA_START, *pairs.QUICK_STARTS)
HOURS, QUICK_HOURS = 2.0, 0.2
RTTS = len(pairs.RTTS_MS)
DEFAULT, FAST = 0, 1
"""The halves' numbers in a trial."""


def experiments(ctx: StudyContext) -> dict[str, Experiment]:
    """One trial per scheme and load, and one where all use slow start."""
    hours = QUICK_HOURS if ctx.quick else HOURS
    vectors = pairs.synthetic(published.MEAN_RESPONSE_BYTES)
    trials = {}
    for load in LOADS:
        workload = pairs.workload(vectors, load=load, hours=hours, seed=ctx.seed)
        for scheme in (pairs.SLOW_START, *pairs.present(SCHEMES)):
            trials[key(scheme.key, load)] = pairs.workload_experiment(
                workload, [pairs.SLOW_START, scheme], seed=ctx.seed
            )
    return trials


def key(scheme: str, load: float) -> str:
    """A trial's name: "jump-start-45"."""
    return f"{scheme}-{round(100 * load):02d}"
