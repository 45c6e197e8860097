"""Ends a measurement's programs when the process that started these programs ends."""

from __future__ import annotations

import ctypes
import os
import signal
import subprocess

_PR_SET_PDEATHSIG = 1


def end_with_parent(number: signal.Signals = signal.SIGTERM) -> None:
    """Ask the kernel to send this signal when the parent ends for any reason."""
    ctypes.CDLL(None).prctl(_PR_SET_PDEATHSIG, number)


def end(process: subprocess.Popen[bytes], within_s: float) -> None:
    """End a program with SIGTERM; if it does not end in time, kill its whole process group.

    The program must lead its own group (``process_group=0``): nginx's workers outlive their master.
    """
    process.terminate()
    try:
        process.wait(within_s)
    except subprocess.TimeoutExpired:
        os.killpg(process.pid, signal.SIGKILL)
        process.wait()
