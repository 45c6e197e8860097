"""``headway sweep``: plan, run, collect and look at a sweep over the fields of an experiment."""

from __future__ import annotations

import json
from collections.abc import Mapping
from pathlib import Path
from typing import Annotated, Any

import typer

from headway.cli.options import AsJson
from headway.cli.paths import check_file, check_folder, path
from headway.cli.show import console, notice, number_of, print_json, print_table, progress_bar
from headway.errors import HeadwayError
from headway.files import save_parts
from headway.sweep import Sweep
from headway.sweep.results import Results
from headway.sweep.run import duration_text, rows_of_text, run_sweep
from headway.sweep.work import Outcome, Runner, description_of, task
from headway.table import Table

_FIRST = 10
"""Number of rows that ``plan`` prints."""
_OPTIONS = {
    "plan": {"rows", "workers"},
    "run": {"rows", "shard", "on", "workers"},
    "status": set(),
    "collect": {"to"},
    "clean": {"everything"},
    "report": {"to", "x", "y", "colour", "facet"},
}  # fmt: skip
"""By action, the options that only some actions have."""


def sweep(
    action: Annotated[str, typer.Argument(metavar="ACTION", help=f"One of {', '.join(_OPTIONS)}.")],
    file: Annotated[Path, typer.Argument(parser=path, metavar="FILE", help="The sweep, as .toml.")],
    out: Annotated[
        Path | None,
        typer.Option(
            "--out", parser=path, metavar="DIR", help="Results folder; default: results/NAME."
        ),
    ] = None,
    rows: Annotated[
        str | None,
        typer.Option(
            metavar="A:B|FILE",
            help="With run: rows from A to below B. With plan: write all rows as .jsonl.",
        ),
    ] = None,
    shard: Annotated[
        str | None, typer.Option(metavar="I/N", help="With run: every N-th row, from the I-th.")
    ] = None,
    on: Annotated[
        str | None,
        typer.Option(metavar="ENGINE", help="With run: dask (a local cluster) or dask:ADDRESS."),
    ] = None,
    workers: Annotated[
        int, typer.Option(min=0, help="With plan and run: processes; 0 means one per core.")
    ] = 0,
    to: Annotated[
        Path | None,
        typer.Option(
            "--to",
            parser=path,
            metavar="FILE",
            help="With collect: the table, .parquet or .csv. With report: the page, .html, or a "
            "figure, .svg, .pdf or .png.",
        ),
    ] = None,
    x: Annotated[
        str | None, typer.Option(metavar="COLUMN", help="With report: the figure's x axis.")
    ] = None,
    y: Annotated[
        str | None, typer.Option(metavar="COLUMN", help="With report: the figure's metric.")
    ] = None,
    colour: Annotated[
        str | None, typer.Option(metavar="COLUMN", help="With report: a curve for each value.")
    ] = None,
    facet: Annotated[
        str | None, typer.Option(metavar="COLUMN", help="With report: a panel for each value.")
    ] = None,
    everything: Annotated[
        bool, typer.Option("--all", help="With clean: remove all results of the sweep.")
    ] = False,
    as_json: AsJson = False,
) -> None:
    """Run an experiment for all combinations of its fields' values, on one machine or a cluster.

    plan shows the rows of a sweep; run makes the runs that are missing; status counts them;
    collect writes the table of the results, and report a page that opens offline. clean removes
    runs that the sweep no longer has.
    """
    if action not in _OPTIONS:
        raise HeadwayError(f"action: unknown {action!r}; allowed: {', '.join(_OPTIONS)}")
    given = {
        "rows": rows is not None, "shard": shard is not None, "on": on is not None,
        "workers": workers != 0, "to": to is not None, "everything": everything,
        "x": x is not None, "y": y is not None, "colour": colour is not None,
        "facet": facet is not None,
    }  # fmt: skip
    for name, is_given in given.items():
        if is_given and name not in _OPTIONS[action]:
            option = "all" if name == "everything" else name
            having = ", ".join(one for one, options in _OPTIONS.items() if name in options)
            raise HeadwayError(f"--{option}: is an option of sweep {having}")
    loaded = Sweep.from_file(file)
    folder = out or Path("results") / loaded.name
    if action in ("plan", "run"):
        with _errors_of(file):
            loaded.check()
    if action == "plan":
        _plan(loaded, Path(rows) if rows else None, workers, as_json=as_json)
    elif action == "run":
        _run(loaded, folder, rows, shard, on, workers, as_json=as_json)
    elif action == "status":
        _status(loaded, folder, as_json=as_json)
    elif action == "collect":
        _collect(loaded, folder, to, as_json=as_json)
    elif action == "clean":
        _clean(loaded, folder, everything=everything, as_json=as_json)
    else:
        _report(loaded, folder, to, (x, y, colour, facet), as_json=as_json)


def _plan(loaded: Sweep, rows: Path | None, workers: int, *, as_json: bool) -> None:
    from headway.sweep.estimate import estimate

    check_file("rows", rows)
    if rows is not None:
        lines = (f"{json.dumps(_row(loaded, unit))}\n".encode() for unit in loaded.units())
        save_parts(rows, lines)
    about = estimate(loaded, workers)
    if as_json:
        print_json({
            "name": loaded.name, "fields": list(loaded.fields), "cells": len(loaded.cells),
            "rows": loaded.rows, "most_runs": about.runs, "workers": about.workers,
            "seconds": about.seconds, "memory_bytes": about.memory_bytes,
        })  # fmt: skip
        return
    up_to = "at most " if loaded.until else ""
    print(
        f"{loaded.name}: {number_of(len(loaded.cells), 'combination')}, "
        f"{up_to}{number_of(about.runs, 'run')}"
    )
    if about.seconds is not None and about.memory_bytes is not None:
        print(
            f"estimated: {up_to}{duration_text(max(about.seconds, 1))} and "
            f"{about.memory_bytes / 1e6:,.0f} MB with {number_of(about.workers, 'worker')}"
        )
    first = [_row(loaded, unit) for _, unit in zip(range(_FIRST), loaded.units(), strict=False)]
    names = [name for name in first[0] if name != "settings"]
    table = Table(
        "",
        [*names, *loaded.fields],
        [[row[name] for name in names] + [_cell(one) for one in row["settings"].values()]
         for row in first],
        note="" if loaded.rows <= _FIRST else f"... and {loaded.rows - _FIRST:,} more rows",
    )  # fmt: skip
    print_table(table)


def _cell(value: object) -> str | int | float:
    return value if isinstance(value, int | float) and not isinstance(value, bool) else str(value)


def _row(loaded: Sweep, unit: Any) -> dict[str, Any]:
    settings = loaded.settings(unit.cell)
    seed = int(settings.get("seed", loaded.base.seed)) + (unit.replication or 0)
    about = {"row": unit.row, "seed": seed}
    if loaded.until:
        about["least"], about["most"] = loaded.until.least, loaded.until.most
    return {**about, "settings": settings}


class _errors_of:  # noqa: N801 - a context manager
    """Names the sweep's file in errors of the block."""

    def __init__(self, file: Path) -> None:
        self._file = file

    def __enter__(self) -> None:
        """Nothing happens."""

    def __exit__(self, _type: object, error: BaseException | None, _traceback: object) -> None:
        """Raise the error again, with the file's name."""
        if isinstance(error, HeadwayError) and type(error).__name__ != "KernelCannotError":
            raise HeadwayError(f"{self._file}: {error}") from None


def _run(
    loaded: Sweep,
    folder: Path,
    rows: str | None,
    shard: str | None,
    on: str | None,
    workers: int,
    *,
    as_json: bool,
) -> None:
    check_folder("out", folder)
    chosen = rows_of_text(loaded, rows, shard)
    failed: list[Outcome] = []

    def report(outcome: Outcome) -> None:
        if outcome["state"] == "failed":
            failed.append(outcome)
        if as_json:
            print(json.dumps(outcome), flush=True)

    with progress_bar(not as_json) as bar:
        counts = run_sweep(
            loaded, folder, rows=chosen, workers=workers, on=on, progress=bar, report=report
        )
    if as_json:
        print(json.dumps({"rows": len(chosen), **counts, "folder": str(folder)}))
        return
    for outcome in failed[:_FIRST]:
        notice(f"row {outcome['row']}: {outcome['error']}")
    print(f"{_counts_text(counts)}, in {folder}")


def _counts_text(counts: Mapping[str, int]) -> str:
    return ", ".join(f"{count} {state}" for state, count in counts.items() if count) or "no rows"


def _status(loaded: Sweep, folder: Path, *, as_json: bool) -> None:
    results = Results(folder)
    counts = {"done": 0, "failed": 0, "missing": 0}
    runs = 0
    if results.check(loaded):
        runner = Runner(description_of(loaded), folder)
        for unit in loaded.units():
            found = [result for _, _, result in runner.results_of(task(loaded, unit))]
            runs += sum(result is not None for result in found)
            last = found[-1]
            state = "missing" if last is None else "failed" if "error" in last else "done"
            counts[state] += 1
    else:
        counts["missing"] = loaded.rows
    seconds = sum(line.get("seconds", 0.0) for line in results.logged())
    if as_json:
        print_json({"rows": loaded.rows, **counts, "runs": runs, "seconds": round(seconds, 3)})
        return
    print(f"{loaded.name}: {number_of(loaded.rows, 'row')}: {_counts_text(counts)}")
    if runs:
        print(f"{number_of(runs, 'run')}; all runs so far took {duration_text(seconds)}")


def _collect(loaded: Sweep, folder: Path, to: Path | None, *, as_json: bool) -> None:
    from headway.sweep.collect import check_name, save_table, table_of

    to = to or folder / "results.parquet"
    check_name(to)
    check_file("to", to)
    table = table_of(loaded, folder)
    save_table(table, to)
    about = {"rows": table.frame.height, "missing": table.missing, "failed": table.failed}
    if as_json:
        print_json({**about, "file": str(to)})
        return
    _say_missing(table.missing, loaded)
    print(f"{number_of(table.frame.height, 'row')} in {to}")


def _say_missing(missing: int, loaded: Sweep) -> None:
    if missing:
        notice(f"{missing} of {number_of(loaded.rows, 'row')} are not done and are left out")


def _clean(loaded: Sweep, folder: Path, *, everything: bool, as_json: bool) -> None:
    results = Results(folder)
    if not results.check(loaded):
        raise HeadwayError(f"{folder}: has no results")
    wanted: set[str] = set()
    if not everything:
        runner = Runner(description_of(loaded), folder)
        for unit in loaded.units():
            wanted.update(runner.keys(task(loaded, unit)))
    others = [key for key in results.keys() if key not in wanted]  # noqa: SIM118 - no dict
    for key in others:
        results.remove(key)
    partial = results.remove_partial()
    if as_json:
        print_json({"removed": len(others), "partial": partial, "kept": len(wanted)})
        return
    print(f"removed {number_of(len(others), 'run')} and {number_of(partial, 'partial run')}")


def _report(
    loaded: Sweep,
    folder: Path,
    to: Path | None,
    columns: tuple[str | None, str | None, str | None, str | None],
    *,
    as_json: bool,
) -> None:
    from headway.sweep import figure
    from headway.sweep.collect import table_of
    from headway.sweep.report import save_page

    to = to or folder / "report.html"
    check_file("to", to)
    x, y, colour, facet = columns
    is_figure = to.suffix in figure.FORMATS
    if is_figure and (x is None or y is None):
        raise HeadwayError(f"to: {to}: a figure needs --x and --y, names of columns")
    if not is_figure and any(columns):
        raise HeadwayError(f"to: {to}: a figure's name ends in {', '.join(figure.FORMATS)}")
    table = table_of(loaded, folder)
    if is_figure:
        assert x is not None
        assert y is not None
        figure.save(table, to, x, y, colour, facet)
    else:
        save_page(loaded, table, folder, to)
    if as_json:
        print_json({"rows": table.frame.height, "missing": table.missing, "file": str(to)})
        return
    _say_missing(table.missing, loaded)
    console().print(f"{'figure' if is_figure else 'page'}: {to}", markup=False, soft_wrap=True)
