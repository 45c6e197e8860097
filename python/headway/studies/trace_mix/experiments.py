"""Setup: 450 host pairs, campus traffic on 10 Mbit/s, by scheme and load."""

from __future__ import annotations

from headway.experiment import Experiment
from headway.studies.common import network, pairs
from headway.studies.common.pairs import Scheme
from headway.study import StudyContext
from headway.workloads import Recorded, SessionTable, Workload, recorded, sessions

HOURS = 3.0
QUICK_HOURS = {0.06: 1.0, 0.15: 0.4, 0.35: 0.4, 0.5: 0.2, 0.65: 0.2}
"""By load: where most statements look, and where there is little traffic, for longer."""
LOADS = (0.06, 0.15, 0.35, 0.5, 0.65)
SMALL, MODERATE = 0.06, 0.35
UNLIMITED = "unlimited"
"""How the trials of XCP and RCP end whose queue, at moderate load, has no end."""
SCHEMES = (
    pairs.SLOW_START,
    pairs.JUMP_START,
    pairs.SMALL_JUMP_START,
    pairs.INITIAL_START,
    pairs.MEGA_START,
    *pairs.QUICK_STARTS,
)


def experiments(ctx: StudyContext) -> dict[str, Experiment]:
    """One trial per scheme and load; XCP and RCP with a queue that has no end, too."""
    trials = {
        key(scheme.key, load): pairs.workload_experiment(
            workload(ctx, load), [scheme], seed=ctx.seed
        )
        for load in LOADS
        for scheme in (*pairs.present(SCHEMES), *network_schemes(ctx, load))
    }
    for scheme in pairs.NETWORK:
        trials[f"{scheme.key}-{UNLIMITED}"] = pairs.workload_experiment(
            workload(ctx, MODERATE),
            [scheme],
            buffer_pkts=network.UNLIMITED_PKTS,
            seed=ctx.seed,
        )
    return trials


def network_schemes(ctx: StudyContext, load: float) -> tuple[Scheme, ...]:
    """XCP and RCP: in the quick form only where the statements look."""
    return () if ctx.quick and load != MODERATE else pairs.NETWORK


def workload(ctx: StudyContext, load: float) -> Workload:
    """What all schemes carry at a load."""
    return pairs.workload(
        pairs.traced(ctx.vectors), load=load, hours=hours(ctx, load), seed=ctx.seed
    )


def vectors(ctx: StudyContext) -> SessionTable:
    """The recorded connections that sessions are drawn from, with their recorded starts.

    Of vectors that are not recorded: the sessions of the smallest load and three hours.
    """
    kind = pairs.traced(ctx.vectors)
    if isinstance(kind, Recorded):
        return recorded.table(kind.largest_request)
    return sessions(pairs.workload(kind, load=SMALL, hours=HOURS, seed=ctx.seed))


def hours(ctx: StudyContext, load: float) -> float:
    """Virtual time in which sessions start."""
    return QUICK_HOURS[load] if ctx.quick else HOURS


def key(scheme: str, load: float) -> str:
    """A trial's name: "jump-start-35"."""
    return f"{scheme}-{round(100 * load):02d}"
