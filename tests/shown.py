"""The commands, scripts, programs and files that a page shows, in order.

tests/followed.py has the rules, and runs them.
"""

from __future__ import annotations

import itertools
import re
from collections.abc import Iterable, Iterator
from dataclasses import dataclass, replace
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent
COMMANDS = (
    "make", "headway", "headwayctl", ".venv/bin/headway", ".venv/bin/headwayctl", "python", "ip",
    "wireshark", "tshark", "tcptrace", "iperf3", "cargo", "cc",
)  # fmt: skip
LIVE = re.compile(r"headwayctl|--backend kernel|headway validate|iperf3|ip route")
OTHERS = re.compile(r"^\s*(?:tshark|tcptrace|wireshark|curl|nginx|uvicorn)\b|-m uvicorn\b|&$", re.M)
"""A pattern for commands that start other projects' programs, or run in the background."""
SAYS = {
    ("docs/live-kernel.md", "headwayctl status"): r"connections=[1-9]",
    ("docs/quick-start.md", "headwayctl status"): (
        r"(?s)asked for 10.24 Mbit/s, got 5.12 Mbit/s.*granted_code=7 .*allows 10 Mbit/s in total"
    ),
    ("docs/testbed.md", "headwayctl status"): r"connections=[1-9]",
}
"""By page and command, a pattern for the output of the page's last such command. The output must
show that the command measured something."""


@dataclass(frozen=True)
class Step:
    """One step of a page."""

    page: str
    line: int
    form: str
    """What the step is: command, script, program, or a file to be written."""
    text: str
    reason: str = ""
    """Why the step is not run, or another note."""
    mark: str = ""
    path: str = ""
    devices: tuple[str, ...] = ()
    shows: tuple[str, ...] = ()
    """The output that the page shows below the command, up to a line of dots."""
    says: str = ""
    """A pattern that the command's output must match."""

    @property
    def kind(self) -> str:
        """What the step needs: quick, others, live, make or long; a file needs nothing."""
        if self.mark == "long":
            return "long"
        if self.form == "file":
            return "make" if "/" in self.path else "file"  # a file in the source tree
        if self.text.startswith(("make ", "cargo ")):
            return "make"
        if self.mark == "log" or (self.form != "program" and LIVE.search(self.text)):
            return "live"
        if self.form != "program" and OTHERS.search(self.text):
            return "others"
        return "quick"

    @property
    def where(self) -> str:
        """PAGE:LINE."""
        return f"{self.page}:{self.line}"


def all_pages() -> list[Path]:
    """In reading order."""
    docs = ROOT / "docs"
    return [
        ROOT / "README.md",
        ROOT / "CONTRIBUTING.md",
        *sorted((docs / "contributing").glob("*.md")),
        *sorted(docs.glob("*.md")),
    ]


def steps(page: Path) -> list[Step]:
    """The steps of a page, in order."""
    found: list[Step] = []
    said: list[re.Match[str]] = []
    name = page.relative_to(ROOT).as_posix() if page.is_relative_to(ROOT) else str(page)
    for line, form, info, text in _blocks(page.read_text(encoding="utf-8")):
        if form == "comment":
            said += re.finditer(
                r"(not followed|followed with --(?P<mark>\w+)|followed beside (?P<devices>[^:]+))"
                r"(?:, (?P<word>[^:]+))?: (?P<why>.+)",
                text,
            )
            continue
        for step in _of_block(name, line, form, info, text):
            for one in said:
                if one["word"] is None or step.text.startswith(one["word"]):
                    mark = one["mark"] or ("beside" if one["devices"] else "not")
                    devices = tuple((one["devices"] or "").split())
                    step = replace(step, reason=one["why"], mark=mark, devices=devices)  # noqa: PLW2901
            found.append(step)
        said = []
    for (where, text), says in SAYS.items():
        own = [at for at, step in enumerate(found) if step.text.removeprefix(".venv/bin/") == text]
        if name == where:
            found[own[-1]] = replace(found[own[-1]], says=says)
    return found


def _blocks(text: str) -> Iterator[tuple[int, str, str, str]]:
    """(line, form, info string, text) of fenced and indented blocks, and of comments about them."""
    lines = text.split("\n")
    at = 0
    while at < len(lines):
        line = lines[at]
        begin = at + 1
        if line.startswith("```"):
            end = next(i for i in range(at + 1, len(lines)) if lines[i].startswith("```"))
            yield begin, "fence", line[3:].strip(), "\n".join(lines[at + 1 : end])
            at = end
        elif re.match(r"<!-- (not )?followed", line):
            end = next(i for i in range(at, len(lines)) if "-->" in lines[i])
            comment = " ".join(part.strip() for part in lines[at : end + 1])
            yield begin, "comment", "", comment.removeprefix("<!-- ").removesuffix(" -->")
            at = end
        elif line.startswith("    ") and line.strip() and (at == 0 or not lines[at - 1].strip()):
            end = at
            while end < len(lines) and (lines[end].startswith("    ") or not lines[end].strip()):
                end += 1
            yield begin, "indented", "", "\n".join(part[4:] for part in lines[at:end])
            at = end - 1
        at += 1


def _of_block(page: str, line: int, form: str, info: str, text: str) -> Iterator[Step]:
    language, _, path = info.partition(" ")
    if form == "fence" and path:
        yield Step(page, line, "file", text + "\n", path=path)
        if language == "file" and path.endswith(".py"):
            yield Step(page, line, "command", f"python {path}", mark="log")
    elif form == "fence" and language == "python":
        yield Step(page, line, "program", text)
    elif form == "fence" and language == "sh":
        yield Step(page, line, "script", text)
    elif form == "fence" and language == "console":
        yield from _commands(page, line + 1, text, prompt="$ ")
    elif form == "indented" and text.split(maxsplit=1)[0] in COMMANDS:
        yield from _commands(page, line, text, prompt="")


def _commands(page: str, first: int, text: str, prompt: str) -> Iterator[Step]:
    """The commands of a block; lines that end in a backslash are joined with the next line."""
    lines = text.split("\n")
    at = 0
    while at < len(lines):
        line, number = lines[at], first + at
        at += 1
        if not line.startswith(prompt) or not line.strip():
            continue
        whole = line.removeprefix(prompt)
        while whole.endswith("\\"):
            whole = whole[:-1] + lines[at].strip()
            at += 1
        below = itertools.takewhile(lambda line: prompt and line[:2] != prompt, lines[at:])
        shows = itertools.takewhile(lambda line: line != "...", printed_lines(below))
        yield Step(page, number, "command", whole, shows=tuple(shows))


def printed_lines(lines: Iterable[str]) -> list[str]:
    """The lines that are not empty, without trailing spaces."""
    return [line.rstrip() for line in lines if line.strip()]
