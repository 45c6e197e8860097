"""Thesis, sections 4.5, 6.3.3.2 and 6.3.3.3: how routers approve Quick-Start requests.

Claim: the target algorithm grants bandwidth that is neither used nor granted already, at most
(theta c - u) / (Omega Delta) per second, and its grants are unfair. The fair algorithm shares
better and grants less. The optimistic one approves every request and overbooks the link tenfold.
Setup: two routers of 100 Mbit/s with cross traffic; a pattern of 28 transfers on 10 Mbit/s; a
generator of requests without data. Check: every grant against its equation.
Plot: figures 6.25 to 6.31.
"""

from headway.studies.approval_control import claims, experiments, page
from headway.study import declared

STUDY = declared(__name__, claims, experiments, page)
