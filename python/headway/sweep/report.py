"""The page of a sweep: one HTML file that opens offline, with all rows of its table.

The rows are in the page column by column, compressed: texts and values of fields as numbers of
levels, metrics in single precision, whose seven digits are more than a screen shows.
"""

from __future__ import annotations

import base64
import json
import zlib
from collections.abc import Sequence
from html import escape
from importlib import resources
from pathlib import Path
from typing import Any

import numpy as np
import polars as pl

from headway.figures.style import BLUE, GREEN, GREY, ORANGE, PURPLE, SKY, VERMILLION, shade
from headway.files import save_text
from headway.report.dark import dark_colour
from headway.sweep.collect import Table
from headway.sweep.plan import Plan
from headway.versions import versions

_COLOURS = [BLUE, VERMILLION, GREEN, PURPLE, ORANGE, SKY, GREY]
_LEVELS = 1 << 16
_LEFT_OUT = ("flow_count",)


def save_page(sweep: Plan, table: Table, folder: Path, to: Path) -> None:
    """Write the page of a sweep's table. ``folder`` has its results, which commands name."""
    save_text(to, page(sweep, table, folder))


def page(sweep: Plan, table: Table, folder: Path) -> str:
    """The page of a sweep's table, as HTML."""
    parts: list[bytes] = []
    columns = [
        _column(sweep, table, name, parts)
        for name in table.frame.columns
        if name not in _LEFT_OUT and not _is_empty(table.frame[name])
    ]
    keys = _keys(sweep, table, parts)
    about = {
        "rows": table.frame.height,
        "columns": columns,
        "colours": [[one, dark_colour(one.lower())] for one in _palette()],
        "command": _command(sweep, table, folder, keys),
        "name": sweep.name,
    }
    said = versions()
    subtitle = f"{table.frame.height:,} rows, Headway {said['headway']}, engine {said['engine']}"
    if table.failed or table.missing:
        subtitle += f", {table.failed} failed runs, {table.missing} rows missing"
    texts = {
        "TITLE": escape(f"Sweep {sweep.name}"),
        "SUBTITLE": escape(subtitle),
        "STYLE": _file("page.css", "headway.report") + _file("report.css"),
        "SCRIPT": _file("report_draw.js") + _file("report.js"),
        "ABOUT": json.dumps(about, allow_nan=False).replace("</", "<\\/"),
        "DATA": base64.b64encode(zlib.compress(b"".join(parts), 6)).decode(),
    }
    made = _file("report.html")
    for name, text in texts.items():
        made = made.replace(f"@{name}@", text)
    return made


def _file(name: str, package: str = "headway.sweep") -> str:
    return (resources.files(package) / name).read_text(encoding="utf-8")


def _palette() -> list[str]:
    return [*_COLOURS, *(shade(one, 0.45) for one in _COLOURS[:-1])]


def _is_empty(column: pl.Series) -> bool:
    return column.null_count() == len(column) or column.name in ("replication",)


def _column(sweep: Plan, table: Table, name: str, parts: list[bytes]) -> dict[str, Any]:
    """A column's description; its data is added to ``parts``, aligned to 4 bytes."""
    series = table.frame[name]
    axis = next((one for one in table.axes if one.column == name), None)
    about: dict[str, Any] = {"name": name, "role": "metric" if name in table.metrics else "other"}
    if name == "class" or axis is not None:
        about["role"] = "axis"
    if axis is not None:
        about["field"] = axis.name
    levels = series.drop_nulls().unique(maintain_order=True)
    is_text = series.dtype == pl.String or not series.dtype.is_numeric()
    if (axis is not None or is_text) and len(levels) < _LEVELS:
        values = levels.to_list() if is_text else sorted(levels.to_list())
        codes = {value: code for code, value in enumerate(values)}
        missing = len(values)
        data = np.array([codes.get(one, missing) for one in series.to_list()], dtype=np.uint16)
        about |= {"kind": "levels", "levels": [str(v) if is_text else v for v in values],
                  "is_text": is_text}  # fmt: skip
        if axis is not None:
            about["written"] = _written(sweep, axis.name, axis, values)
    elif name in ("row", "seed") and (series.max() or 0) < 2**32:  # type: ignore[operator]
        data = series.fill_null(0).to_numpy().astype(np.uint32)
        about["kind"] = "whole"
    else:
        data = series.cast(pl.Float64).fill_null(float("nan")).to_numpy().astype(np.float32)
        about["kind"] = "number"
    about["bytes"] = data.nbytes
    parts.append(data.tobytes() + bytes(-data.nbytes % 4))
    return about


def _written(sweep: Plan, name: str, axis: Any, values: Sequence[Any]) -> list[str]:
    """The levels of a field as written in the sweep, for commands."""
    at = sweep.fields.index(name)
    texts: dict[Any, str] = {}
    for cell in sweep.cells:
        given = cell[at]
        shown = ("on" if given else "off") if isinstance(given, bool) else str(given)
        texts.setdefault(axis.value(given), shown)
    return [texts[value] for value in values]


def _keys(sweep: Plan, table: Table, parts: list[bytes]) -> int:
    """Add the runs' keys to the data if commands need them; returns their number of bytes."""
    if not sweep.cells or sweep.base.as_command(sweep.settings(0), 1) is not None:
        return 0
    data = bytes.fromhex("".join(table.keys))
    parts.append(data)
    return len(data)


def _command(sweep: Plan, table: Table, folder: Path, key_bytes: int) -> dict[str, Any]:
    """How the page makes the command that repeats a row."""
    if key_bytes:
        runs = f"{folder}/runs/"
        return {"runs": runs, "key_bytes": key_bytes // max(table.frame.height, 1)}
    words = sweep.base.as_command({}, 0)
    assert words is not None
    options = {}
    for name in sweep.fields:
        [option, *_] = sweep.base.as_command({name: True}, 0)[len(words) - 2 :]  # type: ignore[index]
        options[name] = option
    return {"fixed": words[:-2], "options": options}
