"""Finds visible faults in a figure: elements that are cut off, covered, or look alike.

The figure is drawn without a window, and the positions of all its elements are compared. A fault
does not depend on the data: a legend beyond the canvas, overlapping labels, two lines that look
the same, a key of the registry in a text for people. Tests check every figure of every study with
``faults``.
"""

from __future__ import annotations

import re
import warnings
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from functools import cache
from itertools import combinations
from typing import TYPE_CHECKING, Any, Literal

import numpy as np

from headway.figures.canvas import MM_PER_INCH, drawing
from headway.figures.style import STYLES, colour_distance

if TYPE_CHECKING:
    from matplotlib.artist import Artist
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure
    from matplotlib.legend import Legend
    from matplotlib.lines import Line2D
    from matplotlib.text import Text
    from matplotlib.transforms import BboxBase

Kind = Literal[
    "outside", "cut", "over data", "over text", "time", "alike", "two looks", "key", "sliver"
]

_SLACK_PX = 1.0
"""Boxes of texts include some margin, so only an overlap of more than this many pixels is a fault.
"""
_WORD_GAP_PX = 2.0
"""Smallest gap between two texts in one line."""
_LEAST_MM = (25.0, 18.0)
"""Width and height below which a plot is not readable."""
_LEAST_APART = 10.0
"""Colours closer than this (``headway.figures.style.colour_distance``) look the same in lines."""


@dataclass(frozen=True)
class Fault:
    """A fault: its ``kind``, and a text that says where it is and how large it is."""

    kind: Kind
    text: str

    def __str__(self) -> str:
        return f"{self.kind}: {self.text}"


@dataclass(frozen=True)
class Look:
    """The properties that distinguish a line or a group of bars from another."""

    colour: str
    """The colour in hexadecimal digits, as "#0072b2"."""
    dash: str | None = None
    """None: no line."""
    marker: object = None
    hatch: str | None = None

    def same_as(self, other: Look) -> bool:
        """Whether readers cannot distinguish a line with this look from a line with the other."""
        rest = (self.dash, self.marker, self.hatch) == (other.dash, other.marker, other.hatch)
        return rest and colour_distance(self.colour, other.colour) < _LEAST_APART


def faults(figure: Figure) -> list[Fault]:
    """Draw a figure and list its faults.

    Args:
        figure: the figure as it would be saved. Drawing it gives it the layout of the file.

    Returns:
        the faults, empty if there are none. The kinds are:

        - ``outside``: a text or legend beyond the canvas, in pixels at the figure's resolution;
        - ``cut``: a line, marker or bar beyond the range of its axes;
        - ``over data``: a legend on top of data;
        - ``over text``: a text over another text, a legend or another plot;
        - ``time``: plots that share a time axis but show different ranges of it;
        - ``alike``: two series of one plot with equal colour, dash, marker and hatch;
        - ``two looks``: one name in the legends of a figure, drawn in two ways;
        - ``key``: a key of the registry or a program's name in a text for people;
        - ``sliver``: a plot too small to read.
    """
    with drawing(), warnings.catch_warnings(record=True) as warned:
        warnings.simplefilter("always")
        figure.draw_without_rendering()
    axes = [ax for ax in figure.axes if ax.get_visible()]
    texts, legends = _texts(figure, axes), _legends(figure, axes)
    return [
        *(Fault("sliver", str(one.message)) for one in warned if "collapsed" in str(one.message)),
        *_outside(figure, texts, legends),
        *_cut(axes),
        *_over_data(axes, legends),
        *_over_text(axes, texts, legends),
        *_time(axes),
        *_alike(axes),
        *_inconsistent_looks(axes),
        *_keys(text for text, _ in texts),
        *_slivers(figure, axes),
    ]


# ---- Elements of the figure ----


def _texts(figure: Figure, axes: Sequence[Axes]) -> list[tuple[Text, Artist]]:
    """Every visible text, with the axes, legend or figure that it belongs to."""
    found: list[tuple[Text, Artist]] = [(text, figure) for text in figure.texts]
    found += [(text, legend) for legend in _legends(figure, axes) for text in legend.get_texts()]
    for ax in axes:
        own = [ax.title, ax._left_title, ax._right_title, *ax.texts]  # type: ignore[attr-defined]
        for axis in (ax.xaxis, ax.yaxis):
            own += [axis.label, axis.get_offset_text()]
            low, high = sorted(axis.get_view_interval())
            air = 1e-9 * (high - low)
            for tick in (*axis.get_major_ticks(), *axis.get_minor_ticks()):
                if low - air <= tick.get_loc() <= high + air:
                    own += [tick.label1, tick.label2]
        found += [(text, ax) for text in own]
    return [(text, of) for text, of in found if text.get_visible() and text.get_text().strip()]


def _legends(figure: Figure, axes: Iterable[Axes]) -> list[Legend]:
    own = [ax.get_legend() for ax in axes]
    return [*figure.legends, *(legend for legend in own if legend is not None)]


def _name(thing: Artist) -> str:
    """A name for messages: a legend's first entry, or the text itself."""
    words = thing.get_text() if hasattr(thing, "get_text") else ""
    if hasattr(thing, "get_texts"):
        return f"legend of {thing.get_texts()[0].get_text()!r}"
    return repr(words)


# ---- Positions ----


def _outside(
    figure: Figure, texts: Sequence[tuple[Text, Artist]], legends: Sequence[Legend]
) -> Iterator[Fault]:
    paper = figure.bbox
    for thing in (*legends, *(text for text, of in texts if of not in legends)):
        box = thing.get_window_extent()
        beyond = {
            "left": paper.x0 - box.x0,
            "right": box.x1 - paper.x1,
            "bottom": paper.y0 - box.y0,
            "top": box.y1 - paper.y1,
        }
        side, by_px = max(beyond.items(), key=lambda one: one[1])
        if by_px > _SLACK_PX:
            yield Fault("outside", f"{_name(thing)} {by_px:.0f} px beyond the {side}")


def _cut(axes: Sequence[Axes]) -> Iterator[Fault]:
    """Lines, markers and bars beyond the axes. Shaded bands may end at the axes."""
    for ax in axes:
        air = ax.bbox.padded(_SLACK_PX)
        for line in ax.lines:
            if not line.get_visible() or line.get_transform() != ax.transData:
                continue
            places = line.get_transform().transform(line.get_xydata())
            places = places[np.isfinite(places).all(axis=1)]
            beyond = (places < air.min) | (places > air.max)
            if beyond.any():
                share = f"{int(beyond.any(axis=1).sum())} of {len(places)} points"
                yield Fault("cut", f"{share} of {str(line.get_label())!r} lie beyond the axes")
        for bar in ax.patches:
            if bar.get_visible() and bar.get_window_extent().y1 > air.y1:
                yield Fault("cut", "a bar is higher than the axes")


def _over_data(axes: Sequence[Axes], legends: Sequence[Legend]) -> Iterator[Fault]:
    for legend in legends:
        box = legend.get_window_extent()
        for ax in axes:
            if not box.overlaps(ax.bbox):
                continue
            covered = sum(_touches(artist, box, ax) for artist in _drawn(ax))
            if covered:
                yield Fault("over data", f"{_name(legend)} covers {covered} of what is drawn")


def _drawn(ax: Axes) -> list[Artist]:
    return [one for one in (*ax.lines, *ax.patches, *ax.collections) if one.get_visible()]


def _touches(artist: Any, box: BboxBase, ax: Axes) -> bool:
    """Whether an element of the axes overlaps the box."""
    from matplotlib.transforms import Bbox

    inside = Bbox.intersection(box, ax.bbox)
    if inside is None:
        return False
    if hasattr(artist, "get_xdata"):
        path = artist.get_transform().transform_path(artist.get_path())
        return bool(
            inside.count_contains(path.vertices)
            or (_has_line(artist) and path.intersects_bbox(inside, False))
        )
    if hasattr(artist, "get_offsets") and len(artist.get_offsets()) > 1:
        places = artist.get_offset_transform().transform(artist.get_offsets())
        return bool(inside.count_contains(places))
    if hasattr(artist, "get_paths"):
        paths = [artist.get_transform().transform_path(path) for path in artist.get_paths()]
        return any(path.intersects_bbox(inside, True) for path in paths)
    return bool(artist.get_window_extent().overlaps(inside))


def _over_text(
    axes: Sequence[Axes], texts: Sequence[tuple[Text, Artist]], legends: Sequence[Legend]
) -> Iterator[Fault]:
    boxes = [(text, of, text.get_window_extent()) for text, of in texts]
    for (one, _, a), (other, _, b) in combinations(boxes, 2):
        if (by_px := _overlap_px(a, b)) > _SLACK_PX:
            yield Fault("over text", f"{_name(one)} and {_name(other)} by {by_px:.0f} px")
        elif _in_a_line(a, b) and _gap_px(a, b) < _WORD_GAP_PX:
            yield Fault("over text", f"{_name(one)} and {_name(other)} read as one")
    for text, of, box in boxes:
        for legend in legends:
            if of is not legend and _overlap_px(box, legend.get_window_extent()) > _SLACK_PX:
                yield Fault("over text", f"{_name(legend)} and {_name(text)}")
        for ax in axes:
            elsewhere = of in axes and not _same_place(of, ax)
            if elsewhere and (by_px := _overlap_px(box, ax.bbox)) > _SLACK_PX:
                yield Fault("over text", f"{_name(text)} over another plot by {by_px:.0f} px")


def _in_a_line(a: BboxBase, b: BboxBase) -> bool:
    return min(a.y1, b.y1) - max(a.y0, b.y0) > min(a.height, b.height) / 2


def _gap_px(a: BboxBase, b: BboxBase) -> float:
    return float(max(a.x0, b.x0) - min(a.x1, b.x1))


def _overlap_px(a: BboxBase, b: BboxBase) -> float:
    """Overlap of two boxes in pixels; negative for the distance between them."""
    return float(min(min(a.x1, b.x1) - max(a.x0, b.x0), min(a.y1, b.y1) - max(a.y0, b.y0)))


def _same_place(one: Any, other: Axes) -> bool:
    return one is other or bool(np.allclose(one.bbox.extents, other.bbox.extents))


def _slivers(figure: Figure, axes: Sequence[Axes]) -> Iterator[Fault]:
    for ax in axes:
        size = [MM_PER_INCH * px / figure.dpi for px in (ax.bbox.width, ax.bbox.height)]
        if any(mm < least for mm, least in zip(size, _LEAST_MM, strict=True)):
            yield Fault("sliver", f"a plot of {size[0]:.0f} x {size[1]:.0f} mm")


# ---- Contents ----


def _time(axes: Sequence[Axes]) -> Iterator[Fault]:
    """Plots whose time axes show different ranges.

    A plot without an x label shares the label below it.
    """
    labels = {ax.get_xlabel() for ax in axes}
    for label in labels:
        if not label.lower().startswith("time ("):
            continue
        shown = [ax.get_xlim() for ax in axes if ax.get_xlabel() in (label, "")]
        span = max(high - low for low, high in shown)
        if any(not np.allclose(one, shown[0], atol=1e-6 * span) for one in shown):
            ranges = ", ".join(f"{low:.4g} to {high:.4g}" for low, high in shown)
            yield Fault("time", f"{label}: {ranges}")


def _alike(axes: Sequence[Axes]) -> Iterator[Fault]:
    for number, ax in enumerate(axes):
        if any(_same_place(ax, before) for before in axes[:number]):
            continue
        here = [other for other in axes[number:] if _same_place(ax, other)]
        seen = [one for other in here for one in series_of(other)]
        for (label, look), (other_label, other_look) in combinations(seen, 2):
            if look.same_as(other_look):
                yield Fault("alike", f"{label!r} and {other_label!r}")


def _inconsistent_looks(axes: Sequence[Axes]) -> Iterator[Fault]:
    looks: dict[str, Look] = {}
    for label, look in (one for ax in axes for one in series_of(ax)):
        if not label.startswith("_") and not look.same_as(looks.setdefault(label, look)):
            yield Fault("two looks", repr(label))


def series_of(ax: Axes) -> Iterator[tuple[str, Look]]:
    """Lines and groups of bars of a plot with their labels, without the caps of error bars."""
    from matplotlib.colors import to_hex
    from matplotlib.container import BarContainer, ErrorbarContainer

    caps: set[int] = set()
    for drawn in ax.containers:
        if isinstance(drawn, ErrorbarContainer):
            caps |= {id(line) for line in drawn.lines[1]}
        elif isinstance(drawn, BarContainer) and drawn.patches:
            bar = drawn.patches[0]
            yield (
                str(drawn.get_label()),
                Look(to_hex(bar.get_facecolor()), hatch=bar.get_hatch()),
            )
    for line in ax.lines:
        if id(line) in caps or not line.get_visible() or not np.size(line.get_xdata()):
            continue
        pattern = str(line._unscaled_dash_pattern)  # type: ignore[attr-defined]
        marker = None if line.get_marker() in _NOTHING else line.get_marker()
        look = Look(
            to_hex(line.get_color()),
            dash=pattern if _has_line(line) else None,
            marker=marker,
        )
        yield str(line.get_label()), look


_NOTHING = (None, "None", "none", "", " ")


def _has_line(line: Line2D) -> bool:
    return line.get_linestyle() not in _NOTHING


_SNAKE = re.compile(r"\b[A-Za-z0-9]+_[A-Za-z0-9_]+\b")
_HYPHENED = re.compile(r"[a-z][a-z0-9]*(?:[-+][a-z0-9.]+)+")
"""A text of only lower-case letters, digits, dots, "-" and "+". If it has a digit or begins with a
scheme's name, it counts as a trial's key."""


def _keys(texts: Iterable[Text]) -> Iterator[Fault]:
    for content in dict.fromkeys(text.get_text() for text in texts):
        if (found := key_in(content)) is not None:
            yield Fault("key", f"{found!r} in {content!r}")


def key_in(text: str) -> str | None:
    """The first word of a text for people that is a key of the registry or a program's name.

    Keys are ``snake_case`` words, whole texts like ``qs-a-100-81.92``, and the registry's names of
    controls, startups and routers. Names like ``cubic26`` and ``jump-start`` count anywhere. A name
    of letters only counts only as the whole text, because "fast" and "target" are also words.
    """
    plain = re.sub(r"\$[^$]*\$", "", text).strip()
    if set(plain.split("+")) <= _names():
        return plain
    if match := _SNAKE.search(plain):
        return match[0]
    if _HYPHENED.fullmatch(plain) and (
        re.search(r"\d", plain) or any(plain.startswith(f"{name}-") for name in _names())
    ):
        return plain
    words = (word.rstrip(".-") for word in re.findall(r"[\w.-]+", plain))
    return next((word for word in words if word in _names() and not word.isalpha()), None)


@cache
def _names() -> frozenset[str]:
    """All names of algorithms, stacks and styles."""
    from headway.registry import registry

    known = registry()
    algorithms = (*known.controls, *known.startups, *known.queues, *known.routers)
    names = [*(one.name for one in algorithms), *(one.name for one in known.stacks)]
    return frozenset([*STYLES, *names])
