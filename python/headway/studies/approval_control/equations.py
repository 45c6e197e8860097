"""Check: every answer of a router beside its equation, and what a slot or the ring can give."""

from __future__ import annotations

import math

import numpy as np

from headway import models
from headway.claims import Seen, between
from headway.studies.approval_control import experiments as setup
from headway.studies.approval_control.experiments import load_key, rate_bps
from headway.studies.approval_control.found import Found
from headway.studies.approval_control.observe import Answers
from headway.studies.common import lab
from headway.units import NS_PER_S

approval = models.quick_start
INTERVAL_S = setup.INTERVAL_MS / 1e3


def _load_answers(found: Found, algorithm: str, requested_bps: float) -> Answers:
    answers = found.loads[load_key(algorithm, setup.INTERVAL_MS, requested_bps)].answers
    assert answers is not None, "these are looked at one by one"
    return answers


def rounded_bps(rate: float) -> float:
    """The largest rate with a code that is not above this one."""
    return rate_bps(approval.rate_code(rate))


def _as_by_model(answers: Answers, capacity_bps: float, algorithm: str) -> tuple[int, int]:
    """How many answers are those of equations 4.17 or 4.18, and of how many."""
    same = 0
    for asked, granted, load_bps, outstanding_bps in zip(
        answers.asked_bps.tolist(),
        answers.granted_bps.tolist(),
        answers.loads_bps.tolist(),
        answers.outstanding_bps.tolist(),
        strict=True,
    ):
        spare = max(capacity_bps - load_bps, 0.0)
        if algorithm == "optimistic":
            given = approval.optimistic_grant_bps(asked, spare_bps=spare)
        else:
            given = approval.target_grant_bps(
                asked, spare_bps=spare, outstanding_bps=outstanding_bps
            )
        same += rounded_bps(given) == granted
    return same, answers.asked_bps.size


def grants_are(found: Found, algorithm: str) -> Seen:
    """Eq. 4.17 or 4.18, of the pattern and of every load."""
    counts = [
        _as_by_model(found.patterns[f"pattern-{algorithm}"].answers, lab.LINK_BPS, algorithm),
        *(
            _as_by_model(_load_answers(found, algorithm, at), setup.LOAD_BPS, algorithm)
            for at in setup.REQUESTED
        ),
    ]
    same, total = (sum(count[i] for count in counts) for i in (0, 1))
    return Seen(f"{same} of {total} answers", same == total > 0, "exact")


def fair_is(found: Found) -> Seen:
    """Eq. 4.19, of every load."""
    same = total = 0
    for requested in setup.REQUESTED:
        answers = _load_answers(found, "fair", requested)
        now, slot = 0.0, -1
        for at, asked, granted, load_bps, outstanding_bps in zip(
            answers.slots(INTERVAL_S).tolist(),
            answers.asked_bps.tolist(),
            answers.granted_bps.tolist(),
            answers.loads_bps.tolist(),
            answers.outstanding_bps.tolist(),
            strict=True,
        ):
            if math.floor(at) != slot:
                slot, now = math.floor(at), 0.0
            spare = max(setup.LOAD_BPS - load_bps, 0.0)
            if outstanding_bps == 0:
                # A request that comes alone gets the target's rate.
                given = approval.target_grant_bps(asked, spare_bps=spare, outstanding_bps=0.0)
            else:
                given = approval.fair_grant_bps(
                    asked,
                    spare_bps=spare,
                    granted_now_bps=now,
                    outstanding_bps=outstanding_bps,
                    elapsed=at - math.floor(at),
                )
            # The router opens the share in steps of 2^-20 of it, and reads time in microseconds.
            step = spare * 2.0**-17
            same += granted in {rounded_bps(max(given + off, 0.0)) for off in (-step, 0.0, step)}
            total += 1
            now += granted
    return Seen(f"{same} of {total} answers", same == total > 0, "exact but for rounding")


def fair_bound(found: Found) -> Seen:
    """What a slot of the fair algorithm gave at most."""
    largest = []
    for requested in setup.REQUESTED:
        answers = _load_answers(found, "fair", requested)
        slot = np.floor(answers.slots(INTERVAL_S)).astype(np.int64)
        # A request that finds no grant remembered is not bound by the rule.
        granted = np.where(answers.outstanding_bps == 0, 0.0, answers.granted_bps)
        largest.append(np.bincount(slot, granted).max())
    worst = float(np.max(largest))
    share = setup.LOAD_BPS / setup.SLOTS
    return Seen(f"{worst / share:.3f} times a / Omega at most", worst <= share, "≤ 1")


def pool_is_empty(found: Found) -> Seen:
    """How long after one request for everything the others are denied."""
    answers = found.pools["pool"].answers
    large = np.flatnonzero((answers.asked_bps == rate_bps(15)) & (answers.granted_bps > 0))
    if not large.size:
        return Seen("the large request was not granted", False, "exact")
    begin_ns = int(answers.times_ns[large[0]])
    after = answers.times_ns[(answers.times_ns > begin_ns) & (answers.granted_bps > 0)]
    held = (int(after[0]) - begin_ns) / (INTERVAL_S * NS_PER_S) if after.size else math.inf
    return between(
        held,
        setup.SLOTS - 1,
        setup.SLOTS + 0.1,
        unit="slots",
        note="Until the next request that is granted, some milliseconds after.",
    )
