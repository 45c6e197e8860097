"""Parts of sketches: text, the picture around it, and the sizes that all sketches share."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from html import escape

LETTER = 6.1
"""Assumed width of a letter at font size ``SIZE``, since the reader's font is unknown."""
SIZE, LINE = 11, 14
GAP = 8


@dataclass(frozen=True)
class Sketch:
    """An ``<svg>`` element as text, and its caption."""

    svg: str
    caption: str


def texts(lines: Sequence[str], x: float, y: float) -> list[str]:
    """SVG texts for lines that are centred at x; the middle of the first line is at y."""
    return [
        f'<text x="{x:g}" y="{y + number * LINE + SIZE * 0.36:g}">{escape(line)}</text>'
        for number, line in enumerate(lines)
    ]


def svg(parts: Sequence[str], width: float, height: float, caption: str) -> str:
    """The picture with these parts, as an ``<svg>`` element."""
    sizes = f"width: {1.4 * width:.0f}px; min-width: {0.9 * width:.0f}px"
    return (
        f'<svg class="sketch" role="img" aria-label="{escape(caption)}" style="{sizes}" '
        f'viewBox="0 0 {width:g} {height:g}" '
        f'fill="none" stroke="currentColor" xmlns="http://www.w3.org/2000/svg">'
        f"<style>.sketch text {{ fill: currentColor; stroke: none; text-anchor: middle; "
        f"font: {SIZE}px sans-serif }} .sketch .behind {{ opacity: 0.5 }}</style>"
        f"{''.join(parts)}</svg>"
    )
