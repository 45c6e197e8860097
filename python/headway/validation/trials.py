"""Runs trials of scenarios on both backends, and saves each trial when it ends."""

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
"""Number of simulator trials per kernel trial. The first trials have the seeds of the kernel's
trials, the others the seeds that follow."""


@dataclass(frozen=True)
class Trial:
    """One run of a scenario: its numbers, its warnings, and how often it was repeated."""

    observed: Observed
    notes: tuple[str, ...] = ()
    repeated: int = 0


def trial_of(trace: Trace) -> Trial:
    """The numbers and warnings of a trace."""
    # leave out the note that the run was repeated, because ``repeated`` counts the repetitions
    notes = tuple(str(note) for note in trace.meta.get("notes", ()) if note != NOTE)
    return Trial(observe(trace), notes)


@dataclass(frozen=True)
class Plan:
    """The scenarios to run, with seeds from ``seed`` on.

    ``duration_s`` and ``trials`` override each scenario's length and number of trials.
    """

    scenarios: Sequence[Scenario]
    seed: int = 1
    duration_s: int | None = None
    trials: int | None = None

    def experiments(self, scenario: Scenario, times: int = 1) -> list[Experiment]:
        """A scenario's experiments, ``times`` times as many as the plan runs on the kernel."""
        number = times * (self.trials or scenario.trials)
        return [scenario.experiment(self.seed + i, self.duration_s) for i in range(number)]

    def kernel_s(self) -> int:
        """Total length in s of all trials on the kernel."""
        runs = (e for s in self.scenarios for e in self.experiments(s))
        return sum(e.duration for e in runs) // NS_PER_S


class Runner:
    """Runs a plan on both backends, and saves finished trials in a folder for reuse.

    A failed trial is repeated like a disturbed one. If it fails every time, it is added to
    ``failures``, the other trials go on, and its scenario is not compared.
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
        """Run the missing trials: first in the simulator, then on the kernel."""
        self._run(sim, SIM_PER_KERNEL)
        self._run(kernel, 1)

    def comparisons(self) -> list[Comparison]:
        """The comparisons of all scenarios with complete trials."""
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
        saved = {(s.key, e.seed) for s, e in wanted if self._reuse_saved(backend, s, e)}
        runs = [(s, e) for s, e in wanted if (s.key, e.seed) not in saved]
        tell = _ProgressLines(self._tell, backend.name, runs, len(saved))
        repeating = Repeating(backend, self._repeats)

        def finished(index: int, trial: Trial) -> None:
            scenario, experiment = runs[index]
            trial = replace(trial, repeated=repeating.repeated[index])
            self._save_trial(backend, scenario, experiment, trial)
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
                both_backends = self._first.setdefault(key, {})
                both_backends[backend] = windows_of(trace)
                if self._save:
                    save_trace(trace, self._out / "traces" / key / backend)
                if len(both_backends) == 2:
                    overlay(
                        both_backends["sim"], both_backends["kernel"], self._out / "figures" / key
                    )
                    del self._first[key]
            return trial_of(trace)

        return work

    def _file(self, backend: Backend, scenario: Scenario, experiment: Experiment) -> Path:
        return self._out / "trials" / scenario.key / f"{backend.name}-{experiment.seed}.json"

    def _save_trial(
        self, backend: Backend, scenario: Scenario, experiment: Experiment, trial: Trial
    ) -> None:
        text = json.dumps({"key": backend.key(experiment), **asdict(trial)}, indent=1)
        save_text(self._file(backend, scenario, experiment), text)
        self._done[scenario.key, backend.name, experiment.seed] = trial

    def _reuse_saved(self, backend: Backend, scenario: Scenario, experiment: Experiment) -> bool:
        """Reuse a saved trial if its key is that of the present program and experiment.

        Returns whether a trial was reused.
        """
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
            raise HeadwayError(f"{file}: is not a saved trial ({error}); delete the file") from None
        self._done[scenario.key, backend.name, experiment.seed] = trial
        return True


class _ProgressLines:
    """Reports each finished scenario in one line, with the remaining time."""

    def __init__(
        self,
        tell: Callable[[str], None],
        backend: str,
        runs: Sequence[tuple[Scenario, Experiment]],
        saved: int,
    ) -> None:
        self._tell = tell
        self._backend = backend
        self._left = Counter(scenario.key for scenario, _ in runs)
        self._keys = [scenario.key for scenario, _ in runs]
        self._lengths_s = [experiment.duration / NS_PER_S for _, experiment in runs]
        self._left_s = sum(self._lengths_s)
        if runs:
            reused = f", {saved} saved ones are reused" if saved else ""
            length = f"{self._left_s / 60:.0f} min in total"
            tell(f"{backend}: {len(runs)} trials, {length}{reused}")

    def finished(self, index: int) -> None:
        """Report that a run has finished."""
        key = self._keys[index]
        self._left[key] -= 1
        self._left_s -= self._lengths_s[index]
        if self._left[key] == 0:
            self._tell(
                f"{self._backend}: {key} done; at most {self._left_s / 60:.1f} min of runs left"
            )

    def failed(self, index: int) -> None:
        """Record that a run failed in every attempt, so that its scenario is never complete."""
        self._left_s -= self._lengths_s[index]
