"""Paper 000: Quick-Start in Linux, on 10 Mbit/s with 100 or 200 ms.

Claim: Quick-Start at 5.12 Mbit/s fills the link at once where slow start needs a second or two,
as long as ssthresh is not lowered; transfers of 10 kB to 1 MB gain most. Setup: one client, one
server, Reno or CUBIC of Linux 2.6.20. Check and plot: figures 9 to 11. The study web-surge has
figures 12 to 14, on Web pages.

Scharf, Strotbek: "Performance Evaluation of Quick-Start TCP with a Linux Kernel Implementation",
2008.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from headway.claims import Evidence
from headway.experiment import Experiment
from headway.publish import Page
from headway.studies.quickstart_linux import claims, experiments, observe, page
from headway.studies.quickstart_linux.kernel import OnKernel
from headway.studies.quickstart_linux.observe import Found, Row
from headway.study import Study, StudyContext
from headway.trace import Trace


class QuickstartLinux(Study[Row, Found]):
    """The study; see the module."""

    name = "quickstart-linux"
    title = "Quick-Start in Linux"
    source = (
        "Scharf, Strotbek: Performance Evaluation of Quick-Start TCP with a Linux Kernel "
        "Implementation (2008)"
    )
    description = (
        "10 Mbit/s and 100 or 200 ms: rates after the start with Reno and CUBIC of Linux 2.6.20, "
        "with and without Quick-Start and a lowered ssthresh; speedup over size and RTT. On the "
        "kernel: the downloads, compared with the simulator's linux-6."
    )
    statements = claims.STATEMENTS
    choices = page.CHOICES

    def on(self, backend: str) -> Study[Any, Any]:
        """On the kernel, only the downloads."""
        return OnKernel(self) if backend == "kernel" else self

    def experiments(self, ctx: StudyContext) -> dict[str, Experiment]:
        """Traces of the start, and sweeps over sizes."""
        return experiments.experiments(ctx)

    def observe(self, key: str, trace: Trace) -> Row:
        """A start, or downloads."""
        return observe.observe(key, trace)

    def gather(self, _ctx: StudyContext, rows: Mapping[str, Row]) -> Found:
        """Group the trials by experiment."""
        return Found(Evidence(rows))

    def page(self, _ctx: StudyContext, found: Found) -> Page:
        """Figures 9 to 11 and the numbers in them."""
        return page.page(found)


STUDY = QuickstartLinux()
