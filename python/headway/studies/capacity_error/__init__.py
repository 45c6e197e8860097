"""Thesis, section 6.5.3: routers that assume a wrong capacity of their link.

Claim: a router that underestimates its link only grants less. A router that overestimates it ten
times lets a flow overshoot, which costs a timeout and some seconds, but nothing if the request is
small. XCP and RCP need to know their link within the factor of eq. 6.15. With a smaller capacity
the link is not fully used, with a capacity above the bound the queue grows without end.
Setup: a long transfer with Quick-Start, XCP or RCP on 10 Mbit/s and 200 ms, where the router
assumes the right capacity, or a tenth of it up to ten times as much; transfers of 0.1 to 8 MB over
1 Gbit/s and 233 ms with a grant above the link's rate.
Check: C-TH-205 to 214 and 282 to 287.  Plot: figures 6.60 to 6.62.
"""

from collections.abc import Mapping

from headway.experiment import Experiment
from headway.publish import Page
from headway.studies.capacity_error import claims, experiments, observe, page
from headway.studies.capacity_error.observe import Found, Row
from headway.study import Study, StudyContext
from headway.trace import Trace


class CapacityError(Study[Row, Found]):
    """The study; see the module."""

    name = "capacity-error"
    title = "Routers that assume a wrong link capacity"
    source = "Scharf, Fast Startup Internet Congestion Control (2011), section 6.5.3"
    description = (
        "A long transfer with Quick-Start over 10 Mbit/s and 200 ms, whose router assumes the "
        "right capacity, a tenth of it or ten times as much; transfers of 0.1 to 8 MB over 1 "
        "Gbit/s and 233 ms with a grant above the link's rate; unlimited flows with XCP and RCP, "
        "whose queues are compared with eq. 6.14 and 6.15."
    )
    statements = claims.STATEMENTS
    choices = (
        "The transfer requests 81.92 Mbit/s in its SYN, so that the router's capacity limits the "
        "grant, not the request.",
        "A link is full when a slot of 200 ms and all slots of the next second carry 95 % of its "
        "rate. The second is needed because the flight that overshoots fills the link for a "
        "moment.",
        "After the loss of this flight the window and ssthresh are what they were before the "
        "grant. Slow start continues as if the request had been denied (section 4.5.1.1). Later "
        "losses are handled as usual.",
        "The thesis prints neither the sizes nor the granted rate of figure 6.62, nor the path's "
        "buffers. Sizes are 0.1 to 8 MB, at most the largest window that a receiver can announce "
        "here. The grant is 1.31 Gbit/s, the next code above 1 Gbit/s. The queue has the thesis' "
        "default of 50 packets (6.1.1.1).",
        "The text does not print the overestimate of figure 6.61. We use c = 2 r, which is above "
        "the bound of eq. 6.15. We also tried ten times, as in figure 6.60, with twenty flows, "
        "because the window of one TCP flow, 8 MB, is in the queue after a second. We gave this up "
        "when we saw the results. These trials begin with a burst of two hundred times the link's "
        "rate, and neither protocol is made for round trips of ten seconds and more. The queue "
        "does not grow linearly: RCP's shrinks after the burst, XCP's grows in steps (R² 0.84). A "
        "small buffer is the default of 50 packets. XCP's and RCP's settings are those of the "
        "study convergence.",
    )

    def experiments(self, ctx: StudyContext) -> dict[str, Experiment]:
        """One trial per case, and per size on the long path."""
        return experiments.experiments(ctx)

    def observe(self, key: str, trace: Trace) -> Row:
        """Observe a transfer."""
        return observe.observe(key, trace)

    def gather(self, _ctx: StudyContext, rows: Mapping[str, Row]) -> Found:
        """Rows by kind of trial."""
        return observe.gather(rows)

    def page(self, _ctx: StudyContext, found: Found) -> Page:
        """Rates over time, transfer times over size."""
        return page.page(found)


STUDY = CapacityError()
