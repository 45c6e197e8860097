"""Check: mean response times and gains of trials by startup and load, and their formatting.

All schemes carry the same sessions, so the intervals of two means are no interval of their
difference. Means are compared, and the seeds show how certain a difference is.
"""

from __future__ import annotations

from collections.abc import Mapping

from headway.claims import Evidence, words
from headway.studies.common.traffic import Traffic
from headway.studies.load.experiments import LOADS, key

Found = Evidence[Traffic]

LOADED = tuple(load for load in LOADS if load >= words.CLEAR * 0.1)
"""Loads far above 10 %, as the table of words defines "far"."""
FAR_ABOVE = f"loads of {100 * LOADED[0]:g} % and more: at least 1.5 times 10 %"


def mean(found: Found, scheme: str, load: float) -> float:
    """Mean response time, seconds."""
    return found[key(scheme, load)].mean_s


def gain_s(found: Found, scheme: str, load: float) -> float:
    """The mean time saved compared with slow start, in seconds."""
    return mean(found, "slow-start", load) - mean(found, scheme, load)


def by_load(values: Mapping[float, float], unit: str = "s", digits: int = 2) -> str:
    """Values with the loads at which they were measured."""
    shown = ", ".join(f"{value:.{digits}f} at {100 * at:g} %" for at, value in values.items())
    return f"{shown} ({unit})"
