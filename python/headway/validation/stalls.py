"""Simulates a link that is late whenever the emulated link of a kernel run was late."""

from __future__ import annotations

from collections.abc import Sequence

from headway.experiment import Dumbbell, Experiment, Link, Schedule, Step
from headway.trace import Trace

STEP_NS = 100_000
"""Time step of the link's schedule during a stall."""


def with_stalls(experiment: Experiment, trace: Trace) -> Experiment:
    """The experiment on a link that stalls when the link of the kernel's ``trace`` stalled.

    A packet that is due while the emulator's program does not run is delivered as soon as it runs
    again, so packets due during a stall arrive together at its end. A trace without recorded stalls
    leaves the experiment unchanged. Raises ValueError unless the topology is a dumbbell with a
    constant rate.
    """
    stalls_ns = trace.meta.get("emulator", {}).get("stalls_ns")
    if stalls_ns is None:
        return experiment
    topology = experiment.topology
    if not isinstance(topology, Dumbbell) or topology.vary is not None:
        raise ValueError("topology: must be a dumbbell with a constant rate")
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
        # a packet that leaves at t arrives at t + delay, or at the end of the stall
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
