"""Setup: three responses of 12 MB, started 5 s apart, and a short flow that disturbs a long one."""

from __future__ import annotations

import random

from headway.experiment import Dumbbell, Experiment
from headway.studies.common import lab, network
from headway.study import StudyContext

SIZE_BYTES = 12e6
OFFSET_S, JITTER_S = 5.0, 0.2
LENGTH_S, SAMPLE_S = 70.0, 1.0
"""Goodputs are measured in slots of five round trips. In shorter slots, bursts look like changes of
a flow's rate."""
FINE_SAMPLE_S = 0.02
"""For XCP and RCP, which are measured in round trips from a flow's first data on."""
RUNS, QUICK_RUNS = 12, 6
SHORT_BYTES = 500e3
SHORT_START_S = (20.0, 25.0)
"""The short flow starts at random in this time, so that it meets the long one's window at any
phase."""
RED = "red"
"""The thesis gives no parameters. Its thresholds are the author's recommended 5 and 15 packets."""
CONTROLS = ("reno", "htcp")
"""Compared with CUBIC, to measure the control's influence with and without RED."""
SCHEMES = {
    "slow-start": "Slow-Start",
    "slow-start-red": "Slow-Start, RED",
    "jump-start": "Jump-Start",
    "mega-start": "Mega-Start",
    "quick-start": "Quick-Start",
}
DISTURBED = "disturbed"


def path(*, red: bool = False) -> Dumbbell:
    """A queue of 50 packets, drop-tail or RED."""
    made = lab.path(buffer_pkts=lab.SMALL_BUFFER_PKTS)
    if not red or made.reverse is None:
        return made
    fields = made.reverse.model_dump(mode="json") | {"aqm": RED}
    return made.model_copy(update={"reverse": type(made.reverse).model_validate(fields)})


def runs(ctx: StudyContext) -> range:
    """Numbers of the runs."""
    return range(1, (QUICK_RUNS if ctx.quick else RUNS) + 1)


def control_trial(control: str, *, red: bool) -> str:
    """Prefix of the trials of a control with slow start. CUBIC's trials are those of a scheme."""
    name = lab.SLOW_START if control == lab.CONTROL else control
    return f"{name}-red" if red else name


def experiments(ctx: StudyContext) -> dict[str, Experiment]:
    """Trials per run: schemes, other controls, and a short flow that disturbs a long one."""
    trials = {}
    for run in runs(ctx):
        for scheme in SCHEMES:
            startup = scheme.removesuffix("-red")
            trials[f"{scheme}-r{run}"] = three_flows(
                startup, run, seed=ctx.seed, red=scheme.endswith("-red")
            )
        for control in CONTROLS:
            for red in (False, True):
                trials[f"{control_trial(control, red=red)}-r{run}"] = three_flows(
                    lab.SLOW_START, run, seed=ctx.seed, control=control, red=red
                )
        trials[f"{DISTURBED}-r{run}"] = _disturbed(run, seed=ctx.seed)
        for scheme in network.SCHEMES:
            trials[f"{scheme}-r{run}"] = three_guided_flows(scheme, run, seed=ctx.seed)
    return trials


def _disturbed(run: int, *, seed: int) -> Experiment:
    chance = random.Random(f"{seed}/convergence/{DISTURBED}/{run}")
    short = lab.requests(
        [SHORT_BYTES],
        control=f"{lab.CONTROL}+mega-start",
        name="short",
        start_s=round(chance.uniform(*SHORT_START_S), 6),
        receive_window=lab.RECEIVE_WINDOW,
    )
    long = lab.requests([100e6], name="long")
    return lab.experiment(
        path(), [long, short], duration_s=LENGTH_S, seed=seed * 1000 + run, sample_s=SAMPLE_S
    )


def starts_s(run: int, *, seed: int) -> list[float]:
    """When the flows of a run start, jittered by seed and run. All schemes have the same starts."""
    chance = random.Random(f"{seed}/convergence/{run}").random
    return [round(OFFSET_S * number + JITTER_S * chance(), 6) for number in range(3)]


def three_guided_flows(scheme: str, run: int, *, seed: int) -> Experiment:
    """One run with XCP or RCP and an unlimited queue (figure 6.20)."""
    flows = [
        lab.requests(
            [SIZE_BYTES],
            control=network.control(scheme),
            name=f"flow {number + 1}",
            start_s=start_s,
            receive_window=network.WINDOW,
        )
        for number, start_s in enumerate(starts_s(run, seed=seed))
    ]
    return lab.experiment(
        network.guided(lab.path(buffer_pkts=network.UNLIMITED_PKTS), scheme),
        flows,
        duration_s=LENGTH_S,
        seed=seed * 1000 + run,
        sample_s=FINE_SAMPLE_S,
        record=("queue",),
    )


def three_flows(
    scheme: str, run: int, *, seed: int, control: str = lab.CONTROL, red: bool = False
) -> Experiment:
    """One run: three responses, starts jittered by the seed and the run."""
    startup = lab.quick_start(5.12e6, early=True).partition("+")[2]
    named = f"{control}+{startup if scheme == 'quick-start' else scheme}"
    flows = [
        lab.requests(
            [SIZE_BYTES],
            control=named,
            name=f"flow {number + 1}",
            start_s=start_s,
            receive_window=None if scheme == lab.SLOW_START else lab.RECEIVE_WINDOW,
            data_volume_bytes=SIZE_BYTES if scheme == "quick-start" else None,
        )
        for number, start_s in enumerate(starts_s(run, seed=seed))
    ]
    return lab.experiment(
        path(red=red),
        flows,
        duration_s=LENGTH_S,
        seed=seed * 1000 + run,
        sample_s=SAMPLE_S,
        record=("queue",) if run == 1 else (),
    )
