"""Thesis, sections 5.2.2 to 5.2.4: a small receive window slows every startup down.

Claim: the window that Linux announces grows like slow start, at about twice cwnd. So a fast startup
at the sender alone does not help. It helps with a large first window, and almost as much if the
sender ignores the window for a round trip. Setup: a megabyte over 10 Mbit/s and 200 ms between
hosts in this machine's kernel, whose receiver begins with the window of Linux 2.6.24 or a large
one. Run: headwayctl host window-bench. Check: windows, and when data arrives. Plot: figures 5.11
and 5.12.

Scharf, Fast Startup Internet Congestion Control (2011).
"""

from __future__ import annotations

from collections.abc import Mapping

from headway.claims import Evidence
from headway.publish import Page
from headway.report import Sketch
from headway.studies.common.measured import Commands, MeasuredStudy, Measurement
from headway.studies.receive_window import claims, experiments, page
from headway.studies.receive_window.observe import Case
from headway.study import StudyContext


class ReceiveWindow(MeasuredStudy[Evidence[Case]]):
    """The study; see the module."""

    name = "receive-window"
    title = "Fast startups and the receive window"
    source = "Scharf, Fast Startup Internet Congestion Control (2011), sections 5.2.2 to 5.2.4"
    description = (
        "1 MB over 10 Mbit/s and 200 ms in this machine's kernel, CUBIC: slow start and "
        "Jump-Start, to a receiver with the first window of Linux 2.6.24 or a large one, within "
        "that window or beyond it. Needs root and headwayctl."
    )
    statements = claims.STATEMENTS
    choices = experiments.CHOICES

    def commands(self, ctx: StudyContext) -> Commands:
        """One per case."""
        return experiments.commands(ctx)

    def gather(self, _ctx: StudyContext, rows: Mapping[str, Measurement]) -> Evidence[Case]:
        """The transfers of each case."""
        return Evidence({key: Case.of(row) for key, row in rows.items()})

    def sketches(self, _ctx: StudyContext) -> list[Sketch]:
        """A sender and a receiver with a first window."""
        return [page.sketch()]

    def page(self, _ctx: StudyContext, found: Evidence[Case]) -> Page:
        """Response times, windows, and arrived data over time."""
        return page.page(found)


STUDY = ReceiveWindow()
