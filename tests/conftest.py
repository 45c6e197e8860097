"""Settings of every test. `pytest` runs the default suite, `pytest tests/live` the live one."""

from __future__ import annotations

import signal
from pathlib import Path

import hypothesis
import pytest

LIVE = Path(__file__).parent / "live"

# The same examples in every run, however slow the machine is: no result depends on a clock, on
# chance, or on an earlier run.
hypothesis.settings.register_profile(
    "headway",
    database=None,
    deadline=None,
    derandomize=True,
    suppress_health_check=[hypothesis.HealthCheck.too_slow],
)
hypothesis.settings.load_profile("headway")


def pytest_configure() -> None:
    # A shell that starts tests in the background has them ignore Ctrl-C, and programs that tests
    # start would inherit that.
    signal.signal(signal.SIGINT, signal.default_int_handler)


def pytest_ignore_collect(collection_path: Path, config: pytest.Config) -> bool | None:
    """Leave the live suite out unless it is asked for by its path."""
    asked = [config.invocation_params.dir / str(arg).partition("::")[0] for arg in config.args]
    if collection_path == LIVE and not any(path.resolve().is_relative_to(LIVE) for path in asked):
        return True
    return None
