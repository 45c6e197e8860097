"""Check: granted bandwidth and fairness of requests without data."""

from __future__ import annotations

from itertools import pairwise

from headway import models
from headway.claims import Seen, between
from headway.studies.approval_control import experiments as setup
from headway.studies.approval_control.experiments import load_key
from headway.studies.approval_control.found import Found
from headway.studies.approval_control.observe import Load


def _dense(found: Found, algorithm: str, interval_ms: int) -> Load:
    return found.loads[load_key(algorithm, interval_ms, setup.DENSE)]


def most_granted(found: Found) -> Seen:
    """Grants per second beside eq. 6.1."""
    ratios = []
    for ms in setup.INTERVALS_MS:
        most = models.quick_start.most_granted_bps_per_s(
            spare_bps=setup.LOAD_BPS, interval_s=ms / 1e3, slots=setup.SLOTS
        )
        ratios.append(_dense(found, "target", ms).granted_bps_per_s / most)
    words = ", ".join(
        f"{ratio:.2f} at {ms} ms" for ratio, ms in zip(ratios, setup.INTERVALS_MS, strict=True)
    )
    return Seen(
        f"times Xi: {words}",
        all(0.8 <= ratio <= 1.02 for ratio in ratios),
        "0.8 to 1.02 at the densest requests",
        note="Rates are rounded down to codes.",
    )


def longer_grants_less(found: Found) -> Seen:
    """Grants per second by the slots' length."""
    rows = [_dense(found, "target", ms).granted_bps_per_s / 1e6 for ms in setup.INTERVALS_MS]
    return Seen(
        ", ".join(f"{value:.0f}" for value in rows),
        all(a > b for a, b in pairwise(rows)),
        unit="Mbit/s per s",
    )


def target_unfair(found: Found) -> Seen:
    """Fairness of the target algorithm with long slots."""
    parts = [
        load.fairness / load.best_fairness
        for load in (_dense(found, "target", ms) for ms in (500, 1000))
    ]
    words = ", ".join(f"{part:.3f}" for part in parts)
    return Seen(f"{words} of the optimum", max(parts) < 0.5, "< 0.5")


def optimum(found: Found) -> Seen:
    """Fairness if everything were approved."""
    return between(_dense(found, "optimistic", 200).best_fairness, 0.0, 0.999)


def optimistic_fair(found: Found) -> Seen:
    """Fairness of the optimistic algorithm."""
    off = [
        abs(load.fairness - load.best_fairness)
        for load in (found.loads[load_key("optimistic", 200, at)] for at in setup.REQUESTED)
    ]
    return Seen(f"at most {max(off):.2g} from the optimum", max(off) < 1e-9, "exact")


def fair_between(found: Found) -> Seen:
    """Fairness of all three."""
    values = [_dense(found, name, 200).fairness for name in ("target", "fair", "optimistic")]
    words = ", ".join(f"{value:.3f}" for value in values)
    return Seen(f"target, fair, optimistic: {words}", values[0] < values[1] < values[2])


def fair_grants_less(found: Found) -> Seen:
    """Grants per second of two."""
    fair, target = (_dense(found, name, 200).granted_bps_per_s / 1e6 for name in ("fair", "target"))
    return Seen(f"{fair:.0f} and {target:.0f}", fair < target, unit="Mbit/s per s")
