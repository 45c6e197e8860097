"""A table as plain data: printed in a terminal, put into a report, compared between backends."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

Cell = str | int | float | None


@dataclass(frozen=True)
class Table:
    """A table to print and to put in the report: plain data, at most 100 columns wide as text.

    Each row has one cell per column; None prints as an empty cell.
    """

    title: str
    columns: Sequence[str]
    rows: Sequence[Sequence[Cell]]
    note: str = ""
