"""Every command shown in a ```console block and every ```python block is run as written."""

import re
import shlex
from pathlib import Path

import pytest
from support import ROOT, headway

PAGES = sorted([*ROOT.glob("*.md"), *(ROOT / "docs").glob("*.md")])


def blocks(kind: str) -> list[tuple[str, str]]:
    found = []
    for page in PAGES:
        text = page.read_text(encoding="utf-8")
        for match in re.finditer(rf"^```{kind}\n(.*?)^```", text, re.MULTILINE | re.DOTALL):
            line = text[: match.start()].count("\n") + 1
            found.append((f"{page.relative_to(ROOT)}:{line}", match[1]))
    return found


def commands() -> list[tuple[str, str]]:
    """Every `$ headway ...` of the console blocks; a backslash continues the line."""
    return [
        (where, command)
        for where, block in blocks("console")
        for command in re.findall(r"^\$ (.*)$", block.replace("\\\n", " "), re.MULTILINE)
        if command.split()[0].endswith("headway")
    ]


def test_there_are_commands_to_run() -> None:
    assert commands()


@pytest.mark.slow
@pytest.mark.parametrize(
    ("where", "command"), [pytest.param(*c, id=f"{c[0]} {c[1]}") for c in commands()]
)
def test_a_shown_command_works(where: str, command: str, tmp_path: Path) -> None:
    before_pipe = command.split(" | ", maxsplit=1)[0]
    done = headway(*shlex.split(before_pipe, comments=True)[1:], cwd=tmp_path)
    assert done.returncode == 0, done.stderr
    assert done.stdout.strip()


@pytest.mark.slow
@pytest.mark.parametrize(("where", "source"), [pytest.param(*b, id=b[0]) for b in blocks("python")])
def test_a_shown_program_works(where: str, source: str, tmp_path: Path, monkeypatch) -> None:
    monkeypatch.chdir(tmp_path)
    exec(compile(source, where, "exec"), {"__name__": "__main__"})
