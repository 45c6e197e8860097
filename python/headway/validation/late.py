"""The emulated link as it really was: late, wherever the machine did something else."""

from __future__ import annotations

from collections.abc import Sequence

from headway.experiment import Dumbbell, Experiment, Link, Schedule, Step
from headway.trace import Trace

STEP_NS = 100_000
"""How finely the end of a stall is drawn."""


def as_late(experiment: Experiment, trace: Trace) -> Experiment:
    """The experiment on a link that stalls when that of the kernel's ``trace`` did.

    A packet that is due while the emulator's program does not run is delivered as soon as it does:
    packets between a stall's begin and its end arrive together. A trace that knows of no link's
    lateness changes nothing. Raises ValueError for another topology than a dumbbell of constant
    rate.
    """
    stalls_ns = trace.meta.get("emulator", {}).get("stalls_ns")
    if stalls_ns is None:
        return experiment
    topology = experiment.topology
    if not isinstance(topology, Dumbbell) or topology.vary is not None:
        raise ValueError("topology: only a dumbbell of constant rate")
    [(forward, reverse)] = topology.links()
    late = topology.model_copy(
        update={
            "vary": _schedule(forward, stalls_ns["forward0"]),
            "reverse": reverse.model_copy(
                update={"vary": _schedule(reverse, stalls_ns["reverse0"])}
            ),
        }
    )
    return experiment.model_copy(update={"topology": late})


def _schedule(link: Link, stalls_ns: Sequence[tuple[int, int]]) -> Schedule:
    steps = [Step.model_construct(start=0, rate=link.rate, delay=link.delay)]
    for begin_ns, end_ns in stalls_ns:
        # whoever leaves at t comes at t + delay, or at the end
        first_ns = max(begin_ns - link.delay, steps[-1].start + 1)
        last_ns = end_ns - link.delay
        if last_ns <= first_ns:
            continue
        steps += [
            Step.model_construct(start=at_ns, rate=link.rate, delay=end_ns - at_ns)
            for at_ns in range(first_ns, last_ns, STEP_NS)
        ]
        steps.append(Step.model_construct(start=last_ns, rate=link.rate, delay=link.delay))
    return Schedule(steps=steps)
