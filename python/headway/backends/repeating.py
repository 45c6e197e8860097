"""Repeats runs that were disturbed because the machine was busy."""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Callable, Sequence
from dataclasses import replace

from headway.backends.backend import Backend, Finished, OnFailure, T, Work
from headway.errors import HeadwayError
from headway.experiment import Experiment
from headway.trace import Trace

NOTE = "it was run again, because the machine had disturbed it before"
"""The note in a trace whose experiment was repeated because earlier runs were disturbed."""


def undisturbed(trace: Trace) -> bool:
    """Whether a run was undisturbed: the emulator was on time, and no control was skipped."""
    on_time = trace.meta.get("emulator", {}).get("on_time", True)
    return bool(on_time) and not trace.meta.get("controls_left_out")


def lateness_us(trace: Trace) -> float | None:
    """Mean time in us by which packets left the emulated link after their due time.

    Of the two directions, the larger mean; None if unknown.
    """
    directions = trace.meta.get("emulator", {}).get("directions", ())
    late_us = [float(each["departure_error"]["mean_ns"] or 0) / 1000 for each in directions]
    return max(late_us, default=None)


class Repeating:
    """A backend that repeats runs which the machine disturbed, at most ``most`` times.

    A run also counts as disturbed if packets left the emulated link late by more than ``quiet_us``
    on average.
    """

    def __init__(self, backend: Backend, most: int, quiet_us: float = math.inf) -> None:
        self.name = backend.name
        self.key = backend.key
        self.repeated: Counter[int] = Counter()
        """How often the last call of ``run_each`` repeated each experiment."""
        self._backend = backend
        self._most = most
        self._quiet = (False, quiet_us)

    def run(self, experiment: Experiment) -> Trace:
        """Return the first undisturbed run, or else the least disturbed one."""
        runs: list[Trace] = []
        for _ in range(1 + self._most):
            runs.append(self._backend.run(experiment))
            if _disturbance(runs[-1]) <= self._quiet:
                break
        return min(runs, key=_disturbance)

    def run_each(
        self,
        experiments: Sequence[Experiment],
        work: Work[T],
        finished: Finished[T],
        threads: int = 0,
        failed: OnFailure | None = None,
    ) -> None:
        """Run several experiments, then repeat disturbed runs; see Backend.run_each.

        If the last allowed repetition is disturbed, too, its result is used, and its notes tell
        what disturbed it. With ``failed``, failed runs are repeated, too.
        """
        self.repeated.clear()
        indices: Sequence[int] = range(len(experiments))
        while indices:
            indices = self._round(indices, experiments, work, finished, threads, failed)

    def _round(
        self,
        indices: Sequence[int],
        experiments: Sequence[Experiment],
        work: Work[T],
        finished: Finished[T],
        threads: int,
        failed: OnFailure | None,
    ) -> list[int]:
        """Run the experiments with these indices once; returns the indices to repeat."""
        again: list[int] = []

        def work_or_repeat(place: int, trace: Trace) -> Callable[[], None]:
            index = indices[place]
            if _disturbance(trace) > self._quiet and self.repeated[index] < self._most:
                return lambda: again.append(index)
            if self.repeated[index]:
                notes = [*trace.meta.get("notes", ()), NOTE]
                trace = replace(trace, meta={**trace.meta, "notes": notes})
            result = work(index, trace)
            return lambda: finished(index, result)

        def failed_or_repeat(place: int, error: HeadwayError) -> None:
            index = indices[place]
            if type(error) is HeadwayError and self.repeated[index] < self._most:
                again.append(index)
            elif failed is not None:
                failed(index, error)

        self._backend.run_each(
            [experiments[index] for index in indices],
            work_or_repeat,
            lambda _place, take: take(),
            threads,
            failed and failed_or_repeat,
        )
        self.repeated.update(again)
        return again


def _disturbance(trace: Trace) -> tuple[bool, float]:
    return not undisturbed(trace), lateness_us(trace) or 0.0
