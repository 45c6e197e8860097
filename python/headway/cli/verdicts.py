"""``headway verdicts``: run the studies and compare their verdicts with the locked ones."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import asdict
from typing import Annotated, Any

import typer

from headway import machine
from headway.backends import Backend, backend_named
from headway.backends.repeating import Repeating
from headway.claims import Claim, told
from headway.cli.claims import print_named
from headway.cli.options import REPEATS, AsJson, Threads
from headway.cli.show import Bar, console, notice, print_json, progress_bar, watch
from headway.errors import HeadwayError, InterruptedRunError
from headway.registry import unknown
from headway.study import Study, discover
from headway.table import value_text
from headway.verdicts import (
    SEEDS,
    Difference,
    Form,
    Judged,
    as_claims,
    chance,
    changed,
    differences,
    differing_tries,
    judged,
    measured_on,
    read,
    write,
)
from headway.verdicts.pages import write_pages

EXIT_DIFFERENT = 1


def verdicts(
    names: Annotated[
        list[str] | None, typer.Argument(metavar="STUDY...", help="Studies [all].")
    ] = None,
    full: Annotated[
        bool,
        typer.Option(
            "--full",
            help="Also run the studies' full form, with more seeds until each verdict is decided.",
        ),
    ] = False,
    seeds: Annotated[
        bool,
        typer.Option(
            "--seeds", help="Also run the quick form with 3 more seeds (live: 3 more times)."
        ),
    ] = False,
    live: Annotated[
        bool, typer.Option("--live", help="Check only the claims on the live kernel.")
    ] = False,
    rewrite: Annotated[
        bool,
        typer.Option(
            "--write",
            help="Save the results as the locked ones, and rewrite the pages generated from them.",
        ),
    ] = False,
    threads: Threads = 0,
    as_json: AsJson = False,
) -> None:
    """Run studies' quick form and compare verdicts and measured values with the locked ones.

    For the live kernel only verdicts are compared, since its measurements vary between runs.
    """
    chosen = _chosen(names or [], live=live)
    backend = backend_named("kernel" if live else "sim")
    found: dict[str, list[Difference]] = {}
    all_claims: list[Claim] = []
    with progress_bar(not as_json) as progress:
        watch(backend, progress)
        for number, study in enumerate(chosen):
            try:
                found[study.name], claims = _run_study(
                    study,
                    Repeating(backend, REPEATS),
                    progress,
                    full,
                    seeds,
                    rewrite,
                    threads,
                )
            except InterruptedRunError:
                raise InterruptedRunError(
                    number, len(chosen), "the studies' verdicts.json" if rewrite else None
                ) from None
            all_claims += claims
    if rewrite:
        write_pages()
    rows = [(name, one) for name, own in found.items() for one in own]
    if as_json:
        print_json(
            {
                "studies": [study.name for study in chosen],
                "differences": [{"study": name, **asdict(one)} for name, one in rows],
                "written": rewrite,
            }
        )
    else:
        if rows:
            print_named("differences from the locked results", _lines_by_claim(rows, all_claims))
        out = console()
        out.print(f"{len(chosen)} studies: {told(all_claims)}", markup=False)
        done = "locked anew" if rewrite else "differ from the locked results"
        out.print(f"{len({one.id for _, one in rows})} claims {done}", markup=False)
    if rows and not rewrite:
        raise typer.Exit(EXIT_DIFFERENT)


def _lines_by_claim(
    rows: Sequence[tuple[str, Difference]], claims: Sequence[Claim]
) -> list[tuple[str, list[str]]]:
    """For each claim: its id, and lines with study, statement and changes from the locked one."""
    statements = {claim.id: f": {claim.statement}" for claim in claims}
    lines_of: dict[str, list[str]] = {}
    for study, one in rows:
        lines = lines_of.setdefault(one.id, [f"{study}{statements.get(one.id, '')}"])
        lines.append(f"{one.what}: was {value_text(one.was)}, is {value_text(one.now)}")
    return list(lines_of.items())


def _chosen(names: Sequence[str], *, live: bool) -> list[Study[Any, Any]]:
    known = discover()
    for name in names:
        if name not in known:
            raise HeadwayError(unknown("study", name, known))
    of_kind = {
        name: form
        for name, study in known.items()
        if (form := study.live() if live else study) and (live or form.only_backend != "kernel")
    }
    for name in names:
        if name not in of_kind:
            raise HeadwayError(
                f"{name} {'runs in the simulator; leave out' if live else 'needs the kernel; add'} "
                "--live"
            )
    left = sorted(name for name, study in known.items() if study.live())
    if not names and not live and left:
        notice(f"claims not run because they need the live kernel (--live): {', '.join(left)}")
    return [of_kind[name] for name in names] if names else list(of_kind.values())


def _run_study(
    study: Study[Any, Any],
    backend: Backend,
    progress: Bar,
    full: bool,
    seeds: bool,
    rewrite: bool,
    threads: int,
) -> tuple[list[Difference], list[Claim]]:
    """Run the chosen forms of one study; with ``rewrite`` save the results as the locked ones."""
    locked = read(study)
    is_live = backend.name != "sim"

    def run(what: str, *, quick: bool, seed: int = 1, tries: bool = False) -> Judged:
        def shown(finished: int, total: int, label: str) -> None:
            progress(finished, total, f"{study.name}, {what}: {label}")

        return judged(
            study, backend, quick=quick, seed=seed, threads=threads, tries=tries, progress=shown
        )

    small = run("quick", quick=True, tries=True)
    found = differences(locked, small.claims, "quick")
    found += differing_tries(locked, small.tries, "quick")
    # Live measurements ignore the seed, so each seed is just another run.
    others = (
        {s: run(f"quick, {s} of 4", quick=True, seed=s).claims for s in SEEDS}
        if seeds or full
        else None
    )
    large, trials = None, None
    if full:
        first = run("full", quick=False, tries=True)

        def again(seed: int) -> Sequence[Claim]:
            return run(f"full, seed {seed}", quick=False, seed=seed).claims

        large, trials = chance.settled(
            first.claims,
            [small.claims, *(others or {}).values()],
            again,
            chance.LIVE_RUNS if is_live else chance.FULL_SEEDS,
        )
        already = {(one.id, one.what) for one in found}
        more = [*differences(locked, large, "full"), *differing_tries(locked, first.tries, "full")]
        found += [one for one in more if (one.id, one.what) not in already or one.what == "verdict"]
    if rewrite:
        locked = changed(
            locked,
            full=large,
            quick=small.claims,
            seeds=others,
            trials=trials,
            tries={"quick": small.tries, **({"full": first.tries} if full else {})},
            statements=study.statements,
        )
        machines = measured_on(study)
        if is_live:
            ran: list[Form] = ["quick"] if large is None else ["quick", "full"]
            machines |= dict.fromkeys(ran, machine.description())
        write(study, locked, machines)
        return found, as_claims(locked)
    return found, list(large or small.claims)
