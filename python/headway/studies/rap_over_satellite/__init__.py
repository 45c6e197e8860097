"""Paper 004, section IV: router-assisted protocols over a satellite link, without proxies.

Claim: XCP and MPCP finish five files in 18 s without loss and in 24 s at 1 %.
Setup: 10 Mbit/s, 400 ms one way, five files of 5 MB.  Run: no loss, 1 %, and 0.1 % with side links
of different delays.  Check: C-RP-001 and 004; rappep has the claims that compare with a proxy.
Plot: figures 3, 4 and 6.
"""

from headway.studies.rap_over_satellite import claims, experiments, observe, page
from headway.study import declared

STUDY = declared(__name__, claims, experiments, observe, page, agreements=page.AGREEMENTS)
