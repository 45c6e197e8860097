"""Paper 004, section IV: a proxy at a satellite's up-link that is sender and router at once.

Claim: router protocols that run in a proxy finish files sooner than a proxy with Hybla and share
the link more evenly. Only the proxy changes.
Setup: rap-over-satellite's files and link, with a proxy where the satellite's link begins.
Run: no loss, 1 %, and 0.1 % with side links of different delays; faster starts without a proxy.
Check: C-RP-002, 003 and 005 to 019.  Plot: figures 3 to 9.
"""

from headway.studies.rappep import claims, experiments, observe, page
from headway.study import declared

STUDY = declared(
    __name__, claims, experiments, observe, page, sketches=experiments.drawn, kernel=page.KERNEL
)
