"""The kinds of figures: time series, CDF, curves, grouped bars, published against measured.

Each function takes plain arrays and returns a Matplotlib Figure. No function depends on Trace.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np
import numpy.typing as npt

from headway.figures.canvas import drawing, from_zero, legend_above, new_figure
from headway.figures.decimate import min_max_indices
from headway.figures.style import PUBLISHED, Style, style_of
from headway.figures.timed import remember

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

Array = npt.NDArray[Any]

# : Most points per line: about the number of dots across a printed page.
MAX_POINTS = 1600


@dataclass(frozen=True)
class Series:
    """A line: ``x`` and ``y`` of shape (n,), x non-decreasing."""

    label: str
    x: Array
    y: Array
    style: Style
    step: bool = False
    """Whether each value of y is valid until the next x, so that the line has steps."""
    points: bool = False
    """Whether to draw markers at the points instead of a line."""


@dataclass(frozen=True)
class Panel:
    """A plot with lines on the left y scale and, optionally, further lines on a right y scale."""

    y_label: str
    series: Sequence[Series]
    right_label: str = ""
    right_series: Sequence[Series] = ()
    title: str = ""


def timeseries(
    panels: Sequence[Panel], *, x_label: str = "time (s)", height_mm: float = 60
) -> Figure:
    """Panels one above the other over one time axis.

    Args:
        panels: at least one.
        x_label: with its unit.
        height_mm: height of each panel, millimetres.

    Returns:
        the figure.

    Raises:
        ValueError: without panels.
    """
    if not panels:
        raise ValueError("a time series figure needs at least one panel")
    with drawing():
        figure, axes = new_figure(height_mm=height_mm * len(panels), rows=len(panels), share_x=True)
        for ax, panel in zip(axes, panels, strict=True):
            for series in panel.series:
                _draw_series(ax, series)
            ax.set_ylabel(panel.y_label)
            from_zero([ax])
            ax.margins(x=0.01)
            if panel.title:
                ax.set_title(panel.title, loc="left")
            if panel.right_series:
                right = ax.twinx()
                right.spines["right"].set_visible(True)
                right.grid(False)
                for series in panel.right_series:
                    _draw_series(right, series)
                right.set_ylabel(panel.right_label)
                from_zero([right])
                # draw the lines of the left scale above those of the right scale
                ax.set_zorder(right.get_zorder() + 1)
                ax.patch.set_visible(False)
        axes[-1].set_xlabel(x_label)
        shown = [one for panel in panels for one in (*panel.series, *panel.right_series)]
        if len({one.label for one in shown}) > 1:
            legend_above(figure)
    remember(figure, x_label, panels)
    return figure


@dataclass(frozen=True)
class Sample:
    """Values of one algorithm, shape (n,), whose distribution is drawn."""

    label: str
    algorithm: str
    values: Array


def cdf(
    panels: Sequence[tuple[str, Sequence[Sample]]], *, x_label: str, height_mm: float = 70
) -> Figure:
    """Empirical distribution functions in panels side by side.

    Args:
        panels: (title, samples) per panel, at least one. Samples without values are left out.
        x_label: with its unit.
        height_mm: height, millimetres.

    Returns:
        the figure.

    Raises:
        ValueError: without panels.
    """
    if not panels:
        raise ValueError("a CDF figure needs at least one panel")
    with drawing():
        figure, axes = new_figure(height_mm=height_mm, columns=len(panels))
        for ax, (title, samples) in zip(axes, panels, strict=True):
            for sample in samples:
                values = np.sort(sample.values[np.isfinite(sample.values)])
                if not values.size:
                    continue
                share = np.arange(1, values.size + 1) / values.size
                # evenly spaced probabilities keep the curve's shape with few points
                keep = np.unique(np.linspace(0, values.size - 1, 600).astype(np.intp))
                style = style_of(sample.algorithm)
                ax.plot(
                    values[keep],
                    share[keep],
                    label=sample.label,
                    color=style.colour,
                    linestyle=style.dash,
                    marker=style.marker,
                    markevery=0.12,
                )
            ax.set_title(title, loc="left")
            ax.set_xlabel(x_label)
            ax.set_ylim(0, 1.01)
        axes[0].set_ylabel("share of packets")
        legend_above(figure)
    return figure


@dataclass(frozen=True)
class Bars:
    """Bars of one algorithm, one per group: heights, errors, published values, shape (groups,)."""

    label: str
    algorithm: str
    heights: Array
    errors: Array | None = None
    published: Array | None = None


def grouped_bars(
    panels: Sequence[tuple[str, Sequence[Bars]]],
    *,
    groups: Sequence[str],
    y_label: str,
    x_label: str = "",
    height_mm: float = 70,
) -> Figure:
    """Bars side by side within groups, with error bars and published values where given.

    Args:
        panels: (title, bars) per panel, at least one; panels share the y scale.
        groups: names of the groups.
        y_label: label of the y axis, with its unit.
        x_label: label of the x axis, with its unit.
        height_mm: height, millimetres.

    Returns:
        the figure.

    Raises:
        ValueError: without panels, or if heights and groups differ in number.
    """
    if not panels:
        raise ValueError("a bar figure needs at least one panel")
    with drawing():
        figure, axes = new_figure(height_mm=height_mm, columns=len(panels))
        top = 0.0
        for ax, (title, bars) in zip(axes, panels, strict=True):
            width = 0.8 / max(len(bars), 1)
            published: list[tuple[float, float]] = []
            for index, bar in enumerate(bars):
                if len(bar.heights) != len(groups):
                    raise ValueError(f"{bar.label}: {len(bar.heights)} bars, {len(groups)} groups")
                x = np.arange(len(groups)) + (index - (len(bars) - 1) / 2) * width
                style = style_of(bar.algorithm)
                ax.bar(
                    x,
                    bar.heights,
                    width * 0.92,
                    yerr=bar.errors,
                    label=bar.label,
                    color=style.colour,
                    edgecolor="white",
                    hatch=style.hatch,
                    error_kw={"elinewidth": 0.9, "capsize": 2.5, "ecolor": "#1A1A1A"},
                )
                errors = 0.0 if bar.errors is None else bar.errors
                top = max(top, float(np.nanmax(bar.heights + errors)))
                if bar.published is not None:
                    published += zip(x, bar.published, strict=True)
            if published:
                top = max(top, *(float(value) for _, value in published))
                ax.plot(
                    *np.transpose(published),
                    linestyle="none",
                    marker=PUBLISHED.marker,
                    markersize=6,
                    markeredgewidth=1.5,
                    color=PUBLISHED.colour,
                    label="published",
                )
            ax.set_title(title, loc="left")
            ax.set_xticks(range(len(groups)), groups)
            ax.set_xlabel(x_label)
            ax.grid(False, axis="x")
        for ax in axes:
            ax.set_ylim(0, top * 1.08 if top > 0 else 1)
        axes[0].set_ylabel(y_label)
        legend_above(figure)
    return figure


@dataclass(frozen=True)
class Dot:
    """A value of one algorithm, its interval (``low`` to ``high``), and a reference value."""

    label: str
    algorithm: str
    value: float
    low: float
    high: float
    reference: float


def dots(
    rows: Sequence[Dot], *, x_label: str, reference_label: str, height_mm: float = 70
) -> Figure:
    """One row per algorithm, from the top: its value and interval, and a tick at the reference.

    Args:
        rows: at least one; labels are at the left.
        x_label: with its unit; x begins at 0.
        reference_label: name of the ticks in the legend.
        height_mm: height, millimetres.

    Returns:
        the figure.

    Raises:
        ValueError: without rows.
    """
    if not rows:
        raise ValueError("a figure of dots needs at least one row")
    with drawing():
        figure, (ax,) = new_figure(height_mm=height_mm)
        places = np.arange(len(rows))
        ax.plot(
            [row.reference for row in rows],
            places,
            linestyle="none",
            marker="|",
            markersize=11,
            color=PUBLISHED.colour,
            label=reference_label,
        )
        for place, row in zip(places, rows, strict=True):
            style = style_of(row.algorithm)
            ax.hlines(place, row.low, row.high, color=style.colour, linewidth=1.2)
            ax.plot(row.value, place, marker=style.marker, color=style.colour, linestyle="none")
        ax.set_yticks(places, [row.label for row in rows])
        ax.invert_yaxis()
        ax.set_xlim(0, None)
        ax.set_xlabel(x_label)
        ax.grid(False, axis="y")
        legend_above(figure)
    return figure


@dataclass(frozen=True)
class Pairs:
    """Published and measured values by algorithm, in ``unit``, equal shapes (n,).

    ``half_widths`` are half the measured values' intervals, by algorithm; NaN means no interval.
    ``band`` is half the width of the shaded tolerance.
    """

    title: str
    unit: str
    published: Mapping[str, Array]
    measured: Mapping[str, Array]
    half_widths: Mapping[str, Array] | None = None
    band: float | None = None


def published_vs_measured(
    panels: Sequence[Pairs], *, labels: Mapping[str, str], height_mm: float = 75
) -> Figure:
    """Measured against published values; a perfect reproduction lies on the diagonal.

    Args:
        panels: panels side by side, at least one.
        labels: the algorithms' printed names, in the order of the legend.
        height_mm: height, millimetres.

    Returns:
        the figure.

    Raises:
        ValueError: without panels.
    """
    if not panels:
        raise ValueError("a figure of published values needs at least one panel")
    with drawing():
        figure, axes = new_figure(
            width_mm=min(170, 1.1 * height_mm * len(panels)),
            height_mm=height_mm,
            columns=len(panels),
        )
        for ax, pairs in zip(axes, panels, strict=True):
            _draw_pairs(ax, pairs, labels)
            ax.set_xlabel(f"published ({pairs.unit})")
            ax.set_title(pairs.title, loc="left")
        axes[0].set_ylabel(f"measured ({panels[0].unit})")
        legend_above(figure)
    return figure


def _draw_pairs(ax: Axes, pairs: Pairs, labels: Mapping[str, str]) -> None:
    widths = {
        name: np.nan_to_num((pairs.half_widths or {}).get(name, np.zeros_like(measured)))
        for name, measured in pairs.measured.items()
    }
    everything = np.concatenate(
        [
            *(np.ravel(one) for one in pairs.published.values()),
            *(np.ravel(one - widths[name]) for name, one in pairs.measured.items()),
            *(np.ravel(one + widths[name]) for name, one in pairs.measured.items()),
        ]
    )
    low, high = float(np.nanmin(everything)), float(np.nanmax(everything))
    margin = 0.06 * (high - low) or 1.0
    ends = np.array([low - margin, high + margin])
    if pairs.band is not None:
        label = f"±{pairs.band:g} {pairs.unit}"
        ax.fill_between(ends, ends - pairs.band, ends + pairs.band, color="#E8E8E8", label=label)
    ax.plot(ends, ends, color=PUBLISHED.colour, linestyle=PUBLISHED.dash, linewidth=0.9)
    for algorithm, label in labels.items():
        style = style_of(algorithm)
        ax.errorbar(
            pairs.published[algorithm],
            pairs.measured[algorithm],
            yerr=widths[algorithm] if pairs.half_widths else None,
            linestyle="none",
            marker=style.marker,
            color=style.colour,
            elinewidth=0.8,
            label=label,
        )
    ax.set_xlim(*ends)
    ax.set_ylim(*ends)
    ax.locator_params(nbins=5)


def _draw_series(ax: Axes, series: Series) -> None:
    """Draw one line with at most MAX_POINTS points."""
    keep = min_max_indices(series.y, MAX_POINTS)
    ax.plot(
        series.x[keep],
        series.y[keep],
        label=series.label,
        color=series.style.colour,
        linestyle="none" if series.points else series.style.dash,
        linewidth=1.1,
        drawstyle="steps-post" if series.step else "default",
        marker=series.style.marker if series.points else "",
    )
