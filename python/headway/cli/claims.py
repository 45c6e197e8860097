"""``headway claims``: how many claims of several studies hold, and what the others measured."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import asdict
from pathlib import Path
from typing import Annotated

import typer

from headway.cli.listing import AsJson
from headway.cli.show import console, print_json, print_table
from headway.errors import HeadwayError
from headway.study import Cell, Claim, Table, Verdict, read_claims

VERDICTS: tuple[Verdict, ...] = ("holds", "fails", "not checked")


def claims(
    directories: Annotated[
        list[Path], typer.Argument(metavar="DIR...", help="Studies' results folders.")
    ],
    only: Annotated[
        Path | None,
        typer.Option("--only", metavar="FILE", help="Count the claims named in FILE, one a line."),
    ] = None,
    as_json: AsJson = False,
) -> None:
    """Count the claims of several studies' results, and list those that do not hold."""
    found = {directory: read_claims(directory / "claims.json") for directory in directories}
    wanted = None if only is None else _names(only)
    if wanted is not None:
        found = {d: [c for c in own if c.id in wanted] for d, own in found.items()}
    everything = [claim for own in found.values() for claim in own]
    _refuse_doubles(found)
    missing = sorted((wanted or set()) - {claim.id for claim in everything})
    counts = {directory: _counts(own) for directory, own in found.items()}
    total = _counts(everything)
    number = len(everything) + len(missing)
    share = total["holds"] / number if number else None
    others = [claim for claim in everything if claim.verdict != "holds"]
    if as_json:
        print_json(
            {
                "results": [{"dir": str(d), **own} for d, own in counts.items()],
                "total": total,
                "missing": missing,
                "share": share,
                "not_holding": [asdict(claim) for claim in others],
            }
        )
        return
    print_table(_counts_table(counts, total))
    if others:
        rows: list[list[Cell]] = [
            [c.id, c.verdict, c.published, _measured(c), c.note] for c in others
        ]
        columns = ["id", "verdict", "published", "measured", "note"]
        print_table(Table("claims that do not hold", columns, rows))
    if missing:
        console().print(f"in none of these results: {', '.join(missing)}", markup=False)
    if share is not None:
        line = f"{total['holds']} of {number} claims hold: {100 * share:.1f} %"
        console().print(line, markup=False)


def _names(path: Path) -> set[str]:
    """The ids in a file, one a line; "#" begins a comment."""
    try:
        lines = path.read_text(encoding="utf-8").splitlines()
    except UnicodeDecodeError:
        raise HeadwayError(f"--only: {path} is no text; it needs ids, one a line") from None
    names = {line.partition("#")[0].strip() for line in lines} - {""}
    if not names:
        raise HeadwayError(f"--only: {path} names no claim; it needs ids, one a line")
    return names


def _refuse_doubles(found: Mapping[Path, Sequence[Claim]]) -> None:
    owner: dict[str, Path] = {}
    for directory, own in found.items():
        for claim in own:
            if owner.setdefault(claim.id, directory) != directory:
                first = owner[claim.id]
                raise HeadwayError(f"{claim.id} is in {first} and in {directory}; give one of them")


def _counts(claims: Sequence[Claim]) -> dict[str, int]:
    verdicts = Counter(claim.verdict for claim in claims)
    return {verdict: verdicts[verdict] for verdict in VERDICTS}


def _counts_table(counts: Mapping[Path, Mapping[str, int]], total: Mapping[str, int]) -> Table:
    rows: list[list[Cell]] = [
        [name, *(own[verdict] for verdict in VERDICTS)]
        for name, own in [*((str(d), own) for d, own in counts.items()), ("total", total)]
    ]
    return Table("claims", ["results", *VERDICTS], rows)


def _measured(claim: Claim) -> Cell:
    if claim.measured is None or claim.unit is None:
        return claim.measured
    return f"{claim.measured} {claim.unit}"
