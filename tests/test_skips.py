"""The reports of the live suites (Python and Rust): skipped tests with reasons, and second
attempts.
"""

from __future__ import annotations

import os
import re
import subprocess
import sys
from pathlib import Path

import pytest
from support import ROOT


def test_no_rust_test_returns_for_lack_of_something_without_saying_so() -> None:
    """Rust tests report skips through skipped::skipped; a printed "skipped" is not counted."""
    sources = [
        path
        for pattern in ("crates/*/tests/**/*.rs", "crates/*/src/**/*.rs")
        for path in ROOT.glob(pattern)
    ]
    assert sources
    by_hand = [path for path in sources if re.search(r'[("]skipped[: ]', path.read_text())]
    assert by_hand == []
    assert any("skipped::skipped(" in path.read_text() for path in sources)


def with_conftest_of(
    suite: str, folder: Path, *arguments: object, **environment: str
) -> subprocess.CompletedProcess[str]:
    """Run pytest on the tests of a folder with the conftest.py of one of our suites."""
    return subprocess.run(
        [sys.executable, "-m", "pytest", "-q", "-p", "conftest", "--rootdir", folder, *arguments],
        env={
            **os.environ,
            "PYTHONPATH": str(ROOT / suite),
            "PYTEST_ADDOPTS": "",
            **environment,
        },
        cwd=folder,
        capture_output=True,
        text=True,
        check=False,
    )


@pytest.mark.slow
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
    done = with_conftest_of("tests", tmp_path, tests, HEADWAY_SKIPS=str(notes))
    assert done.returncode == 0, done.stdout
    assert sorted(notes.read_text().splitlines()) == [
        "1\ttests of Python\tno tshark",
        "2\ttests of Python\tno root",
    ]


@pytest.mark.slow
def test_a_second_attempt_names_both_outcomes(tmp_path: Path) -> None:
    tests = tmp_path / "test_some.py"
    tests.write_text(
        "from pathlib import Path\n"
        "def test_right(): ...\n"
        "def test_wrong(): assert False\n"
        "def test_disturbed():\n"
        "    there = Path('there')\n"
        "    if not there.exists():\n"
        "        there.touch()\n"
        "        assert False\n"
    )
    assert with_conftest_of("tests/live", tmp_path, tests).returncode == 1
    again = with_conftest_of("tests/live", tmp_path, tests, "--last-failed")
    assert again.returncode == 1
    assert [line for line in again.stdout.splitlines() if line.startswith("test_some.py::")] == [
        "test_some.py::test_disturbed: failed beside others, passed alone",
        "test_some.py::test_wrong: failed twice",
    ]
