"""How many runs have room beside each other on this machine, and how far several are."""

from __future__ import annotations

import math
import os
from collections.abc import Callable, Sequence

from headway.experiment import Experiment
from headway.mechanisms import gateway
from headway.mechanisms.routers import sends_header

Progress = Callable[[float, float, float], None]
"""Called about twice a second with the seconds of all runs so far, those of all runs together,
and those that are left until the last one ends."""

_ROOM_BPS_PER_CORE = 13_500_000
"""What may run side by side, as the sum of ``load``. Measured on two cores: 24 links of
1 Mbit/s with six flows each keep 0.6 cores busy, 36 keep 0.9 busy; of 36, packets were late by
12 us on average and by 0.2 ms in one of a hundred, where a packet takes 12 ms."""
_RUN_BPS = 20_000
_FAST_BPS = 10_000_000
MOST_CONCURRENT = 64
"""Each run has a dozen processes."""
SETUP_S = 3.0
"""About what a run takes beside its duration."""


class Seconds:
    """How far several runs are, in seconds."""

    def __init__(self, progress: Progress | None, experiments: Sequence[Experiment]) -> None:
        self._progress = progress
        self._lengths_s = [experiment.duration / 1e9 for experiment in experiments]
        self._done_s = [0.0] * len(experiments)

    def of(self, index: int) -> Callable[[float], None]:
        """What a run calls with its seconds so far."""

        def elapsed(seconds: float) -> None:
            self._done_s[index] = min(max(seconds, 0.0), self._lengths_s[index])
            if len(self._done_s) == 1:
                self.tell(1)

        return elapsed

    def tell(self, side_by_side: int) -> None:
        """Tell the progress, with so many runs at a time from now on."""
        if self._progress is None:
            return
        left_s = [
            length_s - done_s + (SETUP_S if done_s == 0 else 0)
            for length_s, done_s in zip(self._lengths_s, self._done_s, strict=True)
        ]
        longest_s = max(left_s, default=0.0)
        at_a_time_s = sum(left_s) / max(side_by_side, 1)
        self._progress(sum(self._done_s), sum(self._lengths_s), max(longest_s, at_a_time_s))


def load(experiment: Experiment) -> float:
    """What a run takes of the machine's room, in bit/s.

    It grows faster than the link's rate: what side-by-side runs delay each other by is a larger
    share of a shorter packet. Two links of 10 Mbit/s do not run side by side on two cores, 24 of
    1 Mbit/s do.
    """
    if any(map(sends_header, experiment.flows)):
        return math.inf  # the machine's sockets have one control at a time that sends a header
    rate = max(link.rate for link in gateway.links(experiment))
    return _RUN_BPS + rate * (1 + rate / _FAST_BPS)


def has_room(beside: Sequence[Experiment], experiment: Experiment, threads: int) -> bool:
    """Whether one more may run beside those that do."""
    if threads or not beside:
        return len(beside) < max(threads, 1)
    room_bps = _ROOM_BPS_PER_CORE * len(os.sched_getaffinity(0))
    return (
        len(beside) < MOST_CONCURRENT
        and sum(load(each) for each in [*beside, experiment]) <= room_bps
    )
