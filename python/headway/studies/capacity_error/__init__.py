"""Thesis, section 6.5.3: routers that assume a wrong capacity of their link.

Claim: a router that underestimates its link only grants less. A router that overestimates it ten
times lets a flow overshoot, which costs a timeout and some seconds, but nothing if the request is
small. XCP and RCP need to know their link within the factor of eq. 6.15. With a smaller capacity
the link is not fully used, with a capacity above the bound the queue grows without end.
Setup: a long transfer with Quick-Start, XCP or RCP on 10 Mbit/s and 200 ms, where the router
assumes the right capacity, or a tenth of it up to ten times as much; transfers of 0.1 to 8 MB over
1 Gbit/s and 233 ms with a grant above the link's rate.
Check: C-TH-205 to 214 and 282 to 287.  Plot: figures 6.60 to 6.62.
"""

from headway.studies.capacity_error import claims, experiments, observe, page
from headway.study import declared

STUDY = declared(__name__, claims, experiments, observe, page)
