"""Thesis, sections 4.5, 6.3.3.2 and 6.3.3.3: how routers approve Quick-Start requests.

Claim: the target algorithm grants what is unused and not granted already, at most
(theta c - u) / (Omega Delta) per second, and unfairly; the fair algorithm shares better and grants
less; the optimistic one grants everybody and overbooks tenfold.
Setup: two routers of 100 Mbit/s with cross traffic; a pattern of 28 transfers on 10 Mbit/s; a
generator of requests without data.  Check: every grant beside its equation.
Plot: figures 6.25 to 6.31.
"""

from collections.abc import Mapping

from headway.experiment import Experiment
from headway.publish import Page
from headway.studies.approval_control import claims, experiments, found, observe, page
from headway.studies.approval_control.found import Found
from headway.studies.approval_control.observe import Row
from headway.study import Study, StudyContext
from headway.trace import Trace


class ApprovalControl(Study[Row, Found]):
    """The study; see the module."""

    name = "approval-control"
    title = "Approval control: who gets a rate from a Quick-Start router"
    source = "Scharf, Fast Startup Internet Congestion Control (2011), sections 4.5 and 6.3.3"
    description = (
        "Quick-Start routers with the target, fair and optimistic algorithms: three transfers "
        "through two routers with cross traffic, a pattern of 28 transfers, and requests without "
        "data in an open loop. Grants, load estimates, granted bandwidth and fairness."
    )
    statements = claims.STATEMENTS
    choices = (
        "The mix of request rates in figure 6.29 is not printed: 0.64, 1.28, 2.56, 5.12 and 10.24 "
        "Mbit/s, equally often. Seven other mixes of rates from 80 kbit/s to 82 Mbit/s were tried. "
        "C-TH-110 to 114 hold with all of them; C-TH-116 not with five rates up to 1.28 Mbit/s, "
        "where fair and target grant the same to within 1 % at some loads; C-TH-115 with none: at "
        "the densest requests the fair algorithm is far below the optimum.",
        "Resources are scarce (C-TH-112, 115) where more than twice of what eq. 6.1 can give is "
        "asked for; at half of it first come, first served still gives half of the best index.",
        'Section 4.5.3.3 has eq. 4.19 hold for a slot "if there are previous requests", yet lets '
        "no slot give more than a/Omega, and section 6.3.3.3 has each request of a burst get a "
        "small rate. So it holds for every request, also the first one (C-TH-027, 107, 273).",
        "A router's slots begin at time 0, and the pattern's transfers at the times that are "
        "printed, so that the burst comes in the middle of a slot; C-TH-107 depends on that.",
        "The pattern's transfers ask for the default rate of 10 Mbit/s. The parking lot's "
        "round-trip time is 200 ms.",
        "Counters are read every 50 ms, and an empty pool is seen when the next request is "
        "granted: the times of C-TH-104, 105 and 272 are true to a slot.",
    )

    def experiments(self, ctx: StudyContext) -> dict[str, Experiment]:
        """Parking lots, patterns, loads, a pool, all codes and two handshakes."""
        return experiments.experiments(quick=ctx.quick, seed=ctx.seed)

    def observe(self, key: str, trace: Trace) -> Row:
        """What the routers answered and knew."""
        return observe.observe(key, trace)

    def gather(self, _ctx: StudyContext, rows: Mapping[str, Row]) -> Found:
        """The trials of each experiment by themselves."""
        return found.gather(rows)

    def page(self, _ctx: StudyContext, found: Found) -> Page:
        """Grants, loads and figures."""
        return page.page(found)


STUDY = ApprovalControl()
