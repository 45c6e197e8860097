"""Thesis, section 7.2.3: a walk through a city that arrives, figures 7.7 and 7.8.

Claim: while somebody walks, parts of the model arrive late with Slow-Start; Jump-Start and
Quick-Start show them sooner, Quick-Start with all of the capacity soonest, with one percent of it
in between. Setup: a city in Chromium, its quarters over one persistent connection, 1 Gbit/s and 200
ms. Run: the same recorded walk three times with each startup. Check: means of the quarters'
response times.  Plot: rates and response times over a walk.
"""

from headway.studies.city import claims, experiments, page
from headway.study import declared

STUDY = declared(
    __name__,
    claims,
    experiments,
    page,
    parts=(("city-times", claims.times_table),),
    only_backend="kernel",
)
