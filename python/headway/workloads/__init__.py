"""What hosts ask of each other: published distributions, connection vectors, tmix files.

Pure functions: the same words give the same sessions on every machine. A :class:`Workload` is
what an experiment names; :func:`sessions` and :func:`shares` make the numbers of it.
"""

from headway.workloads import published, tmix
from headway.workloads.draws import Stream
from headway.workloads.recipe import Campus, Pareto, Tmix, Workload, sessions, shares
from headway.workloads.sessions import SessionTable, from_vectors

__all__ = [
    "Campus",
    "Pareto",
    "SessionTable",
    "Stream",
    "Tmix",
    "Workload",
    "from_vectors",
    "published",
    "sessions",
    "shares",
    "tmix",
]
