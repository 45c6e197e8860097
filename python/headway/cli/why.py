"""``headway why``: run the counterfactuals of a statement that does not hold."""

from __future__ import annotations

import tempfile
from pathlib import Path
from typing import Annotated, Any

import typer

from headway.backends import backend_named
from headway.claims import Claim, Statement
from headway.cli.options import AsJson, Threads
from headway.cli.show import console, print_json, progress_bar, watch
from headway.errors import HeadwayError
from headway.study import Study, StudyContext, discover
from headway.table import value_text
from headway.verdicts.tries import Tries


def why(
    name: Annotated[str, typer.Argument(metavar="CLAIM", help="A claim's id, such as C-TH-077.")],
    full: Annotated[
        bool, typer.Option("--full", help="Run the full form, not the quick one.")
    ] = False,
    seed: Annotated[int, typer.Option("--seed", min=0, help="Seed of the trials.")] = 1,
    threads: Threads = 0,
    as_json: AsJson = False,
) -> None:
    """Judge one claim, then judge it again with each change that may explain its failure."""
    study, statement, backend_name = _find_statement(name)
    backend = backend_named(backend_name)
    with progress_bar(not as_json) as progress, tempfile.TemporaryDirectory() as folder:
        watch(backend, progress)
        ctx = StudyContext(
            Path(folder),
            backend,
            quick=not full,
            seed=seed,
            threads=threads,
            progress=progress,
            keeps_traces=False,
        )
        rows = study.collect(ctx).rows
        claim = statement.judge(study.gather(ctx, rows), ctx.basis)
        tried = Tries(study, ctx, rows).of(statement)
    if as_json:
        print_json(
            {
                "claim": name,
                "study": study.name,
                "kind": statement.why and statement.why.kind,
                "as_published": _as_fields(claim),
                "tries": [{"change": one.change.says, **_as_fields(one.claim)} for one in tried],
            }
        )
        return
    out = console()
    out.print(
        f"{name} ({study.name}): {claim.statement}; {value_text(claim.published)}", markup=False
    )
    out.print(f"  {claim.verdict}: {value_text(claim.measured)}", markup=False)
    if statement.why is not None:
        out.print(f"  {statement.why.kind}: {statement.why.reason}", markup=False)
    for one in tried:
        out.print(f"With {one.change.says}:", markup=False)
        out.print(f"  {one.claim.verdict}: {value_text(one.claim.measured)}", markup=False)


def _as_fields(claim: Claim) -> dict[str, Any]:
    return {"verdict": claim.verdict, "measured": claim.measured, "unit": claim.unit}


def _find_statement(name: str) -> tuple[Study[Any, Any], Statement[Any], str]:
    """Find the study that has the claim, the statement, and the backend to run on.

    The study may be a study's version for the kernel.
    """
    for study in discover().values():
        for form in study.forms():
            for statement in form.statements:
                if statement.id == name:
                    on = study.only_backend or ("sim" if form is study else "kernel")
                    return form, statement, on
    raise HeadwayError(f"CLAIM: {name} is not a claim of a study; docs/claims.md lists them")
