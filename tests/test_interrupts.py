"""Ctrl-C while a result is being saved."""

import signal
import threading
from pathlib import Path

import polars as pl
import pytest

from headway.interrupts import delay_interrupts, interrupted


def test_ctrl_c_waits_until_what_is_held_is_done(tmp_path: Path) -> None:
    before = signal.getsignal(signal.SIGINT)
    steps: list[str] = []

    def run() -> None:
        with delay_interrupts():
            signal.raise_signal(signal.SIGINT)
            steps.append("signalled")
            pl.DataFrame({"at_ns": [1, 2]}).write_parquet(tmp_path / "kept.parquet")
            signal.raise_signal(signal.SIGINT)  # an impatient user: still one interrupt
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
