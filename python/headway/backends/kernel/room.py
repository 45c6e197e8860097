"""Decides how many runs can execute in parallel on this machine, and tracks their progress."""

from __future__ import annotations

import math
import os
from collections.abc import Callable, Sequence

from headway.backends.kernel.network import link_pairs
from headway.experiment import Experiment
from headway.mechanisms.routers import sends_header

Progress = Callable[[float, float, float], None]
"""Called about twice a second with three times in seconds: the sum of the times that all runs have
completed, the sum of all runs' durations, and the time left until the last run ends."""

_ROOM_BPS_PER_CORE = 13_500_000
"""Highest sum of ``load`` of parallel runs. Measured on two cores: 24 links of 1 Mbit/s with six
flows each use 0.6 cores, 36 links use 0.9. With 36 links, packets left late by 12 us on average;
one in a hundred was late by more than 0.2 ms. A packet's transmission takes 12 ms at 1 Mbit/s."""
_RUN_BPS = 20_000
_FAST_BPS = 10_000_000
MOST_CONCURRENT = 64
"""Most runs in parallel, since each run has a dozen processes."""
SETUP_S = 3.0
"""Approximate time that a run's set-up and removal take, in addition to its duration."""


class Seconds:
    """Progress of several runs in seconds."""

    def __init__(self, progress: Progress | None, experiments: Sequence[Experiment]) -> None:
        self._progress = progress
        self._lengths_s = [experiment.duration / 1e9 for experiment in experiments]
        self._done_s = [0.0] * len(experiments)

    def of(self, index: int) -> Callable[[float], None]:
        """A function that run ``index`` calls with the seconds that have passed since its start."""

        def elapsed(seconds: float) -> None:
            self._done_s[index] = min(max(seconds, 0.0), self._lengths_s[index])
            if len(self._done_s) == 1:
                self.report(1)

        return elapsed

    def report(self, parallel_runs: int) -> None:
        """Report the progress, assuming ``parallel_runs`` parallel runs from now on."""
        if self._progress is None:
            return
        left_s = [
            length_s - done_s + (SETUP_S if done_s == 0 else 0)
            for length_s, done_s in zip(self._lengths_s, self._done_s, strict=True)
        ]
        longest_s = max(left_s, default=0.0)
        at_a_time_s = sum(left_s) / max(parallel_runs, 1)
        self._progress(sum(self._done_s), sum(self._lengths_s), max(longest_s, at_a_time_s))


def load(experiment: Experiment) -> float:
    """The share of the machine that a run needs, in bit/s.

    It grows faster than the link's rate. Parallel runs delay each other's packets, and on a faster
    link the same delay is a larger share of a packet's transmission time. On two cores, two links
    of 10 Mbit/s do not run in parallel, but 24 links of 1 Mbit/s do. In a network, the rates of all
    pairs of links are added.
    """
    if any(map(sends_header, experiment.flows)):
        return math.inf  # run alone: only one control per machine can send a header
    rate = sum(max(link.rate for link in pair) for pair in link_pairs(experiment))
    return _RUN_BPS + rate * (1 + rate / _FAST_BPS)


def has_room(running: Sequence[Experiment], experiment: Experiment, threads: int) -> bool:
    """Whether ``experiment`` may run in parallel with the experiments in ``running``."""
    if threads or not running:
        return len(running) < max(threads, 1)
    room_bps = _ROOM_BPS_PER_CORE * len(os.sched_getaffinity(0))
    return (
        len(running) < MOST_CONCURRENT
        and sum(load(each) for each in [*running, experiment]) <= room_bps
    )
