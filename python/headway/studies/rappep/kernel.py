"""The study on the kernel: proxies and the satellites' clients, against the simulator's linux-6.

The paper's claims are judged in the simulator, with its hosts and every scheme. Here the proxy is
`headwayctl pep` on a gateway between two emulated legs, and claims that need no other schemes are
judged with it, too.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from headway.claims import Evidence
from headway.experiment import Bulk, Experiment
from headway.publish import Page
from headway.studies.rappep import (
    clients,
    files_kernel,
    files_kernel_page,
    kernel_claims,
    observe,
    orbits_kernel,
    orbits_page,
)
from headway.studies.rappep.clients import Clients
from headway.studies.rappep.observe import Found, Row
from headway.studies.rappep.page import numbers_of
from headway.study import Study, StudyContext
from headway.trace import Trace


class OnKernel(Study[Row | Clients, Found]):
    """Five files through a proxy on a gateway, and clients of satellites behind one."""

    statements = kernel_claims.OF_KERNEL
    choices = (
        "The paper's claims are judged in the simulator with its hosts of Linux 2.6. Those that "
        "need no routers from end to end are judged here, too. Here the files go through a proxy "
        "of this machine. The simulator's trials for comparison have hosts of linux-6, with which "
        "TCP PEP is faster: 13.0 instead of 16.4 s without loss, run 1. Send buffers have 16 MB, "
        "because linux-2.6 does not limit its own.",
        "A run takes real time, so not every path has every scheme and run. At 1 % loss CUBIC from "
        "end to end has one run. Side links of different delays have one run with each of the "
        "paper's proxies. These delays are on the ground, from each server to the gateway. The "
        "study rap-over-satellite has XCP, VCP and MPCP from end to end, and figure 6.",
        "A file begins with its request, because only the satellite's packets are logged. Losses "
        "and queues before the proxy are not known on the kernel, and no table has them.",
        "Over the GEO and the LEO clients are behind the gateway's satellite link, and hosts of "
        "one side share a namespace. The LEO has no XCP PEP and MPCP PEP: a monitor can measure "
        "only at its own device's queue, and an emulated link's queue is elsewhere. A monitor with "
        "a configured rate knows one rate, and this link has four.",
    )
    agreements = (*files_kernel.AGREEMENTS, *orbits_kernel.AGREEMENTS)

    def __init__(self, of: Study[Any, Any]) -> None:
        """The kernel's form of a study."""
        self.name, self.title, self.source = of.name, of.title, of.source
        self.description = (
            "Five files of 5 MB over 10 Mbit/s and 400 ms one way: CUBIC from end to end, and a "
            "proxy with Hybla, XCP PEP, MPCP PEP or VCP PEP on the satellite's leg, with the "
            "paper's start and the approved one; without loss, at 1 %, and at 0.1 % with side "
            "links of different delays. Web pages and files over a GEO and a LEO satellite, "
            "through a proxy and without one."
        )

    def experiments(self, ctx: StudyContext) -> dict[str, Experiment]:
        """A trial per path, scheme and run; and per satellite, load and scheme."""
        return files_kernel.experiments(ctx) | orbits_kernel.experiments(ctx)

    def observe(self, key: str, trace: Trace) -> Row | Clients:
        """Completion times, use of the link and what the server saw; or the clients."""
        if isinstance(trace.experiment.flows[0].app, Bulk):
            return observe.observe_live(key, trace)
        return clients.observe(trace)

    def gather(self, _ctx: StudyContext, rows: Mapping[str, Row | Clients]) -> Found:
        """Separate files from clients."""
        return Found(Evidence.of(Row, rows).rows, Evidence.of(Clients, rows))

    def page(self, _ctx: StudyContext, found: Found) -> Page:
        """Tables and figures of the files and of the satellites."""
        return Page(
            tables=[*files_kernel_page.tables(found), *orbits_page.tables(found.clients)],
            figures={
                **files_kernel_page.figures(found),
                **orbits_page.figures(found.clients),
            },
            data={
                "trials": numbers_of(found),
                "shares": files_kernel_page.shares_by_second(found),
                "cwnd": files_kernel_page.cwnd_at_the_server(found),
            },
        )
