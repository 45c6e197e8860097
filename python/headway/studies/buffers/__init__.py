"""Thesis, section 6.5.1: how the bottleneck's buffer changes the loss of each startup.

Claim: a buffer of about 50 packets loses least. Below 100 packets Jump-Start doubles the loss,
above it changes nothing. Mega-Start loses 5 % and more, Quick-Start hardly more than slow start.
Setup: the workload of trace-mix at 35 % load.  Run: buffers of 10 to 500 packets.
Plot: figures 6.56 and 6.57.
"""

from headway.studies import trace_mix
from headway.studies.buffers import claims, experiments, page
from headway.study import declared
from headway.workloads.distribution import recorded_compared_with_thesis

_ON_VECTORS = 8
"""The first choices of trace-mix are about its connection vectors, which this study also uses."""

STUDY = declared(
    __name__,
    claims,
    experiments,
    page,
    choices=(*trace_mix.STUDY.choices[:_ON_VECTORS], *claims.CLAIMS.file.choices),
    takes_vectors=True,
    workload_tables=(recorded_compared_with_thesis,),
)
