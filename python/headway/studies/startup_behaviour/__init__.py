"""Thesis, section 6.3.1: one connection, two downloads with an idle time between, every startup.

Claim: slow start needs about 2 s to fill 10 Mbit/s over 200 ms, at the start and after idle; every
fast startup is better, and Mega-Start at the link's rate is the optimum. RCP is similar to
Quick-Start, XCP is slower. Setup: two responses of 2 MB, 10 s apart, on one connection. Check:
rates in slots of a round trip, completion times, data in the first round trip.  Plot: figures 6.15
and 6.16.
"""

from headway.studies.startup_behaviour import claims, experiments, observe, page
from headway.study import Agreement, declared

STUDY = declared(
    __name__,
    claims, experiments, observe, page,
    agreements=Agreement.per_row(
        experiments.SCHEMES,
        "{}: both response times on the kernel agree with the simulator's.",
        table=page.TIMES, most=15.0, unit="ms", relative=0.08,
    ),
)  # fmt: skip
