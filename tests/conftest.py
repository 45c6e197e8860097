"""Settings of every test. `pytest` runs the default suite, `pytest tests/live` the live one."""

from __future__ import annotations

import gc
import os
import signal
from collections import Counter
from pathlib import Path

import hypothesis
import pytest

LIVE = Path(__file__).parent / "live"

# Hypothesis uses the same examples in every run, even on a slow machine: no result depends on a
# clock, on chance, or on an earlier run.
hypothesis.settings.register_profile(
    "headway",
    database=None,
    deadline=None,
    derandomize=True,
    suppress_health_check=[hypothesis.HealthCheck.too_slow],
)
hypothesis.settings.load_profile("headway")

# The results of all studies stay in memory (quick.py). With Python's default thresholds, searching
# them for garbage again and again takes a tenth of the processor time.
gc.set_threshold(200_000, 20, 50)

LONGEST = (
    "test_thirty_thousand_flows_end",
    *(f"test_counterfactuals_show_what_is_locked[{name}]" for name in (
        "router-buffers", "buffers", "load", "trace-mix", "rappep", "web-surge",
        "collateral-damage", "response-functions",
    )),
    *(f"test_a_quick_study_rebuilds_the_same_files[{name}]" for name in (
        "web-surge", "rappep", "router-buffers", "buffers", "trace-mix", "load",
    )),
    "test_every_agreement_is_judged_and_a_backend_agrees_with_itself[rappep]",
    *(f"test_a_page_can_be_followed[docs/{name}.md]" for name in (
        "cli", "collateral-damage", "tutorial",
    )),
)  # fmt: skip
"""The longest tests. Worker processes begin with these, so that no long test runs alone at the
end."""


def pytest_configure(config: pytest.Config) -> None:
    # A shell that starts tests in the background makes them ignore Ctrl-C, and programs that tests
    # start would inherit that.
    signal.signal(signal.SIGINT, signal.default_int_handler)
    # Let pytest-xdist distribute tests one by one, so that the longest tests, which come first, do
    # not all go to one process.
    if getattr(config.option, "maxschedchunk", 1) is None:
        config.option.maxschedchunk = 1


def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    """Sort the tests: the longest ones come first."""
    order = {name: at for at, name in enumerate(LONGEST)}
    items.sort(key=lambda item: order.get(item.name, len(order)))


def pytest_ignore_collect(collection_path: Path, config: pytest.Config) -> bool | None:
    """Skip the live suite unless its path is given."""
    asked = [config.invocation_params.dir / str(arg).partition("::")[0] for arg in config.args]
    if collection_path == LIVE and not any(path.resolve().is_relative_to(LIVE) for path in asked):
        return True
    return None


def pytest_terminal_summary(terminalreporter: pytest.TerminalReporter) -> None:
    """Record skipped tests and reasons for the summary of `make test` (tests/skipped.sh)."""
    path = os.environ.get("HEADWAY_SKIPS")
    if not path:
        return
    reasons = Counter(
        str(report.longrepr[2]).removeprefix("Skipped: ").replace("\n", " ").replace("\t", " ")
        for report in terminalreporter.stats.get("skipped", [])
    )
    with Path(path).open("a", encoding="utf-8") as file:
        file.writelines(f"{count}\ttests of Python\t{why}\n" for why, count in reasons.items())
