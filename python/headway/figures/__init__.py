"""Publication-quality figures. See ``headway.figures.style`` for the colours.

from headway.figures import Sample, cdf, save_figure
save_figure(cdf([("one flow", samples)], x_label="one-way delay (ms)"), Path("fig3"))
"""

from headway.figures.canvas import figure_bytes, save_figure, svg_text
from headway.figures.curves import Curve, curves
from headway.figures.decimate import min_max_indices
from headway.figures.plots import (
    Bars,
    Dot,
    Pairs,
    Panel,
    Sample,
    Series,
    cdf,
    dots,
    grouped_bars,
    published_vs_measured,
    timeseries,
)
from headway.figures.style import PUBLISHED, QUEUE, VOIP, Style, label_of, style_of, variant_of
from headway.figures.timed import shown_over_time
from headway.figures.transfers import transfers

__all__ = [
    "PUBLISHED",
    "QUEUE",
    "VOIP",
    "Bars",
    "Curve",
    "Dot",
    "Pairs",
    "Panel",
    "Sample",
    "Series",
    "Style",
    "cdf",
    "curves",
    "dots",
    "figure_bytes",
    "grouped_bars",
    "label_of",
    "min_max_indices",
    "published_vs_measured",
    "save_figure",
    "shown_over_time",
    "style_of",
    "svg_text",
    "timeseries",
    "transfers",
    "variant_of",
]
