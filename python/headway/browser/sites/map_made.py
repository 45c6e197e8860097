"""Generates the site ``map``: scripts and tiles as on OpenStreetMap's page in 2009, 1.5 MB.

The thesis mirrored that page (section 7.1.3): several large scripts are loaded first, one after the
other, then the tiles. The thesis' copy is not published, so we chose the sizes; the scripts have
the sizes of Prototype and OpenLayers, libraries that such pages use. The town does not exist.
"""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import numpy as np
import numpy.typing as npt

from headway.browser.sites import Object
from headway.browser.sites.png import png

SCRIPTS_BYTES = {
    "prototype.js": 136_000,
    "effects.js": 38_000,
    "openlayers.js": 742_000,
    "openstreetmap.js": 9_000,
    "map.js": 24_000,
}
"""Scripts in the order in which the page needs them."""
ACROSS, DOWN, TILE_PX = 7, 5, 256
_SEED = 2009
_STEP = 5
"""Colour values are rounded to multiples of this step. Fewer shades make a tile's file as small as
in 2009."""
_HERE = Path(__file__).parent / "map"
_LAND, _WATER, _PARK, _FOREST = "#f2efe9", "#aad3df", "#c8e6b4", "#add19e"
_BUILDING, _EDGE = "#d9d0c9", "#c2b5ab"
_ROADS = (("#ffffff", "#d6d2cb", 2.4), ("#fcd6a4", "#d2a567", 5.0), ("#e892a2", "#b8546b", 7.5))
"""Colour, edge colour and width of streets, avenues and the motorway."""


def make(folder: Path) -> list[Object]:
    """Write the site's files; return its objects in the order of the page's requests."""
    objects = []

    def add(name: str, content: bytes, after: int | None) -> None:
        at = folder / name
        at.parent.mkdir(exist_ok=True)
        at.write_bytes(content)
        objects.append(Object(f"/{name}", len(content), after))

    add("index.html", (_HERE / "index.html").read_bytes(), None)
    add("site.css", (_HERE / "site.css").read_bytes(), 0)
    names = list(SCRIPTS_BYTES)
    for number, (name, size_bytes) in enumerate(SCRIPTS_BYTES.items()):
        own = (_HERE / name).read_text(encoding="utf-8") if name == "map.js" else ""
        following = names[number + 1] if number + 1 < len(names) else None
        before = len(objects) - 1 if number else 0
        add(f"scripts/{name}", script(size_bytes, own, following, number), before)
    last = len(objects) - 1
    for x, y, tile in tiles():
        add(f"tiles/{x}-{y}.png", png(tile), last)
    return objects


def script(size_bytes: int, own: str, following: str | None, seed: int) -> bytes:
    """A script of ``size_bytes``: code, padding, and the tag that loads the next script.

    The padding consists of unused functions.
    """
    draw = np.random.default_rng(_SEED + seed)
    begin = f"{own}\nvar Library{seed} = {{\n"
    end = "  version: '2009'\n};\n"
    if following:
        end += f"document.write(\"<script src='scripts/{following}'><\\/script>\");\n"
    parts, left = [begin], size_bytes - len(begin) - len(end)
    number = 0
    while left > 400:
        a, b, c = draw.integers(1, 10_000, 3)
        part = (
            f"  method{number}: function (element, options) {{\n"
            f"    var width = options.width || {a}, height = options.height || {b};\n"
            f"    if (element.at > {c}) {{ return this.method{max(number - 1, 0)}(element); }}\n"
            f"    return {{ left: width - {a % 97}, top: height + {b % 89}, layer: {c % 19} }};\n"
            "  },\n"
        )
        parts.append(part)
        left -= len(part)
        number += 1
    parts.append(f"  // {'-' * (left - 6)}\n")
    return "".join([*parts, end]).encode()


def tiles() -> Iterator[tuple[int, int, npt.NDArray[np.uint8]]]:
    """The town's tiles: column, row, pixels."""
    town = _town()
    for y in range(DOWN):
        for x in range(ACROSS):
            rows = slice(y * TILE_PX, (y + 1) * TILE_PX)
            yield x, y, town[rows, x * TILE_PX : (x + 1) * TILE_PX]


def _town() -> npt.NDArray[np.uint8]:
    """A town with a river, parks, streets and houses, as pixels of shape (height, width, 3)."""
    from matplotlib.backends.backend_agg import FigureCanvasAgg
    from matplotlib.figure import Figure
    from matplotlib.patches import Ellipse, Polygon, Rectangle

    width, height = ACROSS * TILE_PX, DOWN * TILE_PX
    draw = np.random.default_rng(_SEED)
    figure = Figure(figsize=(width / 100, height / 100), dpi=100, facecolor=_LAND)
    canvas = FigureCanvasAgg(figure)
    ax = figure.add_axes((0, 0, 1, 1))
    ax.set(xlim=(0, width), ylim=(0, height))
    ax.axis("off")

    along = np.linspace(-50, width + 50, 200)
    middle = 0.30 * height + 120 * np.sin(along / 330) + 50 * np.sin(along / 120)
    river = np.concatenate([np.c_[along, middle - 46], np.c_[along, middle + 46][::-1]])

    def streets_of(turn: float, pitch: float) -> Iterator[npt.NDArray[np.float64]]:
        reach = width + height
        for number, offset in enumerate(np.arange(-reach, reach, pitch)):
            at = np.linspace(-reach, reach, 90)
            bend = 26 * np.sin(at / 260 + number * 0.25)
            x = width / 2 + at * np.cos(turn) - (offset + bend) * np.sin(turn)
            y = height / 2 + at * np.sin(turn) + (offset + bend) * np.cos(turn)
            yield np.c_[x, y]

    turn = 0.22
    for _ in range(7):
        place = (draw.uniform(0, width), draw.uniform(0, height))
        colour = (_PARK, _FOREST)[draw.integers(2)]
        size = draw.uniform(150, 330, 2)
        ax.add_patch(Ellipse(place, *size, angle=draw.uniform(0, 90), color=colour, zorder=1))
    for offset_x in np.arange(-width, 2 * width, 22.0):
        for offset_y in np.arange(-height, 2 * height, 19.0):
            if draw.uniform() < 0.28:
                continue
            a, b = offset_x - width / 2, offset_y - height / 2
            x = width / 2 + a * np.cos(turn) - b * np.sin(turn)
            y = height / 2 + a * np.sin(turn) + b * np.cos(turn)
            if not (-30 < x < width + 30 and -30 < y < height + 30):
                continue
            if abs(y - np.interp(x, along, middle)) < 80:
                continue
            ax.add_patch(
                Rectangle(
                    (x, y), draw.uniform(8, 17), draw.uniform(7, 14), angle=np.degrees(turn),
                    facecolor=_BUILDING, edgecolor=_EDGE, linewidth=0.6, zorder=2,
                )
            )  # fmt: skip
    ax.add_patch(Polygon(river, closed=True, color=_WATER, zorder=3))
    lines = [
        *((0, line) for line in streets_of(turn, 88.0)),
        *((0, line) for line in streets_of(turn + np.pi / 2, 132.0)),
        *((1, line) for line in streets_of(turn, 528.0)),
        *((1, line) for line in streets_of(turn + np.pi / 2, 660.0)),
        (2, np.c_[along, 0.74 * height + 90 * np.sin(along / 420 + 1)]),
    ]
    for edge in (True, False):
        for kind, line in lines:
            colour, border, thick = _ROADS[kind]
            ax.plot(
                *line.T, color=border if edge else colour, zorder=4 + kind + 0.5 * (not edge),
                linewidth=thick + (1.6 if edge else 0), solid_capstyle="round",
            )  # fmt: skip
    canvas.draw()  # type: ignore[no-untyped-call]
    drawn = np.asarray(canvas.buffer_rgba())[..., :3]  # type: ignore[no-untyped-call]
    return (np.round(drawn / _STEP) * _STEP).astype(np.uint8)
