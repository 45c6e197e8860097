"""What a browser knows while it loads pages: which objects are revealed, and what takes the next.

The rule is that of the simulator's application (crates/sim/src/host/apps/pages); time is an
argument, and nothing here touches a socket.
"""

from __future__ import annotations

import heapq
from collections import deque
from collections.abc import Sequence
from typing import NamedTuple, Protocol, TypeVar

from headway.workloads.exchange_file import AFTER_NONE
from headway.workloads.pages import PageTable


class Wanted(NamedTuple):
    """An object that is to be asked for; ``asked_ns`` is when it was, of one that was in vain."""

    object: int
    asked_ns: int | None = None


class Used(Protocol):
    """What the rule sees of a connection."""

    requests: int
    waiting: int
    used_ns: int
    is_ending: bool

    @property
    def most_waiting(self) -> int:
        """How many the server takes at once."""
        ...


Lane = TypeVar("Lane", bound=Used)


class Visit:
    """A user's way through a file of pages, from ``start_ns`` on."""

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
        self.known: deque[Wanted] = deque()
        """Objects that wait for a connection, the next one first."""
        self.late_max_ns = 0
        """How late anything was seen to be due."""

    @property
    def is_over(self) -> bool:
        """Whether the last page is loaded."""
        return self._page == len(self._objects)

    def next_ns(self) -> int | None:
        """When something becomes due; None: only once something has arrived."""
        if self._begins_ns is not None:
            return self._begins_ns
        return self._due[0][0] if self._due else None

    def look(self, now_ns: int) -> None:
        """Moves to ``known`` what is due by now."""
        if self._begins_ns is not None and self._begins_ns <= now_ns:
            begins_ns, self._begins_ns = self._begins_ns, None
            self._missing = self._objects[self._page]
            for number in range(self._first, self._first + self._missing):
                if self._after[number] == AFTER_NONE:
                    self._reveal(number, begins_ns)
        while self._due and self._due[0][0] <= now_ns:
            due_ns, number = heapq.heappop(self._due)
            self.late_max_ns = max(self.late_max_ns, now_ns - due_ns)
            self.known.append(Wanted(number))

    def arrived(self, number: int, now_ns: int) -> None:
        """An object is there: others are revealed, or the page is complete."""
        for revealed in self._reveals.get(number, ()):
            self._reveal(revealed, now_ns)
        self._missing -= 1
        if self._missing == 0:
            self._first += self._objects[self._page]
            think_ns = self._think_ns[self._page]
            self._page += 1
            if not self.is_over:
                self._begins_ns = now_ns + think_ns

    def again(self, lost: Sequence[Wanted]) -> None:
        """What was asked for in vain comes before all else, in the order in which it was."""
        self.known.extendleft(reversed(lost))

    def _reveal(self, number: int, now_ns: int) -> None:
        wait_ns = self._start_ns[number] if self._start_ns else 0
        heapq.heappush(self._due, (now_ns + wait_ns, number))


def place(standing: Sequence[Lane], *, most: int, requests: int, shares: bool) -> Lane | bool:
    """The connection that takes the next object; True: a new one; False: the object has to wait.

    ``standing`` are in the order of their opening. There may be ``most``, each with so many
    ``requests`` in its life; with ``shares`` they take one before the last is answered, as many as
    the server takes.
    """
    usable = [
        lane
        for lane in standing
        if lane.requests < requests and lane.waiting < lane.most_waiting and not lane.is_ending
    ]
    free = [lane for lane in usable if lane.waiting == 0]
    if free:
        # the one whose window is the warmest; of several of one moment the last
        return max(reversed(free), key=lambda lane: lane.used_ns)
    if len(standing) < most:
        return True
    if shares and usable:
        return min(usable, key=lambda lane: lane.waiting)
    return False
