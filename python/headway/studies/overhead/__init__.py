"""Thesis, section 6.6, and paper 000, section 3.3: what Quick-Start costs a router.

Claim: a router that meters every packet and answers requests forwards as many packets as before,
with the same delay. Metering costs a few percent of the forwarding effort, one request in a hundred
packets hardly more, and one in two packets several times as much. Setup: a router of network
namespaces in this machine's kernel; packets of 50 bytes, 0, 1 and 50 % of them requests. The router
runs in turns with the program, with an empty program and without a program. Run: headwayctl router
bench.
Check: rates, delays, effort. Plot: figure 6.65 and table 6.4.

Scharf, Fast Startup Internet Congestion Control (2011); Scharf, Strotbek (2008).
"""

from __future__ import annotations

from collections.abc import Mapping

from headway.claims import Evidence
from headway.publish import Page
from headway.report import Sketch
from headway.studies.common.measured import Commands, MeasuredStudy, Measurement
from headway.studies.overhead import claims, experiments, page
from headway.studies.overhead.observe import Load
from headway.study import StudyContext


class Overhead(MeasuredStudy[Evidence[Load]]):
    """The study; see the module."""

    name = "overhead"
    title = "What Quick-Start costs a router"
    source = (
        "Scharf, Fast Startup Internet Congestion Control (2011), tables 5.2 and 6.4, section 6.6; "
        "Scharf, Strotbek (2008), section 3.3"
    )
    description = (
        "A router of network namespaces in this machine's kernel, packets of 50 bytes: rate, delay "
        "and processor time without Quick-Start and with it, for 0, 1 and 50 % requests, compared "
        "with an unmodified router and with one that runs an empty program. Needs root and "
        "headwayctl."
    )
    statements = claims.STATEMENTS
    choices = experiments.CHOICES

    def commands(self, ctx: StudyContext) -> Commands:
        """One per share of requests, and one per length of the metering's slots."""
        return experiments.commands(ctx)

    def gather(self, _ctx: StudyContext, rows: Mapping[str, Measurement]) -> Evidence[Load]:
        """Read the measurements of the router with its program, with an empty one and without."""
        return Evidence({key: Load.of(row) for key, row in rows.items()})

    def sketches(self, _ctx: StudyContext) -> list[Sketch]:
        """The router between two hosts."""
        return [page.sketch()]

    def page(self, _ctx: StudyContext, found: Evidence[Load]) -> Page:
        """Table 6.4 with this machine's numbers, and figure 6.65."""
        return page.page(found)


STUDY = Overhead()
