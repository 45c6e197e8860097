"""The study on the kernel: its proxies and the satellites' clients, beside the simulator's linux-6.

The paper's claims are judged in the simulator, with its hosts and every scheme. Here the proxy is
`headwayctl pep` on a gateway between two emulated legs.
"""

from __future__ import annotations

import statistics
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from headway.claims import Evidence
from headway.experiment import Bulk, Experiment
from headway.publish import Page
from headway.studies.rap_over_satellite import experiments as raw
from headway.studies.rappep import clients, experiments, orbits_kernel, orbits_page
from headway.studies.rappep.clients import Clients
from headway.study import Agreement, Study, StudyContext
from headway.table import Cell, Table
from headway.trace import Trace

SCHEMES = ("tcp_pep", "xcp_plain", "mpcp_plain", "xcp_pep", "mpcp_pep")
"""With the paper's start, and with the controls' own."""
RUNS, QUICK_RUNS = 3, 1
DURATION = "70 s"
"""Files begin within 15 s and take 50 s at most; no run waits for its end."""
SEND_BUFFER = "16 MB"
"""Linux's own begins with less than the 64 kB that a receiver's SYN-ACK announces, as it counts
data that is copied; what the proxy splices it counts otherwise."""
TITLE = "Mean completion times in s"


@dataclass(frozen=True)
class Mean:
    """Of five files."""

    time_s: float | None
    """Mean completion time; None: not all have ended."""


@dataclass(frozen=True)
class Found:
    """The paper's files, and the satellites' clients."""

    files: Evidence[Mean]
    clients: Evidence[Clients]


class OnKernel(Study[Mean | Clients, Found]):
    """Five files through a proxy on a gateway, and clients of satellites behind one."""

    choices = (
        "The paper's claims are judged in the simulator with its hosts of Linux 2.6. Here its "
        "files go through a proxy of this machine, and in the simulator between hosts of linux-6, "
        "with which TCP PEP is faster: 13.0 instead of 16.4 s without loss, run 1. Send buffers "
        "are of 16 MB: linux-2.6 has always room, too.",
        "Over the GEO and the LEO clients are behind the gateway's satellite link, and hosts of "
        "one side share a namespace. The LEO is without XCP PEP and MPCP PEP: a monitor measures "
        "at a queue of its own device's, and an emulated link's is elsewhere; one that is told "
        "knows one rate, and this link has four.",
    )
    agreements = (
        *(
            Agreement(
                f"kernel-{scheme}",
                f"{experiments.SCHEMES[scheme]}: mean completion times on the kernel are the "
                "simulator's.",
                table=TITLE,
                row=experiments.SCHEMES[scheme],
                most=0.5,
                unit="s",
                relative=0.12,
            )
            for scheme in SCHEMES
        ),
        *orbits_kernel.AGREEMENTS,
    )

    def __init__(self, of: Study[Any, Any]) -> None:
        """The kernel's form of a study."""
        self.name, self.title, self.source = of.name, of.title, of.source
        self.description = (
            "Five files of 5 MB over 10 Mbit/s and 400 ms one way, through a proxy with Hybla, XCP "
            "PEP or MPCP PEP on the satellite's leg, with the paper's start and the approved one; "
            "Web pages and files over a GEO and a LEO satellite, through a proxy and without one."
        )

    def experiments(self, ctx: StudyContext) -> dict[str, Experiment]:
        """A trial per proxy, loss and run; and per satellite, load and scheme."""
        files = {
            raw.key(scheme, loss, run): _with_room(
                experiments.trial(scheme, loss, run, seed=ctx.seed)
            )
            for run in _runs(ctx)
            for scheme in SCHEMES
            for loss in raw.LOSSES
        }
        return files | orbits_kernel.experiments(ctx)

    def observe(self, _key: str, trace: Trace) -> Mean | Clients:
        """How long the five files took, or the clients."""
        if not isinstance(trace.experiment.flows[0].app, Bulk):
            return clients.observe(trace)
        starts_ns = trace.experiment.start_times_ns()
        taken_s = [
            (flow.done_ns - start_ns) / 1e9
            for flow, start_ns in zip(trace.flows, starts_ns, strict=True)
            if flow.done_ns is not None
        ]
        return Mean(statistics.mean(taken_s) if len(taken_s) == len(starts_ns) else None)

    def gather(self, _ctx: StudyContext, rows: Mapping[str, Mean | Clients]) -> Found:
        """Files and clients apart."""
        return Found(Evidence.of(Mean, rows), Evidence.of(Clients, rows))

    def page(self, ctx: StudyContext, found: Found) -> Page:
        """Means over the runs, by proxy and loss; and the satellites' tables."""
        rows: list[list[Cell]] = [
            [
                experiments.SCHEMES[scheme],
                *(_mean([found.files[raw.key(scheme, loss, run)].time_s for run in _runs(ctx)])
                  for loss in raw.LOSSES),
            ]
            for scheme in SCHEMES
        ]  # fmt: skip
        columns = ["proxy", *(f"{loss:.0%} loss" for loss in raw.LOSSES)]
        return Page(
            tables=[Table(TITLE, columns, rows), *orbits_page.tables(found.clients)],
            figures=orbits_page.figures(found.clients),
        )


def _with_room(whole: Experiment) -> Experiment:
    """Between hosts of today, with as much room in the proxy as the paper's have."""
    fields: dict[str, Any] = whole.model_dump(exclude_unset=True)
    fields["flows"] = [{**flow, "send_buffer": SEND_BUFFER} for flow in fields["flows"]]
    return Experiment.model_validate({**fields, "stack": "linux-6", "duration": DURATION})


def _runs(ctx: StudyContext) -> range:
    return range(1, (QUICK_RUNS if ctx.quick else RUNS) + 1)


def _mean(times_s: list[float | None]) -> float | None:
    """None where a run has none."""
    there = [time_s for time_s in times_s if time_s is not None]
    return round(statistics.mean(there), 2) if len(there) == len(times_s) else None
