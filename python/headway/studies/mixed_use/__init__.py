"""Thesis, section 6.5.2: half of the hosts use a fast startup; its effect on the other half.

Claim: Jump- and Initial-Start are fair: their users gain and the others do not lose. Mega-Start is
unfair. Quick-Start hardly affects the others and gains less.
Setup: 450 host pairs with nine RTTs on 10 Mbit/s, truncated Pareto responses of 14 kB on average,
half of each RTT's pairs with the startup and half without.  Run: loads up to 75 %.
Plot: figures 6.58 and 6.59.
"""

from headway.claims import Evidence
from headway.experiment import Experiment
from headway.publish import Page
from headway.studies.mixed_use import claims, experiments, observe, page
from headway.studies.mixed_use.observe import Halves
from headway.study import Study, StudyContext
from headway.trace import Trace


class MixedUse(Study[Halves, Evidence[Halves]]):
    """The study; see the module."""

    name = "mixed-use"
    title = "Half the hosts use a fast startup: effect on the others"
    source = "Scharf, Fast Startup Internet Congestion Control (2011), section 6.5.2"
    description = (
        "450 host pairs with RTTs of 4 to 200 ms on 10 Mbit/s, truncated Pareto responses of 14 "
        "kB. In each trial half of the pairs use a startup, and half use slow start. Mean response "
        "times of both halves are compared with the case that all use slow start."
    )
    statements = claims.STATEMENTS
    choices = (
        "Each request has its own connection, as in trace-mix. The response time counts from the "
        "end of the handshake (section 6.4.2.1). In the handshake a server may request a rate, "
        "since it knows the size of its response. The verdicts are the same with persistent "
        "connections, and if all requests for a rate go with data. The loads are 15 to 75 %. The "
        "thesis prints only the highest load.",
        "Both cases have the same sessions, so response times are compared one by one. A half's "
        "gain or loss is the mean difference divided by the mean where all use slow start, with "
        "its 95 % interval (ten batches).",
    )

    def experiments(self, ctx: StudyContext) -> dict[str, Experiment]:
        """One trial per scheme and load, and one where all use slow start."""
        return experiments.experiments(ctx)

    def observe(self, _key: str, trace: Trace) -> Halves:
        """Response times of both halves, and loss."""
        return observe.observe(trace)

    def page(self, _ctx: StudyContext, found: Evidence[Halves]) -> Page:
        """Mean response times of both halves."""
        return page.page(found)


STUDY = MixedUse()
