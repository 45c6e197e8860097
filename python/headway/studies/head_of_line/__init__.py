"""Thesis, section 6.2.3: delay of small messages behind a lost one.

Claim: mean response times follow eq. A.7 up to a loss of 1 %. Above 1 %, congestion control adds to
them, CUBIC less than Reno. Setup: requests of 64 bytes every 10 ms on average over one connection,
each echoed; loss both ways. Run: loss from 0 to 5 %, Reno and CUBIC.  Plot: figures 6.13, 6.14.
"""

from headway.claims import Evidence
from headway.experiment import Experiment
from headway.publish import Page
from headway.studies.head_of_line import claims, experiments, observe, page
from headway.studies.head_of_line.observe import Times
from headway.study import Study, StudyContext
from headway.trace import Trace


class HeadOfLine(Study[Times, Evidence[Times]]):
    """The study; see the module."""

    name = "head-of-line"
    title = "Head-of-line blocking: small messages over a lossy path"
    source = "Scharf, Fast Startup Internet Congestion Control (2011), section 6.2.3"
    description = (
        "64-byte messages with exponential gaps of 10 ms, echoed over one connection; Reno and "
        "CUBIC of Linux 2.6 at losses of 0 to 5 % in each direction, compared with eq. A.7."
    )
    statements = claims.STATEMENTS
    choices = (
        "The thesis does not print the round-trip time. We use 50 ms, at which the window can stay "
        "above the five messages in flight, as eq. A.7 assumes. With 10, 20 and 100 ms C-TH-065 "
        "fails as well (25, 16 and 11 % off) and C-TH-067 holds. With 200 ms C-TH-065 is 5 % off "
        "in the full form, but C-TH-066 fails, because several losses fall into one wait and the "
        "equation counts each of them.",
        "Eq. A.7 uses epsilon = 0.5 ms, as the thesis does. Simulated hosts take no processing "
        "time.",
        "Small loss is at most 1 %. Above 1 % congestion control limits the throughput, as the "
        "thesis says.",
    )

    def experiments(self, ctx: StudyContext) -> dict[str, Experiment]:
        """One trial per stack, control and loss."""
        return experiments.experiments(ctx)

    def observe(self, _key: str, trace: Trace) -> Times:
        """Response times of a trial."""
        return observe.observe(trace)

    def page(self, _ctx: StudyContext, found: Evidence[Times]) -> Page:
        """Response times compared with eq. A.7."""
        return page.page(found)


STUDY = HeadOfLine()
