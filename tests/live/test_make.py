"""Tests the messages of `make` on a machine that lacks something.

Each test runs the Makefile in a clone of the repository. No test measures time. Tests that build
need the package registries.
"""

from __future__ import annotations

import os
import shutil
import subprocess
from collections.abc import Mapping
from pathlib import Path

import pytest
from support import ROOT

TOOLS = (
    *("awk", "bash", "cat", "dirname", "env", "find", "flock", "grep", "head", "id", "install"),
    *("ls", "make", "mkdir", "mv", "rm", "sed", "sh", "sort", "tail", "touch", "uname"),
)


@pytest.fixture(scope="module")
def clone(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A clone of the commit under test, in a path with spaces."""
    folder = tmp_path_factory.mktemp("a path") / "with spaces"
    subprocess.run(["git", "clone", "--quiet", ROOT, folder], check=True)
    return folder


@pytest.fixture
def bare(tmp_path: Path) -> Path:
    """A folder for PATH that has basic tools, but no program that Headway's build needs."""
    for tool in TOOLS:
        found = shutil.which(tool)
        assert found, tool
        (tmp_path / tool).symlink_to(found)
    return tmp_path


def program(folder: Path, name: str, script: str) -> None:
    (folder / name).unlink(missing_ok=True)
    (folder / name).write_text(f"#!/bin/sh\n{script}\n")
    (folder / name).chmod(0o755)


def make(
    clone: Path, *words: str, wrapper: tuple[str, ...] = (), **changes: str
) -> subprocess.CompletedProcess[str]:
    env: Mapping[str, str] = {**os.environ, **changes}
    return subprocess.run(
        [*wrapper, "make", *words],
        cwd=clone,
        env=env,
        capture_output=True,
        text=True,
        check=False,
        timeout=1800,  # a limit that only ends a build that hangs
    )


def told(done: subprocess.CompletedProcess[str]) -> str:
    """The only line that the command printed on stderr, apart from make's own lines."""
    assert done.returncode == 2, done.stdout + done.stderr
    lines = [line for line in done.stderr.splitlines() if not line.startswith("make")]
    assert len(lines) == 1, done.stderr
    return lines[0]


def test_a_missing_python_is_named(clone: Path, bare: Path) -> None:
    said = told(make(clone, "demo", PATH=str(bare)))
    assert said == "Headway needs Python 3.11 or later: python3 is not installed"


def test_an_old_python_is_named_with_its_version(clone: Path, bare: Path) -> None:
    program(bare, "python3", 'case "$*" in *version_info*) exit 1;; *) echo Python 3.9.2;; esac')
    said = told(make(clone, "demo", PATH=str(bare)))
    assert said.startswith("Headway needs Python 3.11 or later: python3 is Python 3.9.2")


def test_a_python_without_venv_is_named(clone: Path, bare: Path) -> None:
    program(bare, "python3", 'case "$*" in *ensurepip*) exit 1;; esac')
    said = told(make(clone, "demo", PATH=str(bare)))
    assert said == "Headway needs Python's venv module (Debian: apt-get install python3-venv)"


def test_a_missing_compiler_and_cargo_are_named(clone: Path, bare: Path) -> None:
    goal = "target/.engine-quick"
    assert "needs a C compiler: cc is not installed" in told(make(clone, goal, PATH=str(bare)))
    program(bare, "cc", "exit 0")
    said = told(make(clone, goal, PATH=str(bare)))
    assert "needs Rust 1.85 or later: cargo is not installed" in said
    program(bare, "cargo", "echo cargo 1.63.0")
    assert "cargo is 1.63.0" in told(make(clone, goal, PATH=str(bare)))


@pytest.mark.skipif(os.geteuid() != 0, reason="a namespace without a network needs root")
def test_a_missing_network_is_named(clone: Path, tmp_path: Path) -> None:
    offline = ("unshare", "--net")
    said = told(make(clone, ".venv/.deps", wrapper=offline))
    assert said.startswith("pip cannot download the packages of requirements.lock.")
    rustup = os.environ.get("RUSTUP_HOME", str(Path.home() / ".rustup"))
    done = make(
        clone,
        "target/.engine-quick",
        wrapper=offline,
        CARGO_HOME=str(tmp_path / "empty"),
        RUSTUP_HOME=rustup,
    )
    assert told(done).startswith("cargo cannot download crates.")


def test_two_demos_build_in_one_tree_with_a_hostile_environment(
    clone: Path, tmp_path: Path
) -> None:
    """Test a build whose path has spaces, with a read-only HOME, PYTHONPATH and RUSTFLAGS set.

    The study is the shortest one, because test_dist.py runs the demo's.
    """
    (tmp_path / "numpy.py").write_text("raise ImportError('not the numpy of the venv')\n")
    hostile = {
        "HOME": "/proc/nowhere",
        "RUSTUP_HOME": os.environ.get("RUSTUP_HOME", str(Path.home() / ".rustup")),
        "PYTHONPATH": str(tmp_path),
        "RUSTFLAGS": "-C debuginfo=1",
        "CARGO_PROFILE_QUICK_OPT_LEVEL": "1",  # only to build faster
    }
    env = {**os.environ, **hostile}
    env.pop("CARGO_HOME", None)
    both = [
        subprocess.Popen(
            ["make", "demo", "STUDY=first-megabyte", f"OUT=results/{number}"],
            cwd=clone,
            env=env,
            stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT,
            text=True,
        )
        for number in (1, 2)
    ]
    said = [each.communicate(timeout=1800)[0] for each in both]
    for number, (each, text) in enumerate(zip(both, said, strict=True), start=1):
        assert each.returncode == 0, text
        assert "claims: " in text
        assert (clone / "results" / str(number) / "report.html").is_file()
    assert any("waiting for another make" in text for text in said)
