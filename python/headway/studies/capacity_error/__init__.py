"""Thesis, section 6.5.3: routers that are wrong about their link.

Claim: a router that thinks its link slower than it is grants less, no more; one that thinks it ten
times faster lets a flow overshoot, which costs a timeout and some seconds, and nothing if little is
asked for. RCP needs to know its link within a factor that eq. 6.15 gives.
Setup: a long transfer with Quick-Start on 10 Mbit/s and 200 ms, the router's capacity right, a
tenth or tenfold; transfers of 1 to 100 MB over 1 Gbit/s and 233 ms with a grant above it.
Check: C-TH-205, 206, 208 to 211, 213 and 282 to 284.  Plot: figures 6.60 and 6.62.
"""

from headway.claims import Evidence
from headway.experiment import Experiment
from headway.publish import Page
from headway.studies.capacity_error import claims, experiments, observe, page
from headway.studies.capacity_error.observe import Transfer
from headway.study import Study, StudyContext
from headway.trace import Trace


class CapacityError(Study[Transfer, Evidence[Transfer]]):
    """The study; see the module."""

    name = "capacity-error"
    title = "Routers that are wrong about their link's capacity"
    source = "Scharf, Fast Startup Internet Congestion Control (2011), section 6.5.3"
    description = (
        "A long transfer with Quick-Start over 10 Mbit/s and 200 ms, whose router takes the link "
        "for right, ten times slower or ten times faster; transfers of 1 to 100 MB over 1 Gbit/s "
        "and 233 ms that are granted more than the link has; RCP's bound by its equation."
    )
    statements = claims.STATEMENTS
    choices = (
        "The transfer asks in its SYN for 81.92 Mbit/s, so that the router's capacity and "
        "not the request decides.",
        "The long path's buffer is not known: 2000 packets. Its grant is 1.31 Gbit/s, the "
        "next code above its rate.",
    )

    def experiments(self, ctx: StudyContext) -> dict[str, Experiment]:
        """One trial per case, and per size on the long path."""
        return experiments.experiments(ctx)

    def observe(self, key: str, trace: Trace) -> Transfer:
        """How a transfer went."""
        return observe.observe(key, trace)

    def page(self, _ctx: StudyContext, found: Evidence[Transfer]) -> Page:
        """Rates over time, transfer times over size."""
        return page.page(found)


STUDY = CapacityError()
