"""Check: mean response times and gains of trials, by startup and load, and words for them."""

from __future__ import annotations

from collections.abc import Mapping

from headway.claims import Evidence
from headway.studies.common.traffic import Traffic
from headway.studies.load.experiments import key

Found = Evidence[Traffic]


def mean(found: Found, scheme: str, load: float) -> float:
    """Mean response time, seconds."""
    return found[key(scheme, load)].mean_s


def gain_s(found: Found, scheme: str, load: float) -> float:
    """What slow start takes longer on average, seconds."""
    return mean(found, "slow-start", load) - mean(found, scheme, load)


def by_load(values: Mapping[float, float], unit: str = "s", digits: int = 2) -> str:
    """Values and where they were found."""
    shown = ", ".join(f"{value:.{digits}f} at {100 * at:g} %" for at, value in values.items())
    return f"{shown} ({unit})"
