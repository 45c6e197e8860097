"""One colour, one marker and one printed name per scheme, for all figures and reports.

The colours are those of Okabe and Ito (2008), which remain distinct under the common kinds of
colour blindness. Line style and marker repeat the information for prints without colour. Variants
of a scheme have shades of its colour, and so have several flows of one control. A scheme that is
not listed gets a fixed style that depends on its name, so a new control needs no entry.
"""

from __future__ import annotations

import math
import zlib
from dataclasses import dataclass, replace

BLUE, VERMILLION, GREEN = "#0072B2", "#D55E00", "#009E73"
ORANGE, SKY, PURPLE = "#E69F00", "#56B4E9", "#CC79A7"
BLACK, GREY, LIGHT = "#1A1A1A", "#6B6B6B", "#ABABAB"

Dash = str | tuple[int, tuple[int, ...]]


@dataclass(frozen=True)
class Style:
    """The style of one algorithm, in Matplotlib's terms."""

    colour: str
    marker: str
    dash: Dash = "-"
    hatch: str = ""


_DASHED: Dash = (0, (6, 2))
_DOTTED: Dash = (0, (2, 1))
_DASH_DOT: Dash = (0, (6, 2, 1, 2))


def shade(colour: str, part: float) -> str:
    """A colour mixed with white (``part`` from 0 to 1) or with black (``part`` from -1 to 0)."""
    end = 255 if part > 0 else 0
    levels = [int(colour[at : at + 2], 16) for at in (1, 3, 5)]
    return "#" + "".join(f"{round(one + abs(part) * (end - one)):02X}" for one in levels)


def colour_distance(one: str, other: str) -> float:
    """The visible difference of two colours: their distance in CIE's L*a*b* of 1976.

    A distance of about 2 is just visible side by side; lines need more.
    """
    places = zip(_lab(one), _lab(other), strict=True)
    return math.sqrt(sum((a - b) ** 2 for a, b in places))


def _lab(colour: str) -> tuple[float, float, float]:
    levels = (int(colour[at : at + 2], 16) / 255 for at in (1, 3, 5))
    red, green, blue = (
        level / 12.92 if level <= 0.04045 else ((level + 0.055) / 1.055) ** 2.4 for level in levels
    )
    x = (0.4124 * red + 0.3576 * green + 0.1805 * blue) / 0.9505
    y = 0.2126 * red + 0.7152 * green + 0.0722 * blue
    z = (0.0193 * red + 0.1192 * green + 0.9505 * blue) / 1.089
    x, y, z = (one ** (1 / 3) if one > 0.008856 else 7.787 * one + 16 / 116 for one in (x, y, z))
    return 116 * y - 16, 500 * (x - y), 200 * (y - z)


#: Styles by the names of controls, startups, routers and the studies' variants of them.
STYLES: dict[str, Style] = {
    "reno": Style(BLUE, "o"),
    "htcp": Style(VERMILLION, "s", _DASHED, "//"),
    "cubic26": Style(GREEN, "^", _DASH_DOT, ".."),
    "cubic": Style(PURPLE, "v", "-", "\\\\"),
    "bic": Style(ORANGE, "D", _DASHED, "xx"),
    "compound": Style(SKY, "P", "-", "++"),
    "fast": Style(ORANGE, "X", _DOTTED, "oo"),
    "hybla": Style(SKY, "p", _DASH_DOT, "--"),
    "scalable": Style(VERMILLION, "v", _DOTTED, "oo"),
    "highspeed": Style(GREEN, "d", _DASHED, "xx"),
    "westwood": Style(PURPLE, "d", _DASH_DOT, "++"),
    "bbr": Style(BLACK, "*", _DASHED, "||"),
    "bbr3": Style(shade(BLACK, 0.4), "X", _DASH_DOT, "++"),
    "dctcp": Style(shade(SKY, -0.35), "p", _DOTTED, "//"),
    "prague": Style(shade(VERMILLION, -0.4), "*", "-", "oo"),
    "vegas": Style(GREEN, "H", "-", "\\\\"),
    "illinois": Style(BLUE, "D", _DOTTED, "--"),
    "slow-start": Style(BLACK, "o"),
    "slow-start-red": Style(PURPLE, "H", _DASH_DOT, "\\\\"),
    "hystart": Style(GREY, "v", _DASHED, "xx"),
    "hystart-plus-plus": Style(GREY, "P", _DOTTED, "++"),
    "careful-resume": Style(PURPLE, "*", _DASHED, "||"),
    "initial-start": Style(ORANGE, "s", _DASHED, "//"),
    "initial-start-100": Style(shade(ORANGE, -0.4), "X", _DASH_DOT, "xx"),
    "jump-start": Style(VERMILLION, "<", _DOTTED, "--"),
    "jump-start-10": Style(shade(VERMILLION, -0.4), "p", _DASH_DOT, "||"),
    "mega-start": Style(GREEN, ">", _DASH_DOT, ".."),
    "quick-start": Style(BLUE, "d", _DOTTED, "oo"),
    "quick-start-late": Style(shade(BLUE, 0.45), "D", _DASHED, "++"),
    "quick-start-chi": Style(shade(BLUE, -0.45), "^", _DASHED, "xx"),
    "quick-start-5": Style(shade(BLUE, 0.3), "^", _DASHED, "xx"),
    "quick-start-b": Style(shade(PURPLE, -0.35), "v", _DASH_DOT, "//"),
    "quick-start-1000ms": Style(shade(BLUE, -0.45), "s", "-", "//"),
    "quick-start-adaptive": Style(shade(BLUE, 0.45), "8", _DASH_DOT, "||"),
    "quick-start-fair": Style(PURPLE, "h", "-", "--"),
    "quick-start-optimistic": Style(SKY, "v", "-", ".."),
    "quick-start-chi-optimistic": Style(shade(SKY, -0.45), "p", _DASH_DOT, "\\\\"),
    "xcp": Style(PURPLE, ">", _DASHED, "xx"),
    "rcp": Style(GREEN, "h", _DOTTED, "++"),
    "vcp": Style(ORANGE, "8", "-", "||"),
    "mpcp": Style(BLUE, "P", _DASH_DOT, "++"),
    "maxnet": Style(BLACK, "D", "-", "//"),
    "xcp_pep": Style(shade(GREEN, -0.4), "<", "-", "//"),
    "mpcp_pep": Style(shade(BLUE, -0.3), "s", _DOTTED, "xx"),
    "vcp_pep": Style(shade(ORANGE, -0.35), "H", _DASHED, "oo"),
}

#: Printed names of schemes. A scheme that is not listed keeps its name.
LABELS: dict[str, str] = {
    "reno": "Reno",
    "htcp": "H-TCP",
    "cubic26": "CUBIC of Linux 2.6",
    "cubic": "CUBIC",
    "bic": "BIC",
    "compound": "Compound",
    "fast": "FAST",
    "hybla": "Hybla",
    "bbr": "BBR",
    "bbr3": "BBRv3",
    "vegas": "Vegas",
    "illinois": "Illinois",
    "westwood": "Westwood+",
    "scalable": "Scalable",
    "highspeed": "HighSpeed",
    "dctcp": "DCTCP",
    "prague": "Prague",
    "slow-start": "Slow-Start",
    "slow-start-red": "Slow-Start, RED",
    "hystart": "HyStart",
    "hystart-plus-plus": "HyStart++",
    "careful-resume": "Careful Resume",
    "initial-start": "Initial-Start",
    "initial-start-100": "Initial-Start, 100 L",
    "jump-start": "Jump-Start",
    "jump-start-10": "Jump-Start, 10 L",
    "mega-start": "Mega-Start",
    "quick-start": "Quick-Start",
    "quick-start-late": "Quick-Start, late",
    "xcp": "XCP",
    "rcp": "RCP",
    "vcp": "VCP",
    "mpcp": "MPCP",
    "maxnet": "MaxNet",
    "xcp_pep": "XCP PEP",
    "mpcp_pep": "MPCP PEP",
    "vcp_pep": "VCP PEP",
    "voip": "VoIP",
    "cbr": "constant rate",
}

#: Styles of things that are not algorithms.
VOIP = Style(BLACK, ".", "-")
QUEUE = Style(LIGHT, ".", "-")
PUBLISHED = Style(BLACK, "x", _DOTTED)

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
        its style. The style of an unlisted name depends only on the name; a variant of a listed
        scheme ("jump-start-20") gets a shade of the scheme's colour.
    """
    control, _, startup = name.partition("+")
    if startup:
        other = style_of(startup)
        return replace(style_of(control), marker=other.marker, dash=other.dash)
    if name in STYLES:
        return STYLES[name]
    number = zlib.crc32(name.encode())
    marker = _MARKERS[number // 7 % len(_MARKERS)]
    families = [listed for listed in STYLES if name.startswith(f"{listed}-")]
    if families:
        return replace(variant_of(STYLES[max(families, key=len)], 1 + number % 4), marker=marker)
    return Style(
        _COLOURS[number % len(_COLOURS)],
        marker,
        _DASHES[number // 101 % len(_DASHES)],
        _HATCHES[number // 409 % len(_HATCHES)],
    )


def label_of(name: str) -> str:
    """The printed name of a control or startup: "CUBIC with Jump-Start" for "cubic+jump-start"."""
    return " with ".join(LABELS.get(one, one.replace("_", " ")) for one in name.split("+"))


_SHADES = (0.0, 0.4, -0.25, 0.65, -0.5)
_SHADES_OF_DARK = (0.0, 0.6, 0.2, 0.75, 0.4)
"""Shades for several flows of one control. Lines with the same dash pattern get clearly different
shades."""


def variant_of(style: Style, number: int) -> Style:
    """The style of one of several flows of a control: a shade of its colour and another dash.

    Args:
        style: the control's style.
        number: number of the flow, >= 0. Flow 0 keeps the control's style; styles repeat from
            flow 20 on.
    """
    dashes = (style.dash, *(dash for dash in _DASHES if dash != style.dash))
    dark = max(int(style.colour[at : at + 2], 16) for at in (1, 3, 5)) < 0x70
    part = (_SHADES_OF_DARK if dark else _SHADES)[number % len(_SHADES)]
    return replace(style, colour=shade(style.colour, part), dash=dashes[number % len(_DASHES)])
