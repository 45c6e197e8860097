"""Figures over time remember what they show, so that a page can draw them again to zoom into."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING
from weakref import WeakKeyDictionary

if TYPE_CHECKING:
    from matplotlib.figure import Figure

    from headway.figures.plots import Panel

_OF: WeakKeyDictionary[Figure, tuple[str, Sequence[Panel]]] = WeakKeyDictionary()


def remember(figure: Figure, x_label: str, panels: Sequence[Panel]) -> None:
    """Keep the whole series of a figure whose x axis is time, for as long as the figure lives."""
    if x_label.startswith("time ("):
        _OF[figure] = (x_label, panels)


def shown_over_time(figure: Figure) -> tuple[str, Sequence[Panel]] | None:
    """The time axis' label and the panels of a figure over time; None of another."""
    return _OF.get(figure)
