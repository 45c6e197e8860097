"""Colours of figures on a dark page: the same hues, light enough to be visible.

Greys are mapped from the range black to white to the range ink to paper of the page. Colours keep
their hue; their lightness moves into the upper part of the scale, so that shades keep their order.
"""

from __future__ import annotations

import colorsys
import re
from collections.abc import Iterable

INK, PAPER = "#e6e8ea", "#15181b"
"""Background and text colour of the page's dark colour scheme (page.css)."""
_DARKEST, _SPAN = 0.36, 0.45
"""Lightness that black gets on a dark page, and the difference between the lightness of white and
of black."""
_SATURATION = 0.75
"""Factor that reduces the saturation, since bright and saturated colours glare on black."""
_GREY = 10
"""Colours whose components differ by less than this are greys."""
_PAINTED = re.compile(r"(fill|stroke): (#[0-9a-f]{6})\b")


def dark_colour(colour: str) -> str:
    """The colour ("#0072b2") that a dark page shows instead."""
    red, green, blue = _parts(colour)
    if max(red, green, blue) - min(red, green, blue) < _GREY:
        part = (red + green + blue) / 3 / 255
        ends = zip(_parts(INK), _parts(PAPER), strict=True)
        return _hex(*((1 - part) * ink + part * paper for ink, paper in ends))
    hue, lightness, saturation = colorsys.rgb_to_hls(red / 255, green / 255, blue / 255)
    moved = _DARKEST + _SPAN * lightness
    painted = colorsys.hls_to_rgb(hue, moved, _SATURATION * saturation)
    return _hex(*(255 * part for part in painted))


def rules(pictures: Iterable[str]) -> str:
    """Style rules for all colours in these SVGs, one per line.

    The selectors have no parent element, because copies made by ``<use>``, such as markers and
    ticks, have none.
    """
    painted = sorted({match for svg in pictures for match in _PAINTED.findall(svg)})
    return "\n".join(
        f'[style*="{what}: {colour}"] {{ {what}: {dark_colour(colour)} !important; }}'
        for what, colour in painted
    )


def darkened(svg: str) -> str:
    """A copy of the SVG for a dark page."""
    painted = _PAINTED.sub(lambda match: f"{match[1]}: {dark_colour(match[2])}", svg)
    return painted.replace("*{", f"text{{fill: {INK}}} *{{", 1)


def contrast(one: str, other: str) -> float:
    """Contrast ratio of two colours by WCAG 2.1, from 1 to 21."""
    light, dark = sorted((_luminance(one), _luminance(other)), reverse=True)
    return (light + 0.05) / (dark + 0.05)


def _luminance(colour: str) -> float:
    linear = (
        part / 12.92 if part <= 0.04045 else ((part + 0.055) / 1.055) ** 2.4
        for part in (value / 255 for value in _parts(colour))
    )
    return sum(weight * part for weight, part in zip((0.2126, 0.7152, 0.0722), linear, strict=True))


def _parts(colour: str) -> tuple[int, int, int]:
    return int(colour[1:3], 16), int(colour[3:5], 16), int(colour[5:7], 16)


def _hex(*parts: float) -> str:
    return "#" + "".join(f"{round(part):02x}" for part in parts)
