"""Thesis, section 6.3.2: three flows that start one after the other, with each startup.

Claim: with drop-tail, later flows do not reach an equal share. Fast startups do not change this
unless they send at the link's full rate. Quick-Start's later requests are denied. Setup: three
responses of 12 MB, 5 s apart, 9.76 Mbit/s, 200 ms, 50 packets. Run: several times with jitter,
because the outcome is chaotic. Check: shares, denials, the queue.  Plot: figures 6.17 to 6.19.
"""

from headway.studies.convergence import claims, experiments, observe, page
from headway.study import declared

STUDY = declared(__name__, claims, experiments, observe, page)
