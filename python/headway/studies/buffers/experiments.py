"""Setup: the workload of trace-mix at 35 % load over buffers of 10 to 500 packets."""

from __future__ import annotations

from headway.experiment import Experiment
from headway.studies import trace_mix
from headway.studies.common import pairs
from headway.study import StudyContext
from headway.workloads import Workload

LOAD = 0.35
BUFFERS_PKTS = (10, 20, 50, 75, 100, 150, 250, 500)
SCHEMES = (
    pairs.SLOW_START,
    pairs.JUMP_START,
    pairs.INITIAL_START,
    pairs.MEGA_START,
    *pairs.QUICK_STARTS,
)
HOURS, QUICK_HOURS = trace_mix.experiments.HOURS, 0.2
"""Section 6.5.1: "all other parameters are set like in the previous section"."""


def experiments(ctx: StudyContext) -> dict[str, Experiment]:
    """One trial per scheme and buffer, all with the same sessions."""
    carried = workload(ctx)
    return {
        key(scheme.key, buffer): pairs.workload_experiment(
            carried, [scheme], buffer_pkts=buffer, seed=ctx.seed
        )
        for buffer in BUFFERS_PKTS
        for scheme in pairs.present(SCHEMES)
    }


def workload(ctx: StudyContext) -> Workload:
    """The workload that all schemes carry with every buffer."""
    return pairs.workload(
        pairs.traced(ctx.vectors),
        load=LOAD,
        hours=QUICK_HOURS if ctx.quick else HOURS,
        seed=ctx.seed,
    )


def key(scheme: str, buffer_pkts: float) -> str:
    """A trial's name: "jump-start-b50"."""
    return f"{scheme}-b{buffer_pkts:g}"
