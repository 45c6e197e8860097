"""Thesis, section 6.5.2: half of the hosts use a fast startup; its effect on the other half.

Claim: Jump- and Initial-Start are fair: their users gain and the others do not lose. Mega-Start is
unfair. Quick-Start hardly affects the others and gains less.
Setup: 450 host pairs with nine RTTs on 10 Mbit/s, truncated Pareto responses of 14 kB on average,
half of each RTT's pairs with the startup and half without.  Run: loads up to 75 %.
Plot: figures 6.58 and 6.59.
"""

from headway.studies.mixed_use import claims, experiments, page
from headway.study import declared

STUDY = declared(__name__, claims, experiments, page)
