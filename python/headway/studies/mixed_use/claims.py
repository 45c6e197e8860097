"""Check: C-TH-202 to 204."""

from __future__ import annotations

from dataclasses import replace

import numpy as np

from headway.claims import Evidence, Seen, Statement, scaled, swapped
from headway.claims.spoil import Rows
from headway.metrics.stats import batch_means, confidence_interval
from headway.studies.common import pairs
from headway.studies.mixed_use.experiments import DEFAULT, FAST, LOADS, SCHEMES, key
from headway.studies.mixed_use.observe import Half, Halves

Found = Evidence[Halves]
Change = tuple[float, float]
"""How much longer a half takes than if all use slow start: a part, and its uncertainty."""
HARMLESS = 0.05
"""Slow start's half may be so much slower and count as not significantly slowed down."""


HARDLY = 0.03
"""The same of Quick-Start, which "hardly degrades" it."""


def half(found: Found, scheme: str, number: int, load: float) -> Half:
    """One half of a trial's pairs."""
    one = found[key(scheme, load)]
    return one.fast if number == FAST else one.default


def change(found: Found, scheme: str, number: int, load: float) -> Change:
    """Both trials have the same sessions, so responses are compared one by one."""
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

    A half's time changes if its change is above its uncertainty, and for slow start's half
    also above 5 %.
    """
    faster, slower = own[0] < -own[1], own[0] > own[1]
    helped = others[0] < -max(others[1], HARMLESS)
    harmed = others[0] > max(others[1], HARMLESS)
    if faster:
        return "ideal" if helped else "unfair" if harmed else "good"
    if harmed:
        return "detrimental"
    return "contrary" if slower else "–"


def _changes(found: Found, scheme: str, number: int) -> list[Change]:
    """By load."""
    return [change(found, scheme, number, load) for load in LOADS]


def _words(found: Found, scheme: str) -> str:
    own = ", ".join(f"{100 * off:+.1f}" for off, _ in _changes(found, scheme, FAST))
    others = ", ".join(
        f"{100 * off:+.1f} ±{100 * width:.1f}" for off, width in _changes(found, scheme, DEFAULT)
    )
    return f"{scheme}: own {own} %; others {others} %"


_AT = f"At {', '.join(f'{100 * load:g}' for load in LOADS)} % load."


def _good(found: Found) -> Seen:
    schemes = ("jump-start", "initial-start")
    return Seen(
        ". ".join(_words(found, scheme) for scheme in schemes),
        all(
            own < 0 and others <= HARMLESS
            for scheme in schemes
            for (own, _), (others, _) in zip(
                _changes(found, scheme, FAST), _changes(found, scheme, DEFAULT), strict=True
            )
        ),
        "own faster, others ≤ 5 % slower at every load",
        note=_AT,
    )


def _unfair(found: Found) -> Seen:
    return Seen(
        _words(found, "mega-start"),
        any(
            own < -own_width and others > max(HARMLESS, width)
            for (own, own_width), (others, width) in zip(
                _changes(found, "mega-start", FAST),
                _changes(found, "mega-start", DEFAULT),
                strict=True,
            )
        ),
        "own faster, others slower by more than 5 % and their interval at some load",
        note=_AT,
    )


def _quick(found: Found) -> Seen:
    most = max(
        (change(found, s.key, DEFAULT, load) for s in pairs.QUICK_STARTS for load in LOADS),
        key=lambda off: off[0],
    )
    own = {
        scheme: [off for off, _ in _changes(found, scheme, FAST)]
        for scheme in ("jump-start", *(s.key for s in pairs.QUICK_STARTS))
    }
    words = ", ".join(f"{scheme} {100 * float(np.mean(o)):+.1f}" for scheme, o in own.items())
    jump = own.pop("jump-start")
    return Seen(
        f"own on average {words} %; others at most {100 * most[0]:+.1f} ±{100 * most[1]:.1f} %",
        most[0] <= HARDLY
        and all(offs[0] < 0 and np.mean(offs) > np.mean(jump) for offs in own.values()),
        "others ≤ 3 % slower at every load; own faster at 15 %, but less than Jump-Start's",
    )


def _alike(rows: Rows) -> Rows:
    """Slow start's half as if all used slow start."""
    return {
        name: replace(one, default=rows[key("slow-start", load)].default)
        for load in LOADS
        for scheme in ("slow-start", *(s.key for s in SCHEMES))
        if (one := rows.get(name := key(scheme, load))) is not None
    }


STATEMENTS: tuple[Statement[Found], ...] = (
    Statement(
        "C-TH-202",
        "Jump- and Initial-Start beside slow start",
        "fair",
        _good,
        ours="A wide interval excuses nothing: it did before.",
        spoil=scaled("initial-start-75", 1.1, "default.seconds"),
        mend=_alike,
    ),
    Statement(
        "C-TH-203",
        "Mega-Start beside slow start",
        "unfair",
        _unfair,
        ours="Slower is more than the 5 % that count as fair in C-TH-202.",
        spoil=swapped("mega-start", "slow-start"),
    ),
    Statement(
        "C-TH-204",
        "Quick-Start beside slow start",
        "hardly degrades others, smaller speedup",
        _quick,
        ours="All four ways of using it, not one.",
        spoil=scaled("quick-start-chi-75", 1.1, "default.seconds"),
        mend=_alike,
    ),
)
