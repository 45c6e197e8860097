"""The study on the kernel: nginx behind the proxy, and a client, over the testbed.

The simulator's linux-6 runs the same trials. Slow-Start begins with the three packets of the
thesis' Linux and Initial-Start with its ten, as today's Linux does.
"""

from collections.abc import Mapping
from itertools import product

import numpy as np

from headway.claims import Evidence
from headway.experiment import Experiment
from headway.studies.common import lab
from headway.studies.common.beside import SIMULATED, BesideSimulator
from headway.studies.deadlines import claims, page
from headway.studies.deadlines import experiments as setup
from headway.studies.deadlines.experiments import BASE, BLIND, LABELS, TARGETS_S, Found
from headway.study import StudyContext, declared
from headway.units import fixed_memory

START_S, RUNS, LONGEST_S, THINK_S = 0.2, 3, 1.7, 0.6
WMEM = fixed_memory(f"{4 << 20} B")
"""Linux's largest send buffer. Its initial send buffer would limit every fast startup."""


def _targets_s(scheme: str, ctx: StudyContext) -> tuple[float, ...]:
    """Response time targets.

    Startups that ignore targets get only a few, because a trial runs in real time.
    """
    if ctx.quick:
        return (0.3, 2.0) if scheme in BLIND else (0.1, 0.3, 0.7)
    return (0.1, 0.3, 1.0, 2.0) if scheme in BLIND else TARGETS_S


def experiments(ctx: StudyContext) -> dict[str, Experiment]:
    """A trial per scheme and target, its downloads one after the other."""
    startups = {scheme: setup.startup(scheme) for scheme in LABELS}
    startups[BASE] = "initial-start:is_window_pkts=3"
    return {
        setup.live_key(scheme, target_s): lab.experiment(
            lab.path(),
            [setup.download(f"cubic+{name}", target_s, START_S, "thrice.csv", WMEM)],
            duration_s=START_S + RUNS * (LONGEST_S + THINK_S),
            stack="linux-6",
            seed=ctx.seed,
        )
        for scheme, name in startups.items()
        for target_s in _targets_s(scheme, ctx)
    }


def gather(_ctx: StudyContext, rows: Mapping[str, setup.Responses]) -> Found:
    """Join the trials of each startup; the time of a target is the median of its downloads."""
    found = {}
    for prefix, scheme in product(("", SIMULATED), LABELS):
        keys = {target_s: prefix + setup.live_key(scheme, target_s) for target_s in TARGETS_S}
        own = {target_s: rows[key] for target_s, key in keys.items() if key in rows}
        all_s = [one.response_s for one in own.values()]
        medians_s = [np.median(times_s) if times_s.size else np.nan for times_s in all_s]
        asked = [one.asked for one in own.values()]
        if own:
            found[prefix + scheme] = setup.Answers(*map(np.array, (list(own), medians_s, asked)))
    return Evidence(found)


KERNEL = declared(
    __name__,
    form="kernel",
    base=BesideSimulator,
    experiments=experiments,
    observe=setup.observe,
    gather=gather,
    page=page.page,
    agreements=claims.AGREEMENTS,
    statements=claims.LIVE_STATEMENTS,
)
