"""The loss- and delay-based controls compared with published values, or with their law.

Claim: each control of Headway has its paper's response function, equilibrium or fairness. Setup:
one flow on a path that loses exactly every (1/p)th packet, as response functions assume, or on a
link with a queue. Run: a few trials per control. Check: the mean window, the queue, the ratio of
goodputs against the published number. Plot: one table with the error of each.
"""

from __future__ import annotations

from headway.experiment import Experiment
from headway.publish import Page
from headway.studies.controls import delay_based, loss_based
from headway.studies.controls.observe import Run, observe
from headway.studies.controls.rows import Found
from headway.studies.controls.table import page_table, table
from headway.study import Study, StudyContext
from headway.trace import Trace

FAMILIES = (loss_based, delay_based)
"""Modules with ``ROWS`` and ``experiments(ctx)``."""
ROWS = tuple(row for family in FAMILIES for row in family.ROWS)


class Controls(Study[Run, Found]):
    """The study; see the module."""

    name = "controls"
    title = "Loss- and delay-based controls compared with published values"
    source = "The papers and RFCs of each control; see docs/controls.md"
    description = (
        "One flow of each control over a path that loses every (1/p)th packet, or behind a queue: "
        "mean windows, slopes, queues and ratios of goodput, compared with published or analytic "
        "values."
    )
    statements = tuple(row.statement() for row in ROWS)
    choices = (
        "The router periodic-loss makes loss periodic, because response functions are derived for "
        "one loss in exactly 1/p packets. With random loss of the same ratio windows differ, by a "
        "part that depends on the law (C-TH-010 is about CUBIC's).",
        "A mean window is 1/p packets divided by the mean time between reductions, counted in "
        "round trips without queueing. So only whole cycles count, and a queue does not lengthen a "
        "round trip.",
        "ACKs are not delayed where a law is written per ACK (Linux's Scalable, HighSpeed and "
        "Hybla count ACK events). They are delayed where the code allows for it (BIC).",
        "Tolerances were fixed before the numbers were seen: 15 % for published response "
        "functions, which leave out recovery, 5 to 10 % for analytic values.",
    )
    parts = (("controls-table", lambda claims: page_table(ROWS, claims)),)

    def experiments(self, ctx: StudyContext) -> dict[str, Experiment]:
        """A few trials per control."""
        return {key: one for family in FAMILIES for key, one in family.experiments(ctx).items()}

    def observe(self, _key: str, trace: Trace) -> Run:
        """Goodput, window, queue and ssthresh."""
        return observe(trace)

    def page(self, ctx: StudyContext, found: Found) -> Page:
        """The table."""
        return Page(tables=[table(ROWS, self.judge(ctx, found))])


STUDY = Controls()
