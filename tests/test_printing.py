"""Commands whose output nobody reads, or reads only in part, and Ctrl-C before any output."""

import fcntl
import json
import os
import pty
import re
import struct
import subprocess
import sys
import tempfile
import termios
from collections.abc import Iterator
from pathlib import Path

import pytest
from support import HANGS_S, HEADWAY

from headway.claims import Claim, write_claims

SHORT = ["try", "--duration", "1s", "--voip"]


def started(redirected: str, *arguments: str, **variables: str) -> subprocess.CompletedProcess[str]:
    """The command in a shell, with its streams redirected."""
    return subprocess.run(
        ["bash", "-c", f'"$@" {redirected}', "bash", *HEADWAY, *arguments],
        capture_output=True,
        text=True,
        errors="replace",
        check=False,
        timeout=HANGS_S,
        env={**os.environ, "COLUMNS": "100", **variables},
    )


def one_line(done: subprocess.CompletedProcess[str], status: int = 2) -> str:
    assert done.returncode == status, done
    assert done.stderr.startswith("headway: ")
    assert done.stderr.count("\n") == 1
    return done.stderr


@pytest.mark.parametrize("arguments", [SHORT, [*SHORT, "--json"], ["list"]])
def test_closed_output_is_one_line(arguments: list[str]) -> None:
    assert "standard output is closed" in one_line(started(">&-", *arguments))


@pytest.mark.slow
def test_closed_errors_and_input_are_no_reason_to_stop(tmp_path: Path) -> None:
    pcap = tmp_path / "x.pcapng"
    done = started("2>&- <&-", *SHORT, "--pcap", str(pcap))
    assert done.returncode == 0
    assert "utilization" in done.stdout
    assert pcap.stat().st_size > 1000
    assert started("2>&-", "try", "--flows", "none").returncode == 2
    assert started(">&- 2>&- <&-", *SHORT).returncode == 2


@pytest.mark.slow
@pytest.mark.parametrize("arguments", [["list"], ["--help"], [*SHORT, "--json"]])
def test_a_full_disk_behind_output_is_one_line(arguments: list[str]) -> None:
    assert "No space left on device" in one_line(started(">/dev/full", *arguments))


def test_a_reader_that_has_seen_enough_is_no_error() -> None:
    done = started("| true", "list")
    assert done.returncode == 0
    assert done.stderr == ""


@pytest.mark.slow
def test_what_an_encoding_lacks_is_written_plainly() -> None:
    for encoding in ("ascii", "latin-1"):
        done = started("", *SHORT, "--trials", "2", "--threads", "1", PYTHONIOENCODING=encoding)
        assert done.returncode == 0, done.stderr
        assert done.stderr == ""
        assert "queue, bytes" in done.stdout
    assert "+-95 %" in started("", *SHORT, "--trials", "2", PYTHONIOENCODING="ascii").stdout
    plain = started("", "list", "--json", PYTHONIOENCODING="ascii")
    assert json.loads(plain.stdout) == json.loads(started("", "list", "--json").stdout)
    said = started("", "try", "--flows", "1xcubic–µ", PYTHONIOENCODING="ascii")
    assert "cubic-u" in one_line(said)


@pytest.fixture
def short_path() -> Iterator[Path]:
    """A folder whose name fits into a column of a table."""
    with tempfile.TemporaryDirectory() as folder:
        yield Path(folder)


def test_a_file_whose_name_is_no_text_is_named_as_it_is(short_path: Path) -> None:
    folder = os.fsdecode(os.fsencode(short_path) + b"/d\xff")
    claim = Claim("C-1", "s", "simulated", 1.0, 1.0, None, "", "holds")
    write_claims(Path(folder) / "claims.json", [claim])
    plain = started("", "claims", folder, PYTHONIOENCODING="utf-8:strict")
    assert plain.returncode == 0, plain.stderr
    assert "d\N{REPLACEMENT CHARACTER}" in plain.stdout  # replaces an undecodable byte
    for_scripts = started("", "claims", folder, "--json", PYTHONIOENCODING="utf-8:strict")
    assert json.loads(for_scripts.stdout)["results"][0]["dir"] == folder


@pytest.mark.parametrize("value", ["0", "-1", "many", "", "99999999999999999999"])
def test_polars_is_not_asked_for_threads_that_cannot_be(value: str) -> None:
    done = started("", *SHORT, POLARS_MAX_THREADS=value)
    assert "POLARS_MAX_THREADS" in one_line(done)
    assert "allowed: a whole number, 1 or more" in done.stderr


INTERRUPTED = """
import os, signal, sys

class Finder:
    def find_spec(self, name, *rest):
        if name == {module!r}:
            os.kill(os.getpid(), signal.SIGINT)

sys.meta_path.insert(0, Finder())
sys.argv = ["headway", *{arguments!r}]
from headway.cli import main
main()
"""


@pytest.mark.parametrize(
    "module",
    ["typer", "pydantic", "headway.cli.app", "headway.cli.adhoc", "headway.experiment", "numpy"],
)
def test_ctrl_c_while_modules_load_is_one_line(module: str) -> None:
    done = subprocess.run(
        [sys.executable, "-c", INTERRUPTED.format(module=module, arguments=["run", "no-such"])]
        if module == "numpy"
        else [sys.executable, "-c", INTERRUPTED.format(module=module, arguments=SHORT)],
        capture_output=True,
        text=True,
        check=False,
        timeout=HANGS_S,
    )
    assert done.returncode == 130, done
    assert done.stderr == "headway: interrupted\n"
    assert done.stdout == ""


@pytest.mark.parametrize("term", ["dumb", "xterm"])
def test_a_narrow_terminal_gets_narrow_tables(term: str) -> None:
    ours, theirs = pty.openpty()
    fcntl.ioctl(theirs, termios.TIOCSWINSZ, struct.pack("HHHH", 24, 60, 0, 0))
    quiet = {key: value for key, value in os.environ.items() if key not in ("COLUMNS", "LINES")}
    child = subprocess.Popen(
        [*HEADWAY, "list"], stdout=theirs, env={**quiet, "TERM": term, "NO_COLOR": "1"}
    )
    os.close(theirs)
    text = b""
    try:
        while part := os.read(ours, 65536):
            text += part
    except OSError:
        pass  # the pipe's other end is closed
    assert child.wait(timeout=HANGS_S) == 0
    os.close(ours)
    lines = re.sub(r"\x1b\[[0-9;]*m", "", text.decode()).splitlines()
    assert len(lines) > 20
    assert max(len(line.rstrip()) for line in lines) <= 60
