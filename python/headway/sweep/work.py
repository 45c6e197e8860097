"""Makes the runs of a sweep. As a program, a worker process of the local engine.

    python -m headway.sweep.work

It reads JSON lines: first {"description", "folder"}, then lists of units. After each unit it writes
a line with its outcome. It ends when its input ends, or nobody reads its output.
"""

from __future__ import annotations

import functools
import hashlib
import inspect
import json
import math
import os
import signal
import sys
import time
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any, NamedTuple

from headway import digest as digest_module
from headway.backends import backend_named
from headway.backends.sim import SimBackend
from headway.errors import HeadwayError, KernelCannotError
from headway.experiment import Experiment
from headway.sweep import metrics
from headway.sweep.fields import Base, Settings, with_seed
from headway.sweep.metrics import Result
from headway.sweep.results import Results, compact
from headway.versions import versions

if TYPE_CHECKING:
    from headway.sweep.plan import Plan, Unit, Until

Description = Mapping[str, Any]
"""What a process must know of a sweep, as JSON."""
Outcome = dict[str, Any]
"""The outcome of a unit: "row", "state" (done, failed, or kept from before), "runs" (made now),
"seconds" (that they took) and "error". Only "fatal" (the error) and "status" end the sweep."""

KEY_CHARACTERS = 32


def description_of(sweep: Plan) -> Description:
    """The description of a sweep."""
    return {
        "base": sweep.base.model_dump(mode="json"),
        "functions": list(sweep.functions),
        "until": None if sweep.until is None else sweep.until.model_dump(mode="json"),
        "path": [one for one in sys.path if one],
    }


def task(sweep: Plan, unit: Unit, *, has_died: bool = False) -> dict[str, Any]:
    """A unit of a sweep, as JSON. ``has_died``: processes died while they ran it."""
    return {
        "row": unit.row, "settings": sweep.settings(unit.cell), "replication": unit.replication,
        **({"has_died": True} if has_died else {}),
    }  # fmt: skip


@functools.cache
def _code() -> str:
    """A hash of the code that makes a result of a digest."""
    files = (digest_module.__file__, metrics.__file__)
    return hashlib.sha256(b"".join(Path(one).read_bytes() for one in files)).hexdigest()[:16]


class _Prepared(NamedTuple):
    """A run that can be made."""

    key: str
    experiment: Experiment | HeadwayError
    """The experiment, or the reason why the combination has none."""
    scenario: str | None = None
    """The simulator's scenario, if the result needs no trace."""


class Runner:
    """Makes the runs of one sweep."""

    def __init__(self, description: Description, folder: Path) -> None:
        """Raises HeadwayError for a function that cannot be imported."""
        self.results = Results(folder)
        self._base = Base.model_validate(description["base"])
        self._backend = backend_named(self._base.backend)
        self._functions = {text: metrics.function_named(text) for text in description["functions"]}
        self._until = _until(description["until"])
        self._needs_trace = bool(self._base.trace or self._functions)
        self._stamp = " ".join([
            _code(), "trace" if self._needs_trace else "digest",
            *(f"{text} {_source(one)}" for text, one in self._functions.items()),
        ])  # fmt: skip
        self._cell: tuple[Settings, Experiment | HeadwayError] | None = None
        self._params: tuple[object, Mapping[str, Any]] | None = None

    def experiment(self, settings: Settings, replication: int) -> Experiment:
        """The experiment of a run. Raises HeadwayError for an invalid combination."""
        if self._cell is None or self._cell[0] != settings:
            try:
                self._cell = (settings, self._base.experiment(settings))
            except HeadwayError as error:
                self._cell = (settings, error)
        made = self._cell[1]
        if isinstance(made, HeadwayError):
            raise made
        return with_seed(made, replication)

    def _prepared(self, settings: Settings, replication: int) -> _Prepared:
        """A run. Its key hashes all that determines a result: experiment, engine, metrics' code."""
        try:
            experiment = self.experiment(settings, replication)
            if isinstance(self._backend, SimBackend) and not self._needs_trace:
                key, scenario = self._backend.prepared(experiment)
                return _Prepared(_hash(f"{key} {self._stamp}"), experiment, scenario)
            return _Prepared(_hash(f"{self._backend.key(experiment)} {self._stamp}"), experiment)
        except KernelCannotError:
            raise
        except HeadwayError as error:
            what = [self._base.fixed, settings, replication, str(error)]
            return _Prepared(_hash(f"{compact(what)} {self._stamp}"), error)

    def keys(self, unit: Mapping[str, Any]) -> Iterator[str]:
        """The keys of a unit's runs, as far as the results show that they are needed."""
        for prepared in self._runs(unit):
            yield prepared.key

    def results_of(self, unit: Mapping[str, Any]) -> Iterator[tuple[int, str, Result | None]]:
        """The unit's runs that are needed: replication, key, and result (None if missing)."""
        first = unit["replication"] or 0
        for index, prepared in enumerate(self._runs(unit)):
            yield first + index, prepared.key, self.results.read(prepared.key)

    def _runs(self, unit: Mapping[str, Any]) -> Iterator[_Prepared]:
        """A unit's runs; with ``until`` as long as it asks for more.

        Whether another run is needed is decided when the caller continues, from the results.
        """
        if unit["replication"] is not None:
            yield self._prepared(unit["settings"], unit["replication"])
            return
        assert self._until is not None
        readings: list[list[float]] = []
        for replication in range(self._until.most):
            prepared = self._prepared(unit["settings"], replication)
            yield prepared
            result = self.results.read(prepared.key)
            if result is None or "error" in result:
                return
            readings.append(
                metrics.readings(result, metrics.parse_metric(self._until.until, "until"))
            )
            if replication + 1 >= self._until.least and _narrow(readings, self._until.share):
                return

    def run(self, unit: Mapping[str, Any]) -> Outcome:
        """Make the runs of a unit that are missing; returns its outcome."""
        outcome: Outcome = {"row": unit["row"], "state": "kept", "runs": 0, "seconds": 0.0}
        for prepared in self._runs(unit):
            result = self.results.read(prepared.key)
            if result is None:
                began_s = time.perf_counter()
                self.results.log({"begin": prepared.key, "row": unit["row"]})
                result = self._run(prepared, has_died="has_died" in unit)
                took_s = time.perf_counter() - began_s
                outcome["runs"] += 1
                outcome["seconds"] += took_s
                if outcome["state"] == "kept":
                    outcome["state"] = "done"
            outcome["key"] = prepared.key
            if "error" in result:
                outcome["state"], outcome["error"] = "failed", result["error"]
        outcome["seconds"] = round(outcome["seconds"], 6)
        return outcome

    def _run(self, prepared: _Prepared, *, has_died: bool) -> Result:
        """Make and save a run."""
        began_s = time.perf_counter()
        experiment, trace = prepared.experiment, None
        if isinstance(experiment, HeadwayError):
            result: Result = {"error": str(experiment)}
        elif has_died:
            result = {"error": "the process that ran it died, three times"}
        else:
            try:
                result, trace = self._made(experiment, prepared.scenario)
            except KernelCannotError:
                raise
            except HeadwayError as error:
                result = {"error": str(error)}
        took_s = time.perf_counter() - began_s
        if isinstance(experiment, Experiment):
            result = {"seed": experiment.seed, **result}
        also = None
        if trace is not None and self._base.trace:
            from headway.trace import save_trace

            also = functools.partial(_save_trace, save_trace, trace)
        if self.results.save(prepared.key, self._params_of(experiment), result, also):
            self.results.log({"end": prepared.key, "seconds": round(took_s, 6)})
        return result

    def _params_of(self, experiment: Experiment | HeadwayError) -> Mapping[str, Any]:
        """The content of params.json; the same object for all runs of a combination."""
        if self._params is None or self._params[0] is not self._cell:
            document = None
            if isinstance(experiment, Experiment):
                document = experiment.model_dump(mode="json")
                del document["seed"]
            self._params = (self._cell, {"experiment": document, "versions": versions()})
        return self._params[1]

    def _made(self, experiment: Experiment, scenario: str | None) -> tuple[Result, Any]:
        if isinstance(self._backend, SimBackend) and scenario is not None:
            digest = self._backend.prepared_digest(experiment, scenario)
            return metrics.result_of(experiment, digest), None
        trace = self._backend.run(experiment)
        result = metrics.result_of(experiment, digest_module.digest_of(trace))
        if self._functions:
            result["functions"] = metrics.applied(self._functions, trace)
        return result, trace


def _save_trace(save: Any, trace: Any, folder: Path) -> None:
    save(trace, folder / "trace")


def _hash(text: str) -> str:
    return hashlib.sha256(text.encode()).hexdigest()[:KEY_CHARACTERS]


def _source(function: Any) -> str:
    """A hash of the file with a function, whose change makes other results."""
    try:
        return hashlib.sha256(Path(inspect.getfile(function)).read_bytes()).hexdigest()[:16]
    except (OSError, TypeError):
        return "unknown"


def _until(fields: Mapping[str, Any] | None) -> Until | None:
    if fields is None:
        return None
    from headway.sweep.plan import Until

    return Until.model_validate(fields)


def _narrow(readings: Sequence[Sequence[float]], share: float) -> bool:
    """Whether the 95 % interval of each column's mean is at most this share of the mean."""
    from headway.metrics.stats import confidence_interval

    for column in zip(*readings, strict=False):
        known = [value for value in column if not math.isnan(value)]
        if len(known) < 2:
            continue
        estimate = confidence_interval(known)
        assert estimate.half_width is not None
        if estimate.half_width > share * abs(estimate.mean):
            return False
    return True


def run_units(
    description: Description, folder: str, units: Sequence[Mapping[str, Any]]
) -> list[Outcome]:
    """The outcomes of several units, for engines that call a function in another process."""
    return list(outcomes(_runner(compact(description), folder), units))


@functools.lru_cache(maxsize=2)
def _runner(description: str, folder: str) -> Runner:
    fields = json.loads(description)
    _extend_path(fields)
    return Runner(fields, Path(folder))


def _extend_path(description: Description) -> None:
    sys.path += [one for one in description["path"] if one not in sys.path]


def outcomes(runner: Runner, units: Sequence[Mapping[str, Any]]) -> Iterator[Outcome]:
    """The outcomes of several units; an error that concerns all runs is the last one."""
    for unit in units:
        try:
            yield runner.run(unit)
        except KernelCannotError as error:
            yield {"fatal": str(error), "status": "kernel"}
            return
        except HeadwayError as error:  # a result cannot be saved
            yield {"fatal": str(error), "status": "error"}
            return


def main() -> None:
    """Entry point of a worker process."""
    signal.signal(signal.SIGINT, signal.SIG_IGN)  # Ctrl-C is for the process that started it
    output = os.fdopen(os.dup(1), "w", encoding="utf-8")
    os.dup2(2, 1)  # what a function prints must not mix with outcomes
    try:
        about = json.loads(sys.stdin.readline())
        _extend_path(about["description"])
        runner = Runner(about["description"], Path(about["folder"]))
        for line in sys.stdin:
            for outcome in outcomes(runner, json.loads(line)):
                output.write(compact(outcome) + "\n")
                output.flush()
    except HeadwayError as error:
        output.write(compact({"fatal": str(error), "status": "error"}) + "\n")
        output.flush()
    except BrokenPipeError:
        os._exit(1)


if __name__ == "__main__":
    main()
