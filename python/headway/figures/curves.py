"""Draws curves over a common x axis: models as lines, measurements as markers."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Literal

import numpy as np
import numpy.typing as npt

from headway.figures.canvas import drawing, from_zero, legend_above, new_figure
from headway.figures.plots import Panel, Series
from headway.figures.style import Style
from headway.figures.timed import remember

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

Scale = Literal["linear", "log"]


Array = npt.NDArray[Any]


@dataclass(frozen=True)
class Curve:
    """Points (x, y) of shape (n,), drawn as a line, as markers, or both.

    ``low`` and ``high``, of the same shape, are the ends of an interval for y: drawn as lines
    through the points, or with ``band`` as a shaded band. NaN means no interval.
    """

    label: str
    x: Array
    y: Array
    style: Style
    line: bool = True
    markers: bool = False
    low: Array | None = None
    high: Array | None = None
    band: bool = False


def curves(
    panels: Sequence[tuple[str, Sequence[Curve]]],
    *,
    x_label: str,
    y_label: str,
    x_scale: Scale = "linear",
    y_scale: Scale = "linear",
    height_mm: float = 75,
    share_x: bool = True,
    share_y: bool = True,
) -> Figure:
    """Panels side by side with shared labels.

    Args:
        panels: (title, curves) per panel, at least one.
        x_label, y_label: with units.
        x_scale, y_scale: "linear" (y from 0) or "log".
        height_mm: height, millimetres.
        share_x, share_y: whether all panels show the same range.

    Returns:
        the figure.

    Raises:
        ValueError: without panels.
    """
    if not panels:
        raise ValueError("a figure of curves needs at least one panel")
    with drawing():
        figure, axes = new_figure(
            height_mm=height_mm, columns=len(panels), share_x=share_x, share_y=share_y
        )
        for ax, (title, drawn) in zip(axes, panels, strict=True):
            ax.set_xscale(x_scale)
            ax.set_yscale(y_scale)
            for curve in drawn:
                ax.plot(
                    np.asarray(curve.x),
                    np.asarray(curve.y),
                    label=curve.label,
                    color=curve.style.colour,
                    linestyle=curve.style.dash if curve.line else "none",
                    marker=curve.style.marker if curve.markers else None,
                    markersize=3.2,
                    linewidth=1.0,
                )
                _draw_interval(ax, curve)
            ax.set_title(title, loc="left")
            ax.set_xlabel(x_label)
        if y_scale == "linear":
            from_zero(axes)
        axes[0].set_ylabel(y_label)
        legend_above(figure)
    remember(figure, x_label, [_panel(title, drawn, y_label) for title, drawn in panels])
    return figure


def _draw_interval(ax: Axes, curve: Curve) -> None:
    if curve.low is None or curve.high is None:
        return
    if curve.band:
        ax.fill_between(
            curve.x, curve.low, curve.high, color=curve.style.colour, alpha=0.13, linewidth=0
        )
        return
    ax.errorbar(
        curve.x,
        curve.y,
        yerr=np.stack([curve.y - curve.low, curve.high - curve.y]),
        fmt="none",
        ecolor=curve.style.colour,
        elinewidth=0.8,
        capsize=1.8,
        capthick=0.8,
    )


def _panel(title: str, drawn: Sequence[Curve], y_label: str) -> Panel:
    lines = [Series(one.label, one.x, one.y, one.style, points=not one.line) for one in drawn]
    return Panel(y_label, lines, title=title)
