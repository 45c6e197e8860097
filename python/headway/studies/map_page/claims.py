"""Check: the thesis' statements on the page, by medians."""

import dataclasses
import itertools
import math
from collections.abc import Sequence
from functools import partial

import numpy as np

from headway.claims import Change, Claim, Claims, Seen, Spoil, edited, replaced, words
from headway.studies.common import sites
from headway.studies.common.runs import each, listed
from headway.studies.map_page import experiments
from headway.studies.map_page.experiments import BASE, LABELS, OLD, TARGETED, TARGETS_MS, Found, key

CLAIMS: Claims[Found] = Claims(__name__)
PUBLISHED_S = 9.6
LONG_MS = (500, 1000)
"""Response time targets that count as "of the order of a second": half a second to two."""
IN_ORDER = (OLD, BASE, "jump-start", "quick-start", experiments.EARLY)
"""Startups in the order of their loading times, from the slowest. Initial-Start is left out because
it equals Slow-Start, and Mega-Start because it is close to the last."""
COLUMNS = ("median", "interval", "less than Slow-Start")


def _loads(keys: str, seconds: float) -> Spoil:
    return replaced(keys, seconds, "load_s")


def _medians_s(found: Found, name: str) -> dict[int, float]:
    """A startup's median loading time in s, by target."""
    return {ms: found[key(name, ms)].median_s for ms in TARGETS_MS}


@CLAIMS.judge("C-TH-249", spoil=_loads(OLD, 30.0), mend=_loads(OLD, PUBLISHED_S))
def _default_stack(found: Found) -> Seen:
    time_s = found[OLD].median_s
    return Seen.by(time_s, words.about(time_s, PUBLISHED_S), unit="s")


def _saved(found: Found, names: Sequence[str], targets_ms: Sequence[int], least_s: float) -> Seen:
    """The least time that startups save with any of the targets, compared with three packets."""
    old_s, first_s = found[OLD].median_s, found[OLD].median_s - found[BASE].median_s
    gains = {
        LABELS[name]: min(old_s - found[key(name, ms)].median_s for ms in targets_ms)
        for name in names
    }
    own = {label: gain - first_s for label, gain in gains.items()}
    return Seen.by(
        min(gains.values()),
        words.both(
            *(words.within(x, least_s, math.inf, f"> {least_s:g} s") for x in gains.values())
        ),
        unit="s",
        note=f"Saved: {listed(gains, '{:.2f} s')}. Of this, {first_s:.2f} s come from an initial "
        "window of ten packets instead of three, which all startups here have. Saved compared with "
        f"ten packets: {listed(own, '{:.2f} s')}.",
    )


for _claim, _names, _targets_ms, _least_s in (
    ("C-TH-250", ("initial-start", "jump-start"), [experiments.TARGET_MS], 1.0),
    ("C-TH-251", TARGETED, [ms for ms in TARGETS_MS if ms < 300], 2.0),
):
    _judge = partial(_saved, names=_names, targets_ms=_targets_ms, least_s=_least_s)
    CLAIMS.add(_claim, _judge, spoil=_loads(OLD, 1.0), mend=_loads(OLD, 100.0))


@CLAIMS.judge("C-TH-252")
def _optimum(found: Found) -> Seen:
    medians = {LABELS[name]: _medians_s(found, name) for name in TARGETED}
    known = np.isfinite([list(own.values()) for own in medians.values()]).all()
    best = {label: min(own, key=own.__getitem__) for label, own in medians.items()}
    return Seen.by(
        listed(best, "{} ms"),
        *(words.about(ms if known else math.nan, experiments.TARGET_MS) for ms in best.values()),
    )


@CLAIMS.judge("C-TH-253")
def _no_benefit(found: Found) -> Seen:
    ratios = {
        f"{LABELS[name]} {ms} ms": found[key(name, ms)].median_s / found[BASE].median_s
        for name in TARGETED
        for ms in LONG_MS
    }
    note = "Shown: ratios to Slow-Start's time. The claims list allows 5 %."
    return each(ratios, lambda ratio: words.within(ratio, 0.95, 1.05), "{:.3f}", note=note)


@CLAIMS.judge("C-TH-254")
def _near_the_rtt(found: Found) -> Seen:
    near_and_best = {}
    for name in TARGETED:
        near_s, *others_s = _medians_s(found, name).values()
        near_and_best[LABELS[name]] = (near_s, min(others_s))
    more = {label: (near - best, best) for label, (near, best) in near_and_best.items()}
    return Seen.by(
        listed(more, "{:+.2f} s of {:.2f} s"),
        *(words.slightly_more(near, best) for near, best in near_and_best.values()),
    )


@CLAIMS.judge("C-TH-255")
def _volume(found: Found) -> Seen:
    volume_mb = found[BASE].volume_bytes / 1e6
    return Seen.by(volume_mb, words.about(volume_mb, 1.5), unit="MB")


def _cut(found: Found, names: Sequence[str]) -> Seen:
    """The smallest part of today's loading time that one of these startups saves."""
    base_s = found[BASE].median_s
    saved = {LABELS[name]: (base_s - found[name].median_s, base_s) for name in names}
    least = 100 * min(1 - found[name].median_s / base_s for name in names)
    told = listed(saved, "{:.2f} s of {:.2f} s")
    return Seen.by(least, words.within(least, 20, math.inf, "≥ 20 %"), unit="%", note=told)


_NAMED = {f"flows.*.{name}": value for name, value in experiments.NAMED.items()}
_ASKS_EARLY = Change(
    "Quick-Start that asks with the SYN-ACK",
    edited({"flows.*.control": sites.quick_start("early"), **_NAMED}),
    "quick-start",
)
for _claim, _startups, _tries in (
    ("map-page-cut", TARGETED, [_ASKS_EARLY]),
    ("map-page-early", (experiments.EARLY,), []),
):
    _judge = partial(_cut, names=_startups)
    CLAIMS.add(_claim, _judge, spoil=_loads(BASE, 0.5), mend=_loads(BASE, 100.0), tries=_tries)


@CLAIMS.judge(
    "map-page-times",
    spoil=_loads(OLD, 0.5),
    mend=[_loads(name, 9.0 - number) for number, name in enumerate(IN_ORDER)],
)
def _times(found: Found) -> Seen:
    """Each startup's loading times; those in order must have intervals that do not overlap."""
    base_s, rows = found[BASE].median_s, {}
    for name, label in LABELS.items():
        own_s, (low_s, high_s) = found[name].median_s, found[name].interval_s
        less = f"{100 * (1 - own_s / base_s):.0f} %"
        cells = (f"{own_s:.2f}", f"{low_s:.2f} to {high_s:.2f}", less)
        rows[label] = dict(zip(COLUMNS, cells, strict=True))
    ends = [found[name].interval_s for name in IN_ORDER]
    apart = [words.less(fast[1], slow[0]) for slow, fast in itertools.pairwise(ends)]
    return Seen.by(
        sites.told(rows), *(dataclasses.replace(one, bound="intervals apart") for one in apart)
    )


def times_table(claims: Sequence[Claim]) -> str:
    """Each startup's loading times, as a page's table."""
    return sites.table_told(claims, "map-page-times", COLUMNS)
