"""Thesis, section 7.1.3: a client states a deadline, and the server's TCP starts accordingly.

Claim: Mega-Start meets every target that the link allows, a late Quick-Start without a correction
misses them, startups without an application interface ignore them, and below the round-trip
time nothing is activated. Setup: one object of 100 kB over 10 Mbit/s and 200 ms, its target in the
header Response-Deadline. Run: targets of 0.1 to 2 s, with each startup; on the kernel over HTTP, by
nginx and the proxy before it. Check: response times against targets. Plot: figure 7.4.
"""

from headway.studies.deadlines import claims, experiments, kernel, page
from headway.study import declared

STUDY = declared(
    __name__, claims, experiments, page, experiments=experiments.in_turn, kernel=kernel.KERNEL
)
