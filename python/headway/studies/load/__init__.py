"""Thesis, section 6.4.3: many transfers on one link, and which startup stands the load.

Claim: Jump-Start saves several hundred milliseconds at every load; Initial- and Mega-Start only on
a lightly loaded link; Quick-Start falls back to slow start as requests are denied, the later the
shorter its routers remember grants. RCP shares the link as eq. 6.12 has it; XCP may be slower than
slow start.
Setup: 200 persistent connections, 10 Mbit/s, 200 ms, 50 packets; requests of 100 bytes at
exponential intervals, truncated Pareto responses of 114 kB.  Run: loads of 5 to 90 %, two hours.
Check: beside an idle link (eq. 6.11) and processor sharing (eq. 6.12).  Plot: figures 6.42 to 6.47.
"""

from headway.claims import Evidence
from headway.experiment import Experiment
from headway.publish import Page
from headway.studies.common import traffic
from headway.studies.common.traffic import Traffic
from headway.studies.load import claims, experiments, page
from headway.study import Study, StudyContext
from headway.trace import Trace


class Load(Study[Traffic, Evidence[Traffic]]):
    """The study; see the module."""

    name = "load"
    title = "Bandwidth sharing: many transfers on one link, every startup"
    source = "Scharf, Fast Startup Internet Congestion Control (2011), section 6.4.3"
    description = (
        "200 persistent connections over 10 Mbit/s, 200 ms and 50 packets of buffer; truncated "
        "Pareto responses of 114 kB at exponential intervals, loads of 5 to 90 %. Mean response "
        "times of every startup, XCP and RCP beside an idle link and processor sharing; "
        "Quick-Start's routers and activation thresholds."
    )
    statements = claims.STATEMENTS
    choices = (
        "A request that finds its connection busy waits until the response before has arrived, "
        "and its response time counts from then. At a load of 50 % that happens to about one in "
        "a hundred.",
        f"The load of figure 6.47 is not in the text; {100 * experiments.CHI_LOAD:g} % is taken, "
        "where the thesis sees the largest differences between routers.",
        "XCP and RCP have no end of their queues (figure 6.45), and are as in the study "
        "convergence. After an idle time a flow goes on with the last rate that RCP gave it, as "
        "the thesis' does (6.3.1), and with XCP from a small window. RCP's parameters are printed "
        "for no figure: at 70 % load C-TH-155, 46 % above processor sharing with 0.4 and 0.226, is "
        "65 % above it with 0.6 and 0.6, 53 % with a target of 95 % of the link, 162 % where "
        "rates are found anew once a round trip, 231 % with 0.1 and 1, and 71 % where flows probe "
        "after idle times.",
    )

    def experiments(self, ctx: StudyContext) -> dict[str, Experiment]:
        """One trial per scheme and load, and per activation threshold and mean size."""
        return experiments.experiments(ctx)

    def observe(self, _key: str, trace: Trace) -> Traffic:
        """Response times, loss, and what the router answered."""
        return traffic.traffic(trace, traffic.responses(trace))

    def page(self, _ctx: StudyContext, found: Evidence[Traffic]) -> Page:
        """Response times and loss by load, beside the references."""
        return page.page(found)


STUDY = Load()
