"""Thesis, section 6.5.3: routers that are wrong about their link.

Claim: a router that thinks its link slower than it is grants less, no more; one that thinks it ten
times faster lets a flow overshoot, which costs a timeout and some seconds, and nothing if little is
asked for. XCP and RCP need to know their link within a factor that eq. 6.15 gives: below it the
link idles, above it the queue grows without end.
Setup: a long transfer with Quick-Start, XCP or RCP on 10 Mbit/s and 200 ms, the router's capacity
right, a tenth to tenfold; transfers of 0.1 to 8 MB over 1 Gbit/s and 233 ms with a grant above it.
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
    title = "Routers that are wrong about their link's capacity"
    source = "Scharf, Fast Startup Internet Congestion Control (2011), section 6.5.3"
    description = (
        "A long transfer with Quick-Start over 10 Mbit/s and 200 ms, whose router takes the link "
        "for right, ten times slower or ten times faster; transfers of 0.1 to 8 MB over 1 Gbit/s "
        "and 233 ms that are granted more than the link has; flows without end with XCP and RCP, "
        "their queues beside eq. 6.14 and 6.15."
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
        "Which overestimate figure 6.61 has is not in the text: c = 2 r is taken, above the bound "
        "of eq. 6.15. Ten times, as in figure 6.60, was tried with twenty flows, for the window of "
        "one TCP flow, 8 MB, is in the queue after a second, and given up when its results were "
        "seen: they begin with a flood of two hundred times the link's rate, and round trips of "
        "ten seconds and more are outside of what either protocol is made for. There the queue "
        "does not grow in a line: RCP's shrinks after the flood, XCP's grows in steps (R² 0.84). A "
        "small buffer is the default of 50 packets. XCP and RCP are as in the study convergence.",
    )

    def experiments(self, ctx: StudyContext) -> dict[str, Experiment]:
        """One trial per case, and per size on the long path."""
        return experiments.experiments(ctx)

    def observe(self, key: str, trace: Trace) -> Row:
        """How a transfer went."""
        return observe.observe(key, trace)

    def gather(self, _ctx: StudyContext, rows: Mapping[str, Row]) -> Found:
        """Each kind of trials by itself."""
        return observe.gather(rows)

    def page(self, _ctx: StudyContext, found: Found) -> Page:
        """Rates over time, transfer times over size."""
        return page.page(found)


STUDY = CapacityError()
