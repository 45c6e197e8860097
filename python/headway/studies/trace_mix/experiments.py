"""Setup: 450 host pairs, campus traffic on 10 Mbit/s, by scheme and load."""

from __future__ import annotations

from headway.experiment import Experiment
from headway.studies.common import network, pairs
from headway.studies.common.pairs import Scheme
from headway.study import StudyContext
from headway.workloads import Recorded, SessionTable, Workload, recorded, sessions

HOURS = 3.0
QUICK_HOURS = {0.06: 1.0, 0.15: 0.4, 0.35: 0.4, 0.5: 0.2, 0.65: 0.2}
"""By load. Loads that most statements judge, or with little traffic, run longer."""
LOADS = (0.06, 0.15, 0.35, 0.5, 0.65)
SMALL, MODERATE = 0.06, 0.35
UNLIMITED = "unlimited"
"""Suffix of the trials of XCP and RCP with an unlimited queue, at moderate load."""
SCHEMES = (
    pairs.SLOW_START,
    pairs.JUMP_START,
    pairs.SMALL_JUMP_START,
    pairs.INITIAL_START,
    pairs.MEGA_START,
    *pairs.QUICK_STARTS,
)


def experiments(ctx: StudyContext) -> dict[str, Experiment]:
    """One trial per scheme and load, and XCP and RCP with an unlimited queue."""
    trials = {
        key(scheme.key, load): pairs.workload_experiment(
            workload(ctx, load), [scheme], seed=ctx.seed
        )
        for load in LOADS
        for scheme in (*pairs.present(SCHEMES), *network_schemes(ctx, load))
    }
    for scheme in pairs.NETWORK:
        trials[f"{scheme.key}-{UNLIMITED}"] = pairs.workload_experiment(
            workload(ctx, MODERATE), [scheme], buffer_pkts=network.UNLIMITED_PKTS, seed=ctx.seed
        )
    return trials


def network_schemes(ctx: StudyContext, load: float) -> tuple[Scheme, ...]:
    """XCP and RCP. The quick form runs them only at the load that statements judge."""
    return () if ctx.quick and load != MODERATE else pairs.NETWORK


def workload(ctx: StudyContext, load: float) -> Workload:
    """The workload of all schemes at a load."""
    return pairs.workload(
        pairs.traced(ctx.vectors), load=load, hours=hours(ctx, load), seed=ctx.seed
    )


def vectors(ctx: StudyContext) -> SessionTable:
    """The recorded connections that sessions are drawn from, with their recorded starts.

    For vectors that are not recorded: three hours of sessions at the smallest load.
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
