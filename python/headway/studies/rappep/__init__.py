"""Paper 004, section IV: a proxy at a satellite's up-link that is sender and router at once.

Claim: router protocols that run in a proxy finish files sooner than a proxy with Hybla and share
the link more evenly. Only the proxy changes.
Setup: rap-over-satellite's files and link, with a proxy where the satellite's link begins.
Run: no loss, 1 %, and 0.1 % with side links of different delays; faster starts without a proxy.
Check: C-RP-002, 003 and 005 to 019.  Plot: figures 3 to 9.
"""

from collections.abc import Mapping
from typing import Any

from headway.claims import Evidence
from headway.experiment import Exchanges, Experiment
from headway.publish import Page
from headway.report import Sketch, sketches
from headway.studies.rappep import claims, clients, experiments, observe, orbits, page
from headway.studies.rappep.clients import Clients
from headway.studies.rappep.kernel import OnKernel
from headway.studies.rappep.observe import Found, Row
from headway.study import Study, StudyContext
from headway.trace import Trace


class Rappep(Study[Row | Clients, Found]):
    """The study; see the module."""

    name = "rappep"
    title = "A proxy at the satellite that is sender and router at once"
    source = "Li, Yousefi'zadeh, RAPPEP (2010), section IV"
    description = (
        "Five files of 5 MB over 10 Mbit/s and 400 ms one way: CUBIC, VCP, XCP and MPCP from end "
        "to end; through a proxy with Hybla, XCP PEP or MPCP PEP on the satellite; and what "
        "Jump-Start, Careful Resume, Quick-Start and Hybla do without any proxy."
    )
    statements = claims.STATEMENTS
    choices = (
        "The rules that judge the claims were written before any trial ran. The following choices "
        "were made with results in view.",
        "TCP PEP's start and the spread of the files' starts are fitted to TCP PEP's average "
        "completion times, 24 s without loss and 36.9 s at 1 % (fit.py, declared before the fit): "
        "of five starts and seven spreads, standard slow start and 2.5 s come nearest, with 24.7 "
        "and 34.7 s. Nothing in the grid reaches 36.9 s. All comparisons with TCP PEP are "
        "predictions. They fail with the queue of 1000 packets, which was not fitted, and hold "
        "with one of 100.",
        "Starts, hosts, queue and windows are those of rap-over-satellite: files start uniformly "
        "within 2.5 s, hosts are linux-2.6 and announce 4 MB, and the queue is 1000 packets. "
        "Starts within 0, 5, 10, 15 and 20 s give means of 20 runs, in s: without loss TCP PEP "
        "26.1, 23.0, 20.7, 19.0, 17.9, XCP PEP 22.5, 18.7, 16.3, 14.0, 12.2, MPCP PEP 22.5, 17.5, "
        "15.0, 13.1, 11.9; at 1 % TCP PEP 34.1, 34.1, 34.7, 34.1, 33.6, XCP PEP 22.7, 19.5, 17.0, "
        "14.9, 13.1, MPCP PEP 22.5, 18.3, 15.7, 14.0, 12.6. With equal shares of a link that is "
        "never idle, and 1.2 s for the handshake and the path, the means would be 21.9, 18.3, "
        "14.8, 11.8, 9.9. A mean may be smaller, because a later file need not get an equal share.",
        "XCP PEP and MPCP PEP begin with their link's spare bandwidth (docs/pep-control.md). This "
        "start was added with the paper's completion times in view, and the claims on them are "
        "judged with it. The paper does not describe a start. A 'plain start' is the stack's "
        "initial window, followed by the law. Receivers announce 64 kB first, as Linux does. If "
        "they announce the whole window at once, XCP PEP takes 12.9 s and MPCP PEP 12.4 s without "
        "loss. The paper has no VCP in a proxy.",
        "Today's satellites are ours, not the paper's. The GEO has 600 ms, 50 and 5 Mbit/s, and a "
        "queue of 1000 packets. The LEO has 40 ms, 100 and 20 Mbit/s, a queue of 400 packets, and "
        "0.1 % loss. Every 15 s its link is down for 0.15 s and then has another rate and delay. "
        "Clients send requests, and the proxy's monitor is at the downlink. It is configured with "
        "the GEO's rate and measures the LEO's. For each connection Careful Resume knows the whole "
        "path's window, and Quick-Start asks for a quarter of the rate.",
        "The paper does not print how Hybla starts at 800 ms either. No Linux can have given its "
        "24 s without loss and 37 s at 1 %. In 2.6.24 Hybla's slow start stops growing at 32 "
        "packets. From 6.x on the whole file leaves in one flight, thousands of packets more than "
        "the queue holds. By the fit, TCP PEP here is Hybla's law after standard slow start. The "
        "starts of both Linux versions are shown, too.",
        "The paper has proxies at both routers and calls its design integrated. Here one proxy is "
        "where the data enters the satellite's link, and none is on the return path. The servers' "
        "host has one link of 1 Gbit/s to the proxy, with Linux's queue of 1000 packets, and runs "
        "CUBIC as it does from end to end. The proxy can buffer all data (linux-2.6 does not limit "
        "what is written).",
        "With side links of up to 800 ms the first leg decides the shares. CUBIC takes 23 to 49 s "
        "to send a file to the proxy (11 to 23 s without its initial ssthresh of 100 packets), "
        "longer than the satellite's leg takes. So no control of the second leg can make shares "
        "even. Where the first leg keeps the proxy's buffers filled, five endless flows with first "
        "legs of 2 to 1600 ms have a Jain's index of 0.999 with XCP PEP and with MPCP PEP (in the "
        "simulator's tests).",
        "Starts without a proxy run on today's hosts: linux-6 with 16 MB of send buffer, and "
        "receivers that announce the whole window at once. Careful Resume knows the path's window "
        "and RTT. Quick-Start asks for the link's rate, and the routers answer. Jump-Start is "
        "limited by the link's rate alone. The paper does not print MPCP PEP's tables; "
        "docs/pep-control.md has ours.",
    )

    def on(self, backend: str) -> Study[Any, Any]:
        """On the kernel, only its proxies."""
        return OnKernel(self) if backend == "kernel" else self

    def experiments(self, ctx: StudyContext) -> dict[str, Experiment]:
        """One trial per scheme, path and run, and per satellite and load."""
        return experiments.experiments(ctx) | orbits.experiments(ctx)

    def sketches(self, ctx: StudyContext) -> list[Sketch]:
        """The paper's path, without and with a proxy, and each satellite's."""
        own = orbits.experiments(ctx)
        satellites = [
            drawn
            for orbit in orbits.ORBITS
            for drawn in sketches(one for key, one in own.items() if key.startswith(orbit))
        ]
        return [*sketches(experiments.experiments(ctx).values()), *satellites]

    def observe(self, key: str, trace: Trace) -> Row | Clients:
        """Completion times, use of the link, and what the server saw."""
        if isinstance(trace.experiment.flows[0].app, Exchanges):
            return clients.observe(trace)
        return observe.observe(key, trace)

    def gather(self, _ctx: StudyContext, rows: Mapping[str, Row | Clients]) -> Found:
        """Separate the paper's trials from the satellites' clients."""
        return Found(Evidence.of(Row, rows).rows, Evidence.of(Clients, rows))

    def page(self, _ctx: StudyContext, found: Found) -> Page:
        """Completion times, what starts recover, figures 3 to 9, and the satellites' clients."""
        return page.page(found)


STUDY = Rappep()
