"""``headway run``, ``headway report`` and ``headway export``: studies and their saved results."""

from __future__ import annotations

import json
from dataclasses import asdict
from pathlib import Path
from typing import Annotated, Any

import typer

from headway.backends import Recorded, backend_named
from headway.backends.repeating import Repeating
from headway.claims import told
from headway.cli.claims import NOT_FULLY_HOLDING, counts, print_claims, print_named
from headway.cli.options import REPEATS, AsJson, Repeats, Threads
from headway.cli.paths import path
from headway.cli.show import console, notice, print_json, print_table, progress_bar, watch
from headway.errors import HeadwayError
from headway.registry import unknown
from headway.study import STUDY_FILE, Study, StudyContext, StudyResult, discover
from headway.table import value_text
from headway.trace import load_trace
from headway.validation.twins import SimulatorComparison, compare_with_simulator
from headway.workloads.workload import NAMED


def run(
    study: Annotated[str, typer.Argument(help="A study's name; see `headway list`.")],
    quick: Annotated[
        bool,
        typer.Option("--quick", help="Run the shortest form, which still fills every table."),
    ] = False,
    backend: Annotated[
        str | None,
        typer.Option("--backend", help="Backend to run on: sim, kernel [sim, or what it needs]."),
    ] = None,
    seed: Annotated[
        int,
        typer.Option("--seed", min=0, help="Base seed, from which all trials' seeds are derived."),
    ] = 1,
    out: Annotated[
        Path | None,
        typer.Option("--out", parser=path, metavar="DIR", help="Results folder [results/STUDY]."),
    ] = None,
    resume: Annotated[
        bool, typer.Option("--resume", help="Keep the trials that an interrupted run finished.")
    ] = False,
    force: Annotated[
        bool, typer.Option("--force", help="Overwrite results of a run with other settings.")
    ] = False,
    repeats: Repeats = REPEATS,
    vectors: Annotated[
        Path | None,
        typer.Option(
            "--vectors",
            parser=path,
            metavar="FILE",
            help="Connection vectors: a tmix file, recorded, recorded-all or drawn.",
        ),
    ] = None,
    threads: Threads = 0,
    as_json: AsJson = False,
) -> None:
    """Run a study: all trials, then make its tables, claims and report."""
    chosen = _study(study)
    if vectors is not None and not chosen.takes_vectors:
        takers = ", ".join(name for name, one in discover().items() if one.takes_vectors)
        raise HeadwayError(f"--vectors: {study} does not take vectors; {takers} do")
    if chosen.only_backend not in (None, backend or chosen.only_backend):
        raise HeadwayError(f"--backend {backend}: {study} needs backend {chosen.only_backend}")
    directory = out or Path("results") / study
    runner = backend_named(backend or chosen.only_backend or "sim")
    chosen = chosen.on(runner.name)
    _make_folder(directory)
    with progress_bar(not as_json) as progress:
        watch(runner, progress)
        context = StudyContext(
            out_dir=directory,
            backend=Repeating(runner, repeats),
            quick=quick,
            seed=seed,
            threads=threads,
            progress=progress,
            notice=notice,
            resume=resume,
            vectors=vectors if vectors is None or str(vectors) in NAMED else vectors.resolve(),
        )
        if not force:
            chosen.refuse_to_overwrite(context)
        result = chosen.run(context)
        comparison = _compare_with_simulator(chosen, context, result, resume=resume)
    _show(chosen, result, comparison, as_json)


def report(
    directory: Annotated[
        Path, typer.Argument(parser=path, metavar="DIR", help="A study's results folder.")
    ],
    as_json: AsJson = False,
) -> None:
    """Rebuild a study's report, claims and tables from the trials saved in DIR."""
    path = directory / STUDY_FILE
    try:
        saved = json.loads(path.read_text(encoding="utf-8"))
        if type(saved["seed"]) is not int or type(saved["quick"]) is not bool:
            raise ValueError("seed must be a whole number, and quick must be true or false")
        chosen = _study(str(saved["study"])).on(str(saved["backend"]))
        context = StudyContext(
            out_dir=directory,
            backend=Recorded(str(saved["backend"])),
            quick=saved["quick"],
            vectors=Path(saved["vectors"]) if saved.get("vectors") else None,
            seed=saved["seed"],
            notice=notice,
        )
    except FileNotFoundError:
        raise HeadwayError(f"{directory}: has no study results ({STUDY_FILE} is missing)") from None
    except (OSError, ValueError, KeyError, TypeError, RecursionError) as error:
        raise HeadwayError(f"{path}: unreadable ({error})") from None
    result = chosen.rebuild(context)
    _show(chosen, result, _compare_with_simulator(chosen, context, result, resume=True), as_json)


def export(
    directory: Annotated[
        Path,
        typer.Argument(
            parser=path, metavar="DIR", help="A saved trace, or a study's results folder."
        ),
    ],
    flent: Annotated[
        Path | None,
        typer.Option("--flent", parser=path, metavar="FILE", help="The .flent.gz to write."),
    ] = None,
    har: Annotated[
        Path | None,
        typer.Option("--har", parser=path, metavar="FILE", help="The HAR file to write."),
    ] = None,
    trial: Annotated[
        str | None, typer.Option("--trial", help="Key of the trial, if DIR is a study's folder.")
    ] = None,
    as_json: AsJson = False,
) -> None:
    """Export a trial's trace as a Flent data file, or its page loads as a HAR file."""
    from headway.flent import export_flent
    from headway.har import export_har

    if flent is None and har is None:
        raise HeadwayError("export: give --flent FILE or --har FILE")
    trials = directory / "trials"
    if not trials.is_dir():
        source = directory
    else:
        keys = sorted(path.name for path in trials.iterdir() if not path.name.startswith("."))
        if trial is None and len(keys) != 1:
            some = ", ".join(keys[:3]) + (" ..." if len(keys) > 3 else "")
            raise HeadwayError(f"{directory}: {len(keys)} trials; choose one with --trial: {some}")
        chosen = trial or keys[0]
        if chosen not in keys:
            raise HeadwayError(unknown("trial", chosen, keys))
        source = trials / chosen
    trace = load_trace(source)
    made: dict[str, Path] = {}
    if flent is not None:
        export_flent(trace, flent)
        made["flent"] = flent
    if har is not None:
        export_har(trace, har)
        made["har"] = har
    if as_json:
        print_json({"trace": str(source), **{kind: str(file) for kind, file in made.items()}})
        return
    for file in made.values():
        console().print(f"{source} -> {file}", markup=False, soft_wrap=True)


def _study(name: str) -> Study[Any, Any]:
    known = discover()
    if name not in known:
        raise HeadwayError(unknown("study", name, known))
    return known[name]


def _make_folder(directory: Path) -> None:
    try:
        directory.mkdir(parents=True, exist_ok=True)
    except OSError as error:
        raise HeadwayError(f"{directory}: cannot make the folder: {error.strerror}") from None


def _compare_with_simulator(
    study: Study[Any, Any], context: StudyContext, result: StudyResult, *, resume: bool
) -> SimulatorComparison | None:
    """Repeat a study that ran on the kernel in the simulator, and compare the results."""
    if context.backend.name != "kernel" or study.only_backend == "kernel":
        return None
    return compare_with_simulator(study, context, result, resume=resume)


def _show(
    study: Study[Any, Any],
    result: StudyResult,
    comparison: SimulatorComparison | None,
    as_json: bool,
) -> None:
    if as_json:
        print_json(
            {
                "study": study.name,
                "tables": [asdict(table) for table in result.tables],
                "claims": [asdict(claim) for claim in result.claims],
                "verdicts": counts(result.claims),
                "report": result.report and str(result.report),
                "artefacts": [str(path) for path in result.artefacts],
                "beside_simulator": comparison
                and {
                    "tables": [asdict(table) for table in comparison.tables],
                    "claims": [asdict(claim) for claim in comparison.claims],
                    "notes": dict(comparison.notes),
                    "report": str(comparison.report),
                },
            }
        )
        return
    for table in result.tables:
        print_table(table)
    others = [claim for claim in result.claims if claim.verdict in NOT_FULLY_HOLDING]
    if others:
        print_claims("claims that did not hold", others)
    out = console()
    out.print(f"claims: {told(result.claims)}", markup=False)
    if comparison is not None:
        _show_comparison(comparison)
    for report_file in (result.report, comparison and comparison.report):
        if report_file is not None:
            out.print(f"report: {report_file}", markup=False, soft_wrap=True)


def _show_comparison(comparison: SimulatorComparison) -> None:
    for table in comparison.tables:
        print_table(table)
    for note, runs in comparison.notes.items():
        console().print(f"{runs} runs on the kernel: {note}", markup=False)
    if comparison.claims:
        print_named(
            "what must agree with the simulator",
            [
                (
                    claim.id,
                    [
                        claim.statement,
                        f"{claim.verdict}: largest difference "
                        f"{value_text(claim.measured, claim.unit)}, allowed "
                        f"{value_text(claim.published, claim.unit)} {claim.tolerance}".rstrip(),
                        claim.note,
                    ],
                )
                for claim in comparison.claims
            ],
        )
