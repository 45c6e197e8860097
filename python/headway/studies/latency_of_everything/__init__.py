"""Paper 001's home link with every control and every queue discipline that Headway has.

Claim: what a bulk flow does to the delay of a call is a choice of its control and of the router's
queue, and hardly costs utilization: controls that go by delay keep as many packets as they say,
a queue that shares keeps the call's datagrams from waiting behind the flow at all.
Setup: one bulk flow and a one-way VoIP stream over 1 Mbit/s with 60 000 bytes of queue each way,
50 ms; hosts of today. Run: each control of the registry with each queue discipline of the registry,
with the defaults of both, and the router that a control's header asks for at both links.
Check: what papers and RFCs say of a queue of theirs.  Plot: median delay against utilization.

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
        "One bulk flow beside a one-way VoIP stream over 1 Mbit/s, 50 ms and 60 000 bytes of "
        "queue: every control with every queue discipline, in median one-way delay of the stream "
        "and utilization."
    )
    statements = claims.STATEMENTS
    choices = (
        "One bulk flow: with two, FAST's twenty packets each would just fill the buffer.",
        "Hosts of today (stack linux-6), since BBR and CoDel are of today; paper 001's were Linux "
        "2.6.25. Controls, queues and routers have their defaults, whatever they were chosen for: "
        "CoDel's target of 5 ms is less than a packet takes on this link, and RED's thresholds are "
        "those of its authors.",
        "Delays are those of the datagrams, less what they take on an empty path: half the RTT and "
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
