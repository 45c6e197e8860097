"""What every test begins with, and what is said of those that could not run."""

from __future__ import annotations

import os
import signal
from collections import Counter
from pathlib import Path

import pytest


def pytest_configure() -> None:
    # A shell that starts tests in the background has them ignore Ctrl-C, and programs that tests
    # start would inherit that.
    signal.signal(signal.SIGINT, signal.default_int_handler)


def pytest_collection_modifyitems(config: pytest.Config, items: list[pytest.Item]) -> None:
    """Of several processes that run tests, one has those of a study, and one those of a file.

    They share runs (tests/quick.py) and fixtures.
    """
    if config.pluginmanager.hasplugin("xdist"):
        for item in items:
            call = getattr(item, "callspec", None)
            shared = call.params.get("name") if call else None
            item.add_marker(pytest.mark.xdist_group(str(shared or item.path.name)))


def pytest_terminal_summary(terminalreporter: pytest.TerminalReporter) -> None:
    """Tell `make test` what was skipped (tests/skipped.sh); pytest itself says it with -ra."""
    path = os.environ.get("HEADWAY_SKIPS")
    if not path:
        return
    reasons = Counter(
        str(report.longrepr[2]).removeprefix("Skipped: ").replace("\n", " ").replace("\t", " ")
        for report in terminalreporter.stats.get("skipped", [])
    )
    with Path(path).open("a", encoding="utf-8") as file:
        file.writelines(f"{count}\ttests of Python\t{why}\n" for why, count in reasons.items())
