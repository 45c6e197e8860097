"""What commands print: tables of at most 100 columns, JSON, and progress on stderr."""

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
from headway.table import Table, parts, texts, to_the_right

if TYPE_CHECKING:
    from rich.console import Console, JustifyMethod
    from rich.progress import Progress as RichProgress
    from rich.table import Table as RichTable

MAX_COLUMNS = 100
_LINES = 24
_MANY_COLUMNS = 9
"""More stand closer together."""


def console() -> Console:
    """Standard output, never wider than 100 columns, and 100 where it is not a terminal."""
    from rich.console import Console

    # Rich takes every terminal that calls itself dumb for 80 columns wide, unless told both.
    columns, lines = shutil.get_terminal_size((MAX_COLUMNS, _LINES))
    if not sys.stdout.isatty():
        columns = MAX_COLUMNS
    return Console(highlight=False, soft_wrap=False, width=min(columns, MAX_COLUMNS), height=lines)


def counted(count: int, of: str) -> str:
    """A number of things, as text."""
    return f"{count} {of}" if count == 1 else f"{count} {of}s"


def print_json(data: object) -> None:
    """Print JSON for scripts; NaN is refused, since it is no JSON."""
    text = json.dumps(data, indent=2, ensure_ascii=not is_unicode(sys.stdout), allow_nan=False)
    try:
        text.encode()
    except UnicodeEncodeError:  # a file's name that is no text
        text = json.dumps(data, indent=2, allow_nan=False)
    print(text)


def print_table(table: Table) -> None:
    """Print one table with its title and note; numbers to the right, their points in line."""
    out = console()
    if table.title:  # by itself, since a table folds it at its own width
        out.print(table.title, markup=False)

    endless = out.options.update(max_width=sys.maxsize)

    def fits(columns: Sequence[int]) -> bool:  # where Rich has to fold text, it cuts numbers, too
        return out.measure(_drawn(table, columns), options=endless).maximum <= out.width

    for columns in parts(table, fits):
        out.print(_drawn(table, columns))
    if table.note:
        out.print(table.note, markup=False)


def _drawn(table: Table, columns: Sequence[int]) -> RichTable:
    from rich import box
    from rich.table import Table as RichTable

    drawn = RichTable(
        box=box.SIMPLE_HEAD,
        pad_edge=False,
        collapse_padding=len(columns) > _MANY_COLUMNS,
    )
    for index in columns:
        numeric = to_the_right([row[index] for row in table.rows])
        justify: JustifyMethod = "right" if numeric else "left"
        drawn.add_column(table.columns[index], justify=justify, overflow="fold")
    for row in texts(table):
        drawn.add_row(*(_escaped(row[index]) for index in columns))
    return drawn


def _escaped(text: str) -> str:
    return text.replace("[", r"\[")


class Bar:
    """Progress on stderr: called with (finished, total, label); drawn only within a context.

    Where experiments run in real time, the bar follows their seconds; see ``seconds``.
    """

    def __init__(self, drawn: RichProgress | None = None) -> None:
        self._drawn = drawn
        self._task = drawn.add_task("", total=None, what="") if drawn else None
        self._counted = ""
        self._in_seconds = False
        self._since_s = time.monotonic()

    def __call__(self, finished: int, total: int, label: str) -> None:
        """So many of so many are finished; ``label`` is the newest."""
        self._counted = f"{finished}/{total} {label}".rstrip()
        if finished == total:
            self._in_seconds = False
        if not self._in_seconds:
            self._update(finished, total, self._counted)

    def seconds(self, done_s: float, total_s: float, left_s: float) -> None:
        """So many seconds of all runs are over; in so many the last one ends."""
        self._in_seconds = True
        minutes, rest = divmod(round(left_s), 60)
        self._update(done_s, total_s, f"{self._counted}, {minutes}:{rest:02} left")

    def simulated(self, done_s: float, total_s: float) -> None:
        """So many seconds of all runs are simulated: how fast, and in how much memory."""
        self._in_seconds = True
        speed = done_s / max(time.monotonic() - self._since_s, 1e-3)
        told = f"{done_s:,.0f} of {total_s:,.0f} s, {speed:,.0f} s per second{_memory()}"
        self._update(done_s, total_s, f"{self._counted} {told}".lstrip())

    def _update(self, done: float, total: float, what: str) -> None:
        if self._drawn is not None and self._task is not None:
            self._drawn.update(self._task, completed=done, total=total, what=what)


def _memory() -> str:
    """What this process takes now, where Linux says so."""
    try:
        with Path("/proc/self/statm").open(encoding="ascii") as pages:
            taken_bytes = int(pages.read().split()[1]) * os.sysconf("SC_PAGE_SIZE")
    except OSError:
        return ""
    return f", {taken_bytes / 1e6:,.0f} MB"


@contextmanager
def progress_bar(wanted: bool = True) -> Iterator[Bar]:
    """A progress callback that draws a bar on stderr, where that is a terminal."""
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
    """Print a line that whoever started the run should read, on stderr."""
    print(f"headway: {line}", file=sys.stderr)


def watch(backend: Backend, bar: Bar) -> None:
    """Let the bar follow the seconds of a backend's runs."""
    if hasattr(backend, "simulated"):
        backend.simulated = bar.simulated
    if hasattr(backend, "progress"):
        backend.progress = bar.seconds
