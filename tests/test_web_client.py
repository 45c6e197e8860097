"""The measuring client's rules for objects, pages and connections."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from types import SimpleNamespace

import pytest

from headway.web import client
from headway.web.client import Client, Limits
from headway.web.connections import Server
from headway.web.visit import PendingObject, Visit, choose_connection
from headway.workloads.pages import PageTable, WebObject, page_table

MS = 1_000_000


@dataclass
class Seen:
    requests: int = 0
    waiting: int = 0
    used_ns: int = 0
    is_ending: bool = False
    most_waiting: int = 1 << 32


def pages(*of: tuple[int, int | None], start_ms: Sequence[int] = (), think: int = 0) -> PageTable:
    """A page: each object's response, and the object that reveals it."""
    waits = [*start_ms, *[0] * (len(of) - len(start_ms))]
    objects = [
        WebObject(300, size, after, start_ns=wait * MS)
        for (size, after), wait in zip(of, waits, strict=True)
    ]
    return page_table([(objects, think)])


def known(visit: Visit, now_ns: int) -> list[int]:
    """The requests sent now."""
    visit.advance(now_ns)
    found = [wanted.object for wanted in visit.known]
    visit.known.clear()
    return found


def test_objects_become_known_as_they_are_revealed_after_their_own_time_in_order() -> None:
    visit = Visit(pages((1, None), (1, 0), (1, 0), (1, None), start_ms=(0, 40, 0, 40)), 1000)
    assert visit.next_ns() == 1000
    assert known(visit, 999) == []
    assert known(visit, 1000) == [0]
    visit.arrived(0, 1000)
    assert known(visit, 1000) == [2]
    assert visit.next_ns() == 1000 + 40 * MS
    assert known(visit, 1000 + 40 * MS) == [1, 3]


def test_pages_follow_each_other_after_think_times_and_what_was_late_is_told() -> None:
    first = [WebObject(300, 1), WebObject(300, 1)]
    visit = Visit(page_table([(first, 7000), ([WebObject(300, 1)], 5)]), 0)
    assert known(visit, 30) == [0, 1]
    assert visit.late_max_ns == 30
    visit.arrived(1, 100)
    assert visit.next_ns() is None
    visit.arrived(0, 200)
    assert visit.next_ns() == 7200
    assert known(visit, 7200) == [2]
    visit.arrived(2, 7300)
    assert visit.is_over
    assert visit.next_ns() is None


def test_what_was_lost_comes_first_in_the_order_in_which_it_was_asked() -> None:
    visit = Visit(pages((1, None), (1, None), (1, None)), 0)
    visit.advance(0)
    visit.known.popleft()
    visit.known.popleft()
    visit.requeue([PendingObject(0, 5), PendingObject(1, 6)])
    assert list(visit.known) == [PendingObject(0, 5), PendingObject(1, 6), PendingObject(2)]


def test_the_connection_used_last_takes_the_next_object_or_a_new_one() -> None:
    old, warm, busy = Seen(1, 0, 5), Seen(1, 0, 9), Seen(1, 1, 20)

    def taken(*open_: Seen, most: int = 3, requests: int = 9, shares: bool = False) -> object:
        return choose_connection(open_, most=most, requests=requests, shares=shares)

    assert taken(old, warm, busy) is warm
    same = Seen(1, 0, 9)
    assert taken(warm, same) is same
    assert taken(busy) is True
    assert taken(busy, busy, busy) is False
    assert taken(warm, requests=1) is True
    assert taken(warm, most=1, requests=1) is False
    assert taken(Seen(1, 0, 5, is_ending=True), old) is old


def test_what_shares_connections_takes_the_one_with_the_fewest_under_way() -> None:
    two, one, other = Seen(2, 2), Seen(1, 1), Seen(1, 1)
    assert choose_connection([two, one, other], most=3, requests=9, shares=True) is one
    assert choose_connection([two, one, other], most=4, requests=9, shares=True) is True
    assert choose_connection([two, one], most=2, requests=1, shares=True) is False
    full = Seen(1, 1, most_waiting=1)
    assert choose_connection([full, two], most=2, requests=9, shares=True) is two
    assert choose_connection([full], most=1, requests=9, shares=True) is False


# ---- Against nginx ----


def test_a_long_wait_is_not_left_to_one_timeout(monkeypatch: pytest.MonkeyPatch) -> None:
    asked_s = []

    def select(*given: object) -> tuple[list[int], list[int], list[int]]:
        asked_s.append(given[-1])
        return [], [], []

    monkeypatch.setattr(client.select, "select", select)
    monkeypatch.setattr(client, "time", SimpleNamespace(monotonic_ns=lambda: 0))
    user = Client(Server("127.0.0.1:1", "1.1"), Limits(), pages((1, None)), 0)
    for left_ms in (100_000, 1000, 40):
        user._wait(left_ms * MS)
    assert asked_s == pytest.approx([90, 0.9, 0.04])
