"""Thesis, section 6.4.5: fast startups with realistic traffic of many small transfers.

Claim: most exchanges are too small to gain; those of more than 10 kB gain some hundred
milliseconds. Jump- and Initial-Start lose a few more packets, Mega-Start many more. Quick-Start
helps only on a lightly loaded link, or with optimistic routers or an activation threshold. XCP is
slower than slow start, RCP faster than all other schemes.
Setup: 450 host pairs with nine RTTs from 4 to 200 ms on 10 Mbit/s with 50 packets of buffer;
connection vectors recorded on a campus in 2006.  Run: three hours for each scheme and load.
Plot: figures 6.50 to 6.55.
"""

from headway.studies.trace_mix import claims, experiments, page
from headway.study import declared
from headway.workloads.distribution import recorded_compared_with_thesis

STUDY = declared(
    __name__,
    claims,
    experiments,
    page,
    takes_vectors=True,
    workload_tables=(recorded_compared_with_thesis,),
)
