"""Plot: figures 7.7 and 7.8, rates and response times over the walk."""

from collections.abc import Mapping, Sequence

from headway.figures import Panel, Series, style_of, timeseries
from headway.publish import Page
from headway.studies.city.claims import shown
from headway.studies.city.experiments import BASE, JUMP, LABELS, LITTLE, QUICK, SHORT, Found, Walks
from headway.studies.common import sites
from headway.studies.common.shown import table
from headway.study import StudyContext
from headway.table import Cell, Table

TITLE = "Response times of the walk's quarters in s, means of the runs"
CAPTION = (
    "Above: the link's rate in slots of 200 ms. Below: each quarter's response time, at the time "
    "when the page needed it. The first run of each startup is shown."
)


def page(_ctx: StudyContext, found: Found) -> Page:
    """Response times by quarter, both figures, and a picture of the page."""
    figures = {
        f"figure-7-{number}": (
            f"Figure 7.{number}: Slow-Start and {startup}",
            CAPTION,
            timeseries(_panels(found, (BASE, *fast)), x_label="time in the walk (s)"),
        )
        for number, startup, *fast in ((7, "Jump-Start", JUMP), (8, "Quick-Start", QUICK, LITTLE))
    }
    if shot := found[BASE].runs[0].picture:
        figures["city"] = ("The page", "As Chromium showed it.", sites.picture(shot))
    tables = [_table(found, TITLE, {name: name for name in LABELS})]
    if SHORT[BASE] in found:
        tables.append(_table(found, f"{TITLE}, over 50 ms", SHORT))
    return Page(tables=tables, figures=figures)


def _table(found: Found, title: str, keys: Mapping[str, str]) -> Table:
    volumes = dict(zip(found[BASE].runs[0].names, found[BASE].runs[0].volumes_bytes, strict=True))
    volumes["all"] = sum(volumes.values())
    times = {LABELS[name]: _times(found[key]) for name, key in keys.items() if key in found}
    return table(
        title,
        volumes,
        {
            "quarter": lambda quarter: quarter.replace("-", " "),
            "MB": lambda quarter: f"{volumes[quarter] / 1e6:.1f}",
            **{label: own.get for label, own in times.items()},
        },
    )


def _times(walks: Walks) -> dict[str, Cell]:
    by_name = zip(walks.runs[0].names, walks.response_s, strict=True)
    return {**{name: f"{time_s:.2f}" for name, time_s in by_name}, "all": shown(walks.total)}


def _panels(found: Found, schemes: Sequence[str]) -> list[Panel]:
    rates, times = [], []
    for name in schemes:
        if name in found:
            label, style, walk = LABELS[name], style_of(name), found[name].runs[0]
            rates.append(Series(label, walk.rate_time_s, walk.rate_mbps, style))
            label = f"{label}, response"
            times.append(Series(label, walk.asked_s, walk.response_s, style, points=True))
    return [Panel("rate (Mbit/s)", rates), Panel("response time (s)", times)]
