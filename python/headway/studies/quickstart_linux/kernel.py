"""The study on the kernel: its downloads, compared with the simulator's linux-6.

The paper measured its figures 9 to 13 on a Linux kernel, 2.6.20.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from headway.claims import Evidence
from headway.experiment import Experiment
from headway.publish import Page
from headway.studies.common import lab
from headway.studies.common.in_turn import in_turn
from headway.studies.quickstart_linux.experiments import LABELS, TRACES, control_of
from headway.study import Agreement, Study, StudyContext
from headway.table import Cell, Table
from headway.trace import Trace

RTTS_MS = (100, 200)
SIZES_BYTES = (1e3, 5e3, 10e3, 20e3, 50e3, 100e3, 200e3, 500e3, 1e6, 2e6, 5e6)
QUICK_SIZES_BYTES = (5e3, 20e3, 100e3, 500e3)
TITLE = "Response times in ms"
NAMES = {
    (control, kind): f"{label}, {TRACES[kind]}"
    for control, label in LABELS.items()
    for kind in TRACES
}


@dataclass(frozen=True)
class Responses:
    """How long each download of a trial took, ms; None: it did not end in the run."""

    ms: tuple[float | None, ...]


class OnKernel(Study[Responses, Evidence[Responses]]):
    """Downloads of many sizes, one after the other."""

    choices = (
        "The paper's claims are judged in the simulator, with the paper's version of Linux. Here "
        "its downloads run on this machine's kernel, one after the other, and in the simulator "
        "with linux-6.",
    )
    agreements = tuple(
        Agreement(
            f"kernel-{control}-{kind}",
            f"{name}: every response time on the kernel matches the simulator's.",
            table=TITLE,
            row=name,
            most=15.0,
            unit="ms",
            relative=0.08,
        )
        for (control, kind), name in NAMES.items()
    )

    def __init__(self, of: Study[Any, Any]) -> None:
        """The kernel's form of a study."""
        self.name, self.title, self.source = of.name, of.title, of.source
        self.description = of.description

    def experiments(self, ctx: StudyContext) -> dict[str, Experiment]:
        """A trial per control, kind of start and RTT, each with one flow per size."""
        trials = {}
        sizes = _sizes(quick=ctx.quick)
        for rtt_ms in RTTS_MS:
            starts, end_s = in_turn(sizes, rtt_ms)
            for control, kind in NAMES:
                flows = [
                    lab.requests(
                        [size],
                        control=control_of(control, kind),
                        start_s=start_s,
                        receive_window=None if kind == "ss" else lab.RECEIVE_WINDOW,
                        data_volume_bytes=None if kind == "ss" else size,
                        delayed_ack=True,
                    )
                    for size, start_s in zip(sizes, starts, strict=True)
                ]
                trials[_key(rtt_ms, control, kind)] = lab.experiment(
                    lab.path(rtt_ms=rtt_ms), flows, duration_s=end_s, seed=ctx.seed
                )
        return trials

    def observe(self, _key: str, trace: Trace) -> Responses:
        """Response times in the order of the sizes."""
        return Responses(tuple(_time_ms(trace, number) for number in range(len(trace.flows))))

    def page(self, ctx: StudyContext, found: Evidence[Responses]) -> Page:
        """Response times by control, kind of start, size and RTT."""
        rows: list[list[Cell]] = [
            [
                NAMES[control, kind],
                f"{size / 1e3:g} kB",
                *(found[_key(rtt_ms, control, kind)].ms[number] for rtt_ms in RTTS_MS),
            ]
            for control, kind in NAMES
            for number, size in enumerate(_sizes(quick=ctx.quick))
        ]
        columns = ["start", "size", *(f"{rtt_ms} ms" for rtt_ms in RTTS_MS)]
        return Page(tables=[Table(TITLE, columns, rows)])


def _key(rtt_ms: int, control: str, kind: str) -> str:
    return f"kernel-{rtt_ms}-{control}-{kind}"


def _sizes(*, quick: bool) -> tuple[float, ...]:
    return QUICK_SIZES_BYTES if quick else SIZES_BYTES


def _time_ms(trace: Trace, number: int) -> float | None:
    times = lab.response_times_s(trace, number)
    return round(1e3 * float(times[0]), 1) if times.size else None
