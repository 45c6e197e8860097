"""Check: orderings and differences of response times, by means of the runs."""

from __future__ import annotations

import itertools
import math
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
    replaced,
    words,
)
from headway.claims.why import Change, Why, edited
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
_RECORDING = "Judged with another recording and other models: the thesis' are not published."
_TIMES = "city-times"
_COLUMNS = ("median", "longest", "in all")


def _put(walks: str, value: float) -> Spoil:
    """Replace the response times of all runs."""
    return replaced(f"{walks}-r?", value, "response_s")


def shown(estimate: Estimate) -> str:
    """A mean with its 95 % interval, if the runs give one."""
    width = "" if estimate.half_width is None else f" ± {estimate.half_width:.2f}"
    return f"{estimate.mean:.2f}{width}"


def _saved_s(found: Found, one: str, other: str) -> Estimate:
    """The largest time that one startup saves over another in a quarter, mean of paired runs."""
    before, after = found[other], found[one]
    order = [after.names.index(name) for name in before.names]
    runs = min(len(before.runs), len(after.runs))
    saved_s = before.each_s[:runs] - after.each_s[:runs, order]
    return confidence_interval(saved_s[:, int(np.argmax(saved_s.mean(axis=0)))].tolist())


def _longest(walks: Walks) -> tuple[float, float]:
    """The slowest quarter's response time and its least possible time, in s."""
    at = int(np.argmax(walks.response_s))
    return float(walks.response_s[at]), sites.least_s(walks.volumes_bytes[at], sites.RTT_MS)


def _over_the_least(found: Found) -> Seen:
    took_s, least_s = _longest(found[BASE])
    most_mbps = max(float(run.rate_mbps.max()) for run in found[BASE].runs)
    return Seen.by(
        took_s / least_s,
        words.much_more(took_s, least_s),
        words.much_more(sites.RATE_BPS / 1e6 - most_mbps, most_mbps),
        note=f"The slowest part takes {took_s:.2f} s; path and receive buffer need {least_s:.2f} "
        f"s. The link carries {most_mbps:.0f} Mbit/s at most.",
    )


def _best_of_jump_start(found: Found) -> Seen:
    saved = _saved_s(found, JUMP, BASE)
    took_s, least_s = _longest(found[BASE])
    return Seen.by(
        saved.mean,
        words.within(saved.mean, 5.0, math.inf, "≥ 5 s, by the claims list"),
        words.significantly_less(
            Estimate(took_s - saved.mean, None, saved.half_width, saved.count), took_s
        ),
        unit="s",
        note=f"Jump-Start saves {shown(saved)} s. With Slow-Start the slowest part takes "
        f"{took_s:.2f} s, of which path and receive buffer need {least_s:.2f} s. So no startup can "
        f"save more than {took_s - least_s:.2f} s.",
    )


def _told_in_order(found: Found, names: tuple[str, ...]) -> str:
    return " < ".join(f"{SCHEMES[name].label} {shown(found[name].total)} s" for name in names)


def _few_seconds(found: Found) -> Seen:
    longest_s = float(found[QUICK].response_s.max())
    return Seen.by(
        f"{_told_in_order(found, (QUICK, JUMP))}; the longest {longest_s:.2f} s",
        words.few_seconds(longest_s),
        words.less(found[QUICK].total, found[JUMP].total),
    )


def _between(found: Found) -> Seen:
    names = (QUICK, LITTLE, BASE)
    return Seen.by(
        _told_in_order(found, names),
        *(
            words.less(found[one].total, found[other].total)
            for one, other in itertools.pairwise(names)
        ),
    )


def _short_path(found: Found) -> Seen:
    """The most that a startup saves in a part, over 50 ms and over 200 ms."""
    fast = [name for name in SHORT if name != BASE]
    near_by = {name: _saved_s(found, short_key(name), short_key(BASE)) for name in fast}
    most = max(near_by.values(), key=lambda one: one.mean)
    far = max((_saved_s(found, name, BASE) for name in fast), key=lambda one: one.mean)
    told = ", ".join(f"{SCHEMES[name].label} {shown(one)} s" for name, one in near_by.items())
    return Seen.by(
        most.mean,
        words.hardly(max(most.mean / 1.0 - 1, 0.0)),
        words.less(most, far),
        unit="s",
        note=f"{told}; over 200 ms at most {shown(far)} s.",
    )


def _largest(found: Found) -> Seen:
    base = found[BASE]
    if LARGEST not in base.names:
        raise MissingTrialError("This run's walk ends before the largest part.")
    size_bytes = base.volumes_bytes[base.names.index(LARGEST)]
    size_mb = size_bytes / 1e6
    return Seen.by(size_mb, words.within(size_mb, 80, math.inf, "> 80 MB"), unit="MB")


def _asked(_: Found) -> Seen:
    asked_mbps = RATES_BPS[rate_code(sites.ASKED_BPS)] / 1e6
    return Seen.by(
        asked_mbps,
        words.of_the_order_of(asked_mbps, 100),
        words.quantity(asked_mbps, 82, 0.01),
        unit="Mbit/s",
    )


def _by_walks() -> Mapping[str, tuple[str, int]]:
    """The startup's label and the RTT of every possible walk."""
    far = {name: (scheme.label, sites.RTT_MS) for name, scheme in SCHEMES.items()}
    near_by = {
        short_key(name): (f"{SCHEMES[name].label} over {SHORT_RTT_MS} ms", SHORT_RTT_MS)
        for name in SHORT
    }
    return far | near_by


def _times(found: Found) -> Seen:
    """Response times of each walk's quarters; none is below the least possible time."""
    rows, spare = {}, [found[BASE].response_s[:0]]
    for name, (label, rtt_ms) in _by_walks().items():
        if name in found:
            walks = found[name]
            seen = (np.median(walks.response_s), walks.response_s.max())
            cells = [*(f"{value:.2f}" for value in seen), shown(walks.total)]
            rows[label] = dict(zip(_COLUMNS, cells, strict=True))
            least_s = [sites.least_s(size_bytes, rtt_ms) for size_bytes in walks.volumes_bytes]
            spare.append(walks.each_s.min(axis=0) / least_s)
    least = float(np.concatenate(spare).min())
    return Seen.by(sites.told(rows), words.within(least, 1, math.inf, "≥ the least"))


def times_table(claims: Sequence[Claim]) -> str:
    """Response times of each walk's quarters, as a page's table."""
    return sites.table_told(claims, _TIMES, _COLUMNS)


STATEMENTS: tuple[Statement[Found], ...] = (
    Statement(
        "C-TH-256",
        "with Slow-Start it takes up to 20 s until a new model is there, far more than the path "
        "needs, while far more capacity is free than used",
        "up to 20 s",
        _over_the_least,
        part="The 20 s are not judged: they depend on the models, which are not published.",
        spoil=_put(BASE, 0.2),
        mend=_put(BASE, 20.0),
    ),
    Statement(
        "C-TH-257",
        "Jump-Start reduces a model's loading delay by over 10 s in the best case, which is very "
        "significant",
        "over 10 s",
        _best_of_jump_start,
        why=Why(
            "refuted",
            "Slow-Start takes 5.3 s for the largest part, of which path and receive buffer need "
            "2.2 s. So no startup can save 5 s. Jump-Start's first flight has at most 64 KiB (the "
            "thesis' K_data), which saves two to four round trips.",
            (
                Change(
                    "a slow start that begins with the three packets of the thesis' default stack",
                    edited({"flows.*.control": "cubic+initial-start:is_window_pkts=3"}),
                    f"{BASE}-r*",
                ),
                Change(
                    "a Jump-Start whose first flight has no bound",
                    edited(
                        {"flows.*.control": "cubic+jump-start:js_max_bytes=0:js_max_rate_kbps=0"}
                    ),
                    f"{JUMP}-r*",
                ),
            ),
            nothing_helps=True,
        ),
        part=_RECORDING,
        spoil=_put(BASE, 0.2),
        mend=_put(BASE, 100.0),
    ),
    Statement(
        "C-TH-258",
        "with the whole capacity Quick-Start reduces download times to few seconds, shorter than "
        "with Jump-Start",
        "QS(100 %) < JS",
        _few_seconds,
        part=_RECORDING,
        spoil=_put(JUMP, 0.01),
        mend=_put(JUMP, 100.0),
    ),
    Statement(
        "C-TH-259",
        "with one percent of the capacity Quick-Start is still faster than Slow-Start, but slower "
        "than with the whole",
        "QS(100 %) < QS(1 %) < SS",
        _between,
        part=_RECORDING,
        spoil=_put(BASE, 0.01),
        mend=all_of(_put(QUICK, 1.0), _put(LITTLE, 2.0), _put(BASE, 3.0)),
    ),
    Statement(
        "C-TH-260",
        "over 50 ms the reduction of a response time is smaller, and hardly exceeds one second",
        "hardly exceeds 1 s",
        _short_path,
        part=_RECORDING,
        spoil=_put(short_key(BASE), 100.0),
        mend=all_of(
            *(_put(short_key(name), 1.0) for name in SHORT),
            *(_put(name, 1.0) for name in (JUMP, QUICK)),
            _put(BASE, 5.0),
        ),
    ),
    Statement(
        "C-TH-261",
        "the initial rate that is asked for, on Quick-Start's scale",
        "of the order of 100 Mbit/s: 82",
        _asked,
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
        "response times of a walk's quarters in s, each of which path and buffer allow",
        "≥ the least",
        _times,
        ours="No paper states this.",
        spoil=_put(BASE, 0.01),
        mend=_put("*", 100.0),
    ),
)
