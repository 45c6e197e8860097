"""Run tests that take real time on a shared machine.

A test should not fail because other programs took the processor. A correct result passes. A wrong
result fails if the machine kept time; otherwise the test runs again, and if the machine never keeps
time, the test is skipped with the reason. If HEADWAY_BESIDE says that Rust's tests run at the same
time, the test fails at once, and `make test-live` runs it again, alone. tests/machine.rs has the
same rule for tests in Rust.
"""

from __future__ import annotations

import functools
import os
import subprocess
import sys
import time
from collections.abc import Callable, Sequence
from typing import ParamSpec

import pytest

from headway.backends import backend_named
from headway.errors import HeadwayError
from headway.experiment import Experiment
from headway.trace import Trace

P = ParamSpec("P")

SPARE_S = 600.0 if "HEADWAY_LONG" in os.environ else 30.0
"""Limit in s for the time of all repeated tests of a run together: CI has minutes, not hours.

With HEADWAY_LONG a test takes more than a minute, so the limit is higher."""
MOST_LOST = 0.01
"""If a sleeping process wakes late in total by more than this fraction of a test's time, the
machine did not keep time."""

tried_again: list[str] = []
"""The tests that were repeated, with the reasons. conftest.py prints them at the end of the run,
because a test may read the output."""
_late: list[str] = []
_repeated_s: list[float] = []


def in_real_time(test: Callable[P, None]) -> Callable[P, None]:
    """Repeat a test if the machine was late, and mark it: no computing tests may run beside it.

    The Makefile reads the mark. A repeated test finds the files of its first attempt in its folder.
    """

    @functools.wraps(test)
    def judged(*args: P.args, **kwargs: P.kwargs) -> None:
        while True:
            _late.clear()
            began_s = time.monotonic()
            with Sleeper() as sleeper:
                try:
                    return test(*args, **kwargs)
                except (AssertionError, HeadwayError) as wrong:
                    if "HEADWAY_BESIDE" in os.environ:
                        raise
                    note_late([str(wrong)] if isinstance(wrong, HeadwayError) else [])
                    late_s, took_s = sleeper.late_s(), time.monotonic() - began_s
                    if late_s > MOST_LOST * took_s:
                        _late.append(f"who slept for {took_s:.1f} s woke {late_s:.2f} s late")
                    if not _late:
                        raise
                    _repeated_s.append(took_s)
                    why = f"{_late[0]}, and {_first_line(wrong)}"
            if sum(_repeated_s) > SPARE_S:
                pytest.skip(f"the machine is too busy for real time: {why}")
            tried_again.append(f"{test.__name__}: {why}")

    return pytest.mark.measures(judged)


def _first_line(wrong: Exception) -> str:
    return next(iter(str(wrong).splitlines()), "an assertion failed")[:200]


def live(asked: Experiment) -> Trace:
    """Run an experiment on the kernel."""
    return live_each([asked])[0]


def live_each(asked: Sequence[Experiment]) -> list[Trace]:
    """Run several experiments on the kernel, in parallel if the machine has room for them."""
    done: dict[int, Trace] = {}
    backend_named("kernel").run_each(asked, lambda _, trace: trace, done.__setitem__)
    for trace in done.values():
        note_late(trace.meta["notes"])
    return [done[index] for index in range(len(asked))]


def note_late(lines: Sequence[str]) -> None:
    """Record those notes of a run that say that the run was late. Then the test may run again.

    `headwayctl testbed down` always prints how late packets were, which is no such note.
    """
    _late.extend(line for line in lines if "ms late" in line or "machine is too busy" in line)


class Sleeper:
    """A process that sleeps repeatedly. It adds up by how much more than 5 ms it wakes late."""

    PROGRAM = """
import select, sys, time
late_s = 0.0
while True:
    began_s = time.monotonic()
    ended = select.select([sys.stdin], [], [], 0.005)[0]
    late_s += max(time.monotonic() - began_s - 0.010, 0)
    if ended:
        break
print(late_s)
"""

    def __enter__(self) -> Sleeper:
        self._process = subprocess.Popen(
            [sys.executable, "-S", "-c", self.PROGRAM],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            text=True,
        )
        self._late_s: float | None = None
        return self

    def late_s(self) -> float:
        """End the sleeping process. Returns by how many seconds it woke late in total."""
        if self._late_s is None:
            self._late_s = float(self._process.communicate()[0])
        return self._late_s

    def __exit__(self, *_: object) -> None:
        self.late_s()
