"""Thesis, section 6.4.2: the time of a single transfer with each startup.

Claim: simulated response times are those of table 6.1; fast startups help transfers of 10 kB to
1 MB on paths of 100 ms and more. RCP comes close to the minimum, XCP to late Quick-Start. Setup: a
client asks a server for one response over 9.76 Mbit/s.
Run: 1 kB to 10 MB, 50, 100 and 200 ms, every scheme; other capacities; every rate
that can be requested on 1 Gbit/s and 233 ms; first flights packet by packet.
Check: table 6.1 within 3 % or 5 ms, and the statements.
Plot: figures 6.34 to 6.41.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from headway.claims import Evidence
from headway.experiment import Experiment
from headway.publish import Page
from headway.studies.transfer_times import choices, claims, experiments, observe, page
from headway.studies.transfer_times.kernel import TransferTimesOnKernel
from headway.studies.transfer_times.observe import Row
from headway.studies.transfer_times.results import Results
from headway.study import Study, StudyContext
from headway.trace import Trace


class TransferTimes(Study[Row, Results]):
    """The study; see the module."""

    name = "transfer-times"
    title = "Transfer times: one download with each startup"
    source = "Scharf, Fast Startup Internet Congestion Control (2011), section 6.4.2"
    description = (
        "Downloads of 1 kB to 10 MB over 9.76 Mbit/s and 50, 100 and 200 ms with every startup, "
        "compared with the equations of table 6.1; path capacities of 2 Mbit/s to 1 Gbit/s; "
        "Quick-Start with every rate on 1 Gbit/s and 233 ms; first flights by packet. On the "
        "kernel: every scheme compared with the simulator's linux-6."
    )
    statements = claims.STATEMENTS
    choices = choices.CHOICES

    def on(self, backend: str) -> Study[Any, Any]:
        """On the kernel: every scheme compared with the simulator, without claims."""
        return TransferTimesOnKernel() if backend == "kernel" else self

    def experiments(self, ctx: StudyContext) -> dict[str, Experiment]:
        """Trials over sizes, capacities and requested rates, and trials of first flights."""
        return experiments.experiments(ctx)

    def observe(self, key: str, trace: Trace) -> Row:
        """Response times, or counts of a first flight."""
        return observe.observe(key, trace)

    def gather(self, ctx: StudyContext, rows: Mapping[str, Row]) -> Results:
        """The rows by the parameter that was varied."""
        return Results(Evidence(rows), experiments.sizes(ctx))

    def page(self, _ctx: StudyContext, found: Results) -> Page:
        """Response times compared with table 6.1."""
        return page.page(found)


STUDY = TransferTimes()
