"""Check: granted bandwidth and fairness of requests without data."""

from __future__ import annotations

import math
from collections.abc import Sequence
from itertools import pairwise

from headway import models
from headway.claims import Seen, words
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
    """Grants per second against eq. 6.1: never above it, and close to it where most is asked."""
    parts = {
        ms: [
            _load(found, "target", ms, at).granted_bps_per_s / _most_bps_per_s(ms)
            for at in setup.REQUESTED
        ]
        for ms in INTERVALS_MS
    }
    told = ", ".join(f"{own[-1]:.3f} at {ms} ms" for ms, own in parts.items())
    return Seen.by(
        f"times Xi: {told}",
        *(
            words.within(max(own), -math.inf, 1.02, "≤ 1.02 at every load")
            for own in parts.values()
        ),
        *(
            words.within(own[-1], 0.8, math.inf, "≥ 0.8 at the densest requests")
            for own in parts.values()
        ),
    )


def longer_grants_less(found: Found) -> Seen:
    """Grants per second by slot length, and with more slots."""
    every = [
        [_load(found, "target", ms, at).granted_bps_per_s / 1e6 for ms in INTERVALS_MS]
        for at in setup.REQUESTED
    ]
    monotone = all(a >= b for own in every for a, b in pairwise(own))
    more_slots = found.loads[setup.MORE_SLOTS_TRIAL].granted_bps_per_s / 1e6
    return Seen.by(
        ", ".join(f"{value:.0f}" for value in every[-1])
        + f"; {more_slots:.0f} with {setup.MORE_SLOTS} slots",
        words.is_so(monotone, "never more at any load"),
        *(words.less(b, a) for a, b in pairwise(every[-1])),
        words.less(more_slots, every[-1][INTERVALS_MS.index(INTERVAL_MS)]),
        unit="Mbit/s per s",
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
    told = ", ".join(f"{_range(own)} at {ms} ms" for ms, own in parts.items())
    return Seen.by(
        f"{told} of the optimum",
        *(
            check
            for own in parts.values()
            for part in own
            for check in (words.much_less(part, 1.0), words.within(part, -math.inf, 0.5, "< 0.5"))
        ),
    )


def optimum(found: Found) -> Seen:
    """Fairness if every request were approved."""
    best = [_load(found, "optimistic", INTERVAL_MS, at).best_fairness for at in setup.REQUESTED]
    return Seen.by(_range(best), *(words.within(value, 0, 1 - 1e-9, "< 1") for value in best))


def optimistic_fair(found: Found) -> Seen:
    """Fairness of the optimistic algorithm."""
    off = [
        abs(load.fairness - load.best_fairness)
        for load in (_load(found, "optimistic", INTERVAL_MS, at) for at in setup.REQUESTED)
    ]
    return Seen.by(
        f"at most {max(off):.2g} from the optimum", words.is_so(max(off) < 1e-9, "exact")
    )


def fair_between(found: Found) -> Seen:
    """Fairness of all three algorithms, where little of the load can be granted."""
    values = [
        [_load(found, name, INTERVAL_MS, at).fairness for name in ("target", "fair", "optimistic")]
        for at in _scarce(INTERVAL_MS)
    ]
    told = "; ".join(", ".join(f"{value:.3f}" for value in own) for own in values)
    return Seen.by(
        f"target, fair, optimum: {told}",
        *(words.slightly_less(own[1], own[2]) for own in values),
        *(words.much_more(own[1], own[0]) for own in values),
        note="Requests ask for 1, 2 and 5 Gbit/s per second.",
    )


def fair_grants_less(found: Found) -> Seen:
    """Grants per second of the fair and the target algorithm."""
    pairs = [
        [_load(found, name, INTERVAL_MS, at).granted_bps_per_s / 1e6 for name in ("fair", "target")]
        for at in setup.REQUESTED
    ]
    told = ", ".join(f"{fair:.0f} and {target:.0f}" for fair, target in pairs)
    return Seen.by(told, *(words.less(fair, target) for fair, target in pairs), unit="Mbit/s per s")
