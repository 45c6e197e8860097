"""What a machine cannot run is counted and said, with the reason, as the last words of a run."""

from __future__ import annotations

import os
import re
import subprocess
import sys
from pathlib import Path

import pytest
from conftest import group
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
            "PYTHONPATH": str(ROOT / "tests"),
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


def test_no_rust_test_returns_for_lack_of_something_without_saying_so() -> None:
    """Whoever prints "skipped" by himself is not counted."""
    sources = [
        path
        for pattern in ("crates/*/tests/**/*.rs", "crates/*/src/**/*.rs")
        for path in ROOT.glob(pattern)
    ]
    assert sources
    by_hand = [path for path in sources if re.search(r'[("]skipped[: ]', path.read_text())]
    assert by_hand == []
    assert any("skipped::skipped(" in path.read_text() for path in sources)


@pytest.mark.parametrize(
    ("test", "shares"),
    [
        ("tests/test_verdicts.py::test_spoiled[maxnet-C-MN-001]", "maxnet"),
        ("tests/test_pictures.py::test_every_figure[load]", "load"),
        ("tests/test_pictures.py::test_keys_are_known[loaded]", "tests/test_pictures.py"),
        ("tests/test_cli.py::test_help", "tests/test_cli.py"),
        ("tests/test_docs.py::test_followed[docs/cli.md]",) * 2,
    ],
)
def test_what_shares_a_run_shares_a_process(test: str, shares: str) -> None:
    assert group(test) == shares
