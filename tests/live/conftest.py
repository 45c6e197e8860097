"""The live suite: tests whose verdict depends on time, privileges or other programs.

A test that fails runs once more, alone: `pytest tests/live --last-failed`. The summary of that run
names both outcomes.
"""

from __future__ import annotations

import pytest
import real_time


def pytest_terminal_summary(terminalreporter: pytest.TerminalReporter) -> None:
    """Report which tests ran a second time, and how the second run ended."""
    for line in real_time.tried_again:
        terminalreporter.write_line(f"tried again: {line}")
    if terminalreporter.config.getoption("lf", False):
        for outcome, told in (
            ("passed", "failed beside others, passed alone"),
            ("failed", "failed twice"),
            ("error", "failed twice"),
        ):
            for report in terminalreporter.stats.get(outcome, []):
                terminalreporter.write_line(f"{report.nodeid}: {told}")
