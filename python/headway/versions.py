"""What a result depends on. Asking for it imports none of it."""

from __future__ import annotations

import functools
import hashlib
import importlib.metadata
import platform
from pathlib import Path


@functools.cache
def versions() -> dict[str, str]:
    """Headway, its engine, Python and the libraries of numbers, each with its version."""
    from headway import _engine

    return {
        "headway": importlib.metadata.version("headway"),
        "engine": f"{_engine.version()} ({_engine.sources()})",
        "python": platform.python_version(),
        "numpy": importlib.metadata.version("numpy"),
        "polars": importlib.metadata.version("polars"),
    }


@functools.cache
def trace_code() -> str:
    """A hash of the code that makes a trace from what a backend gives."""
    return hashlib.sha256(Path(__file__).with_name("trace.py").read_bytes()).hexdigest()[:16]
