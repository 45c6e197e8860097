"""Sessions as columns: the start, requests, responses and times of each.

A session is a connection vector of the thesis (section 3.3.3.1): a sequence of exchanges, each with
a request, a response and a think time. Columns store the sessions one after the other, because a
run may have millions of exchanges.
"""

from __future__ import annotations

import itertools
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from headway.workloads.draws import Ints


@dataclass(frozen=True, eq=False)
class SessionTable:
    """Sessions in the order of their starts.

    ``start_us`` and ``exchanges`` have one entry per session, the others one per exchange: session
    i has ``exchanges[i]`` of them, after those of the sessions before. ``serve_us`` is the server's
    time between request and response. ``think_us`` is the time between a response and the next
    request, or the end of the connection.
    """

    start_us: Ints
    exchanges: Ints
    request_bytes: Ints
    response_bytes: Ints
    think_us: Ints
    serve_us: Ints

    def __post_init__(self) -> None:
        """Check that the columns fit together; raises ValueError."""
        total = int(self.exchanges.sum())
        if self.start_us.shape != self.exchanges.shape:
            raise ValueError("start_us and exchanges must have one entry per session each")
        if (self.exchanges < 1).any():
            raise ValueError("each session needs at least one exchange")
        if (np.diff(self.start_us) < 0).any() or (self.start_us < 0).any():
            raise ValueError("start_us must be sorted and at least 0")
        for name in ("request_bytes", "response_bytes", "think_us", "serve_us"):
            column: Ints = getattr(self, name)
            if column.shape != (total,):
                raise ValueError(f"{name} must have one entry per exchange, {total}")
            if (column < 0).any():
                raise ValueError(f"{name} must be at least 0")

    def __len__(self) -> int:
        """Number of sessions."""
        return int(self.start_us.size)

    @property
    def ends(self) -> Ints:
        """For each session, the index of the exchange after its last one."""
        return np.cumsum(self.exchanges)

    def of(self, chosen: Ints) -> SessionTable:
        """The sessions with these numbers, in this order."""
        ends = self.ends
        counts = self.exchanges[chosen]
        # for each exchange of the chosen sessions, its index in this table
        offsets = np.repeat(ends[chosen] - counts - (np.cumsum(counts) - counts), counts)
        rows = offsets + np.arange(counts.sum())
        return SessionTable(
            start_us=self.start_us[chosen],
            exchanges=counts,
            request_bytes=self.request_bytes[rows],
            response_bytes=self.response_bytes[rows],
            think_us=self.think_us[rows],
            serve_us=self.serve_us[rows],
        )

    def starting(self, start_us: Ints) -> SessionTable:
        """These sessions with other start times: one per session, sorted."""
        return SessionTable(
            start_us,
            self.exchanges,
            self.request_bytes,
            self.response_bytes,
            self.think_us,
            self.serve_us,
        )

    def split(self, owner: Ints, parts: int) -> list[SessionTable]:
        """The sessions of each owner; ``owner`` has one number in [0, parts) per session."""
        order = np.argsort(owner, kind="stable")
        bounds = np.searchsorted(owner[order], np.arange(parts + 1))
        return [self.of(order[a:b]) for a, b in itertools.pairwise(bounds)]


def from_vectors(
    vectors: Sequence[Sequence[tuple[int, int, int]]], start_us: Sequence[int]
) -> SessionTable:
    """Sessions of a-b-t vectors (bytes, bytes, microseconds) and their starts (microseconds).

    Servers answer at once. Raises ValueError if the numbers of starts and vectors differ, a vector
    is empty, starts are not sorted, or a number is below 0.
    """
    rows = [row for vector in vectors for row in vector]
    table = np.array(rows, dtype=np.int64).reshape(len(rows), 3)
    return SessionTable(
        start_us=np.array(start_us, dtype=np.int64),
        exchanges=np.array([len(vector) for vector in vectors], dtype=np.int64),
        request_bytes=table[:, 0],
        response_bytes=table[:, 1],
        think_us=table[:, 2],
        serve_us=np.zeros(len(rows), dtype=np.int64),
    )
