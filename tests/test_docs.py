"""Commands, programs and files shown in the pages run as written."""

import fcntl
import json
import os
import re
import subprocess
import sys
from collections.abc import Sequence
from pathlib import Path

import followed
import pytest
from shown import Step
from support import ROOT, headway

from headway import studies as studies_package
from headway.study import discover

PAGES = followed.all_pages()
SHOWN = {page: followed.steps(page) for page in PAGES}
RECIPES = [page for page in PAGES if page.parent.name == "contributing"]
C_FILES = [step for page in RECIPES for step in SHOWN[page] if step.path.endswith(".c")]


def of_kind(kind: str) -> list[object]:
    """Pages with a step of a kind."""
    return [
        pytest.param(page, id=page.relative_to(ROOT).as_posix())
        for page, steps in SHOWN.items()
        if any(step.kind == kind and step.mark != "not" for step in steps)
    ]


def programs(pages: Sequence[Path] = PAGES) -> list[str]:
    """Every whole program of the pages."""
    return [
        step.text
        for page in pages
        for step in SHOWN[page]
        if step.form == "program" or step.path.endswith(".py")
    ]


def test_there_is_something_to_follow() -> None:
    assert of_kind("quick")
    assert of_kind("live")
    assert of_kind("make")
    assert len(programs()) > 5


@pytest.mark.slow
@pytest.mark.parametrize("page", of_kind("quick"))
def test_a_page_can_be_followed(page: Path, tmp_path: Path) -> None:
    followed_steps, _, failed = followed.follow(page, {"quick"}, folder=tmp_path)
    assert failed is None
    assert followed_steps


def test_the_study_of_its_recipe_can_be_loaded(tmp_path: Path, monkeypatch) -> None:
    studies = "python/headway/studies/"
    for step in (step for page in RECIPES for step in SHOWN[page]):
        if step.form == "file" and step.path.startswith(studies):
            file = tmp_path / step.path.removeprefix(studies)
            file.parent.mkdir(exist_ok=True)
            file.write_text(step.text, encoding="utf-8")
    monkeypatch.setattr("headway.studies.__path__", [*studies_package.__path__, str(tmp_path)])
    study = discover()["growth-race"]
    assert [one.id for one in study.statements] == ["RACE-1"]
    del sys.modules["headway.studies.growth_race"]


@pytest.mark.parametrize("step", [pytest.param(step, id=step.path) for step in C_FILES])
def test_a_c_file_of_a_recipe_compiles_without_a_warning(step: Step, tmp_path: Path) -> None:
    file = tmp_path / step.path
    file.parent.mkdir(parents=True)
    file.write_text(step.text, encoding="utf-8")
    (tmp_path / "algorithms" / "port").symlink_to(ROOT / "algorithms" / "port")
    subprocess.run(
        ["cc", "-std=c11", "-Wall", "-Wextra", "-Werror", "-fsyntax-only", file], check=True
    )


def test_the_control_of_its_recipe_fills_a_link(tmp_path: Path) -> None:
    [control] = (step for step in C_FILES if "/cc/" in step.path)
    (tmp_path / "aimd.c").write_text(control.text, encoding="utf-8")
    path = ["--rate", "10Mbit/s", "--rtt", "50 ms", "--buffer", "1 BDP"]
    done = headway(
        "try", "--flows", "1x./aimd.c", *path, "--duration", "5s", "--warmup", "1s", "--json",
        cwd=tmp_path,
        env={**os.environ, "XDG_CACHE_HOME": str(tmp_path)},
    )  # fmt: skip
    assert done.returncode == 0, done.stderr
    assert json.loads(done.stdout)["links"][0]["utilization"] > 0.9


def test_what_is_left_out_says_why() -> None:
    for steps in SHOWN.values():
        for step in steps:
            if step.mark == "not" or step.kind == "long":
                assert len(step.reason) > 10, step


def test_no_shown_command_is_overlooked() -> None:
    """Every line that begins with one of our commands, in any block, is a step."""
    for page, steps in SHOWN.items():
        text = page.read_text(encoding="utf-8")
        for line in re.findall(r"^(?:    |\$ )((?:\.venv/bin/)?headway(?:ctl)? .*)$", text, re.M):
            begin = line.removesuffix("\\").strip()
            assert any(begin in step.text for step in steps), f"{page}: {line}"


PAGE = """# A page

```console
$ echo first > it && \\
    cat it
```

<!-- not followed, echo never: it is
     the second of two -->

    make nothing
    echo never

```file there.txt
one
```

```sh
grep -q one there.txt
grep -q two there.txt
```

```console
$ echo after
```
"""


def test_a_command_that_fails_is_named_with_page_and_line(tmp_path: Path, capfd) -> None:
    page = tmp_path / "page.md"
    page.write_text(PAGE, encoding="utf-8")
    assert [(step.line, step.kind) for step in followed.steps(page)] == [
        (4, "quick"), (11, "make"), (12, "quick"), (14, "file"), (18, "quick"), (24, "quick"),
    ]  # fmt: skip
    done = subprocess.run(
        [sys.executable, followed.__file__, "--quick", "--folder", tmp_path, page],
        capture_output=True, text=True, check=False,
    )  # fmt: skip
    assert done.returncode == 1
    assert f"{page}:11: not followed: make nothing: builds or tests everything" in done.stdout
    assert f"{page}:12: not followed: echo never: it is the second of two" in done.stdout
    assert f"FAILED {page}:18: script grep -q one there.txt" in done.stdout
    assert "failed: line 3: grep -q two there.txt" in done.stdout
    assert "after" not in done.stdout
    assert (tmp_path / "it").read_text() == "first\n"
    assert not (tmp_path / "there.txt").exists()


def test_a_page_that_fails_takes_down_what_it_would_have(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    ctl = tmp_path / "headwayctl"
    ctl.write_text(f'#!/bin/sh\necho "$*" >>{tmp_path}/log\ntest "$1" != fail\n')
    ctl.chmod(0o755)
    monkeypatch.setenv("HEADWAYCTL", str(ctl))
    page = tmp_path / "page.md"
    page.write_text(FAILING, encoding="utf-8")
    reader, steps = followed.Reader(tmp_path), followed.steps(page)
    assert reader.do(steps[0]) == ""
    with pytest.raises(followed.FailedError):
        reader.do(steps[1])
    reader.take_down(steps[1:])
    assert (tmp_path / "log").read_text().splitlines() == [
        "testbed up --name x", "fail", "testbed down x", "detach reno", "hints detach",
    ]  # fmt: skip


FAILING = """# Another

```console
$ headwayctl testbed up --name x
```

```sh
headwayctl fail
headwayctl testbed up --name y
headwayctl testbed down x
```

    headwayctl attach reno
    headwayctl detach reno
    headwayctl status
    headwayctl hints detach # a word
"""


@pytest.mark.parametrize(("text", "waits"), [("hints attach", True), ("hints list", False)])
def test_runs_with_hints_wait_for_a_page_that_changes_them(
    text: str, waits: bool, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    machine, hints = tmp_path / "machine", tmp_path / "hints"
    monkeypatch.setattr(followed, "LOCK", machine)
    monkeypatch.setattr("headway.backends.kernel.hints.lock_file", lambda: hints)
    with followed.alone([f"headwayctl {text}"]):
        assert is_locked(machine)
        assert is_locked(hints) == waits
    assert not is_locked(machine)
    assert not is_locked(hints)
    with followed.alone([]):
        assert not is_locked(machine)


def is_locked(path: Path) -> bool:
    """Whether a process that wants to share the lock has to wait."""
    with path.open("a") as file:
        try:
            fcntl.flock(file, fcntl.LOCK_SH | fcntl.LOCK_NB)
        except BlockingIOError:
            return True
    return False
