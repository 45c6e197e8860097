"""Tests that the summary of skipped tests counts the tests by suite and reason.

Needs bash and awk.
"""

from __future__ import annotations

import os
import subprocess
from pathlib import Path

from support import ROOT

SAYS = ROOT / "tests" / "skipped.sh"


def said(*arguments: str, **environment: str) -> str:
    return subprocess.run(
        [SAYS, *arguments],
        env={**os.environ, **environment},
        capture_output=True,
        text=True,
        check=True,
    ).stdout


def test_the_summary_counts_by_suite_and_reason(tmp_path: Path) -> None:
    notes = tmp_path / "skipped.tsv"
    assert said(str(notes)) == "nothing was skipped\n"
    lines = ["3\ttests of A\tno root", "1\ttests of B\tno tshark", "2\ttests of A\tno root"]
    notes.write_text("\n".join(lines) + "\n")
    assert said(str(notes)).splitlines() == [
        "skipped on this machine:",
        "     5 tests of A: no root",
        "     1 tests of B: no tshark",
    ]


def test_a_suite_that_is_not_built_says_so_at_once_and_at_the_end(tmp_path: Path) -> None:
    notes = tmp_path / "skipped.tsv"
    note = ("--note", "14", "suites of A", "no clang")
    assert said(*note, HEADWAY_SKIPS=str(notes)) == "skipped: 14 suites of A: no clang\n"
    assert said(str(notes)).splitlines()[1:] == ["    14 suites of A: no clang"]
    assert said(*note, HEADWAY_SKIPS="") == "skipped: 14 suites of A: no clang\n"
