"""Paper 001's home link with every control and every queue discipline that Headway has.

Claim: the control of a bulk flow and the router's queue decide how much the flow delays a call, and
a low delay costs hardly any utilization. Delay-based controls keep as many packets in the queue as
their parameters say. With a fair queue the call's datagrams never wait behind the flow.
Setup: one bulk flow and a one-way VoIP stream over 1 Mbit/s with 60 000 bytes of queue each way,
50 ms; hosts of today. Run: each control of the registry with each queue discipline of the registry,
with the defaults of both, and the router that a control's header asks for at both links.
Check: what papers and RFCs say of the queues of their algorithms. Plot: median delay against
utilization.

The link is that of Stewart, Armitage, Huebner: "Collateral Damage: The Impact of Optimised TCP
Variants on Real-Time Traffic Latency in Consumer Broadband Environments", IFIP Networking 2009.
"""

from __future__ import annotations

from headway.claims import Evidence
from headway.experiment import Experiment
from headway.publish import Page
from headway.studies.latency_of_everything import claims, experiments, observe, page
from headway.studies.latency_of_everything.observe import Latency
from headway.study import Study, StudyContext
from headway.trace import Trace


class LatencyOfEverything(Study[Latency, Evidence[Latency]]):
    """The study; see the module."""

    name = "latency-of-everything"
    title = "The latency of everything: every control with every queue on a home link"
    source = "After Stewart, Armitage, Huebner: Collateral Damage, Networking 2009"
    description = (
        "One bulk flow and a one-way VoIP stream over 1 Mbit/s, 50 ms and 60 000 bytes of queue, "
        "with every control and every queue discipline: the stream's median one-way delay, and "
        "utilization."
    )
    statements = claims.STATEMENTS
    choices = (
        "The study has one bulk flow. With two, FAST's twenty packets each would just fill the "
        "buffer.",
        "Hosts run today's stack (linux-6), because BBR and CoDel are of today. Paper 001 had "
        "Linux 2.6.25. Controls, queues and routers have their defaults, even where these were "
        "chosen for other links: CoDel's target of 5 ms is less than a packet takes on this link, "
        "and RED's thresholds are those of its authors.",
        "Delays are those of the datagrams beyond an empty path, which takes half the RTT and "
        "their own time on the link. They count after the warm-up.",
        "RED's queue is counted in packets of any size, because its thresholds are. The other "
        "queues are counted in bytes, as packets of 1500.",
    )

    def experiments(self, ctx: StudyContext) -> dict[str, Experiment]:
        """One trial per control, queue and run."""
        return experiments.experiments(ctx)

    def observe(self, _key: str, trace: Trace) -> Latency:
        """Delay and utilization of a trial."""
        return observe.observe(trace)

    def page(self, ctx: StudyContext, found: Evidence[Latency]) -> Page:
        """The figure and the table."""
        return page.page(found, experiments.runs(ctx))


STUDY = LatencyOfEverything()
