"""What every test begins with, and what is said of those that could not run."""

from __future__ import annotations

import functools
import os
import signal
from collections import Counter
from pathlib import Path
from typing import Any

import hypothesis
import pytest
import real_time

from headway.study import discover

# How long an example takes is the machine's affair.
hypothesis.settings.register_profile("headway", deadline=None)
hypothesis.settings.load_profile("headway")


def pytest_configure(config: pytest.Config) -> None:
    told = "measures: judged by times, so beside nothing else (real_time.in_real_time marks it)"
    config.addinivalue_line("markers", told)
    # A shell that starts tests in the background has them ignore Ctrl-C, and programs that tests
    # start would inherit that.
    signal.signal(signal.SIGINT, signal.default_int_handler)


@functools.cache
def studies() -> list[str]:
    """The longest name first, as one may begin with another."""
    return sorted(discover(), key=len, reverse=True)


def group(test: str) -> str:
    """Which tests run in one process: those of a study, and the others of a file.

    They share runs (tests/quick.py) and fixtures. Pages are followed each by itself.
    """
    file, _, name = test.partition("::")
    of = name.partition("[")[2].removesuffix("]")
    if ".md" in of:
        return test
    return next((one for one in studies() if f"{of}-".startswith(f"{one}-")), file)


@pytest.hookimpl(optionalhook=True)
def pytest_xdist_make_scheduler(config: pytest.Config, log: Any) -> object:
    """Several processes take groups; xdist's own groups are none with this pytest."""
    from xdist.scheduler import LoadScopeScheduling

    class Groups(LoadScopeScheduling):
        def _split_scope(self, nodeid: str) -> str:
            return group(nodeid)

    return Groups(config, log)


def pytest_terminal_summary(terminalreporter: pytest.TerminalReporter) -> None:
    """Say what was tried again, and tell `make test` what was skipped (tests/skipped.sh)."""
    for line in real_time.tried_again:
        terminalreporter.write_line(f"tried again: {line}")
    path = os.environ.get("HEADWAY_SKIPS")
    if not path:
        return
    reasons = Counter(
        str(report.longrepr[2]).removeprefix("Skipped: ").replace("\n", " ").replace("\t", " ")
        for report in terminalreporter.stats.get("skipped", [])
    )
    with Path(path).open("a", encoding="utf-8") as file:
        file.writelines(f"{count}\ttests of Python\t{why}\n" for why, count in reasons.items())
