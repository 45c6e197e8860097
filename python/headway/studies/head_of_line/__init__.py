"""Thesis, section 6.2.3: delay of small messages behind a lost one.

Claim: mean response times follow eq. A.7 up to a loss of 1 %. Above 1 %, congestion control adds to
them, CUBIC less than Reno. Setup: requests of 64 bytes every 10 ms on average over one connection,
each echoed; loss both ways. Run: loss from 0 to 5 %, Reno and CUBIC.  Plot: figures 6.13, 6.14.
"""

from headway.studies.head_of_line import claims, experiments, page
from headway.study import declared

STUDY = declared(__name__, claims, experiments, page)
