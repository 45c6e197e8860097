"""One colour and one marker per algorithm, in every figure and report.

Colours are those of Okabe and Ito (2008), which remain distinct under the common kinds of colour
blindness; line style and marker repeat the information for prints without colour. An algorithm
that is not listed gets a fixed, name-dependent choice, so a new control needs no entry here.
"""

from __future__ import annotations

import zlib
from dataclasses import dataclass, replace

BLUE, VERMILLION, GREEN = "#0072B2", "#D55E00", "#009E73"
ORANGE, SKY, PURPLE = "#E69F00", "#56B4E9", "#CC79A7"
BLACK, GREY, LIGHT = "#1A1A1A", "#6B6B6B", "#ABABAB"

Dash = str | tuple[int, tuple[int, ...]]


@dataclass(frozen=True)
class Style:
    """How one algorithm is drawn; values are Matplotlib's."""

    colour: str
    marker: str
    dash: Dash = "-"
    hatch: str = ""


_DASHED: Dash = (0, (6, 2))
_DOTTED: Dash = (0, (1, 1))
_DASH_DOT: Dash = (0, (6, 2, 1, 2))

#: The registry. Keys are the names of controls, startups and routers.
STYLES: dict[str, Style] = {
    "reno": Style(BLUE, "o"),
    "htcp": Style(VERMILLION, "s", _DASHED, "//"),
    "cubic26": Style(GREEN, "^", _DASH_DOT, ".."),
    "cubic": Style(PURPLE, "v", "-", "\\\\"),
    "bic": Style(ORANGE, "D", _DASHED, "xx"),
    "compound": Style(SKY, "P", "-", "++"),
    "fast": Style(ORANGE, "X", _DOTTED, "oo"),
    "hybla": Style(SKY, "p", _DASH_DOT, "--"),
    "bbr": Style(BLACK, "*", _DASHED, "||"),
    "slow-start": Style(BLACK, "o"),
    "initial-start": Style(ORANGE, "s", _DASHED, "//"),
    "mega-start": Style(GREEN, ">", _DASH_DOT, ".."),
    "quick-start": Style(BLUE, "d", _DOTTED, "oo"),
    "jump-start": Style(VERMILLION, "<", _DOTTED, "--"),
    "xcp": Style(PURPLE, ">", _DASHED, "xx"),
    "rcp": Style(GREEN, "h", _DOTTED, "++"),
    "vcp": Style(ORANGE, "8", "-", "||"),
    "maxnet": Style(BLACK, "D", "-", "//"),
}

#: Things that are not algorithms.
VOIP = Style(BLACK, ".", "-")
QUEUE = Style(LIGHT, ".", "-")
PUBLISHED = Style(BLACK, "_", _DOTTED)

_COLOURS = (BLUE, VERMILLION, GREEN, PURPLE, ORANGE, SKY)
_MARKERS = "os^vDPX*phd<>8"
_DASHES: tuple[Dash, ...] = ("-", _DASHED, _DOTTED, _DASH_DOT)
_HATCHES = ("", "//", "..", "xx", "\\\\", "++", "oo")


def style_of(name: str) -> Style:
    """The style of an algorithm.

    Args:
        name: a control ("cubic") or a control with a startup ("cubic+jump-start"), which keeps
            the control's colour and takes the startup's marker and dash.

    Returns:
        its style; for an unlisted name one that depends on nothing but the name.
    """
    control, _, startup = name.partition("+")
    if startup:
        other = style_of(startup)
        return replace(style_of(control), marker=other.marker, dash=other.dash)
    if name in STYLES:
        return STYLES[name]
    number = zlib.crc32(name.encode())
    return Style(
        _COLOURS[number % len(_COLOURS)],
        _MARKERS[number // 7 % len(_MARKERS)],
        _DASHES[number // 101 % len(_DASHES)],
        _HATCHES[number // 409 % len(_HATCHES)],
    )
