"""Thesis, section 6.2.2: a flow's throughput under random loss.

Claim: simulated Reno follows eq. 4.7; CUBIC and Compound get more at moderate loss and as much as
Reno at high loss. Setup: one greedy flow, 9.76 Mbit/s, 200 ms, loss of each packet with probability
p; another without random loss and with a small queue. Run: loss from 1e-5 to 1e-1, three controls.
Check: eq. 4.6 to 4.10, and the queues of figures 4.8 and 4.9. Plot: figures 6.9 to 6.11.
"""

from collections.abc import Mapping

from headway.experiment import Experiment
from headway.publish import Page
from headway.studies.common import lab
from headway.studies.response_functions import claims, experiments, observe, page
from headway.studies.response_functions.observe import Goodputs, Row
from headway.study import Study, StudyContext
from headway.trace import Trace


class ResponseFunctions(Study[Row, Goodputs]):
    """The study; see the module."""

    name = "response-functions"
    title = "Response functions: throughput under random loss"
    source = "Scharf, Fast Startup Internet Congestion Control (2011), section 6.2.2"
    description = (
        "One greedy flow over 9.76 Mbit/s and 200 ms with random loss of 1e-5 to 1e-1, Reno, "
        "CUBIC and Compound on Linux 2.6, compared with the equations of Mathis, Padhye, CUBIC and "
        "Compound; and the queues of CUBIC and Compound where only a queue of "
        f"{lab.SMALL_BUFFER_PKTS} packets drops."
    )
    statements = claims.STATEMENTS
    choices = (
        "The thesis does not print the queue of figure 6.7. We use 1000 packets, as in its testbed "
        "and in the simulations that it compares with the testbed.",
        "Only data packets are lost. Lost ACKs hardly affect these flows.",
        "ACKs are delayed as in the stack (eta = 2). Section 6.1.1.2 turns delayed ACKs off only "
        "while a flow starts. Without delayed ACKs and with eta = 1 simulated Reno is also within "
        "7 % of eq. 4.7, CUBIC exceeds eq. 4.9 by more (C-TH-010), and at a loss of 5 % CUBIC gets "
        "1.10 times Reno's throughput. C-TH-056 and C-TH-058 would then hold.",
        f"The verdicts on equations need {experiments.LOSSES_PER_RUN} losses per run: with 500, "
        "single runs are 10 % off at a loss of 5 %.",
        "The thesis ran Compound TCP as a patch for Linux. Here Compound is Headway's "
        "implementation of the protocol's draft and paper (algorithms/cc/compound.c documents "
        "where they differ).",
        "Delay governs Compound from the repair of a loss until the window shrinks for the last "
        "time before the next loss. Without a loss only the delay window can shrink.",
    )

    def experiments(self, ctx: StudyContext) -> dict[str, Experiment]:
        """One trial per control, loss and run, and the queues of two controls."""
        return experiments.experiments(ctx)

    def observe(self, key: str, trace: Trace) -> Row:
        """The flow's goodput, or its queue length."""
        return observe.observe(key, trace)

    def gather(self, ctx: StudyContext, rows: Mapping[str, Row]) -> Goodputs:
        """Mean goodputs by control and loss, and queues."""
        return observe.gather(rows, experiments.losses(ctx), experiments.runs(ctx))

    def page(self, _ctx: StudyContext, found: Goodputs) -> Page:
        """Goodputs compared with the equations."""
        return page.page(found)


STUDY = ResponseFunctions()
