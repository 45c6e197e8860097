"""Check: orderings and differences of response times, by means of the runs.

Statements and tolerances were written before the first full run; what was settled afterwards is
among the study's choices.
"""

from __future__ import annotations

import itertools
from collections.abc import Mapping, Sequence

import numpy as np

from headway.claims import (
    Claim,
    Evidence,
    MissingTrialError,
    Seen,
    Spoil,
    Statement,
    all_of,
    between,
    near,
    replaced,
)
from headway.metrics.stats import Estimate, confidence_interval
from headway.models.quick_start import RATES_BPS, rate_code
from headway.studies.city.experiments import (
    BASE,
    JUMP,
    LARGEST,
    LITTLE,
    QUICK,
    SCHEMES,
    SHORT,
    SHORT_RTT_MS,
    short_key,
)
from headway.studies.city.observe import Walks
from headway.studies.common import sites

Found = Evidence[Walks]
_RECORDING = "orderings and differences: the thesis' recording and models are not published"
_TIMES = "city-times"
_COLUMNS = ("median", "longest", "in all")


def _put(walks: str, value: float) -> Spoil:
    """Response times in place of those of all runs."""
    return replaced(f"{walks}-r?", value, "response_s")


def shown(estimate: Estimate) -> str:
    """A mean with its 95 % interval, where there are runs for one."""
    width = "" if estimate.half_width is None else f" ± {estimate.half_width:.2f}"
    return f"{estimate.mean:.2f}{width}"


def _saved_s(found: Found, one: str, other: str) -> Estimate:
    """The most that one startup shows a quarter sooner than another, by means of runs in turn."""
    before, after = found[other], found[one]
    order = [after.names.index(name) for name in before.names]
    runs = min(len(before.runs), len(after.runs))
    saved_s = before.each_s[:runs] - after.each_s[:runs, order]
    return confidence_interval(saved_s[:, int(np.argmax(saved_s.mean(axis=0)))].tolist())


def _longest(walks: Walks) -> tuple[float, float]:
    """How long the quarter that took longest took, and what it takes at least; s."""
    at = int(np.argmax(walks.response_s))
    return float(walks.response_s[at]), sites.least_s(walks.volumes_bytes[at], sites.RTT_MS)


def _over_the_least(found: Found) -> Seen:
    took_s, least_s = _longest(found[BASE])
    most_mbps = max(float(run.rate_mbps.max()) for run in found[BASE].runs)
    note = (
        f"the longest took {took_s:.2f} s, path and receive buffer need {least_s:.2f}; the link "
        f"carried {most_mbps:.0f} Mbit/s at most"
    )
    return between(took_s / least_s, 2.0, float("inf"), note=note)


def _best_of_jump_start(found: Found) -> Seen:
    saved = _saved_s(found, JUMP, BASE)
    took_s, least_s = _longest(found[BASE])
    note = (
        f"{shown(saved)} s; with Slow-Start the longest takes {took_s:.2f} s, of which path and "
        f"receive buffer need {least_s:.2f}: no startup can show it more than "
        f"{took_s - least_s:.2f} s sooner"
    )
    return between(saved.mean, 5.0, float("inf"), unit="s", note=note)


def _ordered(found: Found, names: tuple[str, ...]) -> Seen:
    """In that order, and each interval ends before the next begins."""
    totals = [found[name].total for name in names]
    told = " < ".join(
        f"{SCHEMES[name].label} {shown(total)} s" for name, total in zip(names, totals, strict=True)
    )
    ends = [
        (total.mean - width, total.mean + width)
        for total in totals
        for width in (total.half_width if total.half_width is not None else float("inf"),)
    ]
    apart = all(one[1] < other[0] for one, other in itertools.pairwise(ends))
    return Seen(told, apart, "intervals apart")


def _short_path(found: Found) -> Seen:
    saved = {
        name: _saved_s(found, short_key(name), short_key(BASE)) for name in SHORT if name != BASE
    }
    note = ", ".join(f"{SCHEMES[name].label} {shown(one)} s" for name, one in saved.items())
    return between(max(one.mean for one in saved.values()), 0.0, 1.5, unit="s", note=note)


def _largest(found: Found) -> Seen:
    base = found[BASE]
    if LARGEST not in base.names:
        raise MissingTrialError("This run's walk ends before the largest part.")
    size_bytes = base.volumes_bytes[base.names.index(LARGEST)]
    return between(size_bytes / 1e6, 80.0, float("inf"), unit="MB")


def _by_walks() -> Mapping[str, tuple[str, int]]:
    """The startup's name and the round trip of all walks that there may be."""
    far = {name: (scheme.label, sites.RTT_MS) for name, scheme in SCHEMES.items()}
    near_by = {
        short_key(name): (f"{SCHEMES[name].label} over {SHORT_RTT_MS} ms", SHORT_RTT_MS)
        for name in SHORT
    }
    return far | near_by


def _times(found: Found) -> Seen:
    """What each walk's quarters took; none is there before it can be."""
    rows, spare = {}, [found[BASE].response_s[:0]]
    for name, (label, rtt_ms) in _by_walks().items():
        if name in found:
            walks = found[name]
            seen = (np.median(walks.response_s), walks.response_s.max())
            cells = [*(f"{value:.2f}" for value in seen), shown(walks.total)]
            rows[label] = dict(zip(_COLUMNS, cells, strict=True))
            least_s = [sites.least_s(size_bytes, rtt_ms) for size_bytes in walks.volumes_bytes]
            spare.append(walks.each_s.min(axis=0) / least_s)
    return Seen(sites.told(rows), bool(np.concatenate(spare).min() >= 1), "≥ the least")


def times_table(claims: Sequence[Claim]) -> str:
    """What each walk's quarters took, for a page."""
    return sites.table_told(claims, _TIMES, _COLUMNS)


STATEMENTS: tuple[Statement[Found], ...] = (
    Statement(
        "C-TH-256",
        "with Slow-Start parts of a model arrive long after the path could have brought them",
        "up to 20 s",
        _over_the_least,
        part=_RECORDING,
        ours="Twice what it takes at least, of the quarter that takes longest; the thesis prints "
        "no volumes.",
        spoil=_put(BASE, 0.2),
        mend=_put(BASE, 20.0),
    ),
    Statement(
        "C-TH-257",
        "Jump-Start shows a part of the model several seconds sooner, at best",
        "over 10 s",
        _best_of_jump_start,
        part=_RECORDING,
        ours="5 s are ours.",
        spoil=_put(BASE, 0.2),
        mend=_put(BASE, 100.0),
    ),
    Statement(
        "C-TH-258",
        "Quick-Start with all of the capacity is faster than Jump-Start",
        "QS(100 %) < JS",
        lambda found: _ordered(found, (QUICK, JUMP)),
        part=_RECORDING,
        spoil=_put(JUMP, 0.01),
        mend=_put(JUMP, 100.0),
    ),
    Statement(
        "C-TH-259",
        "with one percent of it Quick-Start is between that and Slow-Start",
        "QS(100 %) < QS(1 %) < SS",
        lambda found: _ordered(found, (QUICK, LITTLE, BASE)),
        part=_RECORDING,
        spoil=_put(BASE, 0.01),
        mend=all_of(_put(QUICK, 1.0), _put(LITTLE, 2.0), _put(BASE, 3.0)),
    ),
    Statement(
        "C-TH-260",
        "over 50 ms no part is shown much more than a second sooner",
        "hardly more than 1 s",
        _short_path,
        part=_RECORDING,
        spoil=_put(short_key(BASE), 100.0),
        mend=all_of(*(_put(short_key(name), 1.0) for name in SHORT)),
    ),
    Statement(
        "C-TH-261",
        "the initial rate asked for, on Quick-Start's scale",
        "of the order of 100 Mbit/s, asked 82",
        lambda _: near(RATES_BPS[rate_code(sites.ASKED_BPS)] / 1e6, 81.92, unit="Mbit/s"),
        carrier="setting",
    ),
    Statement(
        "C-TH-262",
        "the largest part of the model",
        "more than 80 MB",
        _largest,
        carrier="setting",
    ),
    Statement(
        _TIMES,
        "response times of a walk's quarters in s; none is there before path and buffer allow it",
        "≥ the least",
        _times,
        ours="No paper's.",
        spoil=_put(BASE, 0.01),
        mend=_put("*", 100.0),
    ),
)
