"""Curves over a common x, linear or logarithmic: models as lines, measurements as markers."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Literal

import numpy as np
import numpy.typing as npt

from headway.figures.canvas import drawing, legend_above, new_figure
from headway.figures.style import Style

if TYPE_CHECKING:
    from matplotlib.figure import Figure

Scale = Literal["linear", "log"]


@dataclass(frozen=True)
class Curve:
    """Points (x, y) of shape (n,); drawn as a line, as markers, or both."""

    label: str
    x: npt.NDArray[Any]
    y: npt.NDArray[Any]
    style: Style
    line: bool = True
    markers: bool = False


def curves(
    panels: Sequence[tuple[str, Sequence[Curve]]],
    *,
    x_label: str,
    y_label: str,
    x_scale: Scale = "linear",
    y_scale: Scale = "linear",
    height_mm: float = 75,
) -> Figure:
    """Panels side by side with shared labels.

    Args:
        panels: (title, curves) per panel, at least one.
        x_label, y_label: with units.
        x_scale, y_scale: "linear" (y from 0) or "log".
        height_mm: height, millimetres.

    Returns:
        the figure.

    Raises:
        ValueError: without panels.
    """
    if not panels:
        raise ValueError("a figure of curves needs at least one panel")
    with drawing():
        figure, axes = new_figure(height_mm=height_mm, columns=len(panels))
        for ax, (title, drawn) in zip(axes, panels, strict=True):
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
            ax.set_xscale(x_scale)
            ax.set_yscale(y_scale)
            if y_scale == "linear":
                ax.set_ylim(bottom=0)
            ax.set_title(title, loc="left")
            ax.set_xlabel(x_label)
        axes[0].set_ylabel(y_label)
        legend_above(figure, axes, most_columns=4)
    return figure
