"""Programs that are started for a measurement, and shall not outlast who started them."""

from __future__ import annotations

import ctypes
import os
import signal
import subprocess

_PR_SET_PDEATHSIG = 1


def end_with_parent() -> None:
    """Ask the kernel for SIGTERM when the parent ends, however it does."""
    ctypes.CDLL(None).prctl(_PR_SET_PDEATHSIG, signal.SIGTERM)


def end(process: subprocess.Popen[bytes], within_s: float) -> None:
    """Have a program end by SIGTERM; one that has not by then is killed with its whole group.

    It leads a group of its own (``process_group=0``): nginx' workers outlast their master.
    """
    process.terminate()
    try:
        process.wait(within_s)
    except subprocess.TimeoutExpired:
        os.killpg(process.pid, signal.SIGKILL)
        process.wait()
