"""Ctrl-C while a result is being saved, or while runs are waited for."""

import signal
import threading
from concurrent.futures import Future, wait
from pathlib import Path
from typing import Any

import polars as pl
import pytest

from headway.backends.sim import SimBackend
from headway.experiment import Dumbbell, Experiment, Flow
from headway.interrupts import delay_interrupts, interrupted


def test_ctrl_c_waits_until_what_is_held_is_done(tmp_path: Path) -> None:
    before = signal.getsignal(signal.SIGINT)
    steps: list[str] = []

    def run() -> None:
        with delay_interrupts():
            signal.raise_signal(signal.SIGINT)
            steps.append("signalled")
            pl.DataFrame({"at_ns": [1, 2]}).write_parquet(tmp_path / "kept.parquet")
            signal.raise_signal(signal.SIGINT)  # a second Ctrl-C: still one interrupt
            steps.append("kept")
        steps.append("not reached")

    assert interrupted(run)
    assert steps == ["signalled", "kept"]
    assert pl.read_parquet(tmp_path / "kept.parquet").height == 2
    assert signal.getsignal(signal.SIGINT) is before


def test_an_error_in_what_is_held_is_raised_and_the_handler_restored() -> None:
    before = signal.getsignal(signal.SIGINT)
    with pytest.raises(ValueError, match="full"), delay_interrupts():
        raise ValueError("full")
    assert signal.getsignal(signal.SIGINT) is before


def test_other_threads_just_run() -> None:
    done: list[bool] = []

    def run() -> None:
        with delay_interrupts():
            done.append(True)

    thread = threading.Thread(target=run)
    thread.start()
    thread.join()
    assert done == [True]


def test_a_block_that_waits_for_threads_says_where_ctrl_c_may_end_it() -> None:
    before = signal.getsignal(signal.SIGINT)
    steps: list[str] = []

    def run() -> None:
        with delay_interrupts() as raise_delayed:
            raise_delayed()  # nothing was pressed
            signal.raise_signal(signal.SIGINT)
            steps.append("signalled")
            raise_delayed()
            steps.append("not reached")

    assert interrupted(run)
    assert steps == ["signalled"]
    assert signal.getsignal(signal.SIGINT) is before


def test_ctrl_c_does_not_end_the_wait_for_runs_while_a_lock_is_taken(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """A run that ends afterwards would wait for this lock for ever."""
    released: list[bool] = []

    def wait_with_lock(pending: dict[Future[int], int], **how: Any) -> Any:
        condition = next(iter(pending))._condition  # type: ignore[attr-defined]
        condition.acquire()
        try:
            signal.raise_signal(signal.SIGINT)
        finally:
            condition.release()
        released.append(True)
        return wait(pending, **how)

    monkeypatch.setattr("headway.backends.sim.wait", wait_with_lock)
    dumbbell = Dumbbell(rate="1Mbit/s", rtt="20 ms", buffer="60000 B")
    experiment = Experiment(topology=dumbbell, flows=[Flow(control="reno")], duration="1 s")
    backend = SimBackend()
    with pytest.raises(KeyboardInterrupt):
        backend.run_each([experiment], lambda *_: None, lambda *_: None, threads=1)
    assert released == [True]
