"""Workloads: published distributions, recorded connections, tmix files.

Pure functions: the same description gives the same sessions on every machine. An experiment has a
``Workload``; ``sessions`` and ``shares`` compute its sessions.
"""

from typing import TYPE_CHECKING

from headway.lazy import lazily
from headway.workloads.workload import Campus, Pareto, Recorded, Tmix, Workload

if TYPE_CHECKING:
    from headway.workloads import campus, campus_fit, distribution, published, recorded, tmix
    from headway.workloads.draws import Stream
    from headway.workloads.exchange_file import (
        ExchangeTable,
        exchanges_of,
        read_exchanges,
        write_exchanges,
    )
    from headway.workloads.generate import sessions, shares
    from headway.workloads.pages import PageTable, WebObject, page_table, read_pages, write_pages
    from headway.workloads.session_table import SessionTable, from_vectors
else:
    __getattr__ = lazily(
        __name__,
        {
            "ExchangeTable": "headway.workloads.exchange_file",
            "PageTable": "headway.workloads.pages",
            "SessionTable": "headway.workloads.session_table",
            "Stream": "headway.workloads.draws",
            "WebObject": "headway.workloads.pages",
            "campus": "headway.workloads.campus",
            "campus_fit": "headway.workloads.campus_fit",
            "distribution": "headway.workloads.distribution",
            "exchanges_of": "headway.workloads.exchange_file",
            "from_vectors": "headway.workloads.session_table",
            "page_table": "headway.workloads.pages",
            "published": "headway.workloads.published",
            "read_exchanges": "headway.workloads.exchange_file",
            "read_pages": "headway.workloads.pages",
            "recorded": "headway.workloads.recorded",
            "sessions": "headway.workloads.generate",
            "shares": "headway.workloads.generate",
            "tmix": "headway.workloads.tmix",
            "write_exchanges": "headway.workloads.exchange_file",
            "write_pages": "headway.workloads.pages",
        },
    )


def __dir__() -> list[str]:
    return __all__


__all__ = [
    "Campus",
    "ExchangeTable",
    "PageTable",
    "Pareto",
    "Recorded",
    "SessionTable",
    "Stream",
    "Tmix",
    "WebObject",
    "Workload",
    "campus",
    "campus_fit",
    "distribution",
    "exchanges_of",
    "from_vectors",
    "page_table",
    "published",
    "read_exchanges",
    "read_pages",
    "recorded",
    "sessions",
    "shares",
    "tmix",
    "write_exchanges",
    "write_pages",
]
