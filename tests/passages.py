"""Print a random sample of what people read in the sources, to check that its language is plain.

`python tests/passages.py [--seed N] [--commit NAME]` prints 100 passages of a commit, each with its
file and line. The same seed and commit give the same sample. Read each passage alone and restate it
in other words, then compare with the code or page. Passages of fewer than four words are left out.
"""

from __future__ import annotations

import argparse
import ast
import io
import json
import random
import re
import subprocess
import tarfile
import tokenize
import tomllib
from collections.abc import Callable, Iterable, Iterator
from operator import itemgetter
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent
SIZES = {"comment": 30, "help or error": 20, "paragraph": 20, "claim": 15, "docstring": 15}
Found = Iterator[tuple[str, int, str]]
"""Kind, line and text of each passage."""

GENERATED = re.compile(r"//! Made by `make mirrors`")
LEFT_OUT = re.compile(r"\s*(?:!|SPDX|Copyright|noqa|type:|fmt:|ruff:|mypy:|clang-format|pragma)")
QUOTED = r'"((?:[^"\\]|\\.)*)"'
# The pattern also matches strings, because a // inside a string begins no comment.
TOKEN = re.compile(
    rf'r(#+)".*?"\1|{QUOTED}|' r"'(?:\\.|[^'\\])'|(?P<comment>//[^\n]*|/\*.*?\*/)", re.DOTALL
)
MARK = re.compile(r"^[ \t]*(?://[/!]?|/?\*+(?!/))|\*+/$", re.MULTILINE)
RUST_ERROR = re.compile(
    r"\b(?:Failure::\w+|\w*Error(?:::\w+)?|Err|attempt|refused|invalid|bad|other)"
    rf"\(\s*(?:&?format(?:_args)?!\(\s*)?{QUOTED}"
)
CLAP = re.compile(r"derive\([^)]*\b(?:Parser|Args|Subcommand|ValueEnum)\b")
NO_TEXT = re.compile(r"^ *```.*?^ *```$|<!-- made:.*?<!-- end:.*?-->|<!--.*?-->", re.S | re.M)
NO_PARAGRAPH = re.compile(r"^(?: {4,}\S|\t|#| *\|).*$", re.MULTILINE)
PARAGRAPH = re.compile(r"^.+(?:\n.+)*(?:(?<=:)\n\n(?:[-*]|1\.) .+(?:\n.+)*)?", re.MULTILINE)


def in_python(text: str) -> Found:
    """Comments, docstrings, help texts, texts of exceptions, and the reasons of `Why`."""
    tokens = tokenize.generate_tokens(io.StringIO(text).readline)
    yield from joined(
        ("comment", token.start[0], token.line[: token.start[1]].strip(), token.string[1:])
        for token in tokens
        if token.type == tokenize.COMMENT
    )
    for node in ast.walk(ast.parse(text)):
        if isinstance(node, ast.Expr):
            yield "docstring", node.lineno, string(node.value)
        elif isinstance(node, ast.Raise) and isinstance(node.exc, ast.Call):
            yield "help or error", node.lineno, "".join(map(string, node.exc.args[:1]))
        elif isinstance(node, ast.Call):
            reason = node.args[1:2] if ast.unparse(node.func) == "Why" else []
            yield from (("claim", part.lineno, string(part)) for part in reason)
            named = (part for part in node.keywords if part.arg == "help")
            yield from (("help or error", part.value.lineno, string(part.value)) for part in named)


def string(node: ast.AST) -> str:
    """The text of a string with its fields in braces; empty for other expressions."""
    if isinstance(node, ast.FormattedValue):
        return f"{{{ast.unparse(node.value)}}}"
    if isinstance(node, ast.JoinedStr):
        return "".join(map(string, node.values))
    return node.value if isinstance(node, ast.Constant) and isinstance(node.value, str) else ""


def in_rust_or_c(text: str) -> Found:
    """Comments, documentation, help texts of clap, and texts of errors."""
    kinds = {"///": "help or error" if CLAP.search(text) else "docstring", "//!": "docstring"}
    yield from joined(
        (
            kinds.get(token["comment"][:3], "comment"),
            line_of(token),
            text[: token.start()].rpartition("\n")[2].strip(),
            MARK.sub("", token["comment"]),
        )
        for token in TOKEN.finditer(text)
        if token["comment"]
    )
    for error in RUST_ERROR.finditer(text):
        yield "help or error", line_of(error), error[1].replace("\\\n", "")


def joined(comments: Iterable[tuple[str, int, str, str]]) -> Found:
    """Joins comments on adjacent lines. A comment after code comes with that line of code."""
    whole, below = ("", 0, ""), 0
    for kind, line, code, text in comments:
        if not code and kind == whole[0] and line == below:
            whole = (kind, whole[1], f"{whole[2]} {text}")
        elif LEFT_OUT.match(text) or (code and is_short(text)):
            below = 0
            continue
        else:
            yield whole
            whole = (kind, line, f"{code} # {text}" if code else text)
        below = 0 if code else line + text.count("\n") + 1
    yield whole


def is_short(text: str) -> bool:
    """Whether a text has fewer than four words beside its fields in braces."""
    return len(re.findall(r"[A-Za-z]+", re.sub(r"\{.*?\}", "", text))) < 4


def line_of(part: re.Match[str]) -> int:
    return part.string.count("\n", 0, part.start()) + 1


def in_page(text: str) -> Found:
    """Paragraphs, each with the list that it introduces; no tables, code and generated parts."""
    text = NO_TEXT.sub(lambda part: "\n" * part[0].count("\n"), text)
    for part in PARAGRAPH.finditer(NO_PARAGRAPH.sub("", text)):
        yield "paragraph", line_of(part), part[0]


def in_verdicts(text: str) -> Found:
    """Statements, their notes, and the changes of counterfactuals."""
    for number, line in enumerate(text.splitlines(), 1):
        claim = json.loads(line)
        changes = [change["change"] for change in claim.get("tries", ())]
        for passage in (claim.get("statement"), claim.get("note"), *changes):
            yield "claim", number, passage or ""


def in_study(text: str) -> Found:
    """The reasons why claims do not hold."""
    study = tomllib.loads(text)
    own = [claim["why"] for claim in study.get("claim", ()) if isinstance(claim.get("why"), dict)]
    for why in (*own, *study.get("why", {}).values()):
        reason = why.get("reason", "").strip()
        yield "claim", text.count("\n", 0, text.find(reason)) + 1, reason


READERS: dict[str, Callable[[str], Found]] = {
    r".*\.py": in_python,
    r".*\.(?:rs|c|h)": in_rust_or_c,
    r"docs/(?!claims\.md).*\.md|(?:.*/)?(?:README|CONTRIBUTING)\.md": in_page,
    r"python/headway/studies/.*/verdicts\.json": in_verdicts,
    r"python/headway/studies/.*/study\.toml": in_study,
}


def passages(commit: str) -> dict[str, list[str]]:
    """The passages of a commit by kind, in the order of files and lines."""
    archive = subprocess.run(["git", "archive", commit], cwd=ROOT, check=True, capture_output=True)
    found: dict[str, list[str]] = {kind: [] for kind in SIZES}
    with tarfile.open(fileobj=io.BytesIO(archive.stdout)) as files:
        for path in sorted(files.getnames()):
            reader = next((READERS[p] for p in READERS if re.fullmatch(p, path)), None)
            file = files.extractfile(path) if reader else None
            if reader and file and not GENERATED.match(source := file.read().decode()):
                for kind, line, raw in sorted(reader(source), key=itemgetter(1)):
                    text = " ".join(raw.split())
                    if not is_short(text):
                        found[kind].append(f"{path}:{line}: {text}")
    return found


if __name__ == "__main__":
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--commit", default="HEAD")
    asked = parser.parse_args()
    drawn = random.Random(asked.seed)
    for kind, those in passages(asked.commit).items():
        print(f"\n# {SIZES[kind]} of {len(those)}: {kind}\n")
        print("\n\n".join(drawn.sample(those, SIZES[kind])))
