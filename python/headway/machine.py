"""Describes the machine of a measurement on a live kernel."""

from __future__ import annotations

import functools
import os
import platform
from pathlib import Path


@functools.cache
def kernel() -> str:
    """The running kernel's exact build: release, architecture and version."""
    return f"{platform.system()} {platform.release()} {platform.machine()} {platform.version()}"


@functools.cache
def processor() -> str:
    """Number and model of the processors that this process may use."""
    return f"{len(os.sched_getaffinity(0))} x {_model()}"


def _model() -> str:
    """The processor's model name, or the architecture if the kernel reports no name."""
    try:
        lines = Path("/proc/cpuinfo").read_text(encoding="utf-8").splitlines()
    except OSError:
        lines = []
    names = (line.partition(":")[2].strip() for line in lines if line.startswith("model name"))
    return next(names, "") or platform.machine()


def description() -> str:
    """The machine's kernel and processors in one line, because measured values depend on them."""
    return f"{platform.system()} {platform.release()} {platform.machine()}, {processor()}"
