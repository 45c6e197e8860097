"""Setup: the workload of trace-mix at 35 % load over buffers of 10 to 500 packets."""

from headway.claims import Evidence
from headway.experiment import Experiment
from headway.studies.common import pairs, traffic
from headway.studies.trace_mix.experiments import HOURS
from headway.study import StudyContext
from headway.trace import Trace
from headway.workloads import Workload

Found = Evidence[traffic.Traffic]
BUFFERS_PKTS = (10, 20, 50, 75, 100, 150, 250, 500)
_ENDS = (pairs.SLOW_START, pairs.JUMP_START, pairs.INITIAL_START, pairs.MEGA_START)
SCHEMES = (*_ENDS, *pairs.QUICK_STARTS)


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
    """The workload that all schemes carry with every buffer.

    Section 6.5.1: "all other parameters are set like in the previous section".
    """
    hours = 0.2 if ctx.quick else HOURS
    return pairs.workload(pairs.traced(ctx.vectors), load=0.35, hours=hours, seed=ctx.seed)


def key(scheme: str, buffer_pkts: float) -> str:
    """A trial's name: "jump-start-b50"."""
    return f"{scheme}-b{buffer_pkts:g}"


def observe(_key: str, trace: Trace) -> traffic.Traffic:
    """Observe a trial: epoch durations and loss."""
    return traffic.traffic(trace, traffic.responses(trace))
