"""Thesis, section 6.4.3: bandwidth sharing of many transfers on one link, by startup.

Claim: Jump-Start saves several hundred milliseconds at every load; Initial- and Mega-Start only on
a lightly loaded link. Quick-Start falls back to slow start where requests are denied. The shorter
its routers remember grants, the higher the load at which this happens. RCP shares the link as in
eq. 6.12. XCP may be slower than slow start.
Setup: 200 persistent connections, 10 Mbit/s, 200 ms, 50 packets; requests of 100 bytes at
exponential intervals, truncated Pareto responses of 114 kB.  Run: loads of 5 to 90 %, two hours.
Check: an idle link (eq. 6.11) and processor sharing (eq. 6.12).  Plot: figures 6.42 to 6.47.
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
        "times of every startup, XCP and RCP are compared with an idle link and processor "
        "sharing. Also varies Quick-Start's routers and activation thresholds."
    )
    statements = claims.STATEMENTS
    choices = (
        "A request whose connection is busy waits until the previous response has arrived. Its "
        "response time counts from then on. At a load of 50 % this happens to about one request "
        "in a hundred.",
        f"The text does not state the load of figure 6.47. We use {100 * experiments.CHI_LOAD:g} "
        "%, where the thesis sees the largest differences between routers.",
        "XCP and RCP have unlimited queues (figure 6.45). Their other settings are those of the "
        "study convergence. After an idle time an RCP flow continues with its last rate, as in "
        "the thesis (6.3.1), and an XCP flow starts from a small window. The thesis prints RCP's "
        "parameters for no figure. At 70 % load the response time of C-TH-155 exceeds processor "
        "sharing by 46 % with 0.4 and 0.226, by 65 % with 0.6 and 0.6, by 53 % with a target of "
        "95 % of the link, by 162 % with a new rate once a round trip, by 231 % with 0.1 and 1, "
        "and by 71 % if flows probe after idle times.",
    )

    def experiments(self, ctx: StudyContext) -> dict[str, Experiment]:
        """One trial per scheme and load, and per activation threshold and mean size."""
        return experiments.experiments(ctx)

    def observe(self, _key: str, trace: Trace) -> Traffic:
        """Response times, loss, and the router's grants."""
        return traffic.traffic(trace, traffic.responses(trace))

    def page(self, _ctx: StudyContext, found: Evidence[Traffic]) -> Page:
        """Response times and loss by load, with the references."""
        return page.page(found)


STUDY = Load()
