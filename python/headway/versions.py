"""The versions that a result depends on, read without importing the libraries."""

from __future__ import annotations

import functools
import hashlib
import importlib.metadata
import platform
from pathlib import Path


@functools.cache
def versions() -> dict[str, str]:
    """Versions of Headway, its engine, Python, NumPy and Polars."""
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
    """A hash of the code that builds a trace from a backend's data."""
    return hashlib.sha256(Path(__file__).with_name("trace.py").read_bytes()).hexdigest()[:16]
