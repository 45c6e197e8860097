"""Makes and saves Matplotlib figures without pyplot: no global state, no display.

Matplotlib is imported when the first figure is made, so that commands without figures start
quickly. Files are reproducible: they have no date and fixed identifiers.
"""

from __future__ import annotations

import functools
import io
import re
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Any

from headway.files import save_bytes

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure
    from matplotlib.legend import Legend

MM_PER_INCH = 25.4
_CSS_PX_PER_INCH = 96

#: Enlarges figures on screens, which are read from a larger distance than paper.
_SCREEN_SCALE = 1.35

#: Leaves out metadata, such as the date, that Matplotlib would otherwise write into files.
_METADATA: dict[str, dict[str, str | None]] = {
    "svg": {"Date": None, "Creator": None},
    "pdf": {"CreationDate": None, "ModDate": None, "Creator": None, "Producer": None},
    "png": {"Software": None},
}


@contextmanager
def drawing() -> Iterator[None]:
    """Use Headway's Matplotlib settings within the block, and restore the caller's afterwards."""
    from matplotlib import rc_context

    with rc_context(_settings()):
        yield


@functools.cache
def _settings() -> Any:
    """The settings of paper.mplstyle, which users can name as the style "headway.paper"."""
    from matplotlib import rc_params_from_file

    file = Path(__file__).parents[1] / "paper.mplstyle"
    return rc_params_from_file(file, use_default_template=False)


def new_figure(
    *,
    width_mm: float = 170,
    height_mm: float = 70,
    rows: int = 1,
    columns: int = 1,
    share_x: bool = False,
    share_y: bool = False,
) -> tuple[Figure, list[Axes]]:
    """A figure with rows x columns axes.

    Args:
        width_mm, height_mm: size on paper, millimetres, > 0.
        rows, columns: grid of axes, each >= 1.
        share_x, share_y: whether all axes show the same range.

    Returns:
        the figure and its axes, row by row. Call it inside ``drawing``.
    """
    from matplotlib.figure import Figure

    figure = Figure(figsize=(width_mm / MM_PER_INCH, height_mm / MM_PER_INCH), layout="constrained")
    axes = figure.subplots(rows, columns, squeeze=False, sharex=share_x, sharey=share_y)
    return figure, list(axes.flat)


def figure_bytes(figure: Figure, file_format: str) -> bytes:
    """The figure as the contents of a file.

    Args:
        figure: the figure.
        file_format: "svg", "pdf" or "png".

    Raises:
        ValueError: for another format.
    """
    if file_format not in _METADATA:
        raise ValueError(f"format must be one of {', '.join(_METADATA)}, got {file_format!r}")
    buffer = io.BytesIO()
    with drawing():
        figure.savefig(buffer, format=file_format, metadata=_METADATA[file_format])
    return buffer.getvalue()


def svg_text(figure: Figure) -> str:
    """The figure as an ``<svg>`` element for HTML, as wide as the page allows."""
    text = figure_bytes(figure, "svg").decode()
    text = text[text.index("<svg") :]
    width_px = _SCREEN_SCALE * figure.get_figwidth() * _CSS_PX_PER_INCH
    # keep the viewBox, which gives the aspect ratio
    return re.sub(
        r'width="[^"]*" height="[^"]*"', f'style="width: {width_px:.0f}px"', text, count=1
    )


def save_figure(figure: Figure, path: Path, formats: Sequence[str] = ("svg", "pdf")) -> list[Path]:
    """Save the figure once per format.

    Args:
        figure: the figure.
        path: file name without its extension.
        formats: some of "svg", "pdf", "png".

    Returns:
        the files written.

    Raises:
        ValueError: for an unknown format.
        HeadwayError: if a file cannot be written.
    """
    files = []
    for file_format in formats:
        file = path.with_name(f"{path.name}.{file_format}")
        save_bytes(file, figure_bytes(figure, file_format))
        files.append(file)
    return files


def from_zero(axes: Sequence[Axes]) -> None:
    """Make y begin at 0 and end above the highest value, in all axes that share their scale.

    Call it after everything is drawn: setting a limit turns autoscaling off.
    """
    highest: dict[Axes, float] = {}
    for ax in axes:
        own = ax.get_shared_y_axes().get_siblings(ax)
        highest[ax] = max(float(one.dataLim.y1) for one in own)
    for ax in axes:
        top = max(ax.get_ylim()[1], _HEADROOM * highest[ax]) if highest[ax] > 0 else None
        ax.set_ylim(0, top)


_HEADROOM = 1.05


def legend_above(figure: Figure) -> None:
    """One legend above all panels, each label once, in as many rows as its width needs.

    The figure grows by the rows after the first, so that the panels keep their size. Call it after
    everything is drawn. Without labels, it adds no legend.
    """
    entries: dict[str, Any] = {}
    for ax in figure.axes:
        for handle, label in zip(*ax.get_legend_handles_labels(), strict=True):
            entries.setdefault(label, handle)
    if not entries:
        return
    room_px = figure.bbox.width * _LEGEND_SHARE
    columns = len(entries)
    legend = _legend(figure, entries, columns)
    row_px = legend.get_window_extent().height
    while columns > 1 and legend.get_window_extent().width > room_px:
        share = room_px / legend.get_window_extent().width
        legend.remove()
        # the estimate assumes entries of equal width, so one more column may fit
        columns = min(columns - 1, int(columns * share) + 1)
        legend = _legend(figure, entries, columns)
    rows = -(-len(entries) // columns)
    if (even := -(-len(entries) // rows)) < columns:
        legend.remove()
        legend = _legend(figure, entries, even)
    more_px = legend.get_window_extent().height - row_px
    figure.set_figheight(figure.get_figheight() + more_px / figure.dpi)


_LEGEND_SHARE = 0.97
"""Share of the figure's width that a legend may take."""


def _legend(figure: Figure, entries: dict[str, Any], columns: int) -> Legend:
    return figure.legend(
        list(entries.values()), list(entries), loc="outside upper center", ncols=columns
    )
