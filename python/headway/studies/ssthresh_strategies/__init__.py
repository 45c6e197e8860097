"""Thesis, section 6.3.3.1: strategies for ssthresh after a Quick-Start.

Claim: leaving ssthresh unchanged (QS-a) fills a link at once, whatever rate was granted. Setting it
to the Quick-Start window (QS-b) can be slower than slow start. Setup: the first seconds of a
response of 100 MB, 10 or 100 Mbit/s, 200 ms. Check: when the link is full.  Plot: figures 6.23,
6.24.
"""

from headway.claims import Evidence
from headway.experiment import Experiment
from headway.publish import Page
from headway.studies.ssthresh_strategies import claims, experiments, observe, page
from headway.studies.ssthresh_strategies.observe import Start
from headway.study import Study, StudyContext
from headway.trace import Trace


class SsthreshStrategies(Study[Start, Evidence[Start]]):
    """The study; see the module."""

    name = "ssthresh-strategies"
    title = "Strategies for ssthresh after a Quick-Start"
    source = "Scharf, Fast Startup Internet Congestion Control (2011), section 6.3.3.1"
    description = (
        "The first 20 s of a response of 100 MB over 10 and 100 Mbit/s, 200 ms, CUBIC: slow start, "
        "and Quick-Start with ssthresh kept (QS-a) or set (QS-b), rates of 5 to 82 Mbit/s."
    )
    statements = claims.STATEMENTS
    choices = (
        "A link is full when a slot of a round trip carries 95 % of its rate. With Quick-Start, "
        "hosts announce a receive window of 4 MB from the start, more than 100 Mbit/s over a round "
        "trip.",
        "Of the rates granted in figure 6.24 the text names only 5.12 Mbit/s. We chose 20.48 and "
        "81.92 Mbit/s.",
    )

    def experiments(self, ctx: StudyContext) -> dict[str, Experiment]:
        """A trial per link, strategy and approved rate, and slow start on each link."""
        return experiments.experiments(ctx)

    def observe(self, key: str, trace: Trace) -> Start:
        """Observe the start of a flow."""
        return observe.observe(key, trace)

    def page(self, _ctx: StudyContext, found: Evidence[Start]) -> Page:
        """When each link was full."""
        return page.page(found)


STUDY = SsthreshStrategies()
