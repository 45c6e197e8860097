"""Suchara, Witt, Wydrowski (2005): TCP MaxNet, its implementation and its experiments.

Claim: a window by the highest price of a path's routers keeps their queues empty, shares fairly
whatever the RTT, and keeps its throughput under random loss. Setup: 10 Mbit/s, 28 and 56 ms, one,
two and four flows of MaxNet, FAST and BIC, 0 to 5 % loss. Check: rates, RTTs, drops, the law and
its price.  Plot: figures 5 to 8, table I.
"""

from headway.claims import Evidence
from headway.experiment import Experiment
from headway.publish import Page
from headway.studies.maxnet import claims, experiments, observe, page
from headway.studies.maxnet.observe import Row
from headway.study import Study, StudyContext
from headway.trace import Trace


class MaxNet(Study[Row, Evidence[Row]]):
    """The study; see the module."""

    name = "maxnet"
    title = "TCP MaxNet beside FAST and BIC"
    source = "Suchara, Witt, Wydrowski, TCP MaxNet: Implementation and Experiments (2005)"
    description = (
        "10 Mbit/s, RTTs of 28 and 56 ms, MaxNet, FAST and BIC: one flow, four, two with unlike "
        "RTTs, and one under 0 to 5 % random loss."
    )
    statements = claims.STATEMENTS
    agreements = page.AGREEMENTS
    choices = (
        "Which buffer. The paper states 30 KB, with which no RTT can exceed 52 ms, and reports "
        "more than 70 ms for one BIC flow and 200 and 250 ms for four of FAST and BIC. A queue "
        "alone would give one flow and four the same; what explains both is a queue that is never "
        "full, and windows of some 90 KB: Linux up to 2.6.17 gave a send buffer 131,072 bytes, "
        "about 70 packets. So the study runs 30 KB with hosts that have room, and 400 KB with "
        "hosts of that send buffer. Claims are judged with 30 KB, but C-MN-020, 021, 027 and 028 "
        "with 400 KB; this was settled before a trial ran. At first the hosts of 30 KB had the "
        "send buffer, too. It stalled them under random loss, and MaxNet had 3.5 Mbit/s at 5 % "
        "loss.",
        "Units. The paper gives none for price, interval and p1 to p4. With seconds the law's "
        "equilibrium on its path is unstable (p4 is ten times what the law's authors prove "
        "stable): a prototype gave 6.5 Mbit/s and a mean RTT of 60 ms. The law here takes 1/32 of "
        "the price with interval = 2 s, by its phase margin, and eta waits for a cwnd that is on "
        "its way. What else was tried, with the paper's results in view, is in docs/maxnet.md.",
        "FAST's alpha is not printed. It is fitted to the RTT of its four flows, which exceeds "
        "200 ms (fit.py, declared before the fit): of 4 to 60 packets in steps of 2, 38 give the "
        "RTT that is nearest above, 208.5 ms. C-MN-027 is calibrated by that and counts in no "
        "tally; table I and all else of FAST are predictions. Before, alpha was 10, half of what "
        "30 KB hold. FAST's reaction to loss is not printed either, and no RTT tells of it: it is "
        "the draft's, half of the window.",
        "RTT is that of packets: the path's, and their mean time at the bottleneck (Little's law). "
        "Smoothed RTTs of these hosts also have what receivers delay ACKs, and are 1.7 ms more.",
        "eta begins so that the target is cwnd, and Price(0) is 0. Flows that start together "
        "start within 10 ms of each other. 0.1 s was tried first: base RTTs then hold the queue "
        "of who was first, and four MaxNet flows had 2.24 to 2.38 Mbit/s. Hosts are Linux 2.6.",
        "Loss is on both interfaces of the router, so on data and on ACKs.",
        "Lengths are not given, but the 10 s of table I: the others run for 60 s.",
        "Judgements that were settled when first results were known: C-MN-036 on links that carry "
        "less than the router is told; C-MN-039 and 041 on the second half, 041 by means; C-MN-046 "
        "by quantiles and C-MN-047 without timeouts that follow one another; RTT and raw "
        "throughput without receivers' delays (C-MN-019 to 023, 026 to 029).",
    )

    def experiments(self, ctx: StudyContext) -> dict[str, Experiment]:
        """Figures 5 to 8 with either buffer, table I, and higher values of mu."""
        return experiments.experiments(ctx)

    def observe(self, key: str, trace: Trace) -> Row:
        """Rates, delays and prices of a trial."""
        return observe.observe(key, trace)

    def page(self, _ctx: StudyContext, found: Evidence[Row]) -> Page:
        """Figures 5 to 8 and table I."""
        return page.page(found)


STUDY = MaxNet()
