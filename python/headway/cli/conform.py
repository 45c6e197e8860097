"""``headway conform``: play packetdrill scripts against a TCP endpoint."""

from __future__ import annotations

from collections import Counter
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Annotated

import typer

from headway.cli.options import AsJson
from headway.cli.paths import path as parse_path
from headway.cli.show import console, number_of, print_json
from headway.engine import engine
from headway.errors import HeadwayError, KernelCannotError

BACKENDS = ("sim", "kernel")
PATTERN = "*.pkt"
"""Scripts in a folder."""
VERDICTS = ("pass", "fail", "not applicable", "unreadable")
EXIT_FAILS = 1


@dataclass(frozen=True)
class Said:
    """What is said about a script."""

    script: str
    verdict: str
    line: int | None
    """Line of the script at which it ended."""
    reason: str | None
    notes: list[str]
    """Commands of the script that have no effect."""


def conform(
    path: Annotated[
        Path,
        typer.Argument(
            parser=parse_path, metavar="PATH", help="A packetdrill script, or a folder of scripts."
        ),
    ],
    backend: Annotated[
        str, typer.Option("--backend", help="The endpoint: sim, or kernel (needs root).")
    ] = "sim",
    as_json: AsJson = False,
) -> int:
    """Play packetdrill scripts against the TCP endpoint: pass, fail or not applicable."""
    if backend not in BACKENDS:
        raise HeadwayError(f"--backend: {backend!r} is not allowed; {' or '.join(BACKENDS)}")
    shown = not as_json
    said = []
    for script in _scripts(path):
        said.append(_play(script, backend))
        if shown:
            _print(said[-1])
    counts = Counter(one.verdict for one in said)
    numbers = {verdict: counts[verdict] for verdict in VERDICTS}
    if as_json:
        print_json({"backend": backend, "scripts": [asdict(one) for one in said], **numbers})
    else:
        told = ", ".join(f"{count} {verdict}" for verdict, count in numbers.items() if count)
        console().print(f"{number_of(len(said), 'script')}: {told}", markup=False)
    unreadable = [one for one in said if one.verdict == "unreadable"]
    if unreadable:
        first = unreadable[0]
        more = f" (and {len(unreadable) - 1} more)" if len(unreadable) > 1 else ""
        raise HeadwayError(f"{first.script}: {first.reason}{more}")
    return EXIT_FAILS if counts["fail"] else 0


def _scripts(path: Path) -> list[Path]:
    """The scripts of a folder, in the order of their names, or the script itself."""
    if not path.is_dir():
        if not path.exists():
            raise HeadwayError(f"{path}: no such file or folder")
        return [path]
    found = sorted(file for file in path.rglob(PATTERN) if file.is_file())
    if not found:
        raise HeadwayError(f"{path}: the folder has no script ({PATTERN})")
    return found


def _play(script: Path, backend: str) -> Said:
    try:
        verdict, line, reason, notes = engine.conform(str(script), backend)
    except ValueError as error:
        return Said(str(script), "unreadable", None, str(error), [])
    except OSError as error:
        raise KernelCannotError(f"--backend kernel: {error}") from None
    return Said(str(script), verdict, line or None, reason, notes)


def _print(said: Said) -> None:
    place = said.script if said.line is None else f"{said.script}, line {said.line}"
    parts = [place, *([said.reason] if said.reason else []), *(f"({n})" for n in said.notes)]
    text = f"{said.verdict:<15} {': '.join(parts[:2])}{''.join(f' {p}' for p in parts[2:])}"
    console().print(text, markup=False, soft_wrap=True)
