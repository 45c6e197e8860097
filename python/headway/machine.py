"""What a measurement on a live kernel was made on."""

from __future__ import annotations

import functools
import os
import platform
from pathlib import Path


@functools.cache
def kernel() -> str:
    """The running kernel to the build: release, architecture and version."""
    return f"{platform.system()} {platform.release()} {platform.machine()} {platform.version()}"


@functools.cache
def processor() -> str:
    """How many processors of which kind this process may use."""
    return f"{len(os.sched_getaffinity(0))} x {_model()}"


def _model() -> str:
    """As the kernel calls it; the architecture where it has no name."""
    try:
        lines = Path("/proc/cpuinfo").read_text(encoding="utf-8").splitlines()
    except OSError:
        lines = []
    names = (line.partition(":")[2].strip() for line in lines if line.startswith("model name"))
    return next(names, "") or platform.machine()


def told() -> str:
    """Kernel and processor in a line: what a measured value depends on."""
    return f"{platform.system()} {platform.release()} {platform.machine()}, {processor()}"
