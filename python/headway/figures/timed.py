"""Keeps the data of figures over time, so that a page can redraw them when a reader zooms."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING
from weakref import WeakKeyDictionary

if TYPE_CHECKING:
    from matplotlib.figure import Figure

    from headway.figures.plots import Panel

_OF: WeakKeyDictionary[Figure, tuple[str, Sequence[Panel]]] = WeakKeyDictionary()


def remember(figure: Figure, x_label: str, panels: Sequence[Panel]) -> None:
    """If a figure's x axis is time, keep its full series for as long as the figure exists."""
    if x_label.startswith("time ("):
        _OF[figure] = (x_label, panels)


def shown_over_time(figure: Figure) -> tuple[str, Sequence[Panel]] | None:
    """The label of the time axis and the panels of a figure over time; None for other figures."""
    return _OF.get(figure)
