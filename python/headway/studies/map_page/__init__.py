"""Thesis, section 7.1.3: how long a page of scripts and map tiles takes, figure 7.5.

Claim: over 1 Gbit/s and 200 ms a startup that knows a target cuts the page's loading time by more
than two seconds, one that does not by more than one. Setup: a map of 1.5 MB, large scripts first,
in Chromium; nginx behind the proxy that reads the target. Run: each startup ten times, and targets
from the round-trip time to a second. Check: medians against Slow-Start's. Plot: figure 7.5.
"""

from headway.studies.map_page import claims, experiments, page
from headway.study import declared

STUDY = declared(
    __name__,
    claims,
    experiments,
    page,
    parts=(("map-page-times", claims.times_table),),
    only_backend="kernel",
)
