"""Check: granted bandwidth and fairness of requests without data."""

from __future__ import annotations

from collections.abc import Sequence
from itertools import pairwise

from headway import models
from headway.claims import Seen
from headway.studies.approval_control import experiments as setup
from headway.studies.approval_control.experiments import INTERVAL_MS, INTERVALS_MS, load_key
from headway.studies.approval_control.found import Found
from headway.studies.approval_control.observe import Load


def _load(found: Found, algorithm: str, interval_ms: int, requested_bps: float) -> Load:
    return found.loads[load_key(algorithm, interval_ms, requested_bps)]


def _most_bps_per_s(interval_ms: int) -> float:
    """Xi, eq. 6.1, of a link without load."""
    return models.quick_start.most_granted_bps_per_s(
        spare_bps=setup.LOAD_BPS, interval_s=interval_ms / 1e3, slots=setup.SLOTS
    )


def _scarce(interval_ms: int) -> list[float]:
    """The loads of which less than half can be granted."""
    return [at for at in setup.REQUESTED if at > 2 * _most_bps_per_s(interval_ms)]


def _range(values: Sequence[float], digits: int = 3) -> str:
    return f"{min(values):.{digits}f} to {max(values):.{digits}f}"


def most_granted(found: Found) -> Seen:
    """Grants per second beside eq. 6.1: at most so much, and nearly so much where most is asked."""
    parts = {
        ms: [
            _load(found, "target", ms, at).granted_bps_per_s / _most_bps_per_s(ms)
            for at in setup.REQUESTED
        ]
        for ms in INTERVALS_MS
    }
    words = ", ".join(f"{own[-1]:.3f} at {ms} ms" for ms, own in parts.items())
    return Seen(
        f"times Xi: {words}",
        all(own[-1] >= 0.8 and all(part <= 1.02 for part in own) for own in parts.values()),
        "≤ 1.02 at every load, ≥ 0.8 at the densest",
    )


def longer_grants_less(found: Found) -> Seen:
    """Grants per second by the slots' length."""
    every = [
        [_load(found, "target", ms, at).granted_bps_per_s / 1e6 for ms in INTERVALS_MS]
        for at in setup.REQUESTED
    ]
    monotone = all(a >= b for own in every for a, b in pairwise(own))
    return Seen(
        ", ".join(f"{value:.0f}" for value in every[-1]),
        monotone and all(a > b for a, b in pairwise(every[-1])),
        "never more at any load, less at the densest",
        "Mbit/s per s",
        note="At the densest requests.",
    )


def target_unfair(found: Found) -> Seen:
    """Fairness of the target algorithm with long slots, where little of the load can be granted."""
    parts = {
        ms: [
            load.fairness / load.best_fairness
            for load in (_load(found, "target", ms, at) for at in _scarce(ms))
        ]
        for ms in (500, 1000)
    }
    words = ", ".join(f"{_range(own)} at {ms} ms" for ms, own in parts.items())
    low = all(part < 0.5 for own in parts.values() for part in own)
    return Seen(f"{words} of the optimum", low, "< 0.5")


def optimum(found: Found) -> Seen:
    """Fairness if everything were approved."""
    best = [_load(found, "optimistic", INTERVAL_MS, at).best_fairness for at in setup.REQUESTED]
    return Seen(_range(best), all(0 < value < 1 - 1e-9 for value in best), "< 1")


def optimistic_fair(found: Found) -> Seen:
    """Fairness of the optimistic algorithm."""
    off = [
        abs(load.fairness - load.best_fairness)
        for load in (_load(found, "optimistic", INTERVAL_MS, at) for at in setup.REQUESTED)
    ]
    return Seen(
        f"at most {max(off):.2g} from the optimum", all(value < 1e-9 for value in off), "exact"
    )


def fair_between(found: Found) -> Seen:
    """Fairness of all three, where little of the load can be granted."""
    values = [
        [_load(found, name, INTERVAL_MS, at).fairness for name in ("target", "fair", "optimistic")]
        for at in _scarce(INTERVAL_MS)
    ]
    words = "; ".join(", ".join(f"{value:.3f}" for value in own) for own in values)
    return Seen(
        f"target, fair, optimistic: {words}",
        all(own[0] < own[1] < own[2] for own in values),
        note="At 1, 2 and 5 Gbit/s asked for per second.",
    )


def fair_grants_less(found: Found) -> Seen:
    """Grants per second of two."""
    pairs = [
        [_load(found, name, INTERVAL_MS, at).granted_bps_per_s / 1e6 for name in ("fair", "target")]
        for at in setup.REQUESTED
    ]
    words = ", ".join(f"{fair:.0f} and {target:.0f}" for fair, target in pairs)
    return Seen(words, all(fair < target for fair, target in pairs), unit="Mbit/s per s")
