"""What commands print: tables of at most 100 columns, JSON, and progress on stderr."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator
from contextlib import contextmanager

from rich import box
from rich.console import Console
from rich.progress import BarColumn, MofNCompleteColumn, Progress, TextColumn, TimeElapsedColumn
from rich.table import Table as RichTable

from headway.study import Cell, Table
from headway.sweep import no_progress

MAX_COLUMNS = 100
_ABSENT = "–"


def console() -> Console:
    """Standard output, never wider than 100 columns, and 100 where it is not a terminal."""
    out = Console(highlight=False, soft_wrap=False)
    out.width = min(out.width, MAX_COLUMNS) if out.is_terminal else MAX_COLUMNS
    return out


def print_json(data: object) -> None:
    """Print JSON for scripts; NaN is refused, since it is no JSON."""
    print(json.dumps(data, indent=2, ensure_ascii=False, allow_nan=False))


def cell_text(cell: Cell) -> str:
    """A cell as text: floats with four significant digits, None as a dash."""
    if cell is None:
        return _ABSENT
    if isinstance(cell, float):
        return f"{cell:,.0f}" if abs(cell) >= 10_000 else f"{cell:.4g}"
    return str(cell)


def print_table(table: Table) -> None:
    """Print one table with its title, note and numbers to the right."""
    drawn = RichTable(
        title=table.title, title_justify="left", box=box.SIMPLE_HEAD, pad_edge=False, title_style=""
    )
    for index, name in enumerate(table.columns):
        numeric = any(isinstance(row[index], int | float) for row in table.rows)
        drawn.add_column(name, justify="right" if numeric else "left", overflow="fold")
    for row in table.rows:
        drawn.add_row(*(_escaped(cell_text(cell)) for cell in row))
    out = console()
    out.print(drawn)
    if table.note:
        out.print(table.note, markup=False)


def _escaped(text: str) -> str:
    return text.replace("[", r"\[")


@contextmanager
def progress_bar(wanted: bool = True) -> Iterator[Callable[[int, int, str], None]]:
    """A progress callback that draws a bar on stderr, where that is a terminal."""
    err = Console(stderr=True)
    if not wanted or not err.is_terminal:
        yield no_progress
        return
    bar = Progress(
        BarColumn(),
        MofNCompleteColumn(),
        TextColumn("{task.description}", markup=False),
        TimeElapsedColumn(),
        console=err,
        transient=True,
    )
    with bar:
        task = bar.add_task("", total=None)

        def update(finished: int, total: int, label: str) -> None:
            bar.update(task, completed=finished, total=total, description=label)

        yield update
