"""Figures of a sweep for a paper: the median of a metric over a field, with its interval."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING

import numpy as np
import polars as pl

from headway.errors import HeadwayError
from headway.figures import Curve, curves, save_figure, style_of
from headway.registry import unknown
from headway.sweep.collect import Table

if TYPE_CHECKING:
    from matplotlib.figure import Figure

FORMATS = (".svg", ".pdf", ".png")
_MOST_PANELS = 4
_LOG_FROM = 20
"""An axis is logarithmic if its largest value is this many times its least."""


def save(table: Table, to: Path, x: str, y: str, colour: str | None, facet: str | None) -> None:
    """Draw a figure and save it as .svg, .pdf or .png.

    ``x`` is a column of numbers, ``y`` a metric; ``colour`` and ``facet`` are columns whose values
    have curves and panels of their own. Raises HeadwayError.
    """
    figure = median_figure(table.frame, x, y, colour, facet)
    save_figure(figure, to.with_suffix(""), [to.suffix.removeprefix(".")])


def median_figure(
    frame: pl.DataFrame, x: str, y: str, colour: str | None = None, facet: str | None = None
) -> Figure:
    """The median of ``y`` over ``x``, with its 95 % interval from order statistics."""
    for option, name in (("x", x), ("y", y), ("colour", colour), ("facet", facet)):
        if name is not None and name not in frame.columns:
            raise HeadwayError(f"{option}: {unknown('column', name, frame.columns)}")
    for option, name in (("x", x), ("y", y)):
        if not frame[name].dtype.is_numeric():
            raise HeadwayError(f"{option}: {name} has no numbers")
    frame = frame.drop_nulls([x, y])
    panels = _values(frame, facet)
    if not 1 <= len(panels) <= _MOST_PANELS:
        raise HeadwayError(
            f"facet: {facet} has {len(panels)} values; a figure has at most {_MOST_PANELS} panels"
        )
    drawn = []
    for value in panels:
        part = frame if facet is None else frame.filter(pl.col(facet) == value)
        title = "" if facet is None else f"{facet} = {value}"
        drawn.append((title, [_curve(part, x, y, colour, one) for one in _values(part, colour)]))
    levels = frame[x].unique().sort().to_list()
    is_log = levels[0] > 0 and len(levels) > 2 and levels[-1] / levels[0] >= _LOG_FROM
    return curves(drawn, x_label=x, y_label=y, x_scale="log" if is_log else "linear")


def _values(frame: pl.DataFrame, name: str | None) -> Sequence[object]:
    if name is None:
        return [None] if frame.height else []
    return frame[name].drop_nulls().unique(maintain_order=True).to_list()


def _curve(frame: pl.DataFrame, x: str, y: str, colour: str | None, value: object) -> Curve:
    part = frame if colour is None else frame.filter(pl.col(colour) == value)
    groups = part.group_by(x).agg(pl.col(y).sort()).sort(x)
    ends = np.array([_interval(np.asarray(one)) for one in groups[y]])
    label = y if colour is None else str(value)
    style = replace(style_of(label), dash="-")
    return Curve(
        label,
        groups[x].to_numpy(),
        ends[:, 1],
        style,
        markers=True,
        low=ends[:, 0],
        high=ends[:, 2],
    )


def _interval(values: np.ndarray) -> tuple[float, float, float]:
    """Least, median, largest: sorted values between which the median lies with about 95 %."""
    half = 0.98 * np.sqrt(values.size)
    low = max(int(np.floor(values.size / 2 - half)), 0)
    high = min(int(np.ceil(values.size / 2 + half)), values.size - 1)
    return float(values[low]), float(np.median(values)), float(values[high])
