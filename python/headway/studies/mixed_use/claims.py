"""Check: C-TH-202 to 204."""

from __future__ import annotations

import numpy as np

from headway.claims import Evidence, Seen, Statement, scaled, swapped, words
from headway.metrics.stats import Estimate, batch_means, confidence_interval
from headway.studies.common import pairs
from headway.studies.mixed_use.experiments import DEFAULT, FAST, LOADS, key
from headway.studies.mixed_use.observe import Half, Halves

Found = Evidence[Halves]
Change = tuple[float, float]
"""A half's additional time compared with slow start everywhere: a part, and its uncertainty."""


def half(found: Found, scheme: str, number: int, load: float) -> Half:
    """One half of a trial's pairs."""
    one = found[key(scheme, load)]
    return one.fast if number == FAST else one.default


def change(found: Found, scheme: str, number: int, load: float) -> Change:
    """A half's change. Both trials have the same sessions, so responses are compared one by one."""
    alone = half(found, "slow-start", number, load).seconds.astype(np.float64)
    mixed = half(found, scheme, number, load).seconds.astype(np.float64)
    both = np.isfinite(alone) & np.isfinite(mixed)
    if not both.any():
        return float("nan"), float("nan")
    base = float(alone[both].mean())
    estimate = confidence_interval([float(mean) for mean in batch_means((mixed - alone)[both])])
    return estimate.mean / base, (estimate.half_width or 0.0) / base


def outcome_class(own: Change, others: Change) -> str:
    """One of the five outcomes of section 6.5.2; a dash if nothing changes significantly.

    A change counts if it is above its uncertainty. For slow start's half it must also be at least
    10 %, as the table of words defines "significantly".
    """
    faster, slower = own[0] < -own[1], own[0] > own[1]
    helped = others[0] < -max(others[1], words.SIGNIFICANT)
    harmed = others[0] > max(others[1], words.SIGNIFICANT)
    if faster:
        return "ideal" if helped else "unfair" if harmed else "good"
    if harmed:
        return "detrimental"
    return "contrary" if slower else "–"


def _changes(found: Found, scheme: str, number: int) -> list[Change]:
    """A half's changes by load."""
    return [change(found, scheme, number, load) for load in LOADS]


def _times(found: Found, scheme: str, number: int) -> list[Estimate]:
    """A half's mean time by load, divided by its time if all use slow start."""
    return [Estimate(1 + off, None, width, 0) for off, width in _changes(found, scheme, number)]


def _shown(found: Found, scheme: str) -> str:
    own = ", ".join(f"{100 * off:+.1f}" for off, _ in _changes(found, scheme, FAST))
    others = ", ".join(
        f"{100 * off:+.1f} ±{100 * width:.1f}" for off, width in _changes(found, scheme, DEFAULT)
    )
    return f"{scheme}: own {own} %; others {others} %"


_AT = f"At {', '.join(f'{100 * load:g}' for load in LOADS)} % load."


def _good(found: Found) -> Seen:
    schemes = ("jump-start", "initial-start")
    own = [time for scheme in schemes for time in _times(found, scheme, FAST)]
    others = [time for scheme in schemes for time in _times(found, scheme, DEFAULT)]
    return Seen.by(
        ". ".join(_shown(found, scheme) for scheme in schemes),
        *(words.less(time, 1.0) for time in own),
        *(words.not_significantly_more(time, 1.0) for time in others),
        note=f"{_AT} Each load is judged.",
    )


def _unfair(found: Found) -> Seen:
    own, others = (_times(found, "mega-start", number) for number in (FAST, DEFAULT))
    unfair = [
        words.both(words.less(mine, 1.0), words.significantly_more(theirs, 1.0))
        for mine, theirs in zip(own, others, strict=True)
    ]
    return Seen.by(
        _shown(found, "mega-start"),
        words.some(unfair),
        note=f'{_AT} "Unfair" is judged as not fair in the sense of C-TH-202, at one load or more.',
    )


def _quick(found: Found) -> Seen:
    schemes = [scheme.key for scheme in pairs.QUICK_STARTS]
    worst = max(
        (one for scheme in schemes for one in _changes(found, scheme, DEFAULT)),
        key=lambda off: off[0],
    )
    own = {
        scheme: 1 + float(np.mean([off for off, _ in _changes(found, scheme, FAST)]))
        for scheme in ("jump-start", "initial-start", *schemes)
    }
    shown = ", ".join(f"{scheme} {100 * (time - 1):+.1f}" for scheme, time in own.items())
    return Seen.by(
        f"own on average {shown} %; others at most {100 * worst[0]:+.1f} ±{100 * worst[1]:.1f} %",
        *(
            words.hardly(max(off, 0.0))
            for scheme in schemes
            for off, _ in _changes(found, scheme, DEFAULT)
        ),
        *(words.less(own[scheme], 1.0) for scheme in schemes),
        *(
            words.more(own[scheme], own[other])
            for scheme in schemes
            for other in ("jump-start", "initial-start")
        ),
        note="All four variants of Quick-Start are judged: the other half's times at each load, "
        "the variants' own speedup on average over the loads.",
    )


STATEMENTS: tuple[Statement[Found], ...] = (
    Statement(
        "C-TH-202",
        "Jump- and Initial-Start compared with slow start",
        "rather fair: faster themselves, and others not significantly slower",
        _good,
        spoil=scaled("initial-start-75", 1.2, "default.seconds"),
    ),
    Statement(
        "C-TH-203",
        "Mega-Start compared with slow start",
        "unfair: faster at the cost of others",
        _unfair,
        spoil=swapped("mega-start", "slow-start"),
    ),
    Statement(
        "C-TH-204",
        "Quick-Start compared with slow start",
        "hardly degrades others, and its own speedup is smaller",
        _quick,
        spoil=scaled("quick-start-chi-75", 1.1, "default.seconds"),
    ),
)
