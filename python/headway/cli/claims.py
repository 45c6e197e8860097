"""``headway claims``: count the claims of several studies, and list those that do not hold."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import asdict
from pathlib import Path
from textwrap import wrap
from typing import Annotated

import typer

from headway.claims import (
    BASES,
    VERDICTS,
    Claim,
    Verdict,
    headline,
    read_claims,
    tally,
    told,
)
from headway.cli.options import AsJson
from headway.cli.paths import path
from headway.cli.show import console, print_json, print_table
from headway.errors import HeadwayError
from headway.table import Cell, Table, value_text

NOT_FULLY_HOLDING: tuple[Verdict, ...] = ("in part", "undecided", "fails", "differs")
"""Verdicts of claims that were judged and do not fully hold."""


def claims(
    directories: Annotated[
        list[Path], typer.Argument(parser=path, metavar="DIR...", help="Studies' results folders.")
    ],
    only: Annotated[
        Path | None,
        typer.Option(
            "--only",
            parser=path,
            metavar="FILE",
            help="Count only the claims listed in FILE, one id per line.",
        ),
    ] = None,
    as_json: AsJson = False,
) -> None:
    """Count the claims of several studies' results by basis, and list those that do not hold."""
    found = {directory: read_claims(directory / "claims.json") for directory in directories}
    wanted = None if only is None else _names(only)
    if wanted is not None:
        found = {d: [c for c in own if c.id in wanted] for d, own in found.items()}
    everything = [claim for own in found.values() for claim in own]
    _refuse_duplicates(found)
    missing = sorted((wanted or set()) - {claim.id for claim in everything})
    papers = headline(everything)
    others = [c for c in everything if c.verdict in (*NOT_FULLY_HOLDING, "not checked")]
    if as_json:
        print_json(
            {
                "results": [{"dir": str(d), **counts(own)} for d, own in found.items()],
                "total": counts(everything),
                "missing": missing,
                "share": papers.share,
                "not_holding": [asdict(claim) for claim in others],
            }
        )
        return
    print_table(counts_table({str(d): own for d, own in found.items()}))
    if others:
        print_claims("claims that do not hold", others)
    out = console()
    if missing:
        out.print(f"in none of these results: {', '.join(missing)}", markup=False)
    out.print(told(everything), markup=False)
    if papers.share is not None:
        line = (
            f"{papers.holds + papers.in_part} of {papers.judged} statements of the papers hold, at "
            f"least in part: {100 * papers.share:.1f} %"
        )
        out.print(line, markup=False)


def counts(claims: Iterable[Claim]) -> dict[str, dict[str, int]]:
    """Numbers of claims by basis and verdict, without zeros. Equal checks count once."""
    return {
        basis: own
        for basis, one in tally(claims).items()
        if (own := {str(verdict): one[verdict] for verdict in VERDICTS if one[verdict]})
    }


def counts_table(claims: Mapping[str, Sequence[Claim]]) -> Table:
    """A table of the studies' numbers of verdicts: a row per study and basis, and the sums."""
    everything = [claim for own in claims.values() for claim in own]
    rows: list[list[Cell]] = []
    for name, own in [*claims.items(), ("all", everything)]:
        tallies = tally(own)
        rows += [
            [name, basis, *(tallies[basis][verdict] for verdict in VERDICTS)]
            for basis in BASES
            if sum(tallies[basis].counts.values())
        ]
    return Table("claims", ["results", "basis", *VERDICTS], rows)


def print_claims(title: str, claims: Sequence[Claim]) -> None:
    """Print claims: identifier and statement, the verdict with both values, then the reason.

    A claim that repeats the check of another printed claim refers to that claim.
    """
    names = {claim.id for claim in claims}
    print_named(
        title,
        [
            (claim.id, [claim.statement, *_details(claim, repeats=claim.same_as in names)])
            for claim in claims
        ],
    )


def print_named(title: str, items: Sequence[tuple[str, Sequence[str]]]) -> None:
    """Print each name, and to its right its texts, one below the other."""
    out = console()
    indent = " " * (max(len(name) for name, _ in items) + 3)
    out.print(f"\n{title}\n", markup=False)
    for name, parts in items:
        begins = f" {name}".ljust(len(indent))
        for text in filter(None, parts):
            lines = wrap(text, out.width, initial_indent=begins, subsequent_indent=indent)
            out.print("\n".join(lines), markup=False, soft_wrap=True)
            begins = indent
    out.print()


def _details(claim: Claim, *, repeats: bool) -> list[str]:
    """The lines that are printed after a claim's statement."""
    verdict = f"{claim.verdict} ({claim.basis})"
    published, measured = (value_text(v, claim.unit) for v in (claim.published, claim.measured))
    tolerance = f"tolerance: {claim.tolerance}" if claim.tolerance else ""
    if repeats:
        return [f"{verdict}: published {published}, measured {measured}, see {claim.same_as}"]
    if isinstance(claim.published, str) or isinstance(claim.measured, str):
        lines = [verdict, f"published: {published}", f"measured: {measured}", tolerance]
    else:
        last = f"; {tolerance}" if tolerance else ""
        lines = [f"{verdict}: published {published}, measured {measured}{last}"]
    if claim.same_as:
        lines.append(f"the same check as {claim.same_as}")
    lines += [f"judged: {claim.part}" if claim.part else "", claim.note]
    if claim.why and claim.why != "open":
        lines.append(f"{claim.why}: `headway why {claim.id}` runs the experiment that shows it")
    return [line for line in lines if line]


def _names(path: Path) -> set[str]:
    """The ids in a file, one per line; "#" begins a comment."""
    try:
        lines = path.read_text(encoding="utf-8").splitlines()
    except UnicodeDecodeError:
        raise HeadwayError(
            f"--only: {path} is not a text file; it must have claims' ids, one per line"
        ) from None
    names = {line.partition("#")[0].strip() for line in lines} - {""}
    if not names:
        raise HeadwayError(f"--only: {path} names no claim; it must have claims' ids, one per line")
    return names


def _refuse_duplicates(found: Mapping[Path, Sequence[Claim]]) -> None:
    owner: dict[str, Path] = {}
    for directory, own in found.items():
        for claim in own:
            if owner.setdefault(claim.id, directory) != directory:
                first = owner[claim.id]
                raise HeadwayError(f"{claim.id} is in {first} and in {directory}; leave one out")
