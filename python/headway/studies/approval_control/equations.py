"""Check: every answer of a router against its equation, and what a slot and the ring can hold."""

from __future__ import annotations

import math
from itertools import accumulate

import numpy as np

from headway import models
from headway.claims import Seen, words
from headway.metrics.stats import Array
from headway.studies.approval_control import experiments as setup
from headway.studies.approval_control.experiments import load_key, rate_bps
from headway.studies.approval_control.found import Found
from headway.studies.approval_control.observe import Answers, Pattern
from headway.studies.common import lab
from headway.units import BITS_PER_BYTE, NS_PER_S

approval = models.quick_start
INTERVAL_S = setup.INTERVAL_MS / 1e3
ALPHA, N_PEAK = 1 / 8, 5
"""The thesis' estimators (l. 3096; section 4.5.2.2)."""


# ---- Codes and load estimates ----


def codes_are(found: Found) -> Seen:
    """How much each granted code raised the router's sum of grants, in bit/s."""
    one = found.codes["codes"]
    same = one.added_bps == 40e3 * 2**one.codes
    seen = {int(code) for code in one.codes[same]}
    return Seen.by(
        f"codes {min(seen, default=0)} to {max(seen, default=0)}, {same.sum()} of {same.size} "
        "grants",
        words.is_so(bool(same.all()) and seen == set(range(1, 16)), "exact"),
        note="Compares what the router adds to its sum of grants with the code that it forwarded.",
    )


def _loads_are(pattern: Pattern, estimator: str) -> tuple[int, int]:
    """How many estimates at slot ends match eq. 4.14 or 4.15, and how many there are."""
    every = round(setup.INTERVAL_MS * 1_000_000)
    ends = np.flatnonzero(pattern.readings.times_ns % every == 0)
    samples = np.diff(pattern.offered_bytes[ends]) * BITS_PER_BYTE / INTERVAL_S
    loads = pattern.readings.loads_bps[ends[1:]]
    wanted = _average(samples) if estimator == "ewma" else _peak(samples)
    # The router counts in whole bytes per second, and rounds down at every step.
    return int((np.abs(loads - wanted) <= 2 * BITS_PER_BYTE / ALPHA).sum()), loads.size


def _average(samples: Array) -> Array:
    """Eq. 4.14 after each sample, from 0."""
    after = accumulate(samples.tolist(), lambda u, x: ALPHA * x + (1 - ALPHA) * u, initial=0.0)
    return np.array(list(after)[1:])


def _peak(samples: Array) -> Array:
    """Eq. 4.15 after each sample, of the last N_peak."""
    ends = range(1, samples.size + 1)
    return np.array([samples[max(0, end - N_PEAK) : end].max() for end in ends])


def loads_are(found: Found) -> Seen:
    """Both estimators, slot by slot, from the bytes offered to the queue."""
    told, right = [], True
    for name, estimator in (("pattern-ewma", "ewma"), ("pattern-target", "peak")):
        same, total = _loads_are(found.patterns[name], estimator)
        told.append(f"{estimator} {same} of {total} slots")
        right &= same == total > 0
    return Seen.by(
        ", ".join(told),
        words.is_so(right, "exact but for rounding"),
        note="The last N_peak samples, as the text says; the printed equation has one more.",
    )


# ---- Answers ----


def _load_answers(found: Found, algorithm: str, requested_bps: float) -> Answers:
    answers = found.loads[load_key(algorithm, setup.INTERVAL_MS, requested_bps)].answers
    assert answers is not None, "these trials keep their answers"
    return answers


def _answers(found: Found, algorithm: str) -> list[tuple[float, Answers]]:
    """An algorithm's answers to patterns and loads, each with the capacity it shared."""
    patterns = [f"pattern-{algorithm}"]
    if algorithm == "fair":
        patterns += [setup.late_key(ms) for ms in setup.LATER_MS]
    return [
        *((float(lab.LINK_BPS), found.patterns[name].answers) for name in patterns),
        *((setup.LOAD_BPS, _load_answers(found, algorithm, at)) for at in setup.REQUESTED),
    ]


def rounded_bps(rate: float) -> float:
    """The largest rate with a code that is not above this one."""
    return rate_bps(approval.rate_code(rate))


def _as_by_model(answers: Answers, capacity_bps: float, algorithm: str) -> tuple[int, int]:
    """How many answers match eq. 4.17 or 4.18, and how many there are."""
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


def _fair_by_model(answers: Answers, capacity_bps: float) -> tuple[int, int]:
    """How many answers match eq. 4.19, and how many there are."""
    same = 0
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
        spare = max(capacity_bps - load_bps, 0.0)
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
        now += granted
    return same, answers.asked_bps.size


def grants_are(found: Found, algorithm: str) -> Seen:
    """Eq. 4.17, 4.18 or 4.19, of the pattern and of every load."""
    counts = [
        _fair_by_model(answers, capacity_bps)
        if algorithm == "fair"
        else _as_by_model(answers, capacity_bps, algorithm)
        for capacity_bps, answers in _answers(found, algorithm)
    ]
    same, total = (sum(count[i] for count in counts) for i in (0, 1))
    return Seen.by(f"{same} of {total} answers", words.is_so(same == total > 0, "exact"))


# ---- Slots ----


def fair_bound(found: Found) -> Seen:
    """The largest part of its share that a slot of the fair algorithm granted."""
    largest, slots = [], 0
    for capacity_bps, answers in _answers(found, "fair"):
        number = np.floor(answers.slots(INTERVAL_S)).astype(np.int64)
        granted = np.bincount(number, answers.granted_bps)
        # The estimate of the load is the same throughout a slot.
        share = np.zeros(granted.size)
        share[number] = np.maximum(capacity_bps - answers.loads_bps, 0.0) / setup.SLOTS
        given = granted != 0
        largest.append((granted[given] / share[given]).max())
        slots += int(given.sum())
    worst = float(np.max(largest))
    return Seen.by(
        f"{worst:.4f} times a / Omega at most, {slots} slots", words.within(worst, -math.inf, 1)
    )


def slots_needed(_: Found) -> Seen:
    """Eq. 4.16 against the slots that a request at any time within its slot needs."""
    delay_s = 0.2
    told, right = [], True
    for interval_s in (0.05, 0.1, 0.15, 0.2, 0.4, 1.0):
        phases = np.linspace(0.0, interval_s, 1001)[:-1]
        # Data begins a round trip later. The first slot with data throughout is metered when it
        # ends. Until then the router must remember the request, so its own slot counts, too.
        first_whole = np.ceil((phases + delay_s) / interval_s - 1e-9)
        needed = int(first_whole.max()) + 1
        right &= needed == approval.slots_needed(delay_s, interval_s=interval_s)
        told.append(f"{needed} of {1000 * interval_s:g} ms")
    return Seen.by(
        ", ".join(told),
        words.is_so(right, "exact"),
        note="Counted for d = 200 ms until the router has metered a slot with data throughout.",
    )


def pool_is_empty(found: Found) -> Seen:
    """How long other requests are denied after one request for the whole capacity."""
    answers = found.pools["pool"].answers
    large = np.flatnonzero((answers.asked_bps == rate_bps(15)) & (answers.granted_bps > 0))
    if not large.size:
        return Seen("the large request was not granted", False, "exact")
    begin_ns = int(answers.times_ns[large[0]])
    later = answers.times_ns > begin_ns
    again = answers.times_ns[later & (answers.granted_bps > 0)]
    slot_ns = INTERVAL_S * NS_PER_S
    held = (int(again[0]) - begin_ns) / slot_ns if again.size else math.inf
    meanwhile = later & (answers.times_ns < begin_ns + (setup.SLOTS - 1) * slot_ns)
    return Seen.by(
        held,
        words.within(held, setup.SLOTS - 1, setup.SLOTS + 0.1),
        words.every(
            [words.is_so(rate == 0, "denied") for rate in answers.granted_bps[meanwhile].tolist()]
        ),
        unit="slots",
        note=f"Measured until the next granted request. The router denies {int(meanwhile.sum())} "
        "requests within one slot's time.",
    )
