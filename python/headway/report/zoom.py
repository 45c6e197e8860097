"""Zoomable time series for a page that opens offline, drawn by Bokeh.

Bokeh was chosen over Plotly for its size: its script, put into the page once, is 1.3 MB instead
of 4.8 MB. Long series are thinned to their envelope before they go into the page.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np

from headway.figures.decimate import min_max_indices
from headway.figures.plots import Panel, Series
from headway.figures.style import GREY

if TYPE_CHECKING:
    from bokeh import plotting
    from bokeh.models import LayoutDOM

#: Most points per line in the page. Readers would see more points only after zooming in repeatedly.
MAX_POINTS = 4000


#: An identifier that Bokeh generates: of a model ("p1042"), or of an element or document (a UUID).
_IDENTIFIER = re.compile(r'"(p\d+)"|([0-9a-f]{8}(?:-[0-9a-f]{4}){3}-[0-9a-f]{12})')


@dataclass(frozen=True)
class ZoomChart:
    """Panels over one time axis that zoom and pan together."""

    title: str
    panels: Sequence[Panel]
    note: str = ""
    x_label: str = "time (s)"


def colours(charts: Sequence[ZoomChart]) -> set[str]:
    """The colours of all lines, in lower case."""
    return {
        series.style.colour.lower()
        for chart in charts
        for panel in chart.panels
        for series in (*panel.series, *panel.right_series)
    }


def script_and_divs(charts: Sequence[ZoomChart]) -> tuple[str, str, list[str]]:
    """The page's elements for these charts.

    Args:
        charts: any number.

    Returns:
        the library as ``<script>`` elements, the charts' own ``<script>``, and one ``<div>`` per
        chart; all empty without charts. Nothing in them refers to the network when shown.
    """
    if not charts:
        return "", "", []
    from bokeh.document import Document
    from bokeh.embed import components
    from bokeh.resources import Resources

    library = Resources(mode="inline", components=["bokeh"]).render_js()
    document, layouts = Document(), [_layout(chart) for chart in charts]
    # An unfrozen document lists its models again after each layout.
    with document.models.freeze():
        for layout in layouts:
            document.add_root(layout)
    script, divs = components(layouts, wrap_script=True)
    script, *divs = _numbered([script, *divs])
    return library, script, list(divs)


def _numbered(parts: Sequence[str]) -> list[str]:
    """Renumber Bokeh's random identifiers by order of appearance: equal data gives equal pages."""
    names: dict[str, str] = {}

    def number(match: re.Match[str]) -> str:
        return names.setdefault(match[0], match[0].replace(match[1] or match[2], f"c{len(names)}"))

    return [_IDENTIFIER.sub(number, part) for part in parts]


def _layout(chart: ZoomChart) -> LayoutDOM:
    from bokeh.layouts import gridplot

    plots: list[plotting.figure] = []
    for index, panel in enumerate(chart.panels):
        plots.append(_plot(panel, plots[0] if plots else None, index == len(chart.panels) - 1))
    plots[-1].xaxis.axis_label = chart.x_label
    return gridplot(
        [[plot] for plot in plots],
        merge_tools=True,
        toolbar_location="above",
        toolbar_options={"logo": None},
        sizing_mode="stretch_width",
    )


def _plot(panel: Panel, first: plotting.figure | None, last: bool) -> plotting.figure:
    from bokeh.models import CrosshairTool, DataRange1d, LinearAxis
    from bokeh.plotting import figure

    shared: dict[str, Any] = {} if first is None else {"x_range": first.x_range}
    plot = figure(
        height=230 if last else 200,
        sizing_mode="stretch_width",
        tools="xbox_zoom,xpan,xwheel_zoom,box_zoom,undo,redo,reset,save",
        active_drag="xbox_zoom",
        active_scroll=None,
        output_backend="canvas",
        y_axis_label=panel.y_label,
        **shared,
    )
    plot.toolbar.logo = None
    plot.add_tools(CrosshairTool(dimensions="height", line_color=GREY, line_alpha=0.5))
    plot.y_range = DataRange1d(start=0)
    if panel.right_series:
        right = DataRange1d(start=0)
        plot.extra_y_ranges = {"right": right}
        plot.add_layout(LinearAxis(y_range_name="right", axis_label=panel.right_label), "right")
        right.renderers = [
            _line(plot, series, {"y_range_name": "right"}) for series in panel.right_series
        ]
    # lines of the left scale are drawn last, so that they are on top
    left = [_line(plot, series, {}) for series in panel.series]
    plot.y_range.renderers = left
    legend = plot.legend[0]  # read once, because Bokeh searches the whole plot for it
    if len(panel.series) + len(panel.right_series) == 1:
        legend.visible = False
    else:
        plot.add_layout(legend, "above")
        legend.orientation = "horizontal"
        legend.click_policy = "hide"
        legend.label_text_font_size = "11px"
        legend.border_line_color = None
    return plot


def _line(plot: plotting.figure, series: Series, extra: dict[str, Any]) -> Any:
    keep = min_max_indices(series.y, MAX_POINTS)
    # Single precision halves the page's size; its seven digits are more than a screen can show.
    x = np.asarray(series.x[keep], dtype=np.float32)
    y = np.asarray(series.y[keep], dtype=np.float32)
    if series.step:
        x, y = np.repeat(x, 2)[1:], np.repeat(y, 2)[:-1]
    attributes: dict[str, Any] = {
        "legend_label": series.label,
        "color": series.style.colour,
        # The page's script uses this name, the colour on light pages, to look up the colour on dark
        # pages.
        "name": series.style.colour.lower(),
        **extra,
    }
    if series.points:
        return plot.scatter(x, y, size=5, **attributes)
    dash = series.style.dash
    pattern = [3 * part for part in dash[1]] if isinstance(dash, tuple) else "solid"
    return plot.line(x, y, line_width=1.2, line_dash=pattern, **attributes)
