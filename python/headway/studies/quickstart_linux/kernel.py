"""The study on the kernel: its downloads, compared with the simulator's linux-6.

The paper measured its figures 9 to 13 on a Linux kernel, 2.6.20.
"""

from dataclasses import dataclass
from functools import partial
from itertools import product

from headway.claims import Evidence
from headway.experiment import Experiment
from headway.publish import Page
from headway.studies.common import lab
from headway.studies.common.in_turn import in_turn
from headway.studies.common.shown import Column, table
from headway.studies.quickstart_linux.experiments import LABELS, RTTS_MS, TRACES, download
from headway.study import Agreement, StudyContext, declared
from headway.trace import Trace

SIZES_BYTES = (1e3, 5e3, 10e3, 20e3, 50e3, 100e3, 200e3, 500e3, 1e6, 2e6, 5e6)
QUICK_SIZES_BYTES = (5e3, 20e3, 100e3, 500e3)
TITLE = "Response times in ms"
NAMES = {
    f"{control}-{kind}": f"{label}, {TRACES[kind]}"
    for control, label in LABELS.items()
    for kind in TRACES
}


@dataclass(frozen=True)
class Responses:
    """How long each download of a trial took, ms; None: it did not end in the run."""

    ms: tuple[float | None, ...]


def _sizes(ctx: StudyContext) -> tuple[float, ...]:
    return QUICK_SIZES_BYTES if ctx.quick else SIZES_BYTES


def _experiments(ctx: StudyContext) -> dict[str, Experiment]:
    """A trial per control, kind of start and RTT, each with one flow per size, in turn."""
    trials, sizes = {}, _sizes(ctx)
    for rtt_ms, control, kind in product(RTTS_MS, LABELS, TRACES):
        starts, end_s = in_turn(sizes, rtt_ms)
        flows = [download(control, kind, *one) for one in zip(sizes, starts, strict=True)]
        trials[f"kernel-{rtt_ms}-{control}-{kind}"] = lab.experiment(
            lab.path(rtt_ms=rtt_ms), flows, duration_s=end_s, seed=ctx.seed
        )
    return trials


def _observe(_key: str, trace: Trace) -> Responses:
    times = [lab.response_times_s(trace, number) for number in range(len(trace.flows))]
    return Responses(tuple(round(1e3 * float(t[0]), 1) if t.size else None for t in times))


def _page(ctx: StudyContext, found: Evidence[Responses]) -> Page:
    """Response times by control, kind of start, size and RTT."""

    def time_ms(rtt_ms: int, row: tuple[str, tuple[int, float]]) -> float | None:
        return found[f"kernel-{rtt_ms}-{row[0]}"].ms[row[1][0]]

    columns: dict[str, Column[tuple[str, tuple[int, float]]]] = {
        "start": lambda row: NAMES[row[0]],
        "size": lambda row: f"{row[1][1] / 1e3:g} kB",
        **{f"{rtt_ms} ms": partial(time_ms, rtt_ms) for rtt_ms in RTTS_MS},
    }
    return Page(tables=[table(TITLE, product(NAMES, enumerate(_sizes(ctx))), columns)])


KERNEL = declared(
    __name__,
    form="kernel",
    experiments=_experiments,
    observe=_observe,
    page=_page,
    agreements=Agreement.per_row(
        NAMES,
        "{}: every response time on the kernel matches the simulator's.",
        table=TITLE, most=15.0, unit="ms", relative=0.08,
    ),
)  # fmt: skip
