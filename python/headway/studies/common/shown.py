"""Tables and figures of studies, declared by rows and columns, or by schemes and values."""

import math
import re
from collections.abc import Callable, Iterable, Mapping, Sequence
from typing import TYPE_CHECKING, Any, TypeVar

import numpy as np
import numpy.typing as npt

from headway.figures import Curve, Series, Style, curves, variant_of
from headway.metrics.stats import Array, Estimate
from headway.publish import Drawn, Figures
from headway.table import Cell, Table

if TYPE_CHECKING:
    from matplotlib.figure import Figure

One = TypeVar("One")
Column = Callable[[One], Cell] | tuple[Callable[[One], float | None], int | None]
"""A cell of a row, or a number and its decimals (None: a whole number)."""


def table(
    title: str,
    rows: Iterable[One],
    columns: Mapping[str, Column[One]] | Sequence[tuple[str, Column[One]]],
    note: str = "",
) -> Table:
    """A table with a row per item and a column per function of an item.

    ``{"scheme": LABELS.get, "time s": (lambda name: found[name].seconds, 2)}``. Numbers that are
    None or NaN are shown as dashes.
    """
    pairs = list(columns.items() if isinstance(columns, Mapping) else columns)
    cells = [[_cell(column, row) for _, column in pairs] for row in rows]
    return Table(title, [head for head, _ in pairs], cells, note)


def _cell(column: Column[One], row: One) -> Cell:
    if not isinstance(column, tuple):
        return column(row)
    value, decimals = column[0](row), column[1]
    return None if value is None or math.isnan(value) else round(value, decimals)


def figures(*drawn: Drawn | None) -> Figures:
    """Figures by file name, from (title, caption, figure); None is left out.

    The title makes the name: "Figures 6.42 and 6.43" is saved as figures-6-42-43.
    """
    apart = r"( and( \d+(?=\.))?)?[ .,]+"  # without the chapter of the second figure
    return {re.sub(apart, "-", one[0]).lower(): one for one in drawn if one is not None}


def chart(lines: Sequence[Curve], x_label: str, y_label: str, **more: Any) -> "Figure":
    """One panel of curves; ``more`` are arguments of ``curves``."""
    return curves([("", lines)], x_label=x_label, y_label=y_label, **more)


def curve(
    label: str,
    x: npt.ArrayLike,
    y: Sequence[float | Estimate] | Array,
    style: Style,
    *,
    scale: float = 1.0,
    **more: Any,
) -> Curve:
    """Values times ``scale`` with markers. Estimates also have their 95 % intervals."""
    values = [one if isinstance(one, Estimate) else Estimate(one, None, None, 1) for one in y]
    mean = scale * np.array([one.mean for one in values])
    drawn = {"markers": True, **more}
    if any(isinstance(one, Estimate) for one in y):
        widths = [math.nan if one.half_width is None else one.half_width for one in values]
        half = scale * np.array(widths)
        drawn |= {"low": mean - half, "high": mean + half}
    return Curve(label, np.asarray(x), mean, style, **drawn)


def by_flow(
    label: str, times_s: Array, values: Iterable[Array], style: Style, what: str = "flow"
) -> list[Series]:
    """A stepped series per flow in shades of a style: "CUBIC, flow 1"."""
    return [
        Series(f"{label}, {what} {n + 1}", times_s, own, variant_of(style, n), step=True)
        for n, own in enumerate(values)
    ]
