"""Many experiments, each saved as soon as it is finished.

    experiments = grid(make, control=["reno", "cubic"], rtt=["50 ms", "100 ms"])
    traces = run_trials(experiments, Path("results/sweep"), resume=True)

A sweep that was stopped goes on where it was: with ``resume`` an experiment whose trace is
already there, whole and made by the same experiment and versions, is not run again.
"""

from __future__ import annotations

import itertools
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path

from headway.backends import Backend, backend_named
from headway.errors import HeadwayError, InterruptedRunError
from headway.experiment import Experiment
from headway.interrupts import held, interrupted
from headway.trace import Trace, load_trace, save_trace, versions

Progress = Callable[[int, int, str], None]
"""Called with (finished, total, label) as trials finish."""


def no_progress(finished: int, total: int, label: str) -> None:
    """Progress that nobody watches."""


def grid(make: Callable[..., Experiment], **axes: Sequence[object]) -> dict[str, Experiment]:
    """Every combination of the axes' values, by a key that names them ("rtt=50 ms control=reno").

    ``make`` gets one value of each axis by name and returns the Experiment.
    """
    return {
        " ".join(f"{name}={value}" for name, value in zip(axes, values, strict=True)).replace(
            "/", "_"
        ): make(**dict(zip(axes, values, strict=True)))
        for values in itertools.product(*axes.values())
    }


def run_trials(
    experiments: Mapping[str, Experiment],
    directory: Path,
    backend: Backend | None = None,
    threads: int = 0,
    progress: Progress = no_progress,
    *,
    resume: bool = False,
) -> dict[str, Trace]:
    """Run every experiment and save each trace as ``directory/KEY`` when it finishes.

    Returns the traces by key, in the order of ``experiments``. On Ctrl-C raises
    InterruptedRunError; on a failed save HeadwayError. Both say what was kept.
    """
    backend = backend or backend_named("sim")
    done = _finished_before(experiments, directory) if resume else {}
    todo = [key for key in experiments if key not in done]
    total = len(experiments)

    def finished(index: int, trace: Trace) -> None:
        key = todo[index]
        with held():
            try:
                save_trace(trace, directory / key)
            except HeadwayError as error:
                raise HeadwayError(f"{error}; {len(done)} of {total} trials are kept") from None
            done[key] = trace
            progress(len(done), total, key)

    progress(len(done), total, "")
    if interrupted(lambda: backend.run_many([experiments[k] for k in todo], finished, threads)):
        raise InterruptedRunError(len(done), total, str(directory))
    return {key: done[key] for key in experiments}


def _finished_before(experiments: Mapping[str, Experiment], directory: Path) -> dict[str, Trace]:
    done: dict[str, Trace] = {}
    current = versions()
    for key, experiment in experiments.items():
        if not (directory / key).is_dir():
            continue
        try:
            trace = load_trace(directory / key)
        except HeadwayError:
            continue  # what is not whole is run again
        if trace.meta["versions"] == current and trace.experiment == experiment:
            done[key] = trace
    return done
