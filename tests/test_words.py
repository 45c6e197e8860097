"""Each word of a statement has one meaning (docs/claims.md), and no word is ignored."""

from __future__ import annotations

import math

import pytest

from headway.claims import Evidence, Seen, Statement, words
from headway.metrics.stats import Estimate


@pytest.mark.parametrize(
    ("sentence", "found"),
    [
        ("MaxNet, much less than FAST", {"much", "more"}),
        ("smaller by one round trip (200 ms)", {"by one round trip", "more"}),
        ("not significantly more", {"not significantly", "more"}),
        ("hardly any", {"hardly"}),
        ("of the order of 1 %", {"of the order of"}),
        ("by an order of magnitude", {"order of magnitude"}),
        ("about the same", {"similar"}),
        ("the delay grows with the load", {"depends on"}),
        ("at most 5 packets, which it cannot", set()),
        ("more than 3 packets", set()),
        ("lower at small loads", {"more", "small load"}),
        ("several hundred milliseconds", {"several hundred"}),
        ("few seconds, fewer losses", {"few", "more"}),
    ],
)
def test_words_are_found_in_a_sentence(sentence: str, found: set[str]) -> None:
    assert words.words_in(sentence) == found


def test_a_word_that_says_how_much_judges_the_comparison_beside_it() -> None:
    assert words.left_out("much less", ["much"]) == set()
    assert words.left_out("always less", ["all"]) == {"more"}
    assert words.left_out("always much less", ["much"]) == {"all"}


@pytest.mark.parametrize(
    ("check", "holds", "fails"),
    [
        (words.less, (1.0, 1.1), (1.1, 1.0)),
        (words.more, (1.1, 1.0), (1.0, 1.0)),
        (words.slightly_less, (0.86, 1.0), (0.84, 1.0)),
        (words.slightly_more, (1.14, 1.0), (1.0, 1.0)),
        (words.significantly_less, (0.89, 1.0), (0.91, 1.0)),
        (words.significantly_more, (1.11, 1.0), (1.09, 1.0)),
        (words.not_significantly_different, (1.09, 1.0), (0.89, 1.0)),
        (words.not_significantly_more, (0.5, 1.0), (1.11, 1.0)),
        (words.not_significantly_less, (2.0, 1.0), (0.89, 1.0)),
        (words.much_less, (0.66, 1.0), (0.67, 1.0)),
        (words.much_more, (1.51, 1.0), (1.49, 1.0)),
        (words.twice, (1.8, 1.0), (1.6, 1.0)),
        (words.half, (0.5, 1.0), (0.6, 1.0)),
        (words.order_of_magnitude, (5.1, 1.0), (20.1, 1.0)),
        (words.similar, (0.91, 1.0), (1.11, 1.0)),
        (words.identical, (1.019, 1.0), (1.021, 1.0)),
        (words.about, (1.14, 1.0), (0.84, 1.0)),
        (words.of_the_order_of, (1.9, 1.0), (0.4, 1.0)),
        (words.quantity, (1.19, 1.0), (1.21, 1.0)),
        (words.by_one_round_trip, (0.17, 0.2), (0.109, 0.2)),
        (words.within_one_round_trip, (0.23, 0.2), (0.25, 0.2)),
    ],
)
def test_a_word_asks_for_what_the_table_says(check, holds, fails) -> None:  # type: ignore[no-untyped-def]
    assert check(*holds).holds
    assert check(*holds).margin >= 0
    assert not check(*fails).holds
    assert check(*fails).margin <= 0
    assert not check(math.nan, 1.0).holds


def test_a_difference_within_the_interval_is_none() -> None:
    mine, than = Estimate(1.0, 0.2, 0.1, 5), Estimate(1.1, 0.2, 0.1, 5)
    assert words.less(1.0, 1.1).holds
    assert not words.less(mine, than).holds


def test_samples_are_identical_where_a_test_tells_them_not_apart() -> None:
    sample = [float(number) for number in range(50)]
    assert words.identically_distributed(sample, [one + 0.5 for one in sample]).holds
    assert not words.identically_distributed(sample, [one + 30 for one in sample]).holds


def test_words_over_cells_ask_for_all_most_or_one() -> None:
    good, bad = words.is_so(True, ""), words.is_so(False, "")
    for count, everywhere, mostly, somewhere in (
        (4, 1, 1, 1),
        (3, 0, 1, 1),
        (2, 0, 0, 1),
        (0,) * 4,
    ):
        cells = [good] * count + [bad] * (4 - count)
        assert words.every(cells).holds is bool(everywhere)
        assert words.most(cells).holds is bool(mostly)
        assert words.some(cells).holds is bool(somewhere)
    by_load = {0.1: good, 0.3: good, 0.6: bad, 0.9: bad}
    assert words.at_small_load(by_load).holds
    assert not words.at_high_load(by_load).holds
    assert not words.every([]).holds


def test_words_over_cells_ask_for_order_or_proportion() -> None:
    assert words.grows_with([1, 2, 3], [1, 4, 9]).holds
    assert not words.grows_with([1, 2, 3], [1, 9, 4]).holds
    assert words.falls_with([1, 2, 3], [3, 2, 1]).holds
    assert words.depends_on([1, 2, 3], [3, 2, 1]).holds
    assert words.proportional([1, 2, 3], [2, 4, 6.1]).holds
    assert not words.proportional([1, 2, 3], [9, 10, 11]).holds


def _statement(text: str, **more: object) -> Statement[Evidence[float]]:
    def look(found: Evidence[float]) -> Seen:
        return Seen.by(found["a"], words.less(found["a"], 10))

    return Statement("X-1", text, 1.0, look, **more)  # type: ignore[arg-type]


def test_a_statement_whose_word_is_dropped_holds_in_part() -> None:
    rows = Evidence({"a": 9.0})
    assert _statement("less").judge(rows).verdict == "holds"
    claim = _statement("much less").judge(rows)
    assert claim.verdict == "in part"
    assert claim.part == "All but: much."
    assert (
        _statement("much less", figures={"much": "figure 2: 10 %"}).judge(rows).verdict == "holds"
    )
    assert _statement("much less").judge(Evidence({"a": 11.0})).verdict == "fails"
    assert _statement("less").judge(rows).margin == pytest.approx(0.1)
