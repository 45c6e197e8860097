"""Recorded connection vectors, which are part of the package.

``data/unc-2006-inbound.tmix`` has 1007 sequential TCP connections that opened within 6.8 s at the
border of the University of North Carolina. They are the test input of the public ns-3 port of the
Tmix generator: Weigle, Adurthi, Hernández-Campos, Jeffay, Smith, "Tmix: A Tool for Generating
Realistic TCP Application Workloads in ns-2", ACM CCR 36(3), 2006. The thesis (Scharf 2011, section
3.3.3.2) replays vectors of a campus in the same form, recorded in 2008.

The file has numbers only, in the format that ``tmix`` describes (SEQ): start times, sizes, waits,
smallest round-trip times and windows. It leaves out the 11 concurrent connections of the input, its
loss rates and the numbers that name its connections. It was made with::

    python -m headway.workloads.recorded unc-2006-inbound.cvec
"""

from __future__ import annotations

import dataclasses
import functools
import sys
from collections.abc import Sequence
from pathlib import Path

from headway.errors import HeadwayError
from headway.files import save_text
from headway.workloads import tmix
from headway.workloads.session_table import SessionTable

FILE = Path(__file__).parent / "data" / "unc-2006-inbound.tmix"
SHA256 = "a0bdd3b37f08eb87cc43dac377d8adb03436439f78f21c4b6f4eecfdf5442716"
HEADER = """\
# 1007 sequential TCP connections at the border of the University of North Carolina.
# Source: test input of the ns-3 port of Tmix (unc-2006-inbound.cvec). Citation: Weigle, Adurthi,
# Hernandez-Campos, Jeffay, Smith, "Tmix: A Tool for Generating Realistic TCP Application Workloads
# in ns-2", ACM CCR 36(3), 2006. Times in us, sizes and windows in bytes:
#   SEQ start exchanges, w windows of initiator and acceptor, r smallest round-trip time,
#   > request, < response, t wait of the side that acts next.
"""


@functools.cache
def connections() -> tuple[tmix.Connection, ...]:
    """All connections of the data file. Raises HeadwayError for a missing or changed file."""
    file, found = tmix.load(FILE)
    if found != SHA256:
        raise HeadwayError(
            f"{FILE}: SHA-256 {found[:12]}... is not the {SHA256[:12]}... of this version; "
            "install Headway again"
        )
    return file.connections


def without_large_requests(
    source: Sequence[tmix.Connection], largest_request_bytes: int | None
) -> list[tmix.Connection]:
    """The connections that have no request above this size; None keeps all connections."""
    return [
        one
        for one in source
        if largest_request_bytes is None
        or max(exchange.request_bytes for exchange in one.exchanges) <= largest_request_bytes
    ]


@functools.lru_cache(maxsize=4)
def table(largest_request_bytes: int | None = None) -> SessionTable:
    """The connections that have no request above this size, as columns. Raises HeadwayError.

    None keeps all connections.
    """
    return tmix.sessions_of(without_large_requests(connections(), largest_request_bytes))


def data_of(source: Sequence[tmix.Connection]) -> str:
    """The text of a data file: the connections without names and loss rates."""
    plain = [dataclasses.replace(one, names=(), loss=None) for one in source]
    return HEADER + tmix.text_of(plain)


def main(arguments: Sequence[str]) -> None:
    """Make the data file from a file of connection vectors, and print its SHA-256."""
    (source,) = arguments
    file, _ = tmix.load(source)
    save_text(FILE, data_of(file.connections))
    sys.stdout.write(f"{FILE}: SHA-256 {tmix.load(FILE)[1]}\n")


if __name__ == "__main__":
    main(sys.argv[1:])
