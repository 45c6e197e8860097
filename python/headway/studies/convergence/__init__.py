"""Thesis, section 6.3.2: three flows that start one after the other, with each startup.

Claim: with drop-tail, later flows do not reach an equal share. Fast startups do not change this
unless they send at the link's full rate. Quick-Start's later requests are denied. Setup: three
responses of 12 MB, 5 s apart, 9.76 Mbit/s, 200 ms, 50 packets. Run: several times with jitter,
because the outcome is chaotic. Check: shares, denials, the queue.  Plot: figures 6.17 to 6.19.
"""

from collections.abc import Mapping

from headway.experiment import Experiment
from headway.publish import Page
from headway.studies.convergence import claims, experiments, observe, page
from headway.studies.convergence.experiments import JITTER_S, RUNS
from headway.studies.convergence.observe import Found, Row
from headway.study import Study, StudyContext
from headway.trace import Trace


class Convergence(Study[Row, Found]):
    """The study; see the module."""

    name = "convergence"
    title = "Convergence: three flows, one after the other"
    source = "Scharf, Fast Startup Internet Congestion Control (2011), section 6.3.2"
    description = (
        "Three responses of 12 MB, started 5 s apart over 9.76 Mbit/s, 200 ms and 50 packets, with "
        "slow start (drop-tail and RED), Jump-, Mega- and Quick-Start; repeated with jitter."
    )
    statements = claims.STATEMENTS
    choices = (
        f"Starts are 5 s apart plus up to {JITTER_S:g} s at random, in {RUNS} runs. The thesis "
        "shows one outcome and calls it sensitive to small changes.",
        "Shares are compared until the first flow ends. With drop-tail this is 3 s after the third "
        "flow starts, so that 10 s would include times with fewer flows. The first two flows are "
        "compared from the second start on.",
        "The thesis does not print RED's parameters. We use the thresholds of 5 and 15 packets "
        "that RED's author recommends. 12 and 36 packets give a Jain's index of 0.99 (C-TH-085), "
        "17 and 50 packets one of 0.97. The verdicts are the same.",
        "The queue of C-TH-089 is measured from the first start to the last end.",
        "The thesis does not describe the short flow of C-TH-279. We use 500 kB with Mega-Start, "
        "starting 20 to 25 s after the long flow. The long flow's rate has recovered at 90 % of "
        "its mean over the 5 s before.",
    )

    def experiments(self, ctx: StudyContext) -> dict[str, Experiment]:
        """Trials per run: schemes, other controls, and a short flow that disturbs a long one."""
        return experiments.experiments(ctx)

    def observe(self, key: str, trace: Trace) -> Row:
        """How the flows shared the link."""
        return observe.observe(key, trace)

    def gather(self, ctx: StudyContext, rows: Mapping[str, Row]) -> Found:
        """Runs of three flows, and of a disturbed flow."""
        return observe.gather(rows, experiments.runs(ctx))

    def page(self, _ctx: StudyContext, found: Found) -> Page:
        """Shares, arrivals and the queue."""
        return page.page(found)


STUDY = Convergence()
