"""Paper 000 and the thesis: Web users of SURGE with Quick-Start, on 10 Mbit/s with 200 ms.

Claim: pages of SURGE's default hardly gain from a fast start, those of large files more than a
second, as long as there is little load. Setup: users of a server of 2000 files who fetch pages
over HTTP/1.0, 1.1 and 1.1 with pipelining, and as browsers do today. Check: C-QSL-019 to 026,
C-TH-167 to 174 and 280. Plot: figures 12 to 14 of the paper, 6.48 and 6.49 of the thesis.

Scharf, Strotbek: "Performance Evaluation of Quick-Start TCP with a Linux Kernel Implementation",
2008. Scharf: "Fast Startup Internet Congestion Control", 2011.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from headway.claims import Evidence
from headway.experiment import Experiment
from headway.publish import Page
from headway.studies.web_surge import claims, experiments, observe, page
from headway.studies.web_surge.kernel import OnKernel
from headway.studies.web_surge.observe import Found, Loads
from headway.study import Study, StudyContext
from headway.trace import Trace


class WebSurge(Study[Loads, Found]):
    """The study; see the module."""

    name = "web-surge"
    title = "Web users of SURGE"
    source = (
        "Scharf, Strotbek: Performance Evaluation of Quick-Start TCP with a Linux Kernel "
        "Implementation (2008), section 5.3; Scharf, thesis (2011), section 6.4.4"
    )
    description = (
        "10 Mbit/s and 200 ms: pages of SURGE's default and of large files, for one user, for "
        "many, and with part of the capacity for Quick-Start; over HTTP/1.0, 1.1 and 1.1 with "
        "pipelining, over six connections and HTTP/2."
    )
    statements = claims.STATEMENTS
    choices = page.CHOICES

    def on(self, backend: str) -> Study[Any, Any]:
        """On the kernel a few pages of both models."""
        return OnKernel(self) if backend == "kernel" else self

    def experiments(self, ctx: StudyContext) -> dict[str, Experiment]:
        """Web users of the paper, of the thesis and of today."""
        return experiments.experiments(ctx)

    def observe(self, _key: str, trace: Trace) -> Loads:
        """The pages of a trial."""
        return observe.observe(trace)

    def gather(self, ctx: StudyContext, rows: Mapping[str, Loads]) -> Found:
        """All of them, by what they are trials of."""
        return Found(Evidence(rows), ctx.seed, ctx.quick)

    def page(self, _ctx: StudyContext, found: Found) -> Page:
        """Figures 12 to 14, 6.48 and 6.49, and the numbers in them."""
        return page.page(found)


STUDY = WebSurge()
