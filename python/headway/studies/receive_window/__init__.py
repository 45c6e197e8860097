"""Thesis, sections 5.2.2 to 5.2.4: a small receive window slows every startup down.

Claim: the window that Linux announces grows like slow start, at about twice cwnd. So a fast startup
at the sender alone does not help. It helps with a large first window, and almost as much if the
sender ignores the window for a round trip. Setup: a megabyte over 10 Mbit/s and 200 ms between
hosts in this machine's kernel, whose receiver begins with the window of Linux 2.6.24 or a large
one. Run: headwayctl host window-bench. Check: windows, and when data arrives. Plot: figures 5.11
and 5.12.

Scharf, Fast Startup Internet Congestion Control (2011).
"""

from headway.studies.common.measured import MeasuredStudy
from headway.studies.receive_window import claims, experiments, page
from headway.study import declared

STUDY = declared(
    __name__,
    claims,
    experiments,
    page,
    base=MeasuredStudy,
    commands=experiments.commands,
    sketches=page.sketches,
)
