"""Paper 004, section IV: a proxy at a satellite's up-link that is sender and router at once.

Claim: routers' protocols, computed in a proxy, finish files sooner than a proxy with Hybla and share
more evenly, and nothing but the proxy changes.
Setup: rap-over-satellite's files and link, with a proxy where the satellite's link begins.  Run: no
loss, 1 %, and 0.1 % with side links of different delays.  Check: C-RP-002, 003 and 005 to 019.
Plot: figures 3 to 9.
"""

from headway.claims import Evidence
from headway.experiment import Experiment
from headway.publish import Page
from headway.studies.rappep import claims, experiments, observe, page
from headway.studies.rappep.observe import Row
from headway.study import Study, StudyContext
from headway.trace import Trace


class Rappep(Study[Row, Evidence[Row]]):
    """The study; see the module."""

    name = "rappep"
    title = "A proxy at the satellite that is sender and router at once"
    source = "Li, Yousefi'zadeh, RAPPEP (2010), section IV"
    description = (
        "Five files of 5 MB over 10 Mbit/s and 400 ms one way: CUBIC, VCP, XCP and MPCP from end to "
        "end; through a proxy with Hybla, XCP PEP or MPCP PEP on the satellite; and what Jump-Start, "
        "Careful Resume, Quick-Start and Hybla do without any proxy."
    )
    only_backend = "sim"
    statements = claims.STATEMENTS
    choices = (
        "Starts, hosts, queue and windows are those of rap-over-satellite: files start uniformly "
        "within 15 s, hosts are linux-2.6 and announce 4 MB, and the queue is 1000 packets.",
        "The paper has proxies at both routers, and calls its design integrated: here is one, where "
        "the satellite's link begins for the data; on the way back there is none. The servers' host "
        "has one link of 1 Gbit/s to it, with Linux's queue of 1000 packets. Its connections to the "
        "server are CUBIC's, those over the satellite as named, both without limit of buffer.",
    )

    def experiments(self, ctx: StudyContext) -> dict[str, Experiment]:
        """One trial per scheme, path and run."""
        return experiments.experiments(ctx)

    def observe(self, key: str, trace: Trace) -> Row:
        """Completion times, use of the link, and what the server saw."""
        return observe.observe(key, trace)

    def page(self, _ctx: StudyContext, found: Evidence[Row]) -> Page:
        """Completion times, what starts recover, and figures 3 to 9."""
        return page.page(found)


STUDY = Rappep()
