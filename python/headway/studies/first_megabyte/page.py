"""Plot: times compared with the least possible time, as a table and as a figure."""

from __future__ import annotations

from typing import TYPE_CHECKING

from headway.claims import Evidence
from headway.figures import Dot, dots
from headway.publish import Page
from headway.studies.first_megabyte.experiments import SCHEMES, least_s
from headway.studies.first_megabyte.observe import Downloads
from headway.table import Cell, Table

if TYPE_CHECKING:
    from matplotlib.figure import Figure

TITLE = "A megabyte over 100 Mbit/s and 200 ms: from the opening of the connection, in ms"


def page(found: Evidence[Downloads]) -> Page:
    """The median of each startup, the least possible time, and the speedup over slow start."""
    slow_ms = found["slow-start"].median_ms
    rows: list[list[Cell]] = []
    for name, scheme in SCHEMES.items():
        median_ms = found[name].median_ms
        least_ms = 1e3 * least_s(scheme)
        rows.append(
            [
                scheme.label,
                round(median_ms, 1),
                f"{least_ms:.0f}",
                f"{median_ms / least_ms:.2f}",
                f"{slow_ms / median_ms:.2f}",
            ]
        )
    return Page(
        tables=[Table(TITLE, ["startup", "median", "least", "of it", "gain"], rows)],
        figures={"times": _figure(found)},
    )


def _figure(found: Evidence[Downloads]) -> tuple[str, str, Figure]:
    shown = [
        Dot(
            scheme.label,
            name,
            found[name].median_ms,
            low=float(found[name].times_ms.min()),
            high=float(found[name].times_ms.max()),
            reference=1e3 * least_s(scheme),
        )
        for name, scheme in SCHEMES.items()
        if found[name].times_ms.size
    ]
    return (
        "A megabyte by startup",
        "Time from the opening of the connection to the last byte: median and range of the "
        "downloads.",
        dots(shown, x_label="download (ms)", reference_label="least possible"),
    )
