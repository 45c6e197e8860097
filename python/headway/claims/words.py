"""Defines what words of a published statement mean, such as "slightly": one meaning in all studies.

Each function judges one word and returns a ``Check``, which names the word. ``Seen.by`` judges a
statement by its checks; if no check names a word of the statement, the claim holds in part at most
(``Statement.judge``). The meanings were fixed before results were known. A number that the paper
prints, or that its figure shows, has priority over a word's meaning.

A value is a number, or an ``Estimate`` if a run has the 95 % interval of its mean. Comparisons of
estimates also require that the 95 % interval of the difference excludes 0. NaN never holds.
"""

from __future__ import annotations

import math
import re
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from headway.metrics.stats import Estimate

Value = float | Estimate
CLEAR = 1.5
""""Much" more or less means that two values differ by at least this factor."""
SIGNIFICANT = 0.10
SLIGHT = 0.15
SIMILAR = 0.10
IDENTICAL = 0.02
FEW = 0.05
QUANTITY = 0.20
ABOUT = 0.15
RANK_CORRELATION = 0.9
R_SQUARED = 0.95


@dataclass(frozen=True)
class Word:
    """A word with a defined meaning, and the pattern that finds the word in a sentence."""

    name: str
    pattern: str
    meaning: str


WORDS: tuple[Word, ...] = (
    Word("order of magnitude", r"orders? of magnitude", "a factor of 5 to 20"),
    Word("of the order of", r"(of|in|on) the order of", "half to twice the number"),
    Word("several hundred", r"several hundred", "200 to 900"),
    Word("several", r"several (seconds|s\b)", "2 to 9"),
    Word("within one round trip", r"within (one|a|1) (round[- ]trip|rtt)", "at most 1.2 of it"),
    Word("by one round trip", r"by (one|a|1) (round[- ]trip|rtt)", "0.8 to 1.2 of it"),
    Word(
        "not significantly",
        r"(\b(not|no|without|nor)\b|n't)( \w+){0,2} significant(ly)?|insignificant(ly)?",
        "less than 10 %",
    ),
    Word("significantly", r"significant(ly)?", "at least 10 %, and the 95 % interval excludes 0"),
    Word("slightly", r"slight(ly)?", "sign, and at most 15 %"),
    Word("hardly", r"hardly( any)?|almost no(ne|thing)?|negligibl[ey]", "at most 5 %"),
    Word("few", r"few(?!er)", "at most 5 % of what it is a part of; few seconds: at most 5"),
    Word("similar", r"similar(ly)?|comparabl[ey]|(about|almost) the same|like", "within ±10 %"),
    Word("identical", r"identical(ly)?", "within ±2 %, or not told apart by a two-sample test"),
    Word("much", r"much|far(?! from)|considerabl[ey]|clear(ly)?", "a factor of 1.5 or more"),
    Word("twice", r"twice|doubled?", "1.7 to 2.3 times"),
    Word("half", r"half|halved", "0.43 to 0.59 times"),
    Word("most", r"(?<!at )most(ly)?|typical(ly)?|usual(ly)?", "more than half of the cells"),
    Word("all", r"always|any|never|all", "every cell named"),
    Word("may", r"may|can|sometimes", "at least one cell of the range named"),
    Word("proportional", r"proportional(ly)?", "a straight line through 0, R² at least 0.95"),
    Word(
        "depends on",
        r"(grow|increase|rise|fall|decrease)(s|ing)? with|depend(s|ent|ing)? (up)?on",
        "rank correlation of at least 0.9 over the cells",
    ),
    Word("small load", r"(small|low) loads?", "the smallest load and the next to it"),
    Word("high load", r"high loads?", "the largest load and the next to it"),
    Word("about", r"about|roughly|around|approximately", "within ±15 %"),
    Word(
        "more",
        r"(more|less|fewer|faster|slower|lower|higher|smaller|larger|greater|shorter|longer|better"
        r"|worse)(?! than -?\d)",
        "sign, and the 95 % interval of the difference excludes 0",
    ),
)
NAMES = tuple(word.name for word in WORDS)
_COMPARED = frozenset(NAMES) - {"more", "most", "all", "may", "small load", "high load"}
"""Words that give the size of a difference. In a sentence with such a word, "more" needs no check
of its own."""


def words_in(sentence: str) -> frozenset[str]:
    """The names of the words of WORDS that occur in a sentence."""
    found = set()
    for word in WORDS:
        pattern = rf"(?<!\w)(?:{word.pattern})(?!\w)"
        sentence, count = re.subn(pattern, " _ ", sentence, flags=re.I)
        if count:
            found.add(word.name)
    return frozenset(found)


def left_out(sentence: str, judged: Iterable[str]) -> frozenset[str]:
    """The names of the words of WORDS that occur in a sentence and were not judged."""
    known = set(judged)
    if known & _COMPARED:
        known.add("more")
    return words_in(sentence) - known


@dataclass(frozen=True)
class Check:
    """One condition of a statement: whether it holds, for which words, and by how much.

    ``margin`` is positive if the condition holds and negative if not, and its size grows with the
    distance from the condition's limit, which ``bound`` shows as text. Over several seeds the
    confidence interval of the margin decides the verdict (verdicts.chance).
    """

    holds: bool
    margin: float
    bound: str
    words: frozenset[str] = frozenset()


def _check(margin: float, bound: str, *words: str, strict: bool = False) -> Check:
    if math.isnan(margin):
        return Check(False, -1.0, bound, frozenset(words))
    margin = max(-1e3, min(1e3, margin))
    return Check(margin > 0 if strict else margin >= 0, margin, bound, frozenset(words))


def _mean(value: Value) -> float:
    return value.mean if isinstance(value, Estimate) else float(value)


def _width(one: Value, other: Value) -> float:
    """Half the width of the 95 % interval of a difference of two means."""
    widths = [v.half_width or 0.0 for v in (one, other) if isinstance(v, Estimate)]
    return math.hypot(*widths) if widths else 0.0


def _ratio(mine: Value, than: Value) -> float:
    divisor = _mean(than)
    return _mean(mine) / divisor if divisor else math.nan


def _in(value: float, low: float, high: float) -> float:
    """Distance of a value from the nearer end of a range, relative to the larger end.

    The distance is negative outside the range.
    """
    scale = max((abs(end) for end in (low, high) if math.isfinite(end)), default=1.0) or 1.0
    return min(value - low, high - value) / scale


# ---- Plain conditions ----


def is_so(condition: bool, bound: str) -> Check:
    """A condition that is true or false, with margin 1 or -1."""
    return Check(bool(condition), 1.0 if condition else -1.0, bound)


def within(value: float, low: float, high: float, bound: str = "") -> Check:
    """The value is in [low, high]; used for numbers that the paper prints."""
    if not bound:
        bound = f"{low:.4g} to {high:.4g}"
        if math.isinf(low):
            bound = f"≤ {high:.4g}"
        elif math.isinf(high):
            bound = f"≥ {low:.4g}"
    return _check(_in(value, low, high), bound)


def quantity(value: float, published: float, tolerance: float = QUANTITY) -> Check:
    """The value is within ±20 % of the paper's value, or within the claims list's tolerance."""
    off = abs(value / published - 1) if published else math.nan
    return _check(tolerance - off, f"{published:.4g} ±{100 * tolerance:.3g} %")


def about(value: float, published: float) -> Check:
    """Judge "about N", "roughly N", "around N": within ±15 %."""
    off = abs(value / published - 1) if published else math.nan
    return _check(ABOUT - off, f"{published:.4g} ±{100 * ABOUT:.0f} %", "about")


def of_the_order_of(value: float, published: float) -> Check:
    """Judge "of the order of N": N/2 to 2 N."""
    low, high = published / 2, 2 * published
    return _check(_in(value, low, high), f"{low:.4g} to {high:.4g}", "of the order of")


def several_hundred(value: float) -> Check:
    """Judge "several hundred": 200 to 900 of the sentence's unit."""
    return _check(_in(value, 200, 900), "200 to 900", "several hundred")


def several_seconds(value_s: float) -> Check:
    """Judge "several seconds": 2 to 9 s."""
    return _check(_in(value_s, 2, 9), "2 to 9 s", "several")


def few_seconds(value_s: float) -> Check:
    """Judge "few seconds": at most 5 s."""
    return _check(1 - value_s / 5, "at most 5 s", "few")


def few_round_trips(time_s: float, rtt_s: float) -> Check:
    """Judge "few round trips": at most 5 round-trip times."""
    return _check(_in(time_s / rtt_s, 0, 5), "at most 5 round trips", "few")


def by_one_round_trip(difference_s: float, rtt_s: float) -> Check:
    """Judge "by one round trip": the difference is 0.8 to 1.2 round-trip times."""
    return _check(_in(difference_s / rtt_s, 0.8, 1.2), f"{rtt_s:.4g} s ±20 %", "by one round trip")


def within_one_round_trip(time_s: float, rtt_s: float) -> Check:
    """Judge "within one round trip": the time is at most 1.2 round-trip times."""
    return _check(1.2 - time_s / rtt_s, "at most 1.2 round trips", "within one round trip")


# ---- Comparisons ----


def less(mine: Value, than: Value) -> Check:
    """Judge "less", "faster" or "lower" without a size: ``mine`` is smaller than ``than``."""
    return _sign(_mean(than) - _mean(mine), mine, than, "less")


def more(mine: Value, than: Value) -> Check:
    """Judge "more", "slower" or "higher" without a size: ``mine`` is larger than ``than``."""
    return _sign(_mean(mine) - _mean(than), mine, than, "more")


def _sign(difference: float, mine: Value, than: Value, word: str) -> Check:
    scale = max(abs(_mean(mine)), abs(_mean(than))) or 1.0
    return _check((difference - _width(mine, than)) / scale, word, "more", strict=True)


def slightly_less(mine: Value, than: Value) -> Check:
    """Judge "slightly less": ``mine`` is smaller than ``than``, by at most 15 %."""
    return _slightly(1 - _ratio(mine, than), "slightly less: at most 15 %")


def slightly_more(mine: Value, than: Value) -> Check:
    """Judge "slightly more": ``mine`` is larger than ``than``, by at most 15 %."""
    return _slightly(_ratio(mine, than) - 1, "slightly more: at most 15 %")


def _slightly(part: float, bound: str) -> Check:
    return _check(min(part, SLIGHT - part), bound, "slightly", strict=True)


def significantly_less(mine: Value, than: Value) -> Check:
    """Judge "significantly less": at least 10 %, and the difference's interval excludes 0."""
    return _significantly(_mean(than) - _mean(mine), mine, than, "less")


def significantly_more(mine: Value, than: Value) -> Check:
    """Judge "significantly more": at least 10 %, and the difference's interval excludes 0."""
    return _significantly(_mean(mine) - _mean(than), mine, than, "more")


def _significantly(difference: float, mine: Value, than: Value, word: str) -> Check:
    scale = abs(_mean(than)) or math.nan
    margin = min(difference / scale - SIGNIFICANT, (difference - _width(mine, than)) / scale)
    return _check(margin, f"at least 10 % {word}", "significantly")


def not_significantly_different(mine: Value, than: Value) -> Check:
    """Less than 10 % apart."""
    off = abs(_ratio(mine, than) - 1)
    return _check(SIGNIFICANT - off, "less than 10 % apart", "not significantly", strict=True)


def not_significantly_more(mine: Value, than: Value) -> Check:
    """Judge "not significantly more": less than 10 % more, or any smaller value."""
    margin = SIGNIFICANT - (_ratio(mine, than) - 1)
    return _check(margin, "less than 10 % more", "not significantly", strict=True)


def not_significantly_less(mine: Value, than: Value) -> Check:
    """Judge "not significantly less": less than 10 % less, or any larger value."""
    margin = SIGNIFICANT - (1 - _ratio(mine, than))
    return _check(margin, "less than 10 % less", "not significantly", strict=True)


def hardly(part: float) -> Check:
    """Judge "hardly", "negligible": a relative change of at most 5 % in either direction."""
    return _check(FEW - abs(part), "at most 5 %", "hardly")


def few(part: float) -> Check:
    """Judge "few" of a number of things: their share is at most 5 %."""
    return _check(FEW - part, "at most 5 %", "few")


def much_less(mine: Value, than: Value) -> Check:
    """Judge "much less": smaller by a factor of 1.5 or more."""
    return _check(1 - CLEAR * _ratio(mine, than), "1.5 times less", "much")


def much_more(mine: Value, than: Value) -> Check:
    """Judge "much more": larger by a factor of 1.5 or more."""
    return _check(_ratio(mine, than) / CLEAR - 1, "1.5 times more", "much")


def twice(mine: Value, than: Value) -> Check:
    """Judge "twice" another value: 1.7 to 2.3 times it."""
    return _check(_in(_ratio(mine, than), 1.7, 2.3), "1.7 to 2.3 times", "twice")


def half(mine: Value, than: Value) -> Check:
    """Judge "half" of another value: 0.43 to 0.59 times it."""
    return _check(_in(_ratio(mine, than), 0.43, 0.59), "0.43 to 0.59 times", "half")


def order_of_magnitude(large: Value, small: Value) -> Check:
    """Judge "an order of magnitude" more than another value: 5 to 20 times it."""
    return _check(_in(_ratio(large, small), 5, 20), "5 to 20 times", "order of magnitude")


def similar(mine: Value, than: Value) -> Check:
    """Judge "similar", "comparable", "about the same": a difference of at most 10 %."""
    return _check(SIMILAR - abs(_ratio(mine, than) - 1), "±10 %", "similar")


def identical(mine: Value, than: Value) -> Check:
    """Judge "identical", of two values: a difference of at most 2 %."""
    return _check(IDENTICAL - abs(_ratio(mine, than) - 1), "±2 %", "identical")


def identically_distributed(mine: Sequence[float], than: Sequence[float]) -> Check:
    """Judge "Identical", of two samples: a Kolmogorov-Smirnov test at 5 % finds no difference."""
    from scipy.stats import ks_2samp  # loads slowly

    return _check(float(ks_2samp(mine, than).pvalue) - 0.05, "two-sample test, 5 %", "identical")


# ---- Over cells ----


def every(checks: Mapping[str, Check] | Sequence[Check]) -> Check:
    """Judge "always", "any", "never", "all": the condition holds in each named cell of a table."""
    return _over(checks, 0, "in every cell", "all")


def both(*checks: Check) -> Check:
    """All of these conditions hold. The check judges only the words of these conditions."""
    return _over(checks, 0, "")


def most(checks: Mapping[str, Check] | Sequence[Check]) -> Check:
    """Judge "most", "typically", "usually": the condition holds in more than half of the cells."""
    return _over(checks, (len(checks) - 1) // 2, "in most cells", "most")


def some(checks: Mapping[str, Check] | Sequence[Check]) -> Check:
    """Judge "may", "can", "sometimes": the condition holds in at least one cell."""
    return _over(checks, -1, "in some cell", "may")


def at_small_load(by_load: Mapping[float, Check]) -> Check:
    """Judge "at small load": the condition holds at the two smallest loads of the section."""
    return _over([by_load[x] for x in sorted(by_load)[:2]], 0, "two smallest", "small load")


def at_high_load(by_load: Mapping[float, Check]) -> Check:
    """Judge "at high load": the condition holds at the two largest loads of the section."""
    return _over([by_load[x] for x in sorted(by_load)[-2:]], 0, "two largest", "high load")


def _over(
    checks: Mapping[Any, Check] | Sequence[Check],
    rank: int,
    where: str,
    *words: str,
) -> Check:
    """One check for all cells of a table: the check with rank ``rank`` by margin.

    Rank 0 is the worst.
    """
    found = list(checks.values() if isinstance(checks, Mapping) else checks)
    if not found:
        return _check(math.nan, where, *words)
    ranked = sorted(found, key=lambda one: (one.holds, one.margin))
    decides = ranked[rank]
    bounds = "; ".join(dict.fromkeys(one.bound for one in found))
    judged = frozenset(words).union(*(one.words for one in found))
    bound = f"{bounds}, {where}" if where else bounds
    return Check(decides.holds, decides.margin, bound, judged)


def grows_with(x: Sequence[float], y: Sequence[float]) -> Check:
    """Judge "Grows with": rank correlation of at least 0.9."""
    return _check(_rank(x, y) - RANK_CORRELATION, "rank correlation ≥ 0.9", "depends on")


def falls_with(x: Sequence[float], y: Sequence[float]) -> Check:
    """Judge "Falls with": rank correlation of at most -0.9."""
    return _check(-_rank(x, y) - RANK_CORRELATION, "rank correlation ≤ -0.9", "depends on")


def depends_on(x: Sequence[float], y: Sequence[float]) -> Check:
    """Judge "Depends on", in either direction: rank correlation of at least 0.9."""
    return _check(abs(_rank(x, y)) - RANK_CORRELATION, "rank correlation ≥ 0.9", "depends on")


def proportional(x: Sequence[float], y: Sequence[float]) -> Check:
    """Judge "Proportional": a straight line through 0 with R² of at least 0.95."""
    xs, ys = np.asarray(x, dtype=float), np.asarray(y, dtype=float)
    spread = float(((ys - ys.mean()) ** 2).sum())
    slope = float((xs * ys).sum() / (xs * xs).sum())
    r_squared = 1 - float(((ys - slope * xs) ** 2).sum()) / spread if spread else math.nan
    return _check(r_squared - R_SQUARED, "through 0, R² ≥ 0.95", "proportional")


def _rank(x: Sequence[float], y: Sequence[float]) -> float:
    from scipy.stats import spearmanr  # loads slowly

    return float(spearmanr(x, y).statistic)
