"""Thesis, section 6.3.3.1: strategies for ssthresh after a Quick-Start.

Claim: leaving ssthresh unchanged (QS-a) fills a link at once, whatever rate was granted. Setting it
to the Quick-Start window (QS-b) can be slower than slow start. Setup: the first seconds of a
response of 100 MB, 10 or 100 Mbit/s, 200 ms. Check: when the link is full.  Plot: figures 6.23,
6.24.
"""

from headway.studies.ssthresh_strategies import claims, experiments, page
from headway.study import declared

STUDY = declared(__name__, claims, experiments, page)
