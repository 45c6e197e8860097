"""Measures the time per ACK that the kernel spends in each control's eBPF programs."""

from __future__ import annotations

import os
import threading
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any

from headway.backends.kernel import KernelBackend
from headway.backends.kernel.headwayctl import Headwayctl
from headway.errors import HeadwayError
from headway.experiment import Experiment
from headway.registry import Registry
from headway.validation.failed import Failures

DURATION_S, MEASURED_S = 4, 3
"""Duration of the flow and of the measurement. The measurement begins before the flow, so that it
covers the startup, and ends before the flow ends."""
RATE, RTT = "50Mbit/s", "40 ms"
TITLE = "## What a control costs"


@dataclass(frozen=True)
class Cost:
    """The cost of a control with a startup under one bulk flow: ACKs, and ns per ACK."""

    control: str
    startup: str | None
    acks: int
    ns_per_ack: int


def pairs(registry: Registry) -> list[tuple[str, str | None]]:
    """All pairs of a control and a startup to measure; a control's default startup comes first.

    The startup is None for a control with its own start. Controls that read a monitor are left out,
    because the two hosts of this measurement have no monitors.
    """
    found: list[tuple[str, str | None]] = []
    for control in registry.controls:
        if control.reads_monitor:
            continue
        if control.startup is None:
            found.append((control.name, None))
            continue
        others = sorted(s.name for s in registry.startups if s.name != control.startup)
        found += [(control.name, startup) for startup in (control.startup, *others)]
    return found


def _named(control: str, startup: str | None) -> str:
    return f"{control}+{startup}" if startup else control


def experiment(control: str, startup: str | None) -> Experiment:
    """One bulk flow over a queue of one BDP."""
    return Experiment.model_validate(
        {
            "topology": {"kind": "dumbbell", "rate": RATE, "rtt": RTT, "buffer": "1 BDP"},
            "flows": f"1x{_named(control, startup)}",
            "duration": f"{DURATION_S} s",
            "record": [],
        }
    )


def measure(
    wanted: Sequence[tuple[str, str | None]],
    done: Callable[[int, int, str], None],
    failures: Failures,
) -> list[Cost]:
    """Measure the pairs one after the other; errors go to ``failures``.

    Nothing else should run on the machine meanwhile.
    """
    costs: list[Cost] = []
    for number, (control, startup) in enumerate(wanted):
        named = _named(control, startup)
        done(number, len(wanted), named)
        try:
            costs.append(_measure(control, startup))
        except HeadwayError as error:
            failures.add(f"cost of {named}", error)
    return costs


def _measure(control: str, startup: str | None) -> Cost:
    counting = _Counting()
    KernelBackend(counting.start).run(experiment(control, startup))
    ours = f"hw{os.getpid():x}n"
    for entry in counting.result()["attached"]:
        cost = entry["cost_per_ack"]
        if entry["name"].startswith(ours) and cost is not None:
            return Cost(control, startup, cost["acks"], cost["ns_per_ack"])
    raise HeadwayError(f"cost of {_named(control, startup)}: the kernel counted no ACK")


class _Counting:
    """Lets the kernel count calls of eBPF programs and their time, from the start of a run on."""

    def __init__(self) -> None:
        self._thread: threading.Thread | None = None
        self._status: dict[str, Any] | HeadwayError | None = None

    def start(self, *_: float) -> None:
        """Start counting. Called repeatedly during a run; only the first call has an effect."""
        if self._thread is None:
            self._thread = threading.Thread(target=self._count)
            self._thread.start()

    def _count(self) -> None:
        try:
            self._status = Headwayctl().json("status", "--measure", f"{MEASURED_S}s", "--json")
        except HeadwayError as error:
            self._status = error

    def result(self) -> dict[str, Any]:
        """The status that headwayctl printed. Raises HeadwayError if headwayctl failed."""
        if self._thread is not None:
            self._thread.join()
        if isinstance(self._status, HeadwayError):
            raise self._status
        return self._status or {"attached": []}


def section(costs: Sequence[Cost], measured: str) -> str:
    """The page's section on costs, in Markdown; ``measured`` gives the date and machine."""
    rows = "\n".join(
        f"| {c.control} | {c.startup or 'its own'} | {c.acks} | {c.ns_per_ack} |" for c in costs
    )
    return f"""{TITLE}

{measured}
The table shows the mean time per ACK in a control's eBPF programs, as the kernel counts it
(`headwayctl status --measure`), with one bulk flow of {DURATION_S} s at {RATE} and {RTT} and a
queue of 1 BDP.

| control | startup | ACKs | ns per ACK |
|---|---|---|---|
{rows}
"""
