"""Runs random cases on both backends, and saves the kernel's runs so that they can be reused.

Each kernel run is a line of ``kernel.jsonl``, written and synced when the run ends. Simulator runs
are fast and not saved: after a fix of the simulator, the same command compares it with the saved
kernel runs. Cases run in groups, so that cases on slow links can run in parallel.
"""

from __future__ import annotations

import json
import os
import re
import time
from collections import Counter, defaultdict
from collections.abc import Callable, Sequence
from dataclasses import asdict, dataclass, field, replace
from pathlib import Path

from headway.backends import Backend
from headway.backends.repeating import NOTE, Repeating
from headway.errors import HeadwayError
from headway.experiment import Experiment, Flow
from headway.files import save_error
from headway.interrupts import delay_interrupts
from headway.sweep import Progress
from headway.trace import Trace
from headway.units import NS_PER_S
from headway.validation import random_paths
from headway.validation.random_cases import Case
from headway.validation.random_compare import Observed, Result, observe, values_of

KERNEL_RUNS, NOISY_RUNS = 3, 15
"""KERNEL_RUNS: number of kernel runs of a case whose first kernel run is not close to the
simulator, and of every case of the kind "paths", where the kernel's own spread is a yardstick.
NOISY_RUNS: their number if the backends then differ and the kernel runs also differ from each
other. With five, one case in six would lie outside of their range by chance: the median of as many
simulator runs with the same distribution."""
SIM_RUNS = 15
"""Simulator runs of a case. They differ in when the flows start relative to the hosts' clocks, and
in the lateness of each flow."""
GROUP = 24
"""Number of cases in a group. Kernel runs of a group can run in parallel, if the cases are next to
each other and their links are slow."""
QUIET_US = 200.0
"""A run is repeated if packets left the emulated link later than this on average."""
_CLOCK_STEP_NS = 50_570_000
"""Step between the starts of the simulator's runs, modulo 256 ms. The kernel's timers fire at ticks
of 4 ms, those of 0.25 to 2 s at every eighth and longer ones at every 64th tick; its timestamps
count milliseconds. A run on the kernel starts at any time between ticks."""
_TICK_NS, _TICKS_NS = 4_000_000, 256_000_000
_LATE_NS = (150_000, 450_000)
_LATE_CALL_NS = 120_000
"""On the kernel, a TCP flow's first packet leaves its host this long after the flow's start (least
and most), and a call's first packet this long. Measured with several flows. The delays decide which
of several flows' packets enters a queue first."""
_LATE_STEP = 0.37
"""Step by which the simulated lateness of flows, and of runs, changes, as a share of the difference
between most and least."""

Check = Callable[[Experiment], object]
"""A function that raises HeadwayError for an experiment that a backend cannot run."""


@dataclass(frozen=True)
class Run:
    """One run on the kernel."""

    values: Observed
    seconds: float
    """Time that the run took."""
    notes: tuple[str, ...] = ()
    repeated: int = 0
    """Number of disturbed runs that were repeated before this one."""


@dataclass
class Outcome:
    """The results of all cases."""

    results: list[Result] = field(default_factory=list)
    left_out: Counter[str] = field(default_factory=Counter)
    """Number of cases that a backend cannot run, by reason."""
    failed: dict[int, str] = field(default_factory=dict)
    """Error messages of failed runs, by the number of the case."""
    short: int = 0
    """Number of results with too few kernel runs, because --hours had passed."""


class SavedRuns:
    """The saved kernel runs of a file, by key."""

    def __init__(self, file: Path) -> None:
        self._file = file
        self._runs: dict[str, list[Run]] = defaultdict(list)
        if file.exists():
            self._load()

    def _load(self) -> None:
        text = self._file.read_text(encoding="utf-8")
        whole, _, cut = text.rpartition("\n")
        for number, line in enumerate(whole.splitlines(), 1):
            try:
                fields = json.loads(line)
                key = fields.pop("key")
                run = Run(**fields | {"notes": tuple(fields["notes"])})
            except (ValueError, KeyError, TypeError) as error:
                raise HeadwayError(
                    f"{self._file}: line {number}: not a saved run ({error})"
                ) from None
            self._runs[key].append(run)
        if cut:  # the process ended, or the disk was full, in the middle of a line
            try:
                os.truncate(self._file, len(whole.encode()) + bool(whole))
            except OSError as error:
                raise save_error(self._file, error) from None

    def of(self, key: str) -> Sequence[Run]:
        """The runs of one experiment, in the order in which they ran."""
        return self._runs[key]

    def add(self, key: str, run: Run) -> None:
        """Save another run. Raises HeadwayError if it cannot be written."""
        line = json.dumps({"key": key, **asdict(run)}) + "\n"
        with delay_interrupts():
            try:
                self._file.parent.mkdir(parents=True, exist_ok=True)
                before = self._file.stat().st_size if self._file.exists() else 0
                try:
                    with self._file.open("a", encoding="utf-8") as stream:
                        stream.write(line)
                        stream.flush()
                        os.fsync(stream.fileno())
                except OSError:
                    os.truncate(self._file, before)
                    raise
            except OSError as error:
                raise save_error(self._file, error) from None
            self._runs[key].append(run)


class RandomRunner:
    """Runs cases and compares them."""

    def __init__(
        self,
        cases: Sequence[Case],
        saved: SavedRuns,
        sim: Backend,
        kernel: Backend,
        checks: Sequence[Check],
        *,
        repeats: int,
        progress: Progress,
        until_s: float | None = None,
    ) -> None:
        """``until_s`` is a time of time.monotonic() after which no more runs begin."""
        self.outcome = Outcome()
        self._cases = cases
        self._saved = saved
        self._sim = sim
        self._kernel = Repeating(kernel, repeats, QUIET_US)
        self._checks = checks
        self._progress = progress
        self._until_s = until_s
        self._estimate = _TimeEstimate()
        self._simulated: dict[int, list[Observed]] = {}
        """The simulator's values by the case's number, until the case is finished."""

    @property
    def done(self) -> int:
        """Number of cases that need no more runs."""
        out = self.outcome
        return len(out.results) + sum(out.left_out.values()) + len(out.failed)

    def run(self) -> None:
        """Run all cases that the saved runs do not already complete."""
        waiting = []
        for case in self._cases:
            reason = self._reason(case)
            if reason is not None:
                self.outcome.left_out[reason] += 1
            else:
                waiting.append(case)
        rest = [case for case in waiting if not self._compare_if_complete(case)]
        self._report_progress(len(rest))
        while rest and not self._is_late():
            group, rest = sorted(rest[:GROUP], key=_rate), rest[GROUP:]
            while group and not self._is_late():
                self._run_once(group)
                group = [
                    case
                    for case in group
                    if case.index not in self.outcome.failed and not self._compare_if_complete(case)
                ]
                self._report_progress(len(rest) + len(group))
            rest = [*group, *rest]
        self.outcome.short = sum(self._compare_if_complete(case, is_last=True) for case in rest)

    def _is_late(self) -> bool:
        return self._until_s is not None and time.monotonic() >= self._until_s

    def _report_progress(self, left: int) -> None:
        self._progress(self.done, len(self._cases), self._estimate.text(left))

    def _reason(self, case: Case) -> str | None:
        """The error of a backend that cannot run a case, without flows' names and numbers."""
        for check in self._checks:
            try:
                check(case.experiment)
            except HeadwayError as error:
                return re.sub(r"\b\S+-\d+: |(?<![\w.-])\d+(?![\w.-])", "", str(error))
        return None

    def _compare_if_complete(self, case: Case, *, is_last: bool = False) -> bool:
        """Compare a case if it has enough kernel runs, or with ``is_last`` any number of them.

        Returns whether the case was compared.
        """
        runs = self._saved.of(self._kernel.key(case.experiment))
        if not runs:
            return False
        notes = tuple(dict.fromkeys(note for run in runs for note in run.notes))
        observed = [run.values for run in runs]
        if case.index not in self._simulated:
            samples = samples_of(case.experiment)
            self._simulated[case.index] = [observe(self._sim.run(one)) for one in samples]
        values = values_of(case.experiment, self._simulated[case.index], observed, case.kind)
        result = Result(case, values, notes)
        suffices = result.is_close and case.kind != random_paths.KIND
        if not suffices and not is_last:
            most = NOISY_RUNS if result.differs and result.is_noisy else KERNEL_RUNS
            if len(runs) < most:
                return False
        self.outcome.results.append(result)
        del self._simulated[case.index]
        return True

    def _run_once(self, cases: Sequence[Case]) -> None:
        """Run each case once more on the kernel."""
        experiments = [case.experiment for case in cases]
        began_s = time.monotonic()

        def work(_index: int, trace: Trace) -> Run:
            notes = tuple(str(note) for note in trace.meta.get("notes", ()) if note != NOTE)
            ends_ns = [flow.last_packet_ns or 0 for flow in trace.flows]
            return Run(observe(trace), max(ends_ns) / NS_PER_S, notes)

        def finished(index: int, run: Run) -> None:
            run = replace(run, repeated=self._kernel.repeated[index])
            self._saved.add(self._kernel.key(experiments[index]), run)

        def failed(index: int, error: HeadwayError) -> None:
            if type(error) is not HeadwayError:
                raise error
            self.outcome.failed[cases[index].index] = str(error)

        self._kernel.run_each(experiments, work, finished, failed=failed)
        self._estimate.record(len(cases), time.monotonic() - began_s)


def _rate(case: Case) -> int:
    return max(link.rate for hop in case.experiment.topology.links() for link in hop)


def samples_of(experiment: Experiment) -> list[Experiment]:
    """Copies of the experiment whose flows start slightly later, as on the kernel."""
    least_ns, most_ns = _LATE_NS
    starts_ns = experiment.start_times_ns()

    varies = any(link.vary is not None for hop in experiment.topology.links() for link in hop)
    # changes of links have fixed times, so that flows may start later by less than a tick only
    cycle_ns = _TICK_NS if varies else _TICKS_NS

    def late_ns(sample: int, index: int, flow: Flow) -> int:
        if flow.control is None:
            return _LATE_CALL_NS
        share = sample * (index + 1) * _LATE_STEP % 1
        return least_ns + round(share * (most_ns - least_ns))

    def later(sample: int) -> Experiment:
        by_ns = sample * _CLOCK_STEP_NS % cycle_ns
        flows = tuple(
            flow.model_copy(
                update={
                    "start": start_ns + by_ns + late_ns(sample, index, flow),
                    "stop": None if flow.stop is None else flow.stop + by_ns,
                }
            )
            for index, (flow, start_ns) in enumerate(zip(experiment.flows, starts_ns, strict=True))
        )
        times = {name: getattr(experiment, name) + by_ns for name in ("warmup", "duration")}
        return experiment.model_copy(update={"flows": flows, **times})

    return [later(sample) for sample in range(SIM_RUNS)]


class _TimeEstimate:
    """Estimates the remaining time from the time of earlier runs."""

    def __init__(self) -> None:
        self._runs = 0
        self._took_s = 0.0

    def record(self, runs: int, took_s: float) -> None:
        """Record that this many runs took this many seconds."""
        self._runs += runs
        self._took_s += took_s

    def text(self, left: int) -> str:
        """The estimated time for ``left`` further cases as text; empty if unknown."""
        if not (self._runs and left):
            return ""
        return f"about {_RUNS_PER_CASE * left * self._took_s / self._runs / 60:.0f} min left"


_RUNS_PER_CASE = 1.6
"""Average number of kernel runs per case: some cases need one run, others three or more."""
