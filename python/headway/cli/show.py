"""Output of commands: tables of at most 100 columns, JSON, and progress on stderr."""

from __future__ import annotations

import json
import os
import shutil
import sys
import time
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING

from headway.backends import Backend
from headway.cli.start import is_unicode
from headway.table import Table, is_numeric, parts, texts

if TYPE_CHECKING:
    from rich.console import Console, JustifyMethod
    from rich.progress import Progress as RichProgress
    from rich.table import Table as RichTable

MAX_COLUMNS = 100
_LINES = 24
_MANY_COLUMNS = 9
"""Tables with more columns than this use narrower padding."""


def console() -> Console:
    """A console for standard output: at most 100 columns wide, exactly 100 if not a terminal."""
    from rich.console import Console

    # Rich assumes 80 columns for every dumb terminal unless it is given width and height.
    columns, lines = shutil.get_terminal_size((MAX_COLUMNS, _LINES))
    if not sys.stdout.isatty():
        columns = MAX_COLUMNS
    return Console(highlight=False, soft_wrap=False, width=min(columns, MAX_COLUMNS), height=lines)


def number_of(count: int, of: str) -> str:
    """A count with its noun: "1 page", "2 pages"."""
    return f"{count} {of}" if count == 1 else f"{count} {of}s"


def print_json(data: object) -> None:
    """Print JSON for scripts. Raises ValueError for NaN, which JSON lacks."""
    text = json.dumps(data, indent=2, ensure_ascii=not is_unicode(sys.stdout), allow_nan=False)
    try:
        text.encode()
    except UnicodeEncodeError:  # a file name that is not UTF-8
        text = json.dumps(data, indent=2, allow_nan=False)
    print(text)


def print_table(table: Table) -> None:
    """Print one table with its title and note; numbers are aligned at the decimal point."""
    out = console()
    if table.title:  # inside its table, Rich would wrap the title
        out.print(table.title, markup=False)

    endless = out.options.update(max_width=sys.maxsize)

    def fits(columns: Sequence[int]) -> bool:  # Rich would cut numbers if the table were too wide
        return out.measure(_drawn(table, columns), options=endless).maximum <= out.width

    for columns in parts(table, fits):
        out.print(_drawn(table, columns))
    if table.note:
        out.print(table.note, markup=False)


def _drawn(table: Table, columns: Sequence[int]) -> RichTable:
    from rich import box
    from rich.table import Table as RichTable
    from rich.text import Text

    drawn = RichTable(
        box=box.SIMPLE_HEAD,
        pad_edge=False,
        collapse_padding=len(columns) > _MANY_COLUMNS,
    )
    for index in columns:
        numeric = is_numeric([row[index] for row in table.rows])
        justify: JustifyMethod = "right" if numeric else "left"
        drawn.add_column(table.columns[index], justify=justify, overflow="fold")
    for row in texts(table):
        drawn.add_row(*(Text(row[index]) for index in columns))
    return drawn


class Bar:
    """Progress on stderr, called with (finished, total, label); drawn only by ``progress_bar``.

    For experiments that run in real time the bar shows seconds instead of numbers of runs.
    """

    def __init__(self, drawn: RichProgress | None = None) -> None:
        self._drawn = drawn
        self._task = drawn.add_task("", total=None, what="") if drawn else None
        self._count_text = ""
        self._in_seconds = False
        self._since_s = time.monotonic()

    def __call__(self, finished: int, total: int, label: str) -> None:
        """Show that ``finished`` of ``total`` runs are done; ``label`` names the newest."""
        self._count_text = f"{finished}/{total} {label}".rstrip()
        if finished == total:
            self._in_seconds = False
        if not self._in_seconds:
            self._update(finished, total, self._count_text)

    def seconds(self, done_s: float, total_s: float, left_s: float) -> None:
        """Show the sum of the seconds that runs have done, and the time until the last run ends."""
        self._in_seconds = True
        minutes, rest = divmod(round(left_s), 60)
        self._update(done_s, total_s, f"{self._count_text}, {minutes}:{rest:02} left")

    def simulated(self, done_s: float, total_s: float) -> None:
        """Show the simulated seconds of all runs, with the speed and the memory used."""
        self._in_seconds = True
        speed = done_s / max(time.monotonic() - self._since_s, 1e-3)
        speed_text = f"{done_s:,.0f} of {total_s:,.0f} s, {speed:,.0f} s per second{_memory()}"
        self._update(done_s, total_s, f"{self._count_text} {speed_text}".lstrip())

    def _update(self, done: float, total: float, what: str) -> None:
        if self._drawn is not None and self._task is not None:
            self._drawn.update(self._task, completed=done, total=total, what=what)


def _memory() -> str:
    """This process's resident memory as text; "" where /proc is missing."""
    try:
        with Path("/proc/self/statm").open(encoding="ascii") as pages:
            taken_bytes = int(pages.read().split()[1]) * os.sysconf("SC_PAGE_SIZE")
    except OSError:
        return ""
    return f", {taken_bytes / 1e6:,.0f} MB"


@contextmanager
def progress_bar(wanted: bool = True) -> Iterator[Bar]:
    """A progress callback that draws a bar on stderr if that is a terminal."""
    if not wanted or not sys.stderr.isatty():
        yield Bar()
        return
    from rich.console import Console
    from rich.progress import BarColumn, TextColumn, TimeElapsedColumn
    from rich.progress import Progress as RichProgress

    err = Console(stderr=True)
    drawn = RichProgress(
        BarColumn(),
        TextColumn("{task.fields[what]}", markup=False),
        TimeElapsedColumn(),
        console=err,
        transient=True,
    )
    with drawn:
        yield Bar(drawn)


def notice(line: str) -> None:
    """Print a line for the user on stderr."""
    print(f"headway: {line}", file=sys.stderr)


def watch(backend: Backend, bar: Bar) -> None:
    """Let a backend report its progress in seconds to the bar."""
    if hasattr(backend, "simulated"):
        backend.simulated = bar.simulated
    if hasattr(backend, "progress"):
        backend.progress = bar.seconds
