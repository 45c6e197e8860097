"""Thesis, section 6.5.1: how the bottleneck's buffer changes the loss of each startup.

Claim: a buffer of about 50 packets loses least. Below 100 packets Jump-Start doubles the loss,
above it changes nothing. Mega-Start loses 5 % and more, Quick-Start hardly more than slow start.
Setup: the workload of trace-mix at 35 % load.  Run: buffers of 10 to 500 packets.
Plot: figures 6.56 and 6.57.
"""

from headway.claims import Evidence
from headway.experiment import Experiment
from headway.publish import Page
from headway.studies import trace_mix
from headway.studies.buffers import claims, experiments, page
from headway.studies.common import traffic
from headway.studies.common.traffic import Traffic
from headway.study import Study, StudyContext
from headway.trace import Trace
from headway.workloads.distribution import recorded_beside_thesis


class Buffers(Study[Traffic, Evidence[Traffic]]):
    """The study; see the module."""

    name = "buffers"
    title = "Small and large buffers: the loss of every startup"
    source = "Scharf, Fast Startup Internet Congestion Control (2011), section 6.5.1"
    description = (
        "The workload of trace-mix at 35 % load over bottleneck buffers of 10 to 500 packets: "
        "packet loss on the downlink and epoch durations of every startup."
    )
    takes_vectors = True
    workload_tables = (recorded_beside_thesis,)
    statements = claims.STATEMENTS
    choices = (
        *trace_mix.STUDY.choices[:8],  # those on vectors
        "Buffers range from 10 to 500 packets. The text names only 50 and 100.",
    )

    def experiments(self, ctx: StudyContext) -> dict[str, Experiment]:
        """One trial per scheme and buffer, all with the same sessions."""
        return experiments.experiments(ctx)

    def observe(self, _key: str, trace: Trace) -> Traffic:
        """Epoch durations and loss."""
        return traffic.traffic(trace, traffic.responses(trace))

    def page(self, ctx: StudyContext, found: Evidence[Traffic]) -> Page:
        """Loss and epoch durations by buffer."""
        return page.page(ctx, found)


STUDY = Buffers()
