"""The state of a page load: which objects are known, and which connection takes the next one.

The rules are those of the simulator's application (crates/sim/src/host/apps/pages). Time is an
argument, and no function uses a socket.
"""

from __future__ import annotations

import heapq
from collections import deque
from collections.abc import Sequence
from typing import NamedTuple, Protocol, TypeVar

from headway.workloads.exchange_file import AFTER_NONE
from headway.workloads.pages import PageTable


class PendingObject(NamedTuple):
    """An object to request.

    ``requested_ns`` is the time of the first request for it, if that request was lost and must be
    repeated; otherwise None.
    """

    object: int
    requested_ns: int | None = None


class ConnectionState(Protocol):
    """The properties of a connection that ``choose_connection`` uses."""

    requests: int
    waiting: int
    used_ns: int
    is_ending: bool

    @property
    def most_waiting(self) -> int:
        """Maximum number of unanswered requests that the server accepts."""
        ...


AnyConnection = TypeVar("AnyConnection", bound=ConnectionState)


class Visit:
    """The progress of a user who loads the pages of a file one after the other."""

    def __init__(self, pages: PageTable, start_ns: int) -> None:
        self._objects = pages.objects.tolist()
        self._think_ns = pages.think_ns.tolist()
        self._start_ns = pages.start_ns.tolist()
        self._after = pages.after.tolist()
        self._reveals: dict[int, list[int]] = {}
        for number, after in enumerate(self._after):
            if after != AFTER_NONE:
                self._reveals.setdefault(after, []).append(number)
        self._page = 0
        self._first = 0
        self._begins_ns: int | None = start_ns if self._objects else None
        self._missing = 0
        self._due: list[tuple[int, int]] = []
        self.known: deque[PendingObject] = deque()
        """Objects that wait for a connection, in the order of their requests."""
        self.late_max_ns = 0
        """The largest delay between an event's due time and its handling, in ns."""

    @property
    def is_over(self) -> bool:
        """Whether the last page is completely loaded."""
        return self._page == len(self._objects)

    def next_ns(self) -> int | None:
        """The time of the next due event; None if nothing is due before an object arrives."""
        if self._begins_ns is not None:
            return self._begins_ns
        return self._due[0][0] if self._due else None

    def advance(self, now_ns: int) -> None:
        """Move the objects that are due to ``known``."""
        if self._begins_ns is not None and self._begins_ns <= now_ns:
            begins_ns, self._begins_ns = self._begins_ns, None
            self._missing = self._objects[self._page]
            for number in range(self._first, self._first + self._missing):
                if self._after[number] == AFTER_NONE:
                    self._reveal(number, begins_ns)
        while self._due and self._due[0][0] <= now_ns:
            due_ns, number = heapq.heappop(self._due)
            self.late_max_ns = max(self.late_max_ns, now_ns - due_ns)
            self.known.append(PendingObject(number))

    def arrived(self, number: int, now_ns: int) -> None:
        """Record that an object has arrived; it may reveal other objects or complete the page."""
        for revealed in self._reveals.get(number, ()):
            self._reveal(revealed, now_ns)
        self._missing -= 1
        if self._missing == 0:
            self._first += self._objects[self._page]
            think_ns = self._think_ns[self._page]
            self._page += 1
            if not self.is_over:
                self._begins_ns = now_ns + think_ns

    def requeue(self, lost: Sequence[PendingObject]) -> None:
        """Put the objects of lost requests before all others, in the order of their requests."""
        self.known.extendleft(reversed(lost))

    def _reveal(self, number: int, now_ns: int) -> None:
        wait_ns = self._start_ns[number] if self._start_ns else 0
        heapq.heappush(self._due, (now_ns + wait_ns, number))


def choose_connection(
    open_connections: Sequence[AnyConnection], *, most: int, requests: int, shares: bool
) -> AnyConnection | bool:
    """The connection for the next object; True for a new connection, False if the object must wait.

    ``open_connections`` are sorted by the time of their opening. At most ``most`` may be open, each
    with at most ``requests`` requests in total. With ``shares``, a connection accepts
    requests before the last one is answered, as many as the server accepts.
    """
    usable = [
        connection
        for connection in open_connections
        if connection.requests < requests
        and connection.waiting < connection.most_waiting
        and not connection.is_ending
    ]
    free = [connection for connection in usable if connection.waiting == 0]
    if free:
        # choose the free connection that was used last, since its congestion window is the largest;
        # of several with the same time, the one that was opened last
        return max(reversed(free), key=lambda connection: connection.used_ns)
    if len(open_connections) < most:
        return True
    if shares and usable:
        return min(usable, key=lambda connection: connection.waiting)
    return False
