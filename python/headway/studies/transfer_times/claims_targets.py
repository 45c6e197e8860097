"""Check: transfers whose application has a target for their response time."""

from __future__ import annotations

import math

import numpy as np

from headway.claims import Seen, Statement, between, near, replaced, scaled, swapped
from headway.studies.common import lab
from headway.studies.transfer_times.experiments import TARGETS_S, target_rate_bps
from headway.studies.transfer_times.results import Results
from headway.studies.transfer_times.schemes import BASE, LATE, SCHEMES

LEAST_S = 0.285
"""Shortest response time of 100 kB on the path."""
TARGETS = np.array(TARGETS_S)
REACHABLE = np.array([target_rate_bps(target) is not None for target in TARGETS_S])
BLIND = (BASE, "initial-start", "jump-start")


def _met(found: Results) -> Seen:
    can = TARGETS >= LEAST_S
    met = found.by_target("mega-start")[can] <= TARGETS[can] * 1.03
    return Seen(
        f"{int(met.sum())} of {met.size} targets from {TARGETS[can].min():g} s met",
        bool(np.all(met)),
        "+3 %",
    )


def _missed(found: Results) -> Seen:
    slow = float(found.by_target(BASE)[0])
    # Later ones are met by slow start itself.
    tight = REACHABLE & (slow > TARGETS)
    over = (found.by_target(LATE) - TARGETS)[tight]
    missed = TARGETS[tight][over > 0]
    return Seen(
        f"{missed.size} of {over.size} targets missed, up to {missed.max():g} s",
        missed.size == over.size,
        "all that slow start misses",
        note=f"By {over[over > 0].min():.2f} to {over.max():.2f} s. With more time slow start, "
        "which follows the paced round trip, makes up for the round trip and the rounding.",
    )


def _constant(found: Results) -> Seen:
    spread = {scheme: float(np.ptp(found.by_target(scheme))) for scheme in BLIND}
    return Seen(
        ", ".join(f"{SCHEMES[s].label} ±{1e3 * v:.1f} ms" for s, v in spread.items()),
        max(spread.values()) < 1e-3,
        "< 1 ms",
    )


def _refused(found: Results) -> Seen:
    slow = float(found.by_target(BASE)[0])
    refused = found.by_target("mega-start")[~REACHABLE]
    return Seen(
        f"{', '.join(f'{t:.3f}' for t in refused)} s; slow start {slow:.3f} s",
        bool(refused.size and np.all(np.abs(refused / slow - 1) < 0.01)),
        "±1 %",
    )


BY_HAND_BPS = 100e3 / (0.5 - 0.2) * 8 * lab.MTU_BYTES / lab.MSS_BYTES


def _equation(_found: Results) -> Seen:
    return near((target_rate_bps(0.5) or 0) / 1e6, BY_HAND_BPS / 1e6, unit="Mbit/s")


def _penalty(found: Results) -> Seen:
    slow = float(found.by_target(BASE)[0])
    worst = max(float(np.max(found.by_target(s))) / slow for s in ("mega-start", LATE))
    return between(worst, -math.inf, 1.1)


STATEMENTS: tuple[Statement[Results], ...] = (
    Statement(
        "C-TH-244",
        "Mega-Start meets response time targets that the link allows",
        "met from 0.29 s",
        _met,
        spoil=swapped("mega-start", LATE),
    ),
    Statement(
        "C-TH-245",
        "late Quick-Start does not meet targets",
        "exceeded by a round trip and the rounding of rates",
        _missed,
        spoil=swapped(LATE, "mega-start"),
        mend=scaled(f"target-{LATE}", 1.3, "response_s"),
    ),
    Statement(
        "C-TH-246",
        "Jump-, Initial- and Slow-Start do not depend on the target",
        "constant",
        _constant,
        spoil=swapped("jump-start", "mega-start"),
    ),
    Statement(
        "C-TH-247",
        "a target below the round-trip time leaves slow start",
        "as Slow-Start",
        _refused,
        spoil=replaced("target-mega-start", 0.285, "response_s.0"),
    ),
    Statement(
        "C-TH-248",
        "eq. 7.1: rate for 100 kB within 0.5 s at 200 ms, as an IP rate",
        BY_HAND_BPS / 1e6,
        _equation,
        carrier="model",
    ),
    Statement(
        "C-TH-290",
        "wrong targets cost little: worst time over slow start's",
        "not much worse",
        _penalty,
        spoil=scaled(f"target-{LATE}", 1.3, "response_s"),
    ),
)
