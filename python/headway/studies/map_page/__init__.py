"""Thesis, section 7.1.3: how long a page of scripts and map tiles takes, figure 7.5.

Claim: over 1 Gbit/s and 200 ms a startup that knows a target cuts the page's loading time by more
than two seconds, one that does not by more than one. Setup: a map of 1.5 MB, large scripts first,
in Chromium; nginx behind the proxy that reads the target. Run: each startup ten times, and targets
from the round-trip time to a second. Check: medians against Slow-Start's. Plot: figure 7.5.

Scharf, Fast Startup Internet Congestion Control (2011).
"""

from __future__ import annotations

from typing import ClassVar

from headway.claims import Evidence
from headway.experiment import Experiment
from headway.publish import Page
from headway.studies.map_page import claims, experiments, observe, page
from headway.studies.map_page.observe import Loads
from headway.study import Study, StudyContext
from headway.trace import Trace


class MapPage(Study[Loads, Evidence[Loads]]):
    """The study; see the module."""

    name = "map-page"
    title = "A page of map tiles in a real browser"
    source = "Scharf, Fast Startup Internet Congestion Control (2011), section 7.1.3, figure 7.5"
    description = (
        "A map of 1.5 MB in headless Chromium over 1 Gbit/s and 200 ms on this machine's kernel: "
        "loading times with each startup, and by the target that the browser states."
    )
    only_backend: ClassVar[str | None] = "kernel"
    statements = claims.STATEMENTS
    choices = experiments.CHOICES
    parts = (("map-page-times", claims.times_table),)

    def experiments(self, ctx: StudyContext) -> dict[str, Experiment]:
        """A trial per startup and target, of several visits."""
        return experiments.experiments(ctx)

    def observe(self, _key: str, trace: Trace) -> Loads:
        """Loading times."""
        return observe.observe(trace)

    def page(self, _ctx: StudyContext, found: Evidence[Loads]) -> Page:
        """Medians with their intervals, figure 7.5, and a picture of the page."""
        return page.page(found)


STUDY = MapPage()
