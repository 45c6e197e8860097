"""Paper 004's proxy: what its report says of when one is worth it."""

from __future__ import annotations

import pytest

from headway.studies.rappep.worth import Candidate, _rows


def told(bare: list[Candidate], proxied: list[Candidate]) -> list[list[object]]:
    """Of those candidates: without, with, gain and verdict, among all and without overflow."""
    known = {one.name: one for one in [*bare, *proxied]}
    rows = _rows("a path", known.__getitem__, [x.name for x in bare], [x.name for x in proxied])
    return [[row[2], row[4], *row[6:]] for row in rows]


def test_who_overflows_the_queue_is_fastest_of_all_but_not_of_the_others() -> None:
    hog, polite = Candidate("hog", 5.0, 0.7), Candidate("polite", 20.0, 0.0)
    proxy = Candidate("proxy", 10.0, 0.001)
    assert told([hog, polite], [proxy]) == [
        ["hog", "proxy", -100.0, "no: slower"],
        ["polite", "proxy", 50.0, "yes"],
    ]


@pytest.mark.parametrize(
    ("with_one_s", "said"),
    [(8.9, "yes"), (9.2, "no: as fast"), (10.9, "no: as fast"), (11.2, "no: slower")],
)
def test_a_tenth_of_the_time_counts(with_one_s: float, said: str) -> None:
    [row, _] = told([Candidate("bare", 10.0, 0.0)], [Candidate("proxy", with_one_s, 0.0)])
    assert row[-1] == said


def test_a_proxy_is_worth_it_where_nothing_else_leaves_the_queue_room() -> None:
    bare, proxy = Candidate("bare", 1.0, 0.2), Candidate("proxy", 10.0, 0.0)
    assert told([bare], [proxy])[1] == ["none", "proxy", None, "yes"]
    assert told([proxy], [bare])[1] == ["proxy", "none", None, "no"]


def test_who_does_not_come_to_an_end_is_no_candidate() -> None:
    assert told([Candidate("never", float("inf"), 0.0)], [])[0] == ["none", "none", None, "no"]
