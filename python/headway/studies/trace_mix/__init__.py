"""Thesis, section 6.4.5: fast startups with realistic traffic of many small transfers.

Claim: most exchanges are too small to gain; those of more than 10 kB gain some hundred
milliseconds. Jump- and Initial-Start lose a few more packets, Mega-Start many more. Quick-Start
helps only on a lightly loaded link, or with optimistic routers or an activation threshold. XCP is
slower than slow start, RCP faster than all other schemes.
Setup: 450 host pairs with nine RTTs from 4 to 200 ms on 10 Mbit/s with 50 packets of buffer;
connection vectors recorded on a campus in 2006.  Run: three hours for each scheme and load.
Plot: figures 6.50 to 6.55.
"""

from collections.abc import Mapping

from headway.experiment import Experiment
from headway.publish import Page
from headway.studies.trace_mix import choices, claims, experiments, observe, page
from headway.studies.trace_mix.observe import Epochs, Mix
from headway.study import Study, StudyContext
from headway.trace import Trace
from headway.workloads.distribution import recorded_compared_with_thesis


class TraceMix(Study[Epochs, Mix]):
    """The study; see the module."""

    name = "trace-mix"
    title = "Realistic traffic: 450 host pairs, campus traffic, every startup"
    source = "Scharf, Fast Startup Internet Congestion Control (2011), section 6.4.5"
    description = (
        "450 host pairs, RTTs of 4 to 200 ms, 10 Mbit/s, 50 packets of buffer; connection vectors "
        "recorded on a campus in 2006; three hours per startup at loads of 6 to 65 %. "
        "Reports epoch durations by size, and packet loss."
    )
    takes_vectors = True
    workload_tables = (recorded_compared_with_thesis,)
    statements = claims.STATEMENTS
    choices = choices.CHOICES

    def experiments(self, ctx: StudyContext) -> dict[str, Experiment]:
        """One trial per scheme and load."""
        return experiments.experiments(ctx)

    def observe(self, _key: str, trace: Trace) -> Epochs:
        """Epoch durations, loss, and the router's grants."""
        return observe.observe(trace)

    def gather(self, ctx: StudyContext, rows: Mapping[str, Epochs]) -> Mix:
        """All trials, and the vectors that they draw from."""
        return Mix(rows, experiments.vectors(ctx))

    def page(self, ctx: StudyContext, found: Mix) -> Page:
        """Epoch durations and loss by load, their distributions, and the workload's."""
        return page.page(ctx, found)


STUDY = TraceMix()
