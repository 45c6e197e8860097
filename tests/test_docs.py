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


def commands(block: str) -> list[str]:
    """Every `$ headway ...` of a console block; a backslash continues the line."""
    lines = re.findall(r"^\$ (.*)$", block.replace("\\\n", " "), re.MULTILINE)
    return [line for line in lines if line.split()[0].endswith("headway")]


SHOWN = [(where, commands(block)) for where, block in blocks("console") if commands(block)]


def test_there_are_commands_to_run() -> None:
    assert SHOWN


@pytest.mark.slow
@pytest.mark.parametrize(("where", "lines"), [pytest.param(*c, id=c[0]) for c in SHOWN])
def test_shown_commands_work(where: str, lines: list[str], tmp_path: Path) -> None:
    """The commands of a block run one after the other in one folder."""
    for line in lines:
        before_pipe = line.split(" | ", maxsplit=1)[0]
        done = headway(*shlex.split(before_pipe, comments=True)[1:], cwd=tmp_path)
        assert done.returncode == 0, f"{line}: {done.stderr}"
        assert done.stdout.strip()


@pytest.mark.slow
@pytest.mark.parametrize(("where", "source"), [pytest.param(*b, id=b[0]) for b in blocks("python")])
def test_a_shown_program_works(where: str, source: str, tmp_path: Path, monkeypatch) -> None:
    monkeypatch.chdir(tmp_path)
    exec(compile(source, where, "exec"), {"__name__": "__main__"})
