#!/usr/bin/env python3
"""Lists every test, Python and Rust, that reads a clock: `python tests/clocks.py`.

Each line names the suite (default or live), the file, the test, and how it uses a clock, directly
or in helpers that it calls. Helpers of Rust are found by name, so a shared name may list a test too
many. tests/test_clocks.py keeps the default suite of Python to the uses that it lists with a
reason.
"""

from __future__ import annotations

import ast
import functools
import itertools
import re
import sys
import tomllib
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

ROOT = Path(__file__).resolve().parent.parent
LIVE = ROOT / "tests" / "live"

CLOCKS = {
    *("monotonic", "monotonic_ns", "perf_counter", "perf_counter_ns", "process_time"),
    *("process_time_ns", "thread_time", "clock_gettime", "sleep", "utcnow"),
    *("settimeout", "wait_for", "setitimer", "alarm", "timeit"),
}
OF_MODULES = {
    # these names count only with their module, since for example packets have a field time_ns
    *(("time", "time"), ("time", "time_ns"), ("datetime", "now"), ("date", "today")),
    *(("shutil", "which"), ("os", "system"), ("os", "popen")),
}
STARTS = {"run", "Popen", "call", "check_call", "check_output", "getoutput"}
ALLOWED_PROGRAMS = {"cc", "cargo"}

RUST_CLOCKS = re.compile(
    r"Instant::now|\.elapsed\(|\bsleep\(|SystemTime|recv_timeout|wait_timeout|read_timeout"
    r"|clock_gettime|assert[^;]*Duration::"
)


@dataclass(frozen=True)
class Use:
    """A clock, a time limit or a program that a function uses, with the line of the use."""

    name: str
    line: int


def uses(tree: ast.AST) -> Iterator[Use]:
    """All uses in a syntax tree: clocks, time limits, and programs that are not ours.

    Python, headway, cargo and C compilers count as ours.
    """
    for node in ast.walk(tree):
        if isinstance(node, ast.ImportFrom) and node.module in ("time", "timeit"):
            yield Use(f"from {node.module} import", node.lineno)
        elif isinstance(node, ast.Attribute):
            of = ast.unparse(node.value).rpartition(".")[2]
            if node.attr in CLOCKS or (of, node.attr) in OF_MODULES:
                yield Use(node.attr, node.lineno)
        elif isinstance(node, ast.keyword) and node.arg == "timeout":
            yield Use("timeout", node.value.lineno)
        if isinstance(node, ast.Call) and isinstance(node.func, ast.Attribute):
            of = node.func.value.id if isinstance(node.func.value, ast.Name) else ""
            starts = of == "subprocess" and node.func.attr in STARTS
            if starts and not _is_ours(node):
                yield Use("program", node.lineno)


def _is_ours(call: ast.Call) -> bool:
    """Whether a call starts Python, headway (as HEADWAY), cargo or a C compiler."""
    command = call.args[0] if call.args else None
    if isinstance(command, ast.List) and command.elts:
        first = command.elts[0]
        if isinstance(first, ast.Constant):
            return first.value in ALLOWED_PROGRAMS
        return ast.unparse(first) in ("sys.executable", "*HEADWAY")
    return False


@dataclass(frozen=True)
class Found:
    """A test that reads a clock."""

    suite: str
    file: str
    test: str
    uses: tuple[str, ...]


def of_python(path: Path) -> Iterator[Found]:
    """The tests of a Python file that read a clock, directly or in helpers that they call."""
    for test, node in _functions(path).items():
        if not (isinstance(node, ast.FunctionDef) and test.startswith("test")):
            continue
        seen, todo, found = {(path, test)}, [(path, test)], set()
        while todo:
            where, name = todo.pop()
            part = _functions(where)[name]
            found |= {use.name for use in uses(part) if use.name not in ("program", "which")}
            called = {n.id for n in ast.walk(part) if isinstance(n, ast.Name)}
            called |= {n.arg for n in ast.walk(part) if isinstance(n, ast.arg)}
            for one in called:
                at = where if one in _functions(where) else _imported(where).get(one)
                if at and one in _functions(at) and (at, one) not in seen:
                    seen.add((at, one))
                    todo.append((at, one))
        if found:
            suite = "live" if path.is_relative_to(LIVE) else "default"
            yield Found(suite, _named(path), test, tuple(sorted(found)))


@functools.cache
def _functions(path: Path) -> dict[str, ast.AST]:
    """All functions, methods and classes of a file by name."""
    tree = ast.parse(path.read_text(encoding="utf-8"))
    of = ast.FunctionDef | ast.ClassDef
    return {node.name: node for node in ast.walk(tree) if isinstance(node, of)}


@functools.cache
def _imported(path: Path) -> dict[str, Path]:
    """The file of the test module from which each name is imported."""
    found = {}
    for node in ast.walk(ast.parse(path.read_text(encoding="utf-8"))):
        if isinstance(node, ast.ImportFrom):
            for folder in (LIVE, ROOT / "tests"):
                module = folder / f"{node.module}.py"
                if module.exists():
                    found.update({name.name: module for name in node.names})
    return found


FUNCTION = re.compile(r"^[ \t]*(?:pub(?:\([^)]*\))? )?(?:const |unsafe |async )*fn (\w+)", re.M)


def of_rust(path: Path) -> Iterator[Found]:
    """The tests of a Rust file that read a clock, found in the text of its functions."""
    own, tests, ignored = _rust_functions(path)
    bodies = {**_rust_helpers(path), **own}
    for name in (*tests, *ignored):
        seen, todo, found = {name}, [name], set()
        while todo:
            body = bodies[todo.pop()]
            found |= {one.strip(".(") for one in RUST_CLOCKS.findall(body)}
            called = set(re.findall(r"\b(\w+)(?=\()", body))
            todo += (called & bodies.keys()) - seen
            seen |= called
        if found:
            short = {"Duration in assert" if "assert" in one else one for one in found}
            suite = "live" if name in ignored or _is_live(path) else "default"
            yield Found(suite, _named(path), name, tuple(sorted(short)))


@functools.cache
def _rust_functions(path: Path) -> tuple[dict[str, str], tuple[str, ...], tuple[str, ...]]:
    """The text of a Rust file's functions, its tests, and its tests that are ignored by default."""
    text = path.read_text(encoding="utf-8")
    starts = list(FUNCTION.finditer(text))
    bodies: dict[str, str] = {}
    tests, ignored = [], []
    for start, end in itertools.pairwise([*(one.start() for one in starts), len(text)]):
        name = FUNCTION.match(text, start)
        assert name
        bodies[name[1]] = bodies.get(name[1], "") + _code(text[name.end() : end])
        attributes = text[text.rfind("}", 0, start) + 1 : start]
        if "#[test]" in attributes:
            (ignored if "#[ignore" in attributes else tests).append(name[1])
    for table in re.findall(r"TESTS: [^=]*= &?(?:tests!)?\[(.*?)\];", text, re.S):
        tests += [name for name in re.findall(r"\w+", table) if name in bodies]
    return bodies, tuple(dict.fromkeys(tests)), tuple(ignored)


def _rust_helpers(path: Path) -> dict[str, str]:
    """The text of functions that a crate's tests share, of its tests/common and of tests/*.rs."""
    crate = next(one for one in path.parents if one.parent.name == "crates")
    shared = [*(ROOT / "tests").glob("*.rs"), *crate.glob("tests/**/common/**/*.rs")]
    if path.is_relative_to(crate / "src"):
        return {}
    return {name: body for one in shared for name, body in _rust_functions(one)[0].items()}


def _code(text: str) -> str:
    return re.sub(r"//[^\n]*", "", text)


def _is_live(path: Path) -> bool:
    """Whether `cargo test` skips a file's tests.

    `cargo test` runs the default members of the workspace, without test programs that have
    `test = false`.
    """
    crate = next(one for one in path.parents if one.parent == ROOT / "crates")
    if crate.relative_to(ROOT).as_posix() not in _toml(ROOT / "Cargo.toml")["workspace"].get(
        "default-members", []
    ):
        return True
    programs = _toml(crate / "Cargo.toml").get("test", [])
    live = {crate / "tests" / one["name"] for one in programs if one.get("test") is False}
    return path.with_suffix("") in live or not live.isdisjoint(path.parents)


@functools.cache
def _toml(path: Path) -> dict[str, Any]:
    return tomllib.loads(path.read_text(encoding="utf-8"))


def _named(path: Path) -> str:
    return path.relative_to(ROOT).as_posix() if path.is_relative_to(ROOT) else path.name


def files_of_default() -> list[Path]:
    """The files of Python's default suite: its tests, and the modules they import."""
    tests = ROOT / "tests"
    todo = [tests / "conftest.py", *tests.rglob("test_*.py")]
    todo += (ROOT / "benchmarks").glob("test_*.py")
    found: set[Path] = set()
    while todo:
        path = todo.pop()
        if path in found or not path.exists() or path.is_relative_to(LIVE):
            continue
        found.add(path)
        for node in ast.walk(ast.parse(path.read_text(encoding="utf-8"))):
            if isinstance(node, ast.Import):
                todo += [tests / f"{name.name}.py" for name in node.names]
            elif isinstance(node, ast.ImportFrom):
                todo.append(tests / f"{node.module}.py")
    return sorted(found)


def all_found() -> list[Found]:
    """Every test, in Python and in Rust, that reads a clock."""
    python = [*files_of_default(), *LIVE.glob("*.py")]
    rust = [path for part in ("src", "tests") for path in ROOT.glob(f"crates/*/{part}/**/*.rs")]
    found = [one for path in python for one in of_python(path)]
    found += [one for path in sorted(rust) for one in of_rust(path)]
    return sorted(found, key=lambda one: (one.suite, one.file))


if __name__ == "__main__":
    for one in all_found():
        print(one.suite, one.file, one.test, ", ".join(one.uses), sep="\t")
    sys.exit(0)
