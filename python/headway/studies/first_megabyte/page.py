"""Plot: a table of times beside the least possible."""

from __future__ import annotations

from headway.claims import Evidence
from headway.publish import Page
from headway.studies.first_megabyte.experiments import SCHEMES, least_s
from headway.studies.first_megabyte.observe import Downloads
from headway.table import Cell, Table

TITLE = "A megabyte over 100 Mbit/s and 200 ms: from the opening of the connection, in ms"


def page(found: Evidence[Downloads]) -> Page:
    """The median of each startup, what is least possible, and slow start's time over its own."""
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
    return Page(tables=[Table(TITLE, ["startup", "median", "least", "of it", "gain"], rows)])
