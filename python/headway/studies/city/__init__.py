"""Thesis, section 7.2.3: a walk through a city that arrives, figures 7.7 and 7.8.

Claim: while somebody walks, parts of the model arrive late with Slow-Start; Jump-Start and
Quick-Start show them sooner, Quick-Start with all of the capacity soonest, with one percent of it
in between. Setup: a city in Chromium, its quarters over one persistent connection, 1 Gbit/s and 200
ms. Run: the same recorded walk three times with each startup. Check: means of the quarters'
response times.  Plot: rates and response times over a walk.

Scharf, Fast Startup Internet Congestion Control (2011).
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import ClassVar

from headway.claims import Evidence
from headway.experiment import Experiment
from headway.publish import Page
from headway.studies.city import claims, experiments, observe, page
from headway.studies.city.observe import Walk, Walks
from headway.study import Study, StudyContext
from headway.trace import Trace


class City(Study[Walk, Evidence[Walks]]):
    """The study; see the module."""

    name = "city"
    title = "A walk through a city in a real browser"
    source = (
        "Scharf, Fast Startup Internet Congestion Control (2011), section 7.2.3, figures 7.7, 7.8"
    )
    description = (
        "A recorded walk through a city of glTF tiles in headless Chromium over 1 Gbit/s and "
        "200 ms on this machine's kernel, with Slow-Start, Jump-Start and Quick-Start."
    )
    only_backend: ClassVar[str | None] = "kernel"
    statements = claims.STATEMENTS
    choices = experiments.CHOICES
    parts = (("city-times", claims.times_table),)

    def experiments(self, ctx: StudyContext) -> dict[str, Experiment]:
        """Walks with each startup."""
        return experiments.experiments(ctx)

    def observe(self, _key: str, trace: Trace) -> Walk:
        """Response times and the link's rate."""
        return observe.observe(trace)

    def gather(self, _ctx: StudyContext, rows: Mapping[str, Walk]) -> Evidence[Walks]:
        """Group the runs by walk."""
        return observe.gathered(rows)

    def page(self, _ctx: StudyContext, found: Evidence[Walks]) -> Page:
        """Response times by quarter, both figures, and a picture of the page."""
        return page.page(found)


STUDY = City()
