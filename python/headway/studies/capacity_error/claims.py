"""Check: C-TH-205 to 214 and 282 to 287."""

import math
from collections.abc import Callable, Mapping
from dataclasses import replace
from functools import partial
from typing import Any

from headway import models
from headway.claims import Change, Claims, Seen, edited, near, replaced, words
from headway.claims.spoil import Spoil
from headway.studies.capacity_error import experiments as setup
from headway.studies.capacity_error.experiments import GUIDED, RTT_S
from headway.studies.capacity_error.observe import Found, Guided
from headway.studies.common import lab, network
from headway.studies.common.runs import each, listed

CLAIMS: Claims[Found] = Claims(__name__)


def _changes(keys: str, fields: Mapping[str, Mapping[str, Any]]) -> list[Change]:
    return [Change(says, edited(own), keys) for says, own in fields.items()]


# ---- Quick-Start ----


@CLAIMS.judge("C-TH-205")
def _under(found: Found) -> Seen:
    under, right = found.cases["under"], found.cases["right"]
    return Seen.by(
        f"granted {under.granted_bps / 1e6:.2f} Mbit/s, full after {under.full_after_s:.1f} s, "
        f"{under.timeouts:g} timeouts; with c = r {right.granted_bps / 1e6:.2f} Mbit/s, "
        f"{right.full_after_s:.1f} s, {right.timeouts:g}",
        # the largest rate code below a tenth of the link's rate
        words.is_so(0 < under.granted_bps <= 640_000, "granted, ≤ 0.64 Mbit/s"),
        words.less(under.granted_bps, right.granted_bps),
        words.more(under.full_after_s, right.full_after_s),
        words.is_so(under.timeouts <= right.timeouts, "no further timeout"),
    )


@CLAIMS.judge("C-TH-206")
def _over(found: Found) -> Seen:
    over, today = found.cases["over"], found.cases[setup.TODAY]
    lost = over.early_drops(5)
    return Seen.by(
        f"{lost} packets lost in five round trips, {over.timeouts:g} timeouts, repaired "
        f"{over.repaired_after_s:.1f} s after the first, full after {over.full_after_s:.1f} s",
        words.is_so(lost > 1, "multiple losses"),
        words.is_so(over.timeouts >= 1, "a timeout"),
        words.few_round_trips(over.repaired_after_s, RTT_S),
        words.several_seconds(over.full_after_s),
        note=f"With hosts of today's Linux the link is full after {today.full_after_s:.1f} s, with "
        f"{today.timeouts:g} timeouts.",
    )


def _longer(size: str) -> str:
    return f"{int(size.removesuffix(' B')) + 200_000_000} B"


def _took(factor: float) -> list[Spoil]:
    """Set Quick-Start's times on the long path to ``factor`` times slow start's."""
    times_s = {"slow-start": 1.0, "quick-start": factor}
    return [replaced(f"long-{name}-*", own_s, "took_s") for name, own_s in times_s.items()]


@CLAIMS.judge(
    "C-TH-213",
    spoil=_took(0.8),
    mend=_took(1.1),
    tries=_changes(
        "long-*",
        {
            "transfers that are 200 MB larger": {"flows.0.app.epochs.0.0": _longer},
            "a queue of 100 packets": {"topology.buffer": "100 pkts"},
            "hosts of today's Linux": {"stack": setup.TODAYS_STACK},
        },
    ),
)
def _too_much(found: Found) -> Seen:
    slow, quick = (
        [found.long[setup.long_key(name, size)] for size in setup.SIZES]
        for name in ("slow-start", "quick-start")
    )
    ratios = [one.took_s / other.took_s for one, other in zip(quick, slow, strict=True)]
    longer = sum(ratio > 1 for ratio in ratios)
    return Seen.by(
        f"{', '.join(f'{ratio:.2f}' for ratio in ratios)} times Slow-Start's",
        words.is_so(all(one.granted_bps == setup.LONG_KBPS * 1e3 for one in quick), "granted"),
        words.most([words.more(ratio, 1.0) for ratio in ratios]),
        *(words.quantity(ratio, 1.0, 0.3) for ratio in ratios),
        note=f"Transfers of {', '.join(f'{size // 1000}' for size in setup.SIZES)} kB. With "
        f"Quick-Start {longer} of them take longer, on average "
        f"{100 * (sum(ratios) / len(ratios) - 1):+.0f} %. Numbers of timeouts: "
        f"{', '.join(f'{one.timeouts:g}' for one in quick)} with Quick-Start, and "
        f"{', '.join(f'{one.timeouts:g}' for one in slow)} with Slow-Start.",
    )


@CLAIMS.judge("C-TH-282")
def _half(found: Found) -> Seen:
    half, slow = found.cases["half"], found.cases["slow-start"]
    return Seen.by(
        f"1 MB after {half.megabyte_after_s:.2f} s, Slow-Start {slow.megabyte_after_s:.2f} s; full "
        f"after {half.full_after_s:.1f} and {slow.full_after_s:.1f} s, {half.timeouts:g} and "
        f"{slow.timeouts:g} timeouts",
        words.less(half.megabyte_after_s, slow.megabyte_after_s),
        words.is_so(half.full_after_s <= slow.full_after_s, "full no later"),
        words.is_so(half.timeouts <= slow.timeouts, "no further timeout"),
    )


def _harmless(found: Found, name: str, wanted: Callable[[float], bool], bound: str) -> Seen:
    one = found.cases[name]
    drops = one.early_drops(3)
    return Seen.by(
        f"granted {one.granted_bps / 1e6:.2f} Mbit/s, {drops} packets lost in three round trips",
        words.is_so(wanted(one.granted_bps), "granted"),
        words.is_so(drops == 0, bound),
    )


def _as_requested(granted_bps: float) -> bool:
    return granted_bps == 1e3 * setup.SMALL_KBPS


def _something(granted_bps: float) -> bool:
    return granted_bps > 0


CLAIMS.add(
    "C-TH-283", partial(_harmless, name="over-small", wanted=_as_requested, bound="none lost")
)
CLAIMS.add(
    "C-TH-284", partial(_harmless, name="shared", wanted=_something, bound="none lost by overshoot")
)


# ---- XCP and RCP: too small a capacity ----


def _of_both(found: Found, name: str) -> dict[str, Guided]:
    """The trials of XCP and RCP with this name, by the protocols' labels."""
    return {label: found.guided[f"{s}-{name}"] for s, label in network.SCHEMES.items()}


def _used(one: Guided) -> float:
    return one.late_mean("rates_bps") / lab.LINK_BPS


@CLAIMS.judge("C-TH-207")
def _tenth(found: Found) -> Seen:
    under = _of_both(found, "under")
    peaks = {label: 100 * one.peak_bps() / lab.LINK_BPS for label, one in under.items()}
    note = "Shown: the largest throughput in any second."
    judge = partial(words.quantity, published=10, tolerance=0.05)
    return each(peaks, judge, "{:.2f}", unit="% of the link's rate", note=note)


@CLAIMS.judge("C-TH-287")
def _idle(found: Found) -> Seen:
    measured, checks = [], []
    for name, ratio in {"under": 0.1, "half": 0.5}.items():
        for label, one in _of_both(found, name).items():
            used, queue = _used(one), one.late_mean("queue_pkts")
            checks += [
                words.within(abs(used / ratio - 1), -math.inf, 0.05, "c/r ±5 %"),
                words.within(queue, -math.inf, 1, "at most one packet in the queue"),
            ]
            measured.append(
                f"{label} {100 * used:.1f} % and {queue:.2f} packets at c/r = {ratio:g}"
            )
    return Seen.by("; ".join(measured), *checks)


# ---- XCP and RCP: too large a capacity ----

ALPHA, BETA = network.ALPHA, network.BETA
_OVER = ("standing", "within-two", "double")
"""Trials with too large a capacity and room for any queue, in rising order."""


def _equation_pkts(ratio: float) -> float:
    """RCP's standing queue by eq. 6.14, in packets of full size."""
    queue_bits = models.rcp.standing_queue_bits(
        assumed_bps=ratio * lab.LINK_BPS, rate_bps=lab.LINK_BPS, rtt_s=RTT_S, alpha=ALPHA, beta=BETA
    )
    return queue_bits / 8 / lab.MTU_BYTES


@CLAIMS.judge("C-TH-208")
def _standing(found: Found) -> Seen:
    measured, checks = [], []
    known = [ratio for ratio in setup.RATIOS if setup.ratio_key(ratio) in found.guided]
    for ratio in known or setup.RATIOS:
        queue = found.guided[setup.ratio_key(ratio)].late_mean("queue_pkts", 0.25)
        expected = _equation_pkts(ratio)
        checks.append(words.within(abs(queue / expected - 1), -math.inf, 0.05, "eq. 6.14 ±5 %"))
        measured.append(f"{queue:.0f} and {expected:.0f} at c/r = {ratio}")
    return Seen.by(
        "; ".join(measured),
        *checks,
        unit="packets",
        note="Shown: the mean queue of one flow in the last quarter of the run, and the queue by "
        "eq. 6.14.",
    )


def _settles(ratio: float) -> bool:
    """Whether RCP's queue converges: eq. 6.13 iterated with d = tau + b / r."""
    r, queue_bits = float(lab.LINK_BPS), 0.0
    for _ in range(10_000):
        queue_bits = ALPHA * (ratio - 1) * r * (RTT_S + queue_bits / r) / BETA
    return queue_bits < 1e12


def _bound(alpha: float = ALPHA, beta: float = BETA) -> float:
    return models.rcp.largest_capacity_ratio(alpha=alpha, beta=beta)


@CLAIMS.judge("C-TH-209")
def _stable(_: Found) -> Seen:
    bound = _bound()
    converges = [_settles(part * bound) for part in (0.9, 0.99, 1.01, 1.1)]
    note = (
        "The queue by eq. 6.13, iterated, converges if c/r is below the bound and grows without "
        "end if c/r is above."
    )
    seen = near(bound, 1.565, note=note)
    return replace(seen, holds=seen.holds and converges == [True, True, False, False])


@CLAIMS.judge("C-TH-210")
def _factor_three(_: Found) -> Seen:
    ratio = _bound(0.1, 0.1)
    return Seen.by(ratio, words.about(ratio, 3))


@CLAIMS.judge("C-TH-211")
def _half_as_much(_: Found) -> Seen:
    error = 100 * (_bound() - 1)
    return Seen.by(error, words.quantity(error, 50), unit="%")


@CLAIMS.judge("C-TH-212")
def _linear(found: Found) -> Seen:
    measured, checks = [], []
    for label, one in _of_both(found, "double").items():
        growth = one.growth()
        checks += [
            words.within(growth.r_squared, words.R_SQUARED, math.inf, "R² ≥ 0.95"),
            words.more(growth.pkts_per_s, 0),
            words.about(growth.later_pkts_per_s / growth.pkts_per_s, 1),
        ]
        measured.append(
            f"{label} {growth.pkts_per_s:.0f} packets/s (R² {growth.r_squared:.3f}), "
            f"{growth.later_pkts_per_s:.0f} in the second half"
        )
    note = (
        f"Runs of {GUIDED['double'].length_s:g} s with c/r (assumed capacity over link rate) = "
        f"{GUIDED['double'].ratio:g}."
    )
    return Seen.by(", ".join(measured), *checks, note=note)


@CLAIMS.judge("C-TH-286")
def _long_queues(found: Found) -> Seen:
    rows, case = _of_both(found, "standing"), GUIDED["standing"]
    path_pkts = lab.LINK_BPS * RTT_S / 8 / lab.MTU_BYTES
    least_pkts = {label: float(one.late("queue_pkts").min()) for label, one in rows.items()}
    of_equation = rows["RCP"].late_mean("queue_pkts", 0.25) / _equation_pkts(case.ratio)
    return Seen.by(
        listed({label: pkts / path_pkts for label, pkts in least_pkts.items()}, "{:.2f}")
        + f" BDP at least, RCP {of_equation:.2f} of eq. 6.14",
        *(words.within(one, path_pkts, math.inf, "at least a BDP") for one in least_pkts.values()),
        words.quantity(of_equation, 1, 0.05),
        note=f"The assumed capacity is {case.ratio:g} times the link's rate. Judged in the second "
        f"half of {case.length_s:g} s. Beyond the bound of eq. 6.15 the queues grow without end "
        "(C-TH-212).",
    )


@CLAIMS.judge("C-TH-285")
def _lossy(found: Found) -> Seen:
    losses = {label: one.loss() for label, one in _of_both(found, "small").items()}
    halved, today = (
        100 * found.guided[f"xcp-small-{how}"].loss().mean() for how in ("halved", "today")
    )
    # A loss is permanent if packets are lost in every block of 5 s.
    least = {label: loss.reshape(-1, 5).mean(axis=1).min() for label, loss in losses.items()}
    percent = {label: (100 * losses[label].mean(), 100 * least[label]) for label in losses}
    return Seen.by(
        listed(percent, "{:.1f} %, in 5 s at least {:.1f} %"),
        *(words.within(float(loss.mean()), 0.1, math.inf, "> 10 %") for loss in losses.values()),
        *(words.more(float(loss), 0) for loss in least.values()),
        note=f"The assumed capacity is {GUIDED['small'].ratio:g} times the link's rate, and the "
        f"buffer holds {lab.SMALL_BUFFER_PKTS} packets. XCP is window-based: ACKs, which arrive "
        f"at the link's rate, clock its packets. The verdict depends on how a loss changes XCP's "
        f"window, which the thesis leaves open. In these trials a loss does not change the "
        f"window. If a loss halves the window, as in the draft, XCP loses {halved:.1f} %. With "
        "hosts of "
        f"today's Linux, which repair losses differently, XCP loses {today:.0f} %. RCP keeps its "
        "rate, but pauses for a timeout if a retransmission is lost, too.",
    )


@CLAIMS.judge("C-TH-214")
def _factor_two(found: Found) -> Seen:
    measured, checks = [], []
    for label in network.SCHEMES.values():
        usable = 0.0
        for name in _OVER:
            late = _of_both(found, name)[label].late("queue_pkts")
            if not late.max() < 1.25 * late.min():
                break
            usable = GUIDED[name].ratio
        used = _used(_of_both(found, "half")[label])
        checks += [words.about(usable, 2), words.half(used, 1.0)]
        grows = _of_both(found, "double")[label].growth().pkts_per_s
        measured.append(
            f"{label}: the queue comes to rest up to c/r = {usable:g}, grows by {grows:.0f} "
            f"packets/s at {GUIDED['double'].ratio:g}; {100 * used:.0f} % used at "
            f"{GUIDED['half'].ratio:g}"
        )
    ratios = ", ".join(f"{GUIDED[name].ratio:g}" for name in _OVER)
    return Seen.by(
        "; ".join(measured),
        *checks,
        note=f"Trials have c/r (assumed capacity over link rate) = {ratios}. A queue counts as no "
        f"longer growing if it stays within a factor of 1.25 in the second half of a run. By eq. "
        f"6.15 the largest c/r is {_bound():.3f}.",
    )
