"""Claims in few words: a value in a range, a statement that is true or not, one not checked.

A verdict is computed from what was measured, never written down. The published words and the
tolerances are those of the claims list; where the tolerance was ours to choose, the note says so.
"""

from __future__ import annotations

import dataclasses
import math
from collections.abc import Iterable

from headway.claims import Claim, Verdict, told


def in_range(
    name: str,
    statement: str,
    published: float | str,
    measured: float | None,
    unit: str | None,
    low: float,
    high: float,
    *,
    note: str = "",
) -> Claim:
    """A value that must lie in [low, high]; None or NaN for ``measured`` fails it.

    An infinite ``low`` or ``high`` leaves that side open.
    """
    known = measured is not None and math.isfinite(measured)
    holds = known and measured is not None and low <= measured <= high
    return Claim(
        id=name,
        basis="simulated",
        published=published,
        measured=float(f"{measured:.5g}") if known and measured is not None else "nothing",
        unit=unit,
        tolerance=_range(low, high),
        verdict="holds" if holds else "fails",
        statement=statement,
        note=note,
    )


def within(
    name: str,
    statement: str,
    published: float,
    measured: float | None,
    unit: str | None,
    *,
    relative: float = 0.0,
    note: str = "",
) -> Claim:
    """A value within ``relative`` of the published one; 0 asks for the same to nine digits."""
    margin = abs(published) * (relative or 1e-9)
    claim = in_range(
        name, statement, published, measured, unit, published - margin, published + margin
    )
    tolerance = f"±{100 * relative:g} %" if relative else "exact"
    return dataclasses.replace(claim, tolerance=tolerance, note=note)


def shown(
    name: str,
    statement: str,
    published: float | str,
    measured: float | str,
    holds: bool,
    *,
    tolerance: str = "sign",
    unit: str | None = None,
    note: str = "",
) -> Claim:
    """A statement that is true or not; ``measured`` says what was seen, with numbers."""
    verdict: Verdict = "holds" if holds else "fails"
    return Claim(name, statement, "simulated", published, measured, unit, tolerance, verdict, note)


def unchecked(name: str, statement: str, published: float | str, reason: str) -> Claim:
    """A statement that this run cannot check, and why."""
    return Claim(name, statement, "simulated", published, None, None, "", "not checked", reason)


def tally(claims: Iterable[Claim]) -> str:
    """How many of some claims hold."""
    return told(claims)


def _range(low: float, high: float) -> str:
    if math.isinf(low):
        return f"≤ {high:.4g}"
    if math.isinf(high):
        return f"≥ {low:.4g}"
    return f"{low:.4g} to {high:.4g}"
