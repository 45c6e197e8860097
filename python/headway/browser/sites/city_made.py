"""Generates the site ``city``: glTF tiles of four districts, and the script that shows them.

The thesis' client fetched models of cities, the largest of more than 80 MB (section 7.2.3). They
are not published, so this module generates models of houses whose walls are pictures. The server
sends the tiles of a district as one pack, as the thesis' server answered a change of the view: one
line of JSON with names and sizes, then the files. Textures are not compressed, so that the network
and not decoding takes the time.
"""

from __future__ import annotations

import json
import shutil
import subprocess
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

import numpy as np
import numpy.typing as npt

from headway.browser.sites import Object
from headway.browser.sites.gltf import Mesh, boxes, glb
from headway.browser.sites.png import png
from headway.errors import HeadwayError
from headway.workloads.draws import Stream

TILE_M = 110.0
STREET_M = 16.0
FAR_PX = 64
_HERE = Path(__file__).parent / "city"
_PROGRAM = ("index.html", "site.css", "city.js", "scenery.js", "loader.js", "walk.json")
_LIBRARY = {
    "build/three.module.js": "three.module.js",
    "build/three.core.js": "three.core.js",
    "examples/jsm/loaders/GLTFLoader.js": "addons/loaders/GLTFLoader.js",
    "examples/jsm/utils/BufferGeometryUtils.js": "addons/utils/BufferGeometryUtils.js",
    "examples/jsm/utils/SkeletonUtils.js": "addons/utils/SkeletonUtils.js",
}
_LIGHT = np.array([0.95, 0.62, 0.5, 0.8, 0.75], dtype=np.float32)
"""Evening light on walls to the south, east, north and west, and on roofs."""


@dataclass(frozen=True)
class Quarter:
    """A district of the city: its position, tiles per side, texture size in pixels, and houses."""

    name: str
    title: str
    at_m: tuple[float, float]
    tiles: int
    texture_px: int
    lowest_m: float
    highest_m: float
    wall: tuple[int, int, int]


QUARTERS = (
    Quarter("harbour", "Harbour", (0, 0), 3, 540, 9, 24, (96, 78, 78)),
    Quarter("old-town", "Old town", (900, -250), 4, 620, 12, 30, (116, 92, 72)),
    Quarter("towers", "Towers", (2100, 0), 8, 664, 28, 250, (58, 70, 92)),
    Quarter("gardens", "Gardens", (3300, -300), 3, 400, 6, 12, (104, 104, 88)),
)
"""The city's four districts; their files have about 8, 18, 85 and 4 MB."""


def make(folder: Path) -> list[Object]:
    """Write the site's files; return its objects: packs, and the tiles within them."""
    program = folder / "program"
    program.mkdir()
    for name in _PROGRAM:
        shutil.copy(_HERE / name, program)
    _install(program)
    data = folder / "data"
    data.mkdir()
    objects: list[Object] = []
    world = []
    for quarter in QUARTERS:
        for detail, size_px in (("far", FAR_PX), ("near", quarter.texture_px)):
            files = {
                f"/data/{quarter.name}/{detail}/{number}.glb": tile
                for number, tile in enumerate(_tiles(quarter, size_px))
            }
            head = json.dumps([[path, len(tile)] for path, tile in files.items()]).encode() + b"\n"
            content = head + b"".join(files.values())
            pack = f"/data/{quarter.name}-{detail}.pack"
            (folder / pack[1:]).write_bytes(content)
            number = len(objects)
            objects.append(Object(pack, len(content), None))
            objects += [Object(path, len(tile), None, number) for path, tile in files.items()]
            world.append(
                {"name": quarter.name, "title": quarter.title, "detail": detail, "pack": pack,
                 "at": quarter.at_m, "tiles": list(files), "bytes": len(content),
                 "side": quarter.tiles * TILE_M}
            )  # fmt: skip
    (program / "world.json").write_text(json.dumps(world), encoding="utf-8")
    return objects


def _install(program: Path) -> None:
    """Install the version of three.js in the lock file. Raises HeadwayError."""
    npm = shutil.which("npm")
    if npm is None:
        raise HeadwayError("site city: npm is not installed; it is needed to fetch three.js")
    within = program.parent / "npm"
    within.mkdir()
    for name in ("package.json", "package-lock.json"):
        shutil.copy(_HERE / name, within)
    done = subprocess.run(
        [npm, "ci", "--ignore-scripts", "--no-audit", "--no-fund"],
        cwd=within, capture_output=True, text=True, check=False,
    )  # fmt: skip
    if done.returncode != 0:
        raise HeadwayError(f"site city: npm ci: {done.stderr.strip()[-300:]}")
    for source, name in _LIBRARY.items():
        (program / name).parent.mkdir(parents=True, exist_ok=True)
        shutil.copy(within / "node_modules" / "three" / source, program / name)
    shutil.rmtree(within)


def _tiles(quarter: Quarter, size_px: int) -> Iterator[bytes]:
    """The tiles of a district, row by row. The houses do not depend on ``size_px``."""
    draw = Stream(f"city/{quarter.name}")
    for row in range(quarter.tiles):
        for column in range(quarter.tiles):
            middle = (quarter.tiles - 1) / 2
            offset = np.array([column - middle, row - middle]) * TILE_M + quarter.at_m
            mesh = _houses(quarter, offset, np.hypot(column - middle, row - middle), draw)
            lit = Stream(f"city/{quarter.name}/{row}/{column}")
            yield glb(mesh, png(_walls(quarter, size_px, lit), 0))


def _houses(
    quarter: Quarter, offset: npt.NDArray[np.float64], off_centre: float, draw: Stream
) -> Mesh:
    """A block of houses around a yard, higher towards the middle of the district."""
    room_m = (TILE_M - STREET_M) / 2
    per_side = 4
    step = 2 * room_m / per_side
    places = [
        (column, row)
        for row in range(per_side)
        for column in range(per_side)
        if row in (0, per_side - 1) or column in (0, per_side - 1) or draw.uniform(1)[0] < 0.35
    ]
    at = np.array(places) * step - room_m
    gap = 0.5 + 3 * draw.uniform(2 * len(at)).reshape(-1, 2)
    rise = np.exp(-off_centre / 2.2) if quarter.highest_m > 60 else 1.0
    span_m = quarter.highest_m - quarter.lowest_m
    share = 0.45 * (draw.uniform(len(at)) + draw.uniform(len(at)))
    heights = quarter.lowest_m + span_m * rise * share
    low = np.stack([at[:, 0], np.zeros(len(at)), at[:, 1]], axis=1)
    high = np.stack([at[:, 0] + step - gap[:, 0], heights, at[:, 1] + step - gap[:, 1]], axis=1)
    move = np.array([offset[0], 0, offset[1]])
    wall = draw.below(_FACADES, len(at))
    left = (wall + 0.2 * draw.uniform(len(at))) / _FACADES
    # all storeys have the same height, so a low house shows a smaller part of the wall's picture
    part = np.clip(heights / max(quarter.highest_m, 40), 0.08, 1) * _WALL_PART
    facade = np.stack([left, left + 0.7 / _FACADES, np.full(len(at), 1.0), 1 - part], axis=1)
    return boxes(
        (low + move).astype(np.float32), (high + move).astype(np.float32),
        facade.astype(np.float32), (0.5, _ROOF_PART / 2), _LIGHT,
    )  # fmt: skip


_FACADES = 4
_ROOF_PART = 0.04
_WALL_PART = 0.94
_STOREYS, _WINDOWS = 42, 9


def _walls(quarter: Quarter, size_px: int, draw: Stream) -> npt.NDArray[np.uint8]:
    """Four walls side by side with windows, some of them lit; the top rows are the roofs."""
    y, x = np.mgrid[0:size_px, 0:size_px] / size_px
    column = x * _FACADES * _WINDOWS
    storey = (1 - y) * _STOREYS
    inside = (np.abs(column % 1 - 0.5) < 0.3) & (np.abs(storey % 1 - 0.48) < 0.3)
    lit_part = 0.18 + 0.27 * draw.uniform(_FACADES)
    places = (_STOREYS + 1, _FACADES * _WINDOWS + 1)
    windows, warm = draw.uniform(2 * places[0] * places[1]).reshape(2, *places)
    warm = 0.65 + 0.35 * warm
    at = (storey.astype(int), column.astype(int))
    facade = np.minimum((x * _FACADES).astype(int), _FACADES - 1)
    is_lit = windows[at] < lit_part[facade]
    tint = (0.75 + 0.5 * draw.uniform(_FACADES))[facade]
    speckles = draw.uniform(2 * size_px**2).reshape(2, size_px, size_px)
    grain = 1 + 0.147 * (speckles.sum(axis=0) - 1)
    wall = np.array(quarter.wall) * (tint * grain)[..., None]
    dark = np.array([26, 34, 52]) * np.ones((size_px, size_px, 1))
    glow = np.array([255, 206, 128]) * warm[at][..., None]
    picture = np.where(inside[..., None], np.where(is_lit[..., None], glow, dark), wall)
    picture[y < _ROOF_PART] = np.array(quarter.wall) * 0.55
    return np.clip(picture, 0, 255).astype(np.uint8)
