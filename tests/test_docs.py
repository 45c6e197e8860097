"""Every command shown in a ```console block and every ```python block is run as written."""

import os
import re
import shlex
import shutil
import subprocess
import sys
import time
from collections.abc import Sequence
from pathlib import Path

import pytest
from support import ROOT, headway, on_kernel

from headway.backends._headwayctl import Headwayctl

PAGES = sorted([*ROOT.glob("*.md"), *(ROOT / "docs").glob("*.md")])


def blocks(kind: str, pages: Sequence[Path] = PAGES) -> list[tuple[str, str]]:
    found = []
    for page in pages:
        text = page.read_text(encoding="utf-8")
        for match in re.finditer(rf"^```{kind}\n(.*?)^```", text, re.MULTILINE | re.DOTALL):
            line = text[: match.start()].count("\n") + 1
            found.append((f"{page.relative_to(ROOT)}:{line}", match[1]))
    return found


def commands(block: str, program: str) -> list[str]:
    """Every `$ program ...` of a console block; a backslash continues the line."""
    lines = re.findall(r"^\$ (.*)$", block.replace("\\\n", " "), re.MULTILINE)
    return [line for line in lines if line.split()[0].endswith(program)]


def printed(block: str) -> list[str]:
    """What a block shows below its last command, up to a line of dots; nothing if it shows none."""
    *_, after = re.split(r"^\$ .*$", block.replace("\\\n", " "), flags=re.MULTILINE)
    lines = _written(after)
    return lines[: lines.index("...")] if "..." in lines else lines


def _written(text: str) -> list[str]:
    return [line.rstrip() for line in text.splitlines() if line.strip()]


def shown(program: str) -> list[tuple[str, list[str]]]:
    found = [(where, commands(block, program)) for where, block in blocks("console")]
    return [(where, lines) for where, lines in found if lines]


SHOWN, SHOWN_CTL = shown("headway"), shown("headwayctl")


SAYS = {
    "README.md": ("headwayctl status", r"connections=[1-9]"),
    "docs/quick-start.md": (
        "headwayctl status",
        r"asked for 10.24 Mbit/s, got 5.12 .*: 10 Mbit",
    ),
    "docs/testbed.md": ("headwayctl status", r"connections=[1-9]"),
}
"""What a command of a page has to print where it is shown: that it measured what it says."""


def test_there_are_commands_to_run() -> None:
    assert SHOWN
    assert SHOWN_CTL


@pytest.mark.slow
@pytest.mark.parametrize(("where", "lines"), [pytest.param(*c, id=c[0]) for c in SHOWN])
def test_shown_commands_work(where: str, lines: list[str], tmp_path: Path) -> None:
    """The commands of a block run one after the other in one folder."""
    for line in lines:
        before_pipe = line.split(" | ", maxsplit=1)[0]
        done = headway(*shlex.split(before_pipe, comments=True)[1:], cwd=tmp_path)
        assert done.returncode == 0, f"{line}: {done.stderr}"
        assert done.stdout.strip()
    expected = printed(dict(blocks("console"))[where])
    assert _written(done.stdout)[: len(expected)] == expected


@on_kernel
@pytest.mark.skipif(shutil.which("iperf3") is None, reason="iperf3 is not installed")
@pytest.mark.parametrize(("where", "lines"), [pytest.param(*c, id=c[0]) for c in SHOWN_CTL])
def test_shown_kernel_commands_work(where: str, lines: list[str], tmp_path: Path) -> None:
    """The same for headwayctl, beside the page's files; a command with & ends with its block."""
    page = ROOT / where.split(":", maxsplit=1)[0]
    files = re.findall(r"^```file (\S+)\n(.*?)^```", page.read_text(), re.MULTILINE | re.DOTALL)
    for name, text in files:
        (tmp_path / name).write_text(text, encoding="utf-8")
    program = Headwayctl().path
    path = f"{Path(program).parent}:{os.environ['PATH']}"
    behind: list[subprocess.Popen[str]] = []
    try:
        for line in lines:
            arguments = shlex.split(line.removesuffix("&"), comments=True)[1:]
            process = subprocess.Popen(
                [program, *arguments], cwd=tmp_path, env={**os.environ, "PATH": path},
                stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True,
            )  # fmt: skip
            if line.endswith("&"):
                behind.append(process)
                time.sleep(1)
                continue
            out, errors = process.communicate(timeout=60)
            assert process.returncode == 0, f"{line}: {errors}{out}"
            command, words = SAYS.get(where.split(":", maxsplit=1)[0], ("", ""))
            if command and line.endswith(command):
                assert re.search(words, out), f"{line}: {out}"
    finally:
        for process in behind:
            process.terminate()
            process.communicate(timeout=10)
    for name, _ in files:
        if name.endswith(".py") and (tmp_path / "log").exists():
            subprocess.run([sys.executable, name], cwd=tmp_path, check=True, timeout=60)


@pytest.mark.slow
@pytest.mark.parametrize(("where", "source"), [pytest.param(*b, id=b[0]) for b in blocks("python")])
def test_a_shown_program_works(where: str, source: str, tmp_path: Path, monkeypatch) -> None:
    monkeypatch.chdir(tmp_path)
    exec(compile(source, where, "exec"), {"__name__": "__main__"})
