"""Tests the rule for tests that take real time: which pass, fail, run again or are skipped.

One test stops a process for 0.3 s. The process must notice at least 0.25 s of this.
"""

from __future__ import annotations

import signal
import time

import pytest
import real_time
from real_time import Sleeper, in_real_time, note_late

from headway.errors import HeadwayError


@pytest.fixture
def kept_time(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(Sleeper, "late_s", lambda _: 0.0)
    monkeypatch.setattr(Sleeper, "__enter__", lambda self: self)
    monkeypatch.delenv("HEADWAY_BESIDE", raising=False)


LATE = "forward: 20 of 452 packets were delivered more than 1 ms late"
ON_TIME = "forward: 452 packets arrived, 0 dropped, 452 delivered; late by 99 % 0.019 ms"


def tried(*outcomes: bool | HeadwayError, late: bool, spare_s: float = real_time.SPARE_S) -> int:
    """How often a test is run whose attempts, one after the other, end with these outcomes."""
    times = iter(outcomes)
    count = 0

    @in_real_time
    def test() -> None:
        nonlocal count
        count += 1
        note_late([LATE if late else ON_TIME])
        outcome = next(times)
        if isinstance(outcome, HeadwayError):
            raise outcome
        assert outcome

    before, told = real_time._repeated_s[:], real_time.tried_again[:]
    real_time._repeated_s[:] = [real_time.SPARE_S - spare_s]
    try:
        test()
    finally:
        real_time._repeated_s[:], real_time.tried_again[:] = before, told
    return count


@pytest.mark.usefixtures("kept_time")
def test_a_right_result_passes_on_any_machine() -> None:
    assert tried(True, late=False) == tried(True, late=True) == 1


@pytest.mark.usefixtures("kept_time")
def test_a_wrong_result_fails_at_once_on_a_machine_that_kept_time() -> None:
    with pytest.raises(AssertionError):
        tried(False, True, late=False)


@pytest.mark.usefixtures("kept_time")
def test_a_wrong_result_on_a_busy_machine_is_repeated_and_skipped_when_time_is_up() -> None:
    assert tried(False, False, True, late=True) == 3
    busy = HeadwayError("the machine is too busy to start the programs")
    assert tried(busy, True, late=False) == 2
    with pytest.raises(pytest.skip.Exception, match=rf"too busy.* {LATE}"):
        tried(False, True, late=True, spare_s=-1)


def test_a_sleeper_notices_that_it_woke_late() -> None:
    with Sleeper() as sleeper:
        time.sleep(0.2)
        sleeper._process.send_signal(signal.SIGSTOP)
        time.sleep(0.3)
        sleeper._process.send_signal(signal.SIGCONT)
        assert sleeper.late_s() > 0.25
