"""Check: orderings and differences of response times. Written before the first full run."""

from __future__ import annotations

import numpy as np

from headway.claims import Evidence, Seen, Statement, all_of, between, near, replaced
from headway.models.quick_start import RATES_BPS, rate_code
from headway.studies.city.experiments import (
    BASE,
    JUMP,
    LITTLE,
    QUICK,
    SCHEMES,
    SHORT,
    short_key,
)
from headway.studies.city.observe import Walk
from headway.studies.common import sites

Found = Evidence[Walk]
_TIMES = "response_s"
_RECORDING = "orderings and differences: the thesis' recording and models are not published"


def _least_s(walk: Walk) -> float:
    """What the largest quarter needs on the path: its data at the link's rate, a round trip."""
    return float(walk.volumes_bytes.max()) * 8 / sites.RATE_BPS + sites.RTT_MS / 1e3


def _saved_s(found: Found, one: str, other: str) -> float:
    """The most that one startup shows a quarter sooner than another does."""
    before = dict(zip(found[other].names, found[other].response_s, strict=True))
    after = dict(zip(found[one].names, found[one].response_s, strict=True))
    return float(max((before[name] - after[name] for name in before if name in after), default=-1))


def _over_the_least(found: Found) -> Seen:
    slowest_s = float(found[BASE].response_s.max())
    note = f"the longest took {slowest_s:.2f} s, the path needs {_least_s(found[BASE]):.2f} s"
    return between(slowest_s / _least_s(found[BASE]), 2.0, float("inf"), note=note)


def _ordered(found: Found, names: tuple[str, ...]) -> Seen:
    totals_s = [found[name].total_s for name in names]
    shown = " < ".join(
        f"{SCHEMES[name].label} {total:.2f} s" for name, total in zip(names, totals_s, strict=True)
    )
    return Seen(shown, bool(np.all(np.diff(totals_s) > 0)))


def _short_path(found: Found) -> Seen:
    saved = [_saved_s(found, short_key(name), short_key(BASE)) for name in SHORT if name != BASE]
    return between(max(saved), 0.0, 1.5, unit="s")


STATEMENTS: tuple[Statement[Found], ...] = (
    Statement(
        "C-TH-256",
        "with Slow-Start parts of a model arrive long after the path could have brought them",
        "up to 20 s",
        _over_the_least,
        part=_RECORDING,
        ours="Twice what the path needs for the largest quarter; the thesis prints no volumes.",
        spoil=replaced(BASE, 0.2, _TIMES),
        mend=replaced(BASE, 20.0, _TIMES),
    ),
    Statement(
        "C-TH-257",
        "Jump-Start shows a part of the model several seconds sooner, at best",
        "over 10 s",
        lambda found: between(_saved_s(found, JUMP, BASE), 5.0, float("inf"), unit="s"),
        part=_RECORDING,
        ours="5 s are ours. With Slow-Start the longest takes about five, of which the path needs "
        "one.",
        spoil=replaced(BASE, 0.2, _TIMES),
        mend=replaced(BASE, 100.0, _TIMES),
    ),
    Statement(
        "C-TH-258",
        "Quick-Start with all of the capacity is faster than Jump-Start",
        "QS(100 %) < JS",
        lambda found: _ordered(found, (QUICK, JUMP)),
        part=_RECORDING,
        spoil=replaced(JUMP, 0.01, _TIMES),
        mend=replaced(JUMP, 100.0, _TIMES),
    ),
    Statement(
        "C-TH-259",
        "with one percent of it Quick-Start is between that and Slow-Start",
        "QS(100 %) < QS(1 %) < SS",
        lambda found: _ordered(found, (QUICK, LITTLE, BASE)),
        part=_RECORDING,
        spoil=replaced(BASE, 0.01, _TIMES),
        mend=all_of(
            replaced(QUICK, 1.0, _TIMES), replaced(LITTLE, 2.0, _TIMES),
            replaced(BASE, 3.0, _TIMES),
        ),
    ),
    Statement(
        "C-TH-260",
        "over 50 ms no part is shown much more than a second sooner",
        "hardly more than 1 s",
        _short_path,
        part=_RECORDING,
        spoil=replaced(short_key(BASE), 100.0, _TIMES),
        mend=all_of(*(replaced(short_key(name), 1.0, _TIMES) for name in SHORT)),
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
        lambda found: between(
            float(found[BASE].volumes_bytes.max()) / 1e6, 80.0, float("inf"), unit="MB"
        ),
        carrier="setting",
    ),
)  # fmt: skip
