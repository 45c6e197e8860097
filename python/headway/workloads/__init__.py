"""What hosts ask of each other: published distributions, connection vectors, tmix files.

Pure functions: the same words give the same sessions on every machine. A :class:`Workload` is
what an experiment names; :func:`sessions` and :func:`shares` make the numbers of it.
"""

from typing import TYPE_CHECKING

from headway.lazy import lazily
from headway.workloads.workload import Campus, Pareto, Tmix, Workload

if TYPE_CHECKING:
    from headway.workloads import published, tmix
    from headway.workloads.draws import Stream
    from headway.workloads.recipe import sessions, shares
    from headway.workloads.session_table import SessionTable, from_vectors
else:
    __getattr__ = lazily(
        __name__,
        {
            "SessionTable": "headway.workloads.session_table",
            "Stream": "headway.workloads.draws",
            "from_vectors": "headway.workloads.session_table",
            "published": "headway.workloads.published",
            "sessions": "headway.workloads.recipe",
            "shares": "headway.workloads.recipe",
            "tmix": "headway.workloads.tmix",
        },
    )


def __dir__() -> list[str]:
    return __all__


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
