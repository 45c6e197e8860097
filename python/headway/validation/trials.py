"""Trials of scenarios on both backends: run, observed where they ran, kept as each one ends."""

from __future__ import annotations

import json
from collections import Counter
from collections.abc import Callable, Sequence
from dataclasses import asdict, dataclass, replace
from pathlib import Path

from headway.backends import Backend
from headway.backends.repeating import NOTE, Repeating
from headway.errors import HeadwayError
from headway.experiment import Experiment
from headway.files import save_text
from headway.trace import Trace, save_trace
from headway.units import NS_PER_S
from headway.validation.compare import Comparison, Observed, compare, observe
from headway.validation.failed import Failures
from headway.validation.matrix import Scenario
from headway.validation.report import Windows, overlay, windows_of

SIM_PER_KERNEL = 5
"""The simulator's trials take no time: so many for each of the kernel's, with seeds that go on."""


@dataclass(frozen=True)
class Trial:
    """One run of a scenario: what was observed, and the run's own doubts."""

    observed: Observed
    notes: tuple[str, ...] = ()
    repeated: int = 0


def trial_of(trace: Trace) -> Trial:
    """What is kept of a trace."""
    # how often it was repeated is counted
    notes = tuple(str(note) for note in trace.meta.get("notes", ()) if note != NOTE)
    return Trial(observe(trace), notes)


@dataclass(frozen=True)
class Plan:
    """What is to be run: seeds from ``seed`` on, each trial as long as its scenario says."""

    scenarios: Sequence[Scenario]
    seed: int = 1
    duration_s: int | None = None
    trials: int | None = None

    def experiments(self, scenario: Scenario, times: int = 1) -> list[Experiment]:
        """A scenario's trials on the kernel, or ``times`` as many."""
        number = times * (self.trials or scenario.trials)
        return [scenario.experiment(self.seed + i, self.duration_s) for i in range(number)]

    def kernel_s(self) -> int:
        """How long all trials on the kernel take one after the other."""
        runs = (e for s in self.scenarios for e in self.experiments(s))
        return sum(e.duration for e in runs) // NS_PER_S


class Runner:
    """Runs a plan on both backends. What has finished is in a folder, and need not run again.

    A trial that fails is repeated as one that was disturbed; if it fails each time ``failures`` has
    it, and the others go on. Its scenario is then not compared.
    """

    def __init__(
        self,
        plan: Plan,
        out: Path,
        *,
        repeats: int,
        resume: bool,
        save: bool,
        tell: Callable[[str], None],
        failures: Failures | None = None,
    ) -> None:
        self._plan = plan
        self._failures = Failures(tell) if failures is None else failures
        self._out = out
        self._repeats = repeats
        self._resume = resume
        self._save = save
        self._tell = tell
        self._done: dict[tuple[str, str, int], Trial] = {}
        self._first: dict[str, dict[str, Windows]] = {}

    def run(self, sim: Backend, kernel: Backend) -> None:
        """Run what is not there: the simulator first, then the kernel, alone on the machine."""
        self._run(sim, SIM_PER_KERNEL)
        self._run(kernel, 1)

    def comparisons(self) -> list[Comparison]:
        """Every scenario whose trials are all there."""
        found = []
        for scenario in self._plan.scenarios:
            sims = self._of(scenario, "sim", SIM_PER_KERNEL)
            kernels = self._of(scenario, "kernel", 1)
            if sims is None or kernels is None:
                continue
            found.append(
                compare(
                    scenario,
                    [trial.observed for trial in sims],
                    [trial.observed for trial in kernels],
                    tuple(note for trial in kernels for note in trial.notes),
                    sum(trial.repeated for trial in kernels),
                )
            )
        return found

    def _of(self, scenario: Scenario, backend: str, times: int) -> list[Trial] | None:
        seeds = [e.seed for e in self._plan.experiments(scenario, times)]
        found = [self._done.get((scenario.key, backend, seed)) for seed in seeds]
        trials = [trial for trial in found if trial is not None]
        return trials if len(trials) == len(seeds) else None

    def _run(self, backend: Backend, times: int) -> None:
        wanted = [(s, e) for s in self._plan.scenarios for e in self._plan.experiments(s, times)]
        kept = {(s.key, e.seed) for s, e in wanted if self._take_kept(backend, s, e)}
        runs = [(s, e) for s, e in wanted if (s.key, e.seed) not in kept]
        tell = _Told(self._tell, backend.name, runs, len(kept))
        repeating = Repeating(backend, self._repeats)

        def finished(index: int, trial: Trial) -> None:
            scenario, experiment = runs[index]
            trial = replace(trial, repeated=repeating.repeated[index])
            self._keep(backend, scenario, experiment, trial)
            tell.finished(index)

        def failed(index: int, error: HeadwayError) -> None:
            scenario, experiment = runs[index]
            self._failures.add(f"{scenario.key}, {backend.name}, seed {experiment.seed}", error)
            tell.failed(index)

        repeating.run_each(
            [experiment for _, experiment in runs],
            self._work([scenario for scenario, _ in runs], backend.name),
            finished,
            failed=failed,
        )

    def _work(self, scenarios: Sequence[Scenario], backend: str) -> Callable[[int, Trace], Trial]:
        def work(place: int, trace: Trace) -> Trial:
            key = scenarios[place].key
            if trace.experiment.seed == self._plan.seed:
                both = self._first.setdefault(key, {})
                both[backend] = windows_of(trace)
                if self._save:
                    save_trace(trace, self._out / "traces" / key / backend)
                if len(both) == 2:
                    overlay(both["sim"], both["kernel"], self._out / "figures" / key)
                    del self._first[key]
            return trial_of(trace)

        return work

    def _file(self, backend: Backend, scenario: Scenario, experiment: Experiment) -> Path:
        return self._out / "trials" / scenario.key / f"{backend.name}-{experiment.seed}.json"

    def _keep(
        self, backend: Backend, scenario: Scenario, experiment: Experiment, trial: Trial
    ) -> None:
        text = json.dumps({"key": backend.key(experiment), **asdict(trial)}, indent=1)
        save_text(self._file(backend, scenario, experiment), text)
        self._done[scenario.key, backend.name, experiment.seed] = trial

    def _take_kept(self, backend: Backend, scenario: Scenario, experiment: Experiment) -> bool:
        """Whether a trial is there already, of this very program and experiment."""
        file = self._file(backend, scenario, experiment)
        if not self._resume or not file.exists():
            return False
        try:
            fields = json.loads(file.read_text(encoding="utf-8"))
            if fields.pop("key") != backend.key(experiment):
                return False
            observed = fields.pop("observed")
            observed["shares"] = tuple(observed["shares"])
            trial = Trial(Observed(**observed), tuple(fields["notes"]), fields["repeated"])
        except (ValueError, KeyError, TypeError) as error:
            raise HeadwayError(f"{file}: is not a trial ({error}); delete it") from None
        self._done[scenario.key, backend.name, experiment.seed] = trial
        return True


class _Told:
    """A line for each finished scenario, with how long the rest will take."""

    def __init__(
        self,
        tell: Callable[[str], None],
        backend: str,
        runs: Sequence[tuple[Scenario, Experiment]],
        kept: int,
    ) -> None:
        self._tell = tell
        self._backend = backend
        self._left = Counter(scenario.key for scenario, _ in runs)
        self._keys = [scenario.key for scenario, _ in runs]
        self._lengths_s = [experiment.duration / NS_PER_S for _, experiment in runs]
        self._left_s = sum(self._lengths_s)
        if runs:
            told = f", {kept} are there" if kept else ""
            length = f"{self._left_s / 60:.0f} min one after the other"
            tell(f"{backend}: {len(runs)} trials, {length}{told}")

    def finished(self, index: int) -> None:
        """One run is over."""
        key = self._keys[index]
        self._left[key] -= 1
        self._left_s -= self._lengths_s[index]
        if self._left[key] == 0:
            self._tell(
                f"{self._backend}: {key} done; at most {self._left_s / 60:.1f} min of runs left"
            )

    def failed(self, index: int) -> None:
        """One run will not be repeated, and its scenario is never done."""
        self._left_s -= self._lengths_s[index]
