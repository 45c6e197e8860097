"""The default suite reads no clock and starts no program, except those listed here."""

from __future__ import annotations

import ast
from pathlib import Path

import clocks
import pytest

POLLS = "waits for a condition, with a limit that only ends a hanging test"
HANGS = "only ends a command that hangs"

ALLOWED = {
    ("tests/followed.py", "monotonic"): "tells people how long a step took",
    ("tests/followed.py", "sleep"): "waits for servers of live steps",
    ("tests/followed.py", "timeout"): "limits headwayctl in live steps",
    ("tests/followed.py", "which"): "looks for headwayctl for live steps",
    ("tests/followed.py", "program"): "runs what the pages show; the default suite has quick steps",
    ("tests/proxied.py", "sleep"): "paces an endless response",
    ("tests/served.py", "monotonic"): POLLS,
    ("tests/served.py", "sleep"): POLLS,
    ("tests/support.py", "timeout"): HANGS,
    ("tests/test_cli.py", "monotonic"): POLLS,
    ("tests/test_cli.py", "sleep"): POLLS,
    ("tests/test_cli.py", "timeout"): HANGS,
    ("tests/test_house.py", "program"): "git lists the files of the commit; cargo plans a build",
    ("tests/test_package_unit.py", "program"): "a shell runs a line of the unit",
    ("tests/test_printing.py", "timeout"): HANGS,
    ("tests/test_printing.py", "program"): "a shell redirects what headway writes",
    ("tests/test_rust_live.py", "program"): "Python, with a script in the place of cargo",
    ("tests/test_sockets.py", "timeout"): HANGS,
}
"""By file and use: why the test's result does not depend on the clock."""


def used(files: list[Path]) -> dict[tuple[str, str], int]:
    """Every use of a clock or program, with the line where it first occurs."""
    found: dict[tuple[str, str], int] = {}
    for path in files:
        for use in clocks.uses(ast.parse(path.read_text(encoding="utf-8"))):
            found.setdefault((clocks._named(path), use.name), use.line)
    return found


def test_the_default_suite_uses_only_what_is_allowed() -> None:
    files = clocks.files_of_default()
    assert len(files) > 90
    found = used(files)
    new = [
        f"{file}:{line}: {name}"
        for (file, name), line in found.items()
        if (file, name) not in ALLOWED
    ]
    assert new == [], "move the test to tests/live/, or say in ALLOWED why it may stay"
    assert [one for one in ALLOWED if one not in found] == [], "allowed, and no longer used"


@pytest.mark.parametrize(
    ("text", "name"),
    [
        ("import time\ndef test_it():\n    assert time.monotonic() < 5", "monotonic"),
        ("import time\ndef test_it():\n    began = time.time()", "time"),
        ("from time import perf_counter", "from time import"),
        ("import datetime\nwhen = datetime.datetime.now()", "now"),
        ("from datetime import datetime\nwhen = datetime.now()", "now"),
        ("import asyncio\nasync def f():\n    await asyncio.sleep(1)", "sleep"),
        ("import subprocess\nsubprocess.run(['nginx', '-t'])", "program"),
        ("import subprocess\nsubprocess.run(command)", "program"),
        ("import shutil\nshutil.which('tshark')", "which"),
        ("def f(process):\n    assert process.wait(timeout=1) == 0", "timeout"),
        ("def f(socket):\n    socket.settimeout(1)", "settimeout"),
        ("import subprocess, sys\nsubprocess.run([sys.executable, '-c', ''])", None),
        ("import subprocess\nsubprocess.run(['cc', '-c', 'x.c'])", None),
        ("import subprocess\nsubprocess.Popen([*HEADWAY, 'list'])", None),
        ("def f(flow):\n    return flow.time, flow.timeout, metrics.run()", None),
    ],
)
def test_a_planted_use_is_found_and_a_harmless_line_is_not(
    text: str, name: str | None, tmp_path: Path
) -> None:
    file = tmp_path / "test_planted.py"
    file.write_text(text)
    assert [use for _, use in used([file])] == ([name] if name else [])


def test_the_list_names_a_test_by_what_its_helpers_use(tmp_path: Path) -> None:
    python = tmp_path / "test_planted.py"
    python.write_text(
        "import time\n"
        "def waits():\n    time.sleep(1)\n"
        "def test_slow():\n    waits()\n"
        "def test_quick():\n    pass\n"
    )
    assert [(one.test, one.uses) for one in clocks.of_python(python)] == [("test_slow", ("sleep",))]


def test_live_tests_of_rust_are_known_by_what_cargo_test_leaves_out() -> None:
    crates = clocks.ROOT / "crates"
    assert clocks._is_live(crates / "kernel" / "src" / "lib.rs")
    assert clocks._is_live(crates / "pep" / "tests" / "live.rs")
    assert clocks._is_live(crates / "pep" / "tests" / "live" / "nat.rs")
    assert not clocks._is_live(crates / "pep" / "src" / "lib.rs")
    assert not clocks._is_live(crates / "sim" / "tests" / "links.rs")
