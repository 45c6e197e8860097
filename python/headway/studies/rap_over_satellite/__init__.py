"""Paper 004, section IV: router-assisted protocols over a satellite link, without proxies.

Claim: XCP and MPCP finish five files in 18 s without loss and in 24 s at 1 %.
Setup: 10 Mbit/s, 400 ms one way, five files of 5 MB.  Run: no loss, 1 %, and 0.1 % with side links
of different delays.  Check: C-RP-001 and 004; rappep has the claims that compare with a proxy.
Plot: figures 3, 4 and 6.
"""

from headway.claims import Evidence
from headway.experiment import Experiment
from headway.publish import Page
from headway.studies.rap_over_satellite import claims, experiments, observe, page
from headway.studies.rap_over_satellite.observe import Files
from headway.study import Study, StudyContext
from headway.trace import Trace


class RapOverSatellite(Study[Files, Evidence[Files]]):
    """The study; see the module."""

    name = "rap-over-satellite"
    title = "CUBIC, VCP, XCP and MPCP over a satellite link"
    source = "Li, Yousefi'zadeh, RAPPEP (2010), section IV"
    description = (
        "Five files of 5 MB over 10 Mbit/s and 400 ms one way with CUBIC, VCP, XCP and MPCP: "
        "completion times and use of the link without loss, with 1 %, and with 0.1 % and side "
        "links of different delays."
    )
    statements = claims.STATEMENTS
    agreements = page.AGREEMENTS
    choices = (
        "The paper prints only that files start at random times. Here they start uniformly within "
        "2.5 s, which is fitted to TCP PEP's completion times (fit.py of rappep, declared before "
        "the fit). Claims that are judged with it are predictions. Before the fit it was 15 s, "
        "chosen with C-RP-001 in view. Within 0, 5, 10, 15 and 20 s the means of 20 runs are, in "
        "s: without loss CUBIC 28.2, 27.7, 27.4, 27.3, 27.3, VCP 42.9, 41.1, 39.8, 38.5, 37.5, XCP "
        "23.1, 19.8, 17.9, 15.9, 14.1, MPCP 24.2, 22.9, 21.1, 19.6, 18.2; at 1 % XCP 27.1, 24.1, "
        "22.6, 21.4, 20.1, MPCP 27.9, 26.8, 26.1, 25.7, 24.8. So MPCP's 18 s need a spread of 10 s "
        "or more, and TCP PEP's 24 s need less. With this queue no spread gives both.",
        "The paper does not print what XCP and MPCP do on a loss. Here they leave the window to "
        "the routers (on_loss=keep). At 1 % more than one packet of a window is lost in each round "
        "trip. If every loss halves the window, both take around 50 s, and C-RP-004 fails. Of "
        "losses by the link the paper says only that the proxy cannot tell them from congestion. "
        "This was chosen with results in view. VCP halves its window as its ns-2 model does.",
        "Hosts are linux-2.6. Fedora Core 5 had CUBIC 2.0, whose initial ssthresh is 100 packets. "
        "Without it CUBIC fills the queue in slow start and takes 18 s with starts within 20 s. "
        "Routers have Linux's queue of 1000 packets. Only the data's direction has loss.",
        "MPCP codes levels in three packets, and its tables are ours (docs/vcp-mpcp.md). They "
        "could not be fitted: from MPCP's own paper we know only the number of packets, two or "
        "three, and no level, increase or decrease.",
    )

    def experiments(self, ctx: StudyContext) -> dict[str, Experiment]:
        """One trial per protocol, path and run."""
        return experiments.experiments(ctx)

    def observe(self, _key: str, trace: Trace) -> Files:
        """Completion times and use of the link."""
        return observe.observe(trace)

    def page(self, _ctx: StudyContext, found: Evidence[Files]) -> Page:
        """Completion times, and figures 3, 4 and 6."""
        return page.page(found)


STUDY = RapOverSatellite()
