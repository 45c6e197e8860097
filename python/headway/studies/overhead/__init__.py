"""Thesis, section 6.6, and paper 000, section 3.3: what Quick-Start costs a router.

Claim: a router that meters every packet and answers requests forwards as many packets as before,
with the same delay. Metering costs a few percent of the forwarding effort, one request in a hundred
packets hardly more, and one in two packets several times as much. Setup: a router of network
namespaces in this machine's kernel; packets of 50 bytes, 0, 1 and 50 % of them requests. The router
runs in turns with the program, with an empty program and without a program. Run: headwayctl router
bench.
Check: rates, delays, effort. Plot: figure 6.65 and table 6.4.

Scharf, Fast Startup Internet Congestion Control (2011); Scharf, Strotbek (2008).
"""

from headway.studies.common.measured import MeasuredStudy
from headway.studies.overhead import claims, experiments, page
from headway.study import declared

STUDY = declared(
    __name__,
    claims,
    experiments,
    page,
    base=MeasuredStudy,
    commands=experiments.commands,
    sketches=page.sketches,
)
