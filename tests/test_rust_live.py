"""rust_live.py runs a failed test once more, alone, and reports both outcomes.

A script replaces cargo.
"""

import json
import os
import subprocess
import sys
from pathlib import Path

import pytest

SCRIPT = Path(__file__).with_name("rust_live.py")
# Tests of the script that replaces cargo: all but "good" fail while others run. Alone, "bad" fails
# again, and "busy" is skipped.
PROGRAM = """#!/bin/sh
case "$*" in
*--exact*good*) echo "test good ... ok" ;;
*--exact*late*) echo "test late ... ok, 1.0 s" ;;
*--exact*busy*) ;;
*--exact*bad*) echo "test bad ... FAILED"; exit 1 ;;
*) printf 'test good ... ok\\ntest late ... FAILED\\ntest busy ... FAILED\\n%s' "$BAD"; exit 1 ;;
esac
"""


@pytest.fixture
def call(tmp_path):
    artifact = {
        "reason": "compiler-artifact",
        "target": {"name": "waits", "kind": ["test"]},
        "manifest_path": str(tmp_path / "Cargo.toml"),
        "executable": str(tmp_path / "waits"),
    }
    cargo = f"#!/bin/sh\necho '{json.dumps(artifact)}'\n"
    for name, text in (("cargo", cargo), ("waits", PROGRAM)):
        (tmp_path / name).write_text(text)
        (tmp_path / name).chmod(0o755)

    def call(*arguments, bad=""):
        environment = os.environ | {"PATH": f"{tmp_path}:{os.environ['PATH']}", "BAD": bad}
        command = [sys.executable, SCRIPT, arguments[0], tmp_path / "failed", "-p x"]
        command += arguments[1:]
        return subprocess.run(command, env=environment, capture_output=True, text=True, check=False)

    return call


def test_a_test_that_passes_alone_is_no_failure(call):
    assert call("run", "waits").returncode == 0
    again = call("again")
    assert again.returncode == 0, again
    assert "waits late: failed beside others, passed alone" in again.stdout
    assert "waits busy: failed beside others, skipped alone" in again.stdout
    assert "good" not in again.stdout


def test_a_test_that_fails_twice_is_a_failure(call):
    assert call("run", "waits", bad="test bad ... FAILED\n").returncode == 0
    again = call("again")
    assert again.returncode == 1, again
    assert "waits bad: failed twice" in again.stdout


def test_what_cannot_be_built_is_an_error(call):
    told = call("run", "other")
    assert told.returncode == 1
    assert told.stderr == "cannot build other\n"
