"""Runs many experiments and saves each as soon as it is finished.

    experiments = grid(make, control=["reno", "cubic"], rtt=["50 ms", "100 ms"])
    traces = run_trials(experiments, Path("results/sweep"), resume=True)

An interrupted sweep can continue: ``resume`` skips experiments that have a complete trace, made by
the same engine from the same experiment.
"""

from __future__ import annotations

import itertools
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, Generic, TypeVar

from headway.backends import Backend, backend_named
from headway.errors import HeadwayError, InterruptedRunError
from headway.experiment import Experiment
from headway.interrupts import delay_interrupts, interrupted
from headway.trace import Trace, load_trace, save_trace

Row = TypeVar("Row")

Progress = Callable[[int, int, str], None]
"""Called with (finished, total, label) as trials finish."""

Notice = Callable[[str], None]
"""Called with a line for the user who started the run."""


def no_progress(finished: int, total: int, label: str) -> None:
    """Ignore progress."""


def no_notice(line: str) -> None:
    """Ignore a notice."""


def grid(make: Callable[..., Experiment], **axes: Sequence[object]) -> dict[str, Experiment]:
    """One experiment per combination of the axes' values, by keys like "rtt=50 ms control=reno".

    ``make`` gets one value of each axis by name and returns the Experiment.
    """
    return {
        " ".join(f"{name}={value}" for name, value in zip(axes, values, strict=True)).replace(
            "/", "_"
        ): make(**dict(zip(axes, values, strict=True)))
        for values in itertools.product(*axes.values())
    }


@dataclass
class Observed(Generic[Row]):
    """Observations of trials by the trial's key, and the metadata of the first trial's trace."""

    rows: dict[str, Row] = field(default_factory=dict)
    meta: Mapping[str, Any] = field(default_factory=dict)

    def add(self, key: str, row: Row, meta: Mapping[str, Any]) -> None:
        """Add one trial's observation."""
        self.rows[key] = row
        self.meta = self.meta or meta


def run_trials(
    experiments: Mapping[str, Experiment],
    directory: Path,
    backend: Backend | None = None,
    threads: int = 0,
    progress: Progress = no_progress,
    notice: Notice = no_notice,
    *,
    resume: bool = False,
) -> dict[str, Trace]:
    """Run every experiment and save each trace as ``directory/KEY`` when it finishes.

    Returns the traces by key, in the order of ``experiments``. ``threads`` 0 means one per core.
    Raises InterruptedRunError on Ctrl-C, and HeadwayError if a trace cannot be saved. Both tell
    what was kept.
    """
    return observed(
        experiments,
        lambda _key, trace: trace,
        directory,
        backend or backend_named("sim"),
        threads,
        progress,
        notice,
        resume=resume,
    ).rows


def observed(
    experiments: Mapping[str, Experiment],
    observe: Callable[[str, Trace], Row],
    directory: Path | None,
    backend: Backend,
    threads: int = 0,
    progress: Progress = no_progress,
    notice: Notice = no_notice,
    *,
    resume: bool = False,
) -> Observed[Row]:
    """Run every experiment and keep its observation; see ``run_trials``.

    ``observe`` is called in the thread that ran the experiment, after its trace was saved; without
    a ``directory`` traces are not saved. So memory holds at most one trace per thread.
    """
    done: dict[str, tuple[Row, Mapping[str, Any]]] = {}
    if resume and directory is not None:
        done = _finished_before(experiments, observe, directory, backend, notice)
    todo = [key for key in experiments if key not in done]
    total = len(experiments)
    kept = set(done)

    def work(index: int, trace: Trace) -> tuple[Row, Mapping[str, Any]]:
        key = todo[index]
        if directory is not None:
            with delay_interrupts():
                save_trace(trace, directory / key)
            kept.add(key)
        return observe(key, trace), trace.meta

    def finished(index: int, result: tuple[Row, Mapping[str, Any]]) -> None:
        with delay_interrupts():
            done[todo[index]] = result
            progress(len(done), total, todo[index])

    progress(len(done), total, "")
    wanted = [experiments[key] for key in todo]
    try:
        stopped = interrupted(lambda: backend.run_each(wanted, work, finished, threads))
    except HeadwayError as error:
        if directory is None or type(error) is not HeadwayError:
            raise
        raise HeadwayError(f"{error}; {len(kept)} of {total} trials are kept") from None
    if stopped:
        raise InterruptedRunError(len(kept), total, str(directory) if directory else None)
    seen: Observed[Row] = Observed()
    for key in experiments:
        seen.add(key, *done[key])
    return seen


def _finished_before(
    experiments: Mapping[str, Experiment],
    observe: Callable[[str, Trace], Row],
    directory: Path,
    backend: Backend,
    notice: Notice,
) -> dict[str, tuple[Row, Mapping[str, Any]]]:
    """Observe the trials of an earlier run that can be used, and notify the user of the others."""
    done: dict[str, tuple[Row, Mapping[str, Any]]] = {}
    others = 0
    damaged: list[str] = []
    for key, experiment in experiments.items():
        if not (directory / key).is_dir():
            continue
        try:
            trace = load_trace(directory / key)
        except HeadwayError as error:
            damaged.append(str(error))
            continue
        if trace.meta.get("key") == backend.key(experiment):
            done[key] = observe(key, trace), trace.meta
        elif trace.experiment == experiment:
            others += 1
    if damaged:
        notice(
            f"{len(damaged)} of {len(experiments)} trials in {directory} are damaged, and are run "
            f"again: {damaged[0]}"
        )
    if others:
        notice(
            f"{others} of {len(experiments)} trials in {directory} were made by another build of "
            "Headway or on another kernel, and are run again"
        )
    return done
