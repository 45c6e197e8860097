"""How long a megabyte takes over 100 Mbit/s and 200 ms with each startup, on either backend.

Claim: a startup that knows its rate takes little more than the least possible time, which is the
data at the link's rate plus the round trips that the startup needs. Slow start takes three times as
long. Setup: one client, one server, one download at a time, CUBIC of today's Linux after the
startup, and a Quick-Start router at the link. Run: every startup, three times. Check: the median
within 15 % of what is least possible.  Plot: nothing; a table.

This is no paper's figure. It asks the thesis' question (section 6.4.2) for a path of today.
"""

from __future__ import annotations

from headway.claims import Evidence
from headway.experiment import Experiment
from headway.publish import Page
from headway.studies.first_megabyte import claims, experiments, observe, page
from headway.studies.first_megabyte.experiments import SCHEMES
from headway.studies.first_megabyte.observe import Downloads
from headway.study import Agreement, Study, StudyContext
from headway.trace import Trace


class FirstMegabyte(Study[Downloads, Evidence[Downloads]]):
    """The study; see the module."""

    name = "first-megabyte"
    title = "The first megabyte: one download with each startup"
    source = "After Scharf, Fast Startup Internet Congestion Control (2011), section 6.4.2"
    description = (
        "A download of 1 MB over 100 Mbit/s and 200 ms with every startup. The time from the "
        "opening of the connection to the last byte is compared with the least possible time."
    )
    statements = claims.STATEMENTS
    choices = (
        "Both hosts announce 4 MB from the start, so that no window limits a first flight. The "
        "bottleneck's queue has room for all of it. The application announces the volume to "
        "Jump-Start and Quick-Start, and the rate to Mega-Start and Quick-Start. Otherwise a late "
        "request would know only the queued data, on Linux about the first 64 kB. Careful Resume "
        "has saved a window of 1600 packets.",
    )
    agreements = tuple(
        Agreement(
            f"kernel-{name}",
            f"{scheme.label}: the kernel's time is the simulator's.",
            table=page.TITLE,
            row=scheme.label,
            most=15.0,
            unit="ms",
            relative=0.08,
        )
        for name, scheme in SCHEMES.items()
    )

    def experiments(self, ctx: StudyContext) -> dict[str, Experiment]:
        """A trial per startup, with one download after the other."""
        return experiments.experiments(ctx)

    def observe(self, _key: str, trace: Trace) -> Downloads:
        """The times of the downloads."""
        return observe.observe(trace)

    def page(self, _ctx: StudyContext, found: Evidence[Downloads]) -> Page:
        """Times compared with the least possible time."""
        return page.page(found)


STUDY = FirstMegabyte()
