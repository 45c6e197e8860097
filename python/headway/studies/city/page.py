"""Plot: figures 7.7 and 7.8, rates and response times over the walk."""

from __future__ import annotations

from typing import TYPE_CHECKING

from headway.claims import Evidence
from headway.figures import style_of
from headway.figures.plots import Panel, Series, timeseries
from headway.publish import Figures, Page
from headway.studies.city.claims import shown
from headway.studies.city.experiments import BASE, JUMP, LITTLE, QUICK, SCHEMES, SHORT, short_key
from headway.studies.city.observe import Walks
from headway.studies.common import sites
from headway.table import Cell, Table

if TYPE_CHECKING:
    from matplotlib.figure import Figure

TITLE = "Response times of the walk's quarters in s, means of the runs"
_CAPTION = (
    "Above: the link's rate in slots of 200 ms. Below: each quarter's response time, at the time "
    "when the page needed it. The first run of each startup is shown."
)


def page(found: Evidence[Walks]) -> Page:
    """Response times by quarter, both figures, and a picture of the page."""
    figures: Figures = {}
    for name, title, schemes in (
        ("figure-7-7", "Figure 7.7: Slow-Start and Jump-Start", (BASE, JUMP)),
        ("figure-7-8", "Figure 7.8: Slow-Start and Quick-Start", (BASE, QUICK, LITTLE)),
    ):
        figures[name] = (title, _CAPTION, _figure(found, schemes))
    if shot := found[BASE].runs[0].picture:
        figures["city"] = ("The page", "As Chromium showed it.", sites.picture(shot))
    tables = [_table(found, TITLE, {name: name for name in SCHEMES})]
    if short_key(BASE) in found:
        short = {name: short_key(name) for name in SHORT}
        tables.append(_table(found, f"{TITLE}, over 50 ms", short))
    return Page(tables=tables, figures=figures)


def _table(found: Evidence[Walks], title: str, keys: dict[str, str]) -> Table:
    there = {name: key for name, key in keys.items() if key in found}
    volumes = dict(zip(found[BASE].names, found[BASE].volumes_bytes, strict=True))
    rows: list[list[Cell]] = []
    for quarter, volume in volumes.items():
        row: list[Cell] = [quarter.replace("-", " "), f"{volume / 1e6:.1f}"]
        for key in there.values():
            times = dict(zip(found[key].names, found[key].response_s, strict=True))
            row.append(f"{times[quarter]:.2f}" if quarter in times else None)
        rows.append(row)
    totals: list[Cell] = [shown(found[key].total) for key in there.values()]
    rows.append(["all", f"{sum(volumes.values()) / 1e6:.1f}", *totals])
    return Table(title, ["quarter", "MB", *(SCHEMES[name].label for name in there)], rows)


def _figure(found: Evidence[Walks], schemes: tuple[str, ...]) -> Figure:
    there = [name for name in schemes if name in found]
    rates = [
        Series(SCHEMES[name].label, walk.rate_time_s, walk.rate_mbps, style_of(name))
        for name in there
        for walk in (found[name].runs[0],)
    ]
    times = [
        Series(
            f"{SCHEMES[name].label}, response",
            walk.asked_s,
            walk.response_s,
            style_of(name),
            points=True,
        )
        for name in there
        for walk in (found[name].runs[0],)
    ]
    return timeseries(
        [Panel("rate (Mbit/s)", rates), Panel("response time (s)", times)],
        x_label="time in the walk (s)",
    )
