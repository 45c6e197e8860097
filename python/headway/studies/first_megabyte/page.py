"""Plot: times compared with the least possible time, as a table and as a figure."""

from headway.figures import Dot, dots
from headway.publish import Page
from headway.studies.common.shown import table
from headway.studies.first_megabyte.experiments import SCHEMES, Found, median_ms
from headway.study import StudyContext

TITLE = "A megabyte over 100 Mbit/s and 200 ms: from the opening of the connection, in ms"


def page(_ctx: StudyContext, found: Found) -> Page:
    """The median of each startup, the least possible time, and the speedup over slow start."""
    medians_ms = {name: median_ms(found[name]) for name in SCHEMES}
    least_ms = {name: 1e3 * scheme.least_s for name, scheme in SCHEMES.items()}
    drawn = [
        Dot(
            SCHEMES[name].label,
            name,
            medians_ms[name],
            low=float(times_ms.min()),
            high=float(times_ms.max()),
            reference=least_ms[name],
        )
        for name in SCHEMES
        for times_ms in [found[name]]
        if times_ms.size
    ]
    figure = (
        "A megabyte by startup",
        "Time from the opening of the connection to the last byte: median and range of the "
        "downloads.",
        dots(drawn, x_label="download (ms)", reference_label="least possible"),
    )
    return Page(
        tables=[
            table(
                TITLE,
                SCHEMES,
                {
                    "startup": lambda name: SCHEMES[name].label,
                    "median": (medians_ms.get, 1),
                    "least": lambda name: f"{least_ms[name]:.0f}",
                    "of it": lambda name: f"{medians_ms[name] / least_ms[name]:.2f}",
                    "gain": lambda name: f"{medians_ms['slow-start'] / medians_ms[name]:.2f}",
                },
            )
        ],
        figures={"times": figure},
    )
