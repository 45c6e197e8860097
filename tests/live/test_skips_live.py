"""The summary of skipped tests counts them by suite and reason. Needs bash and awk."""

from __future__ import annotations

import os
import subprocess
import sys
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


def test_the_last_words_count_by_suite_and_reason(tmp_path: Path) -> None:
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


def test_pytest_notes_what_it_skipped_and_why(tmp_path: Path) -> None:
    tests = tmp_path / "test_some.py"
    tests.write_text(
        "import pytest\n"
        "no_root = pytest.mark.skipif(True, reason='no root')\n"
        "@no_root\ndef test_one(): ...\n"
        "@no_root\ndef test_two(): ...\n"
        "def test_three(): pytest.skip('no\\ntshark')\n"
        "def test_four(): ...\n"
    )
    notes = tmp_path / "skipped.tsv"
    done = subprocess.run(
        [sys.executable, "-m", "pytest", "-q", "-p", "conftest", "--rootdir", tmp_path, tests],
        env={
            **os.environ,
            "PYTHONPATH": str(ROOT / "tests" / "live"),
            "HEADWAY_SKIPS": str(notes),
            "PYTEST_ADDOPTS": "",
        },
        cwd=tmp_path,
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.returncode == 0, done.stdout
    assert sorted(notes.read_text().splitlines()) == [
        "1\ttests of Python\tno tshark",
        "2\ttests of Python\tno root",
    ]
