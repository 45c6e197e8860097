"""Setup: a bulk flow of each control and a call, with each queue discipline."""

from __future__ import annotations

import random

from headway.experiment import Dumbbell, Experiment, Flow, Voip
from headway.registry import Algorithm, registry
from headway.studies.collateral_damage.experiments import BUFFER, RATE, VOIP_LEAD_S
from headway.study import StudyContext

RTT_MS = 50
LENGTH_S, QUICK_LENGTH_S = 190.0, 50.0
WARMUP_S = 10.0
"""Slow start ends after at most five seconds and is not part of the steady state."""
RUNS, QUICK_RUNS = 5, 1
STACK = "linux-6"
PLAIN = "drop-tail"
"""The queue that papers on controls assume."""
COUNTED = "red"
"""The discipline whose thresholds are numbers of packets, whatever their size."""


def ends() -> tuple[Algorithm, ...]:
    """Every control of an end host. A proxy's controls read the monitor of its own link."""
    return tuple(one for one in registry().controls if not one.reads_monitor)


def controls() -> tuple[str, ...]:
    """The names of these controls."""
    return tuple(one.name for one in ends())


def queues() -> tuple[str, ...]:
    """Every queue discipline by name, the plain one first."""
    names = (one.name for one in registry().queues)
    return tuple(sorted(names, key=lambda name: (name != PLAIN, name)))


def routers_of(control: Algorithm) -> tuple[str, ...]:
    """The router algorithms that read the control's header, by name."""
    if control.header is None:
        return ()
    return tuple(one.name for one in registry().routers if one.header == control.header)


def runs(ctx: StudyContext) -> int:
    """How many trials each control and queue have."""
    return QUICK_RUNS if ctx.quick else RUNS


def key(control: str, queue: str, run: int | str) -> str:
    """A trial's name, for example "cubic-red-t1"; runs count from 1, "*" names all."""
    return f"{control}-{queue}-t{run}"


def experiments(ctx: StudyContext) -> dict[str, Experiment]:
    """One trial per control, queue and run."""
    return {
        key(control.name, queue, run): _trial(ctx, control, queue, run)
        for queue in queues()
        for control in ends()
        for run in range(1, runs(ctx) + 1)
    }


def _trial(ctx: StudyContext, control: Algorithm, queue: str, run: int) -> Experiment:
    length_s = QUICK_LENGTH_S if ctx.quick else LENGTH_S
    routers = routers_of(control)
    reverse = {
        "rate": RATE,
        "delay": f"{RTT_MS / 2:g} ms",
        "buffer": BUFFER,
        "aqm": queue,
        "routers": routers,
    }
    path = Dumbbell.model_validate(
        {
            "rate": RATE,
            "rtt": f"{RTT_MS} ms",
            "buffer": BUFFER,
            "aqm": queue,
            "routers": routers,
            "reverse": reverse,
        }
    )
    # seeded by a text: Python guarantees the same draws for it in every version
    chance = random.Random(f"{ctx.seed}/{key(control.name, queue, run)}").random()
    start_s = VOIP_LEAD_S + chance * RTT_MS / 1e3
    bulk = Flow.model_validate(
        {"name": "bulk", "control": control.name, "start": f"{start_s:.9f} s"}
    )
    return Experiment(
        topology=path,
        flows=(bulk, Flow(name="voip", app=Voip, start="0 s")),
        duration=f"{length_s:g} s",
        warmup=f"{WARMUP_S:g} s",
        stack=STACK,
        seed=ctx.seed * 1000 + run,
        record=("udp", "queue") if queue == COUNTED else ("udp",),
    )
