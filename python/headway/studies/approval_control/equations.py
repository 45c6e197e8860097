"""Check: settings, and every grant of a router against its equation; claims.py has the rest."""

import math
from collections.abc import Mapping, Sequence
from functools import partial
from itertools import accumulate

import numpy as np

from headway.claims import Claims, Seen, between, near, swapped, words
from headway.metrics.stats import Array
from headway.models import quick_start
from headway.registry import registry
from headway.studies.approval_control import experiments as setup
from headway.studies.approval_control.experiments import INTERVAL_MS, RATES_BPS, Answers, Found
from headway.studies.common import lab
from headway.units import BITS_PER_BYTE, NS_PER_S

CLAIMS: Claims[Found] = Claims(__name__)
INTERVAL_S = INTERVAL_MS / 1e3
ALPHA, N_PEAK = 1 / 8, 5
"""Parameters of the thesis' estimators of the load (l. 3096; section 4.5.2.2)."""


def exact(measured: float | str, is_exact: bool, unit: str | None = None, note: str = "") -> Seen:
    """A finding that must agree exactly with the published value."""
    return Seen.by(measured, words.is_so(is_exact, "exact"), unit=unit, note=note)


# ---- Settings ----


def _default(name: str, owner: str = "quick-start") -> int:
    """Default of a tunable of the Quick-Start router or of the Quick-Start startup."""
    known = registry()
    return next(
        int(tunable.default)
        for one in [*known.routers, *known.startups]
        if one.name == owner
        for tunable in one.tunables
        if tunable.name == name
    )


def _defaults(_: Found, names: Mapping[str, int]) -> Seen:
    found = {name: _default(name) for name in names}
    return exact(", ".join(f"{name} = {own}" for name, own in found.items()), found == names)


CLAIMS.add("C-TH-268", partial(_defaults, names={"threshold_permille": 1000}))
CLAIMS.add("C-TH-293", partial(_defaults, names={"qs_ssthresh": 0, "interval_ms": 0}))


@CLAIMS.judge("C-TH-267")
def _largest_rate(_: Found) -> Seen:
    rate_bps = RATES_BPS[_default("max_code")]
    return exact(f"{rate_bps:.0f} bit/s", bool(rate_bps == 1.31072e9))


@CLAIMS.judge("C-TH-028")
def _xcp_weights(_: Found) -> Seen:
    alpha, beta = (_default(name, "xcp") / 1000 for name in ("alpha", "beta"))
    return exact(f"{alpha:g} and {beta:g}", (alpha, beta) == (0.4, 0.226))


@CLAIMS.judge("C-TH-029")
def _xcp_shuffles(_: Found) -> Seen:
    return near(100 * _default("gamma", "xcp") / 1000, 10, unit="%")


@CLAIMS.judge("C-TH-030")
def _rcp_weights(_: Found) -> Seen:
    alpha, beta = (_default(name, "rcp") / 1000 for name in ("alpha", "beta"))
    recommended = 0.4 <= alpha <= 0.6 and 0.2 <= beta <= 0.6
    return Seen.by(f"{alpha:g} and {beta:g}", words.is_so(recommended, "0.4 to 0.6 and 0.2 to 0.6"))


# ---- Codes, estimates of the load, and slots ----


@CLAIMS.judge("C-TH-019")
def _codes(found: Found) -> Seen:
    answers = found.requests["codes"]
    codes = np.searchsorted(RATES_BPS, answers.granted_bps[:-1])
    same = np.diff(answers.outstanding_bps) == 40e3 * 2.0**codes
    right = {int(code) for code in codes[same]}
    return exact(
        f"codes {min(right, default=0)} to {max(right, default=0)}, {same.sum()} of {same.size} "
        "grants",
        bool(same.all()) and right == set(range(1, 16)),
        note="Judged by comparing the rate that the router adds to its sum of grants with the "
        "rate code that the router forwards.",
    )


@CLAIMS.judge("C-TH-025")
def _rounding(_: Found) -> Seen:
    rates_bps = np.linspace(1.0, 2.0, 100_001)[:-1] * RATES_BPS[5]
    rounded_bps = np.array([_rounded_bps(rate) for rate in rates_bps.tolist()])
    measured = float(np.mean(rates_bps / rounded_bps))
    return between(
        measured,
        1.499,
        1.501,
        note="Judged with rates that are spread evenly between "
        "the rate of one code and twice this rate.",
    )


def _rounded_bps(rate_bps: float) -> float:
    """The largest Quick-Start rate that is not above this rate."""
    return float(RATES_BPS[quick_start.rate_code(rate_bps)])


def _average(samples: Array) -> Array:
    """The estimate of eq. 4.14 after each sample of the load; it starts at 0."""
    after = accumulate([0.0, *samples], lambda u, x: ALPHA * x + (1 - ALPHA) * u)
    return np.array([*after])[1:]


def _peak(samples: Array) -> Array:
    """The estimate of eq. 4.15 after each sample: the largest of the last N_peak samples."""
    ends = range(1, samples.size + 1)
    return np.array([samples[max(0, end - N_PEAK) : end].max() for end in ends])


@CLAIMS.judge("C-TH-022")
def _estimates(found: Found) -> Seen:
    measured, right = [], True
    for trial, estimator, by_equation in (("ewma", "ewma", _average), ("target", "peak", _peak)):
        pattern = found.patterns[f"pattern-{trial}"]
        ends = np.flatnonzero(pattern.readings.times_ns % (INTERVAL_MS * 1_000_000) == 0)
        samples = np.diff(pattern.offered_bytes[ends]) * BITS_PER_BYTE / INTERVAL_S
        off = np.abs(pattern.readings.loads_bps[ends[1:]] - by_equation(samples))
        # The router counts in whole bytes per second, and rounds down at every step.
        same = int((off <= 2 * BITS_PER_BYTE / ALPHA).sum())
        measured.append(f"{estimator} {same} of {off.size} slots")
        right &= same == off.size > 0
    return Seen.by(
        ", ".join(measured),
        words.is_so(right, "exact but for rounding"),
        note="The peak estimator takes the maximum of the last N_peak samples, as the thesis' "
        "text says; the printed eq. 4.15 has one sample more.",
    )


@CLAIMS.judge("C-TH-023")
def _slots_needed(_: Found) -> Seen:
    delay_s = 0.2
    measured, right = [], True
    for interval_s in (0.05, 0.1, 0.15, 0.2, 0.4, 1.0):
        phases = np.linspace(0.0, interval_s, 1001)[:-1]
        # The granted data arrives from a round trip after the request on. The router has metered it
        # when the first slot that is full of this data ends. Until then the router must remember
        # the request, so the request's own slot counts, too.
        first_whole = np.ceil((phases + delay_s) / interval_s - 1e-9)
        needed = int(first_whole.max()) + 1
        right &= needed == quick_start.slots_needed(delay_s, interval_s=interval_s)
        measured.append(f"{needed} of {1000 * interval_s:g} ms")
    note = (
        "Counted with d = 200 ms, from the slot of a grant to the first slot in which the granted "
        "data arrives throughout."
    )
    return exact(", ".join(measured), right, note=note)


@CLAIMS.judge("C-TH-272")
def _pool(found: Found) -> Seen:
    answers = found.requests["pool"]
    large = np.flatnonzero((answers.asked_bps == RATES_BPS[15]) & (answers.granted_bps > 0))
    if not large.size:
        return Seen("the large request was not granted", False, "exact")
    begin_ns = int(answers.times_ns[large[0]])
    later = answers.times_ns > begin_ns
    again = answers.times_ns[later & (answers.granted_bps > 0)]
    slot_ns = INTERVAL_S * NS_PER_S
    slots = (int(again[0]) - begin_ns) / slot_ns if again.size else math.inf
    meanwhile = later & (answers.times_ns < begin_ns + (setup.SLOTS - 1) * slot_ns)
    denied = [words.is_so(rate == 0, "denied") for rate in answers.granted_bps[meanwhile].tolist()]
    return Seen.by(
        slots,
        words.within(slots, setup.SLOTS - 1, setup.SLOTS + 0.1),
        words.every(denied),
        unit="slots",
        note=f"Shown: time until the router grants another request. The router denies "
        f"{len(denied)} requests in the time of one slot after the grant.",
    )


# ---- Every answer against its equation ----


def loads(
    found: Found, algorithm: str, ms: int = INTERVAL_MS, at: Sequence[float] = setup.REQUESTED
) -> list[setup.Load]:
    """An algorithm's trials with requests but no data, by the bandwidth that requests ask for."""
    return [found.loads[setup.load_key(algorithm, ms, requested)] for requested in at]


def _answers(found: Found, algorithm: str) -> list[tuple[float, Answers]]:
    """An algorithm's answers in each trial, with the capacity of the trial's link."""
    patterns = [f"pattern-{algorithm}"]
    if algorithm == "fair":
        patterns += [setup.late_key(ms) for ms in setup.LATER_MS]
    return [
        *((float(lab.LINK_BPS), found.patterns[name].answers) for name in patterns),
        *((setup.LOAD_BPS, load.answers) for load in loads(found, algorithm)),
    ]


def _as_by_equation(answers: Answers, capacity_bps: float, algorithm: str) -> int:
    """How many answers match eq. 4.17, 4.18 or 4.19; rates in bit/s."""
    same, now, slot = 0, 0.0, -1
    for time_ns, asked, granted, load_bps, held in answers.each():
        spare, step = max(capacity_bps - load_bps, 0.0), 0.0
        if algorithm == "optimistic":
            rate = quick_start.optimistic_grant_bps(asked, spare_bps=spare)
        elif algorithm == "target":
            rate = quick_start.target_grant_bps(asked, spare_bps=spare, outstanding_bps=held)
        else:
            slots = time_ns / (INTERVAL_S * NS_PER_S)
            if math.floor(slots) != slot:
                slot, now = math.floor(slots), 0.0
            elapsed = slots - slot
            rate = quick_start.fair_grant_bps(
                asked, spare_bps=spare, granted_now_bps=now, outstanding_bps=held, elapsed=elapsed
            )
            now += granted
            # The router increases the usable part of a slot's share in steps of 2^-20 of the share,
            # and reads time in microseconds.
            step = spare * 2.0**-17
        same += granted in {_rounded_bps(max(rate + off, 0.0)) for off in (-step, 0.0, step)}
    return same


def _grants(found: Found, algorithm: str) -> Seen:
    answers = _answers(found, algorithm)
    same = sum(_as_by_equation(own, capacity_bps, algorithm) for capacity_bps, own in answers)
    total = sum(own.times_ns.size for _, own in answers)
    return exact(f"{same} of {total} answers", same == total > 0)


for _claim, _algorithm, _other in (
    ("C-TH-024", "target", "optimistic"),
    ("C-TH-026", "optimistic", "target"),
    ("C-TH-027", "fair", "target"),
):
    CLAIMS.add(_claim, partial(_grants, algorithm=_algorithm), spoil=swapped(_algorithm, _other))


@CLAIMS.judge("C-TH-273")
def _fair_bound(found: Found) -> Seen:
    parts = []
    for capacity_bps, answers in _answers(found, "fair"):
        number = (answers.times_ns / (INTERVAL_S * NS_PER_S)).astype(np.int64)
        granted = np.bincount(number, answers.granted_bps)
        # The estimate of the load is the same throughout a slot.
        share = np.zeros(granted.size)
        share[number] = np.maximum(capacity_bps - answers.loads_bps, 0.0) / setup.SLOTS
        parts += (granted[granted != 0] / share[granted != 0]).tolist()
    return Seen.by(
        f"{max(parts):.4f} times a / Omega at most, {len(parts)} slots",
        words.within(max(parts), -math.inf, 1),
    )
