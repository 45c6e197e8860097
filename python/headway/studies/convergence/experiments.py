"""Setup: three responses of 12 MB, started 5 s apart, and a short flow that disturbs a long one."""

import random
from typing import Any

from headway.claims import edited
from headway.experiment import Dumbbell, Experiment
from headway.studies.common import lab, network
from headway.study import StudyContext

SIZE_BYTES = 12e6
OFFSET_S, JITTER_S = 5.0, 0.2
LENGTH_S, SAMPLE_S = 70.0, 1.0
"""Goodputs are measured in slots of five round trips. In shorter slots, bursts look like changes of
a flow's rate."""
FINE_SAMPLE_S = 0.02
"""Slot length for XCP and RCP: a round trip, counted from a flow's first data."""
CONTROLS = ("reno", "htcp")
"""Controls that are compared with CUBIC, to measure the control's influence with and without
RED."""
SCHEMES = {
    "slow-start": "Slow-Start",
    "slow-start-red": "Slow-Start, RED",
    "jump-start": "Jump-Start",
    "mega-start": "Mega-Start",
    "quick-start": "Quick-Start",
}
LABELS = {**SCHEMES, **network.SCHEMES}
DISTURBED = "disturbed"
_PATH = lab.path(buffer_pkts=lab.SMALL_BUFFER_PKTS)
_RED = edited({"topology.reverse.aqm": "red"})
"""RED. The thesis prints no parameters, so the thresholds are the 5 and 15 packets that RED's
author recommends."""


def runs(ctx: StudyContext) -> range:
    """Numbers that count the runs, from 1 on."""
    return range(1, 7 if ctx.quick else 13)


def experiments(ctx: StudyContext) -> dict[str, Experiment]:
    """Trials per run: schemes, other controls, and a short flow that disturbs a long one."""
    trials = {}
    controls = [f"{control}{red}" for control in CONTROLS for red in ("", "-red")]
    for run in runs(ctx):
        for name in (*SCHEMES, *controls):
            trials[f"{name}-r{run}"] = _three_flows(name, run, ctx.seed)
        trials[f"{DISTURBED}-r{run}"] = _disturbed(run, ctx.seed)
        for scheme in network.SCHEMES:
            trials[f"{scheme}-r{run}"] = _three_guided_flows(scheme, run, ctx.seed)
    return trials


def _disturbed(run: int, seed: int) -> Experiment:
    chance = random.Random(f"{seed}/convergence/{DISTURBED}/{run}")
    short = lab.requests(
        [500e3],
        control=f"{lab.CONTROL}+mega-start",
        name="short",
        # the short flow starts at random, so that it meets the long flow's window at any phase
        start_s=round(chance.uniform(20.0, 25.0), 6),
        initial_rwnd=lab.RECEIVE_WINDOW,
    )
    return _experiment(_PATH, [lab.requests([100e6], name="long"), short], run, seed)


def _three_guided_flows(scheme: str, run: int, seed: int) -> Experiment:
    """One run with XCP or RCP and an unlimited queue (figure 6.20)."""
    path = network.guided(lab.path(buffer_pkts=network.UNLIMITED_PKTS), scheme)
    hosts = {"control": network.control(scheme), "initial_rwnd": network.WINDOW}
    flows = _flows(run, seed, **hosts)
    return _experiment(path, flows, run, seed, sample_s=FINE_SAMPLE_S, record=("queue",))


def _three_flows(name: str, run: int, seed: int) -> Experiment:
    """One run with a startup and CUBIC, or with another control and slow start."""
    scheme = name.removesuffix("-red")
    control, startup = (scheme, lab.SLOW_START) if scheme in CONTROLS else (lab.CONTROL, scheme)
    quick = lab.quick_start(5.12e6, early=True).partition("+")[2]
    flows = _flows(
        run,
        seed,
        control=f"{control}+{quick if startup == 'quick-start' else startup}",
        initial_rwnd=None if startup == lab.SLOW_START else lab.RECEIVE_WINDOW,
        data_volume_bytes=SIZE_BYTES if startup == "quick-start" else None,
    )
    experiment = _experiment(_PATH, flows, run, seed, record=("queue",) if run == 1 else ())
    return _RED(experiment) if name.endswith("-red") else experiment


def _flows(run: int, seed: int, **hosts: Any) -> list[Any]:
    """Three responses, starts jittered by seed and run. All schemes have the same starts."""
    chance = random.Random(f"{seed}/convergence/{run}").random
    starts_s = [round(OFFSET_S * number + JITTER_S * chance(), 6) for number in range(3)]
    return [
        lab.requests([SIZE_BYTES], name=f"flow {number}", start_s=start_s, **hosts)
        for number, start_s in enumerate(starts_s, start=1)
    ]


def _experiment(path: Dumbbell, flows: list[Any], run: int, seed: int, **more: Any) -> Experiment:
    fields = {"duration_s": LENGTH_S, "seed": seed * 1000 + run, "sample_s": SAMPLE_S, **more}
    return lab.experiment(path, flows, **fields)
