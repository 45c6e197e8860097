"""Thesis, section 6.5.3: routers that are wrong about their link.

Claim: a router that thinks its link slower than it is grants less, no more; one that thinks it ten
times faster lets a flow overshoot, which costs a timeout and some seconds, and nothing if little is
asked for. RCP needs to know its link within a factor that eq. 6.15 gives.
Setup: a long transfer with Quick-Start on 10 Mbit/s and 200 ms, the router's capacity right, a
tenth or tenfold; transfers of 0.1 to 8 MB over 1 Gbit/s and 233 ms with a grant above it.
Check: C-TH-205, 206, 208 to 211, 213 and 282 to 284.  Plot: figures 6.60 and 6.62.
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
    title = "Routers that are wrong about their link's capacity"
    source = "Scharf, Fast Startup Internet Congestion Control (2011), section 6.5.3"
    description = (
        "A long transfer with Quick-Start over 10 Mbit/s and 200 ms, whose router takes the link "
        "for right, ten times slower or ten times faster; transfers of 0.1 to 8 MB over 1 Gbit/s "
        "and 233 ms that are granted more than the link has; RCP's bound by its equation."
    )
    statements = claims.STATEMENTS
    choices = (
        "The transfer asks in its SYN for 81.92 Mbit/s, so that the router's capacity and not the "
        "request decides.",
        "A link is full when a slot of 200 ms carries 95 % of its rate, and those of the next "
        "second, too: the flight that overshoots fills it for a moment.",
        "After the loss of that flight the window is what it was before the grant, and so is "
        "ssthresh: slow start goes on as if the request had been denied (section 4.5.1.1). Losses "
        "after that are losses as ever.",
        "Figure 6.62 prints neither sizes nor the rate that was granted, and the path's buffers "
        "are not known. Sizes are 0.1 to 8 MB, none more than the largest window that a receiver "
        "can announce here; granted is 1.31 Gbit/s, the next code above 1 Gbit/s; the queue has "
        "the thesis' default of 50 packets (6.1.1.1).",
    )

    def experiments(self, ctx: StudyContext) -> dict[str, Experiment]:
        """One trial per case, and per size on the long path."""
        return experiments.experiments(ctx)

    def observe(self, key: str, trace: Trace) -> Row:
        """How a transfer went."""
        return observe.observe(key, trace)

    def gather(self, _ctx: StudyContext, rows: Mapping[str, Row]) -> Found:
        """Both kinds of trials by themselves."""
        return observe.gather(rows)

    def page(self, _ctx: StudyContext, found: Found) -> Page:
        """Rates over time, transfer times over size."""
        return page.page(found)


STUDY = CapacityError()
