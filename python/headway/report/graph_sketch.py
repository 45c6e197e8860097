"""Pictures of networks: nodes as boxes in rows or on a circle, and edges as lines."""

from __future__ import annotations

import math
from collections import deque
from collections.abc import Sequence, Set
from dataclasses import dataclass
from html import escape
from itertools import pairwise

from headway.report.svg import GAP, LETTER, LINE, Sketch, svg, texts

_HALF = (LINE + GAP) / 2
"""Half the height of a node's box."""
_ROW_SPACE = 90
"""Least distance between the middles of neighbouring rows."""
_MOST_FLAT = 15
"""Greatest ratio between the width of rows and their distance."""
_MOST_LABELLED = 12
"""Most edges of a network that are labelled; the caption of a larger one has the values."""
_MOST_NAMED = 60
"""Most nodes that are drawn with their names; in larger networks all boxes are small."""
_SMALL = 10
"""Width of a box without a name."""

Point = tuple[float, float]


@dataclass(frozen=True)
class Drawn:
    """An edge between two nodes, which are given by their numbers, and the lines of its label."""

    nodes: tuple[int, int]
    label: Sequence[str] = ()


@dataclass(frozen=True)
class Box:
    """A rectangle by its middle and its half sizes."""

    x: float
    y: float
    half_width: float
    half_height: float

    def border(self, other: Box) -> Point:
        """The point where a line from the middle to the middle of another box leaves this box."""
        dx, dy = other.x - self.x, other.y - self.y
        part = min(
            self.half_width / abs(dx) if dx else math.inf,
            self.half_height / abs(dy) if dy else math.inf,
        )
        return self.x + part * dx, self.y + part * dy

    def middle(self, other: Box) -> Point:
        """The middle of the side that faces a box in a row above or below, else the border."""
        if abs(other.y - self.y) < 1:
            return self.border(other)
        return self.x, self.y + math.copysign(self.half_height, other.y - self.y)


def draw(names: Sequence[str], edges: Sequence[Drawn], caption: str, used: Set[int]) -> Sketch:
    """Draw a network. ``used`` are the numbers of the edges that flows use; others are pale.

    The nodes are in a row if they form one; in several rows, with the hosts at the bottom, if each
    edge joins neighbouring rows; otherwise on a circle.
    """
    named = len(names) <= _MOST_NAMED
    widths = [len(name) * LETTER + 2 * GAP if named else _SMALL for name in names]
    labelled = len(edges) <= _MOST_LABELLED
    space = _space([edge.label for edge in edges] if labelled else [])
    rows = _rows(len(names), [edge.nodes for edge in edges])
    points = _in_rows(rows, widths, space) if rows else _on_circle(widths, space)
    left = min(x - widths[node] / 2 for node, (x, _) in enumerate(points)) - space / 2
    top = min(y for _, y in points) - _HALF - 3 * LINE
    boxes = [
        Box(x - left, y - top, width / 2, _HALF)
        for (x, y), width in zip(points, widths, strict=True)
    ]
    parts = []
    for number, edge in enumerate(edges):
        label = edge.label if labelled else ()
        one, other = (boxes[node] for node in edge.nodes)
        parts += _edge(one, other, label, is_used=number in used, in_rows=bool(rows))
    for name, box in zip(names, boxes, strict=True):
        parts += _node(name if named else "", name, box)
    width = max(box.x + box.half_width for box in boxes) + space / 2
    height = max(box.y for box in boxes) + _HALF + 3 * LINE
    return Sketch(svg(parts, width, height, caption), caption)


def _space(labels: Sequence[Sequence[str]]) -> float:
    """The distance between neighbouring boxes, which has room for the longest line of a label."""
    longest = max((len(line) for label in labels for line in label), default=0)
    return max(2.0 * GAP, longest * LETTER + 2 * GAP)


def _rows(count: int, edges: Sequence[tuple[int, int]]) -> list[list[int]]:
    """The nodes in rows from the top to the bottom; empty if edges do not join only neighbours."""
    beside: list[list[int]] = [[] for _ in range(count)]
    for one, other in edges:
        beside[one].append(other)
        beside[other].append(one)
    ends = [node for node in range(count) if len(beside[node]) == 1]
    if not ends:
        return []
    if len(ends) == 2 and max(map(len, beside)) == 2 and len(_distances(beside, ends[:1])) == count:
        distances = _distances(beside, ends[:1])
        return [sorted(distances, key=distances.__getitem__)]
    distances = _distances(beside, ends)
    near = all(abs(distances[one] - distances[other]) == 1 for one, other in edges)
    if not near or len(distances) < count:
        return []
    levels = max(distances.values()) + 1
    rows = [[node for node in range(count) if distances[node] == level] for level in range(levels)]
    for below, row in pairwise(rows):
        places = {node: place for place, node in enumerate(below)}
        row.sort(key=lambda node: _mean([places[one] for one in beside[node] if one in places]))
    return rows[::-1]


def _distances(beside: Sequence[Sequence[int]], starts: Sequence[int]) -> dict[int, int]:
    """The number of edges from each reachable node to the nearest of the starts."""
    distances = dict.fromkeys(starts, 0)
    waiting = deque(starts)
    while waiting:
        node = waiting.popleft()
        for other in beside[node]:
            if other not in distances:
                distances[other] = distances[node] + 1
                waiting.append(other)
    return distances


def _mean(values: Sequence[int]) -> float:
    return sum(values) / len(values) if values else 0.0


def _in_rows(rows: Sequence[Sequence[int]], widths: Sequence[float], space: float) -> list[Point]:
    """Positions in rows, which are all as wide as the widest one."""
    needed = [sum(widths[node] + space for node in row) for row in rows]
    apart = max(_ROW_SPACE, max(needed) / _MOST_FLAT)
    points: dict[int, Point] = {}
    for level, (row, own) in enumerate(zip(rows, needed, strict=True)):
        more = (max(needed) - own) / len(row)
        x = 0.0
        for node in row:
            step = widths[node] + space + more
            points[node] = (x + step / 2, level * apart)
            x += step
    return [points[node] for node in range(len(points))]


def _on_circle(widths: Sequence[float], space: float) -> list[Point]:
    count = len(widths)
    radius = max(count * (max(widths) + space) / (2 * math.pi), float(_ROW_SPACE))
    angles = [2 * math.pi * node / count - math.pi / 2 for node in range(count)]
    return [(radius * math.cos(angle), radius * math.sin(angle)) for angle in angles]


def _node(shown: str, name: str, box: Box) -> list[str]:
    """A node's box, whose title is the node's name."""
    size = f'width="{2 * box.half_width:g}" height="{2 * box.half_height:g}" rx="3"'
    corner = f'x="{box.x - box.half_width:g}" y="{box.y - box.half_height:g}"'
    title = f"<title>{escape(name)}</title>"
    return [f"<rect {corner} {size}>{title}</rect>", *texts([shown] if shown else [], box.x, box.y)]


def _edge(one: Box, other: Box, label: Sequence[str], *, is_used: bool, in_rows: bool) -> list[str]:
    """An edge with its label: above a level edge, and in a gap of any other edge.

    Between rows it joins the middles of sides, so that it crosses no box of the same row.
    """
    x, y = (one.x + other.x) / 2, (one.y + other.y) / 2
    is_level = abs(one.y - other.y) < 1
    longest = max(map(len, label), default=0)
    between = Box(x, y, longest * LETTER / 2 + 2, len(label) * LINE / 2)
    lines = [(one, between), (between, other)] if label and not is_level else [(one, other)]
    pale = "" if is_used else ' class="behind"'
    drawn = []
    for begin, end in lines:
        (x1, y1), (x2, y2) = (
            box.middle(far) if in_rows and box is not between else box.border(far)
            for box, far in ((begin, end), (end, begin))
        )
        drawn.append(f'<path{pale} d="M{x1:g} {y1:g}L{x2:g} {y2:g}"/>')
    first = y - LINE * (len(label) - 0.5) - GAP / 2 if is_level else y - LINE * (len(label) - 1) / 2
    return drawn + texts(label, x, first)
