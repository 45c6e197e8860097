"""Tests a wheel and an sdist that packaging/dist.sh builds, installed as a new user does.

pip installs each into a fresh virtual environment in a temporary folder, and downloads dependencies
(and, for the sdist, maturin) from the package registry: these tests use the network. Commands run
outside the checkout, without PYTHONPATH, and with nothing on the PATH but the environment's own
commands, cc and what cc and shells need. No time is measured.
"""

from __future__ import annotations

import json
import os
import re
import shutil
import subprocess
import sys
import tarfile
import venv
import zipfile
from dataclasses import dataclass
from pathlib import Path

import pytest
from packaged import version_of
from shown import steps
from support import ROOT

QUICKER = {
    "CARGO_PROFILE_RELEASE_LTO": "thin",
    "CARGO_PROFILE_RELEASE_CODEGEN_UNITS": "16",
    "CARGO_PROFILE_RELEASE_DEBUG": "0",
    "CARGO_TARGET_DIR": str(ROOT / "target"),
}
"""Environment variables of the builds. They shorten the linker's slowest step, and share built
crates with test_package.py.
"""
PROGRAM = next(
    block
    for page in (ROOT / "README.md", ROOT / "docs" / "get-started.md")
    if page.exists()
    for block in re.findall(r"^```python\n(.+?)^```", page.read_text(encoding="utf-8"), re.M | re.S)
    if "from headway import" in block
)
pytestmark = [
    pytest.mark.slow,
    pytest.mark.timeout(1800),
    pytest.mark.skipif(shutil.which("cargo") is None, reason="packages: cargo is missing"),
]


def environment(**changes: str) -> dict[str, str]:
    """Environment variables for a command, without those of the checkout and its virtual
    environment."""
    kept = {
        name: value
        for name, value in os.environ.items()
        if not name.startswith(("PYTHON", "VIRTUAL_ENV", "HEADWAY", "MATURIN", "CARGO_TARGET"))
    }
    own = Path(sys.executable).parent
    path = [part for part in kept["PATH"].split(os.pathsep) if Path(part) != own]
    return {**kept, "PATH": os.pathsep.join(path), **changes}


def ran(*command: str | Path, cwd: Path, **changes: str) -> subprocess.CompletedProcess[str]:
    done = subprocess.run(
        command, cwd=cwd, env=environment(**changes), capture_output=True, text=True, check=False
    )
    assert done.returncode == 0, f"{command}: {done.stdout[-2000:]}{done.stderr[-4000:]}"
    return done


@pytest.fixture(scope="module")
def dist(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A release that is built as on a machine without a compiler for eBPF.

    The .deb and the archive of headwayctl are those of test_package.py.
    """
    folder = tmp_path_factory.mktemp("dist")
    done = ran(
        ROOT / "packaging" / "dist.sh", sys.executable, folder, cwd=folder,
        HEADWAY_CLANG="/nowhere/clang-19", **QUICKER,
    )  # fmt: skip
    lines = [line for line in done.stderr.splitlines() if "left out" in line]
    assert lines == [
        "headwayctl's archive and .deb are left out: /nowhere/clang-19 missing (docs/packaging.md)"
    ]
    ran("sha256sum", "--check", "--strict", "SHA256SUMS", cwd=folder)
    assert len((folder / "SHA256SUMS").read_text().splitlines()) == 2
    return folder


def only(folder: Path, pattern: str) -> Path:
    (found,) = folder.glob(pattern)
    return found


def test_the_wheel_is_small_and_runs_on_any_linux_of_its_tag(dist: Path) -> None:
    wheel = only(dist, "*.whl")
    assert re.fullmatch(r"headway-[\d.]+-cp311-abi3-manylinux_2_\d+_\w+\.whl", wheel.name)
    assert wheel.stat().st_size < 3_000_000
    with zipfile.ZipFile(wheel) as members:
        names = set(members.namelist())
        (folder,) = {name.split("/")[0] for name in names} - {"headway"}
        assert {"LICENSE", "LICENSES/GPL-2.0-only.txt"} <= {
            name.removeprefix(f"{folder}/licenses/") for name in names
        }
        own = ("_engine.abi3.so", "commit.txt", "copyright.txt", "py.typed")
        assert {f"headway/{name}" for name in own} < names
        assert not [name for name in names if "__pycache__" in name]


def test_the_sdist_has_what_the_engine_is_built_of_and_no_tests(dist: Path) -> None:
    sdist = only(dist, "*.tar.gz")
    assert sdist.stat().st_size < 2_000_000
    with tarfile.open(sdist) as members:
        names = {name.partition("/")[2] for name in members.getnames()}
    assert {"Cargo.lock", "LICENSE", "README.md", "packaging/backend.py"} < names
    tracked = ran("git", "ls-files", "algorithms", cwd=ROOT).stdout.split()
    assert set(tracked) <= names
    assert not [name for name in names if re.search(r"(^|/)(tests|target|kernel/src)/", name)]


@dataclass(frozen=True)
class Installed:
    """A virtual environment with Headway, and an empty folder next to it."""

    prefix: Path
    folder: Path

    def run(self, *command: str | Path) -> str:
        """Run a command by name, with the environment's bin first in PATH; returns its output."""
        path = os.pathsep.join([str(self.prefix / "bin"), str(self.folder / "bin")])
        found = shutil.which(str(command[0]), path=path)
        assert found is not None, command[0]
        cache = str(self.folder / "cache")
        return ran(found, *command[1:], cwd=self.folder, PATH=path, XDG_CACHE_HOME=cache).stdout


@pytest.fixture(scope="module", params=["*.whl", "*.tar.gz"], ids=["wheel", "sdist"])
def installed(
    request: pytest.FixtureRequest, dist: Path, tmp_path_factory: pytest.TempPathFactory
) -> Installed:
    folder = tmp_path_factory.mktemp("installed")
    prefix = folder / "venv"
    venv.create(prefix, with_pip=True)
    pip = [prefix / "bin" / "python", "-m", "pip", "--disable-pip-version-check"]
    # --no-compile: compiling bytecode would take as long as the rest of the installation
    ran(
        *pip, "install", "--quiet", "--no-compile", only(dist, request.param), cwd=folder, **QUICKER
    )
    ran(*pip, "check", cwd=folder)
    work = folder / "work"
    (work / "bin").mkdir(parents=True)
    for tool in ("bash", "cc", "as", "ld", "man", "uname"):
        if found := shutil.which(tool):
            (work / "bin" / tool).symlink_to(found)
    return Installed(prefix, work)


def test_it_is_imported_from_its_environment_and_says_its_commit(installed: Installed) -> None:
    where = installed.run("python", "-c", "import headway; print(headway.__file__)")
    assert Path(where).is_relative_to(installed.prefix)
    assert re.fullmatch(version_of("headway"), installed.run("headway", "--version"))


def test_the_demos_study_runs_and_its_report_has_its_figures(installed: Installed) -> None:
    installed.run("headway", "run", "collateral-damage", "--quick", "--out", "results")
    report = (installed.folder / "results" / "report.html").read_text(encoding="utf-8")
    assert report.count("<svg") + report.count("<img") > 3
    assert "://" not in re.sub(r"https?://www\.w3\.org/\S+", "", "".join(
        re.findall(r"<(?:script|link|img)\b[^>]*>", report)
    ))  # fmt: skip
    (installed.folder / "results" / "report.html").unlink()
    installed.run("headway", "report", "results")
    assert (installed.folder / "results" / "report.html").exists()


def test_the_python_example_runs(installed: Installed) -> None:
    (installed.folder / "example.py").write_text(PROGRAM, encoding="utf-8")
    assert "bit/s" in installed.run("python", "example.py")


def test_a_control_in_c_needs_a_c_compiler_only(installed: Installed) -> None:
    for step in steps(ROOT / "docs" / "tutorial.md"):
        if step.form == "file" and step.path == "my_control.c":
            (installed.folder / step.path).write_text(step.text, encoding="utf-8")
    said = json.loads(
        installed.run("headway", "try", "--flows", "1x./my_control.c", "--duration", "5s", "--json")
    )
    assert said["flows"][0]["cc"] == "my_control"
    assert said["flows"][0]["delivered_bytes"] > 100_000


def test_completions_and_man_pages_are_written_where_they_are_found(installed: Installed) -> None:
    share = installed.folder / "share"
    installed.run("headway", "pages", share)
    completion = share / "bash-completion" / "completions" / "headway"
    script = (
        f"source {completion}; COMP_WORDS=(headway run coll); COMP_CWORD=2; _headway; "
        'echo "${COMPREPLY[@]}"'
    )
    assert installed.run("bash", "-c", script) == "collateral-damage\n"
    assert (share / "man" / "man1" / "headway-run.1").exists()


def test_nothing_is_left_after_it_is_uninstalled(installed: Installed) -> None:
    """Test that pip uninstalls Headway.

    This test must be the last that uses the environment.
    """
    installed.run("python", "-m", "pip", "uninstall", "--yes", "--quiet", "headway")
    assert not list(installed.prefix.rglob("*headway*"))
