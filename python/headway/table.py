"""Tables as plain data, for terminals, reports, and comparisons between backends.

This module formats the numbers: all cells of a column have the same number of decimals, so that
decimal points are aligned, and numbers are right-aligned.
"""

from __future__ import annotations

import math
import re
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from decimal import Decimal

Cell = str | int | float | None

ABSENT = "–"
"""A cell without a value."""
DIGITS = 4
"""Significant digits with which a column's largest number is shown."""
_LEAST_DIGITS = 2
"""Least number of significant digits with which a column's smallest number is shown, unless the
column's numbers have fewer."""
_MOST_DECIMALS = 6
_WITH_COMMAS = 10_000
_ONE = r"[-+±−]?\d[\d,]*(\.\d+)?(e[-+]?\d+)?( ?%)?"
_NUMBER = re.compile(rf"{_ONE}((/| of | / ){_ONE}| \({_ONE}\))?")
"""A text that is aligned like a number: one number, or two such as "13 of 13", "0.60/0.61", "1.40
(2.5)"."""


@dataclass(frozen=True)
class Table:
    """A table to print and to put in the report: plain data, at most 100 columns wide as text.

    Each row has one cell per column; None prints as a dash. With ``by_row`` every row is a quantity
    with its own unit, and the numbers of a row, not of a column, have equal decimals. A table that
    is too wide for the terminal is printed in parts, if ``block`` is set: each part has whole
    blocks of ``block`` columns after the first ``heads`` columns, which name the rows.
    """

    title: str
    columns: Sequence[str]
    rows: Sequence[Sequence[Cell]]
    note: str = ""
    by_row: bool = False
    heads: int = 0
    block: int = 0


def parts(table: Table, fits: Callable[[Sequence[int]], bool]) -> list[list[int]]:
    """Split a table that is too wide into parts; returns the column indices of each part.

    A part has as many blocks as ``fits`` allows, but at least one. A table without ``block`` is one
    part.
    """
    everything = list(range(len(table.columns)))
    if not table.block:
        return [everything]
    heads = everything[: table.heads]
    found = [list(heads)]
    for at in range(table.heads, len(everything), table.block):
        block = everything[at : at + table.block]
        if len(found[-1]) > len(heads) and not fits([*found[-1], *block]):
            found.append(list(heads))
        found[-1] += block
    return found


def texts(table: Table) -> list[list[str]]:
    """The cells as text, row by row; numbers of a column have equal decimals."""
    if table.by_row:
        return [aligned(row) for row in table.rows]
    columns = [aligned([row[i] for row in table.rows]) for i in range(len(table.columns))]
    return [list(row) for row in zip(*columns, strict=True)]


def aligned(cells: Sequence[Cell]) -> list[str]:
    """Cells with the same unit as text, with equal decimals if any cell is a float."""
    decimals = _decimals([cell for cell in cells if isinstance(cell, float)])
    measured = any(isinstance(cell, float) for cell in cells)
    return [_text(cell, decimals, measured) for cell in cells]


def markdown(columns: Sequence[str], rows: Sequence[Sequence[Cell]]) -> list[str]:
    """The lines of a Markdown table for docs/; text cells stay unchanged."""
    cells = texts(Table("", columns, rows))
    numeric = [is_numeric([row[index] for row in cells]) for index in range(len(columns))]
    return [
        f"| {' | '.join(columns)} |",
        f"|{''.join('---:|' if right else '---|' for right in numeric)}",
        *(f"| {' | '.join(map(_in_one_cell, row))} |" for row in cells),
    ]


def _in_one_cell(text: str) -> str:
    return text.replace("|", r"\|").replace("\n", " ")


def value_text(cell: Cell, unit: str | None = None) -> str:
    """A value as text with its unit, for use outside of tables: at most five significant digits."""
    if not isinstance(cell, int | float):
        return ABSENT if cell is None else cell
    text = f"{cell:.5g}" if isinstance(cell, float) else str(cell)
    return f"{text} {unit}" if unit else text


def is_numeric(cells: Sequence[Cell]) -> bool:
    """Whether a column is right-aligned: some cell is a number, or all texts look like numbers."""
    if any(isinstance(cell, int | float) for cell in cells):
        return True
    present = [cell.strip() for cell in cells if isinstance(cell, str)]
    present = [text for text in present if text not in ("", ABSENT)]
    return bool(present) and all(_NUMBER.fullmatch(text) for text in present)


def _text(cell: Cell, decimals: int | None, measured: bool) -> str:
    if cell is None:
        return ABSENT
    if isinstance(cell, str) or not measured or not math.isfinite(cell):
        return str(cell)
    if decimals is None:
        return f"{cell:.{DIGITS}g}"
    commas = "," if abs(cell) >= _WITH_COMMAS else ""
    return f"{cell:{commas}.{decimals}f}"


def _decimals(values: Sequence[float]) -> int | None:
    """Number of decimals for a column; None if the range of its numbers is too wide."""
    sizes = [abs(value) for value in values if math.isfinite(value) and value != 0]
    if not sizes:
        return 0
    most = max(_shown(size) for size in sizes)
    wanted = max(_for_digits(max(sizes), DIGITS), _for_digits(min(sizes), _LEAST_DIGITS), 0)
    decimals = min(most, wanted)
    return None if decimals > _MOST_DECIMALS else decimals


def _for_digits(size: float, digits: int) -> int:
    """Number of decimals with which ``size`` is shown with ``digits`` significant digits."""
    return digits - 1 - math.floor(math.log10(size))


def _shown(size: float) -> int:
    """Number of decimals of a number that is rounded to DIGITS significant digits."""
    exponent = Decimal(f"{size:.{DIGITS}g}").normalize().as_tuple().exponent
    return max(0, -int(exponent))
