"""Suchara, Witt, Wydrowski (2005): TCP MaxNet, its implementation and its experiments.

Claim: a window by the highest price of a path's routers keeps their queues empty, shares fairly
whatever the RTT, and keeps its throughput under random loss. Setup: 10 Mbit/s, 28 and 56 ms, one,
two and four flows of MaxNet, FAST and BIC, 0 to 5 % loss. Check: rates, RTTs, drops, the law and
its price.  Plot: figures 5 to 8, table I.
"""

from headway.studies.maxnet import claims, experiments, page
from headway.study import declared

STUDY = declared(__name__, claims, experiments, page, agreements=page.AGREEMENTS)
