"""Thesis, sections 4.5, 6.3.3.2 and 6.3.3.3: how routers approve Quick-Start requests.

Claim: the target algorithm grants bandwidth that is neither used nor granted already, at most
(theta c - u) / (Omega Delta) per second, and its grants are unfair. The fair algorithm shares
better and grants less. The optimistic one approves every request and overbooks the link tenfold.
Setup: two routers of 100 Mbit/s with cross traffic; a pattern of 28 transfers on 10 Mbit/s; a
generator of requests without data. Check: every grant against its equation.
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
        "The thesis does not print the mix of request rates in figure 6.29. Requests here ask for "
        "0.64, 1.28, 2.56, 5.12 and 10.24 Mbit/s, equally often. Seven other mixes of rates from "
        "80 kbit/s to 82 Mbit/s were tried. C-TH-110 to 114 hold with all of them. C-TH-116 fails "
        "with five rates up to 1.28 Mbit/s, where fair and target grant the same to within 1 % at "
        "some loads. C-TH-115 fails with every mix: at the densest requests the fair algorithm is "
        "far below the optimum.",
        "Resources count as scarce (C-TH-112, 115) where requests ask for more than twice what eq. "
        "6.1 can grant. Where half of it can be granted, first come, first served still reaches "
        "half of the best index.",
        'Section 4.5.3.3 applies eq. 4.19 to a slot "if there are previous requests". But it lets '
        "no slot grant more than a/Omega, and in section 6.3.3.3 each request of a burst gets a "
        "small rate. So eq. 4.19 applies here to every request, including the first one (C-TH-027, "
        "107, 273).",
        "A router's slots begin at time 0, and the pattern's transfers begin at the printed times, "
        "so the burst arrives in the middle of a slot. C-TH-107 depends on that.",
        "The pattern's transfers ask for the default rate of 10 Mbit/s. The parking lot's "
        "round-trip time is 200 ms.",
        "Counters are read every 50 ms, and an empty pool shows only when the next request is "
        "granted. The times of C-TH-104, 105 and 272 are therefore accurate to one slot.",
    )

    def experiments(self, ctx: StudyContext) -> dict[str, Experiment]:
        """Parking lots, patterns, loads, a pool, all codes and two handshakes."""
        return experiments.experiments(quick=ctx.quick, seed=ctx.seed)

    def observe(self, key: str, trace: Trace) -> Row:
        """Keep the routers' answers and counters."""
        return observe.observe(key, trace)

    def gather(self, _ctx: StudyContext, rows: Mapping[str, Row]) -> Found:
        """Group the trials by experiment."""
        return found.gather(rows)

    def page(self, _ctx: StudyContext, found: Found) -> Page:
        """Grants, loads and figures."""
        return page.page(found)


STUDY = ApprovalControl()
