"""Thesis, section 6.4.3: bandwidth sharing of many transfers on one link, by startup.

Claim: Jump-Start saves several hundred milliseconds at every load; Initial- and Mega-Start only on
a lightly loaded link. Quick-Start falls back to slow start where requests are denied. The shorter
its routers remember grants, the higher the load at which this happens. RCP shares the link as in
eq. 6.12. XCP may be slower than slow start.
Setup: 200 persistent connections, 10 Mbit/s, 200 ms, 50 packets; requests of 100 bytes at
exponential intervals, truncated Pareto responses of 114 kB.  Run: loads of 5 to 90 %, two hours.
Check: an idle link (eq. 6.11) and processor sharing (eq. 6.12).  Plot: figures 6.42 to 6.47.
"""

from headway.studies.load import claims, experiments, observe, page
from headway.study import declared

STUDY = declared(__name__, claims, experiments, observe, page)
