"""Check: C-TH-084 to 093, 271, 278, 279."""

import math
from dataclasses import replace
from statistics import median

import numpy as np

from headway.claims import Claims, Seen, all_of, swapped, words
from headway.models import fairness
from headway.studies.common import lab
from headway.studies.common.runs import listed, matching, mean
from headway.studies.convergence.experiments import CONTROLS, DISTURBED, LABELS, LENGTH_S, SAMPLE_S
from headway.studies.convergence.observe import (
    BEFORE_S,
    RECOVERED_SHARE,
    Found,
    Return,
    mean_of,
    outcomes,
)

CLAIMS: Claims[Found] = Claims(__name__)
_RED = "slow-start-red"
_ALL = (lab.SLOW_START, *CONTROLS)
"""Trials with drop-tail and CUBIC, NewReno and H-TCP. Those with RED have the suffix -red."""
_WITHOUT_RED = all_of(*(swapped(name, f"{name}-red") for name in _ALL))
"""Exchange the trials of drop-tail and RED."""


def _equal_s(found: Found, name: str) -> list[float]:
    """Times until flows have equal shares, for both later flows of every run."""
    own = outcomes(found, name)
    return [one.second_equal_s for one in own] + [one.third_equal_s for one in own]


def _shares(found: Found, name: str) -> tuple[float, float]:
    """Jain's index of the first two flows, and of all three."""
    return mean_of(found, name, "jain_two"), mean_of(found, name, "jain")


@CLAIMS.judge("C-TH-084")
def _no_equal_share(found: Found) -> Seen:
    runs = outcomes(found, lab.SLOW_START)
    two, three, together_s = (mean(runs, name) for name in ("jain_two", "jain", "together_s"))
    goodputs = np.mean([one.together_mbps.mean(axis=1) for one in runs], axis=0)
    first, *later = (float(one) for one in goodputs / goodputs.sum())
    return Seen.by(
        f"{two:.3f} of two, {three:.3f} of all; shares {first:.2f}, {later[0]:.2f} and "
        f"{later[1]:.2f}",
        *(words.within(index, -math.inf, 0.9, "index < 0.9") for index in (two, three)),
        *(words.less(share, 1 / 3) for share in later),
        # "most" of the link: more than half of what can be shared
        replace(words.more(first, 0.5), bound="more than half", words=frozenset({"most"})),
        note=f"All three flows are active for {together_s:.1f} s.",
    )


@CLAIMS.judge("C-TH-085")
def _red_fairer(found: Found) -> Seen:
    red, tail = _shares(found, _RED), _shares(found, lab.SLOW_START)
    changes = [mean_of(found, name, "change_mbps") for name in (_RED, lab.SLOW_START)]
    slots = np.concatenate([one.together_mbps for one in outcomes(found, _RED)], axis=1).T
    parts = slots / np.maximum(slots.mean(axis=1, keepdims=True), 1e-9)
    equal = [words.every([words.about(one, 1) for one in slot]) for slot in parts.tolist()]
    return Seen.by(
        f"{red[1]:.3f} and {tail[1]:.3f}; with RED in "
        f"{100 * sum(one.holds for one in equal) / len(equal):.0f} % of the slots; changes of "
        f"{changes[0]:.2f} and {changes[1]:.2f} Mbit/s",
        words.more(red[1], tail[1]),
        words.most(equal),
        words.much_less(changes[0], changes[1]),
        note=f"Shares are roughly equal in a slot of {SAMPLE_S:g} s if each flow gets the mean of "
        "all three, ±15 %. Oscillations are the mean change of a goodput from slot to slot.",
    )


@CLAIMS.judge("C-TH-086")
def _jump_no_fairer(found: Found) -> Seen:
    jump, slow = _shares(found, "jump-start"), _shares(found, lab.SLOW_START)
    return Seen.by(
        f"{jump[0]:.3f} of two and {jump[1]:.3f} of all, slow start {slow[0]:.3f} and "
        f"{slow[1]:.3f}",
        *(words.not_significantly_more(one, than) for one, than in zip(jump, slow, strict=True)),
    )


@CLAIMS.judge("C-TH-087")
def _mega_for_new(found: Found) -> Seen:
    mega, slow = outcomes(found, "mega-start"), outcomes(found, lab.SLOW_START)
    new, new_slow, old, old_slow = (
        mean(own, field) for field in ("new_mbps", "old_mbps") for own in (mega, slow)
    )
    return Seen.by(
        f"new {new:.2f} instead of {new_slow:.2f} Mbit/s, old {old:.2f} instead of {old_slow:.2f}",
        words.more(new, new_slow),
        words.less(old, old_slow),
    )


@CLAIMS.judge("C-TH-088")
def _denied(found: Found) -> Seen:
    own = outcomes(found, "quick-start")
    granted, asked = sum(one.granted_later for one in own), sum(one.asked_later for one in own)
    return Seen.by(
        f"{granted:.0f} of {asked:.0f} granted",
        words.every(
            [words.is_so(one.granted_later == 0 < one.asked_later, "none granted") for one in own]
        ),
    )


@CLAIMS.judge("C-TH-089")
def _filled(found: Found) -> Seen:
    slots = np.concatenate([one.queue_slots for one in outcomes(found, "quick-start")])
    share = mean_of(found, "quick-start", "queue_share")
    return Seen.by(
        share,
        words.within(share, 0.5, 1.0),
        words.most([words.within(slot, 0.5, 1.0, "half full") for slot in slots.tolist()]),
        note=f"The queue is at least half full in {100 * float((slots >= 0.5).mean()):.0f} % of "
        f"slots of {SAMPLE_S:g} s.",
    )


@CLAIMS.judge("C-TH-271")
def _aimd(_found: Found) -> Seen:
    aimd = fairness.shares_over_rounds((10, 90), capacity=100, added=1)[-1]
    mimd = fairness.shares_over_rounds((10, 90), capacity=100, grown=1.05)[-1]
    return Seen.by(
        f"shares 10:90 become {aimd[0] / aimd[1]:.3f} and {mimd[0] / mimd[1]:.3f}",
        words.within(float(aimd[0] / aimd[1]), 0.99, 1.01, "AIMD equal ±1 %"),
        words.is_so(bool(abs(mimd[0] / mimd[1] - 1 / 9) < 1e-6), "MIMD as before"),
        note="A fluid model.",
    )


def _spread_s(found: Found, suffix: str = "") -> float:
    """Range of the times at which the last response ends, over the controls."""
    return float(np.ptp([mean_of(found, f"{name}{suffix}", "last_end_s") for name in _ALL]))


@CLAIMS.judge("C-TH-278", spoil=_WITHOUT_RED, mend=_WITHOUT_RED)
def _red_hides_the_control(found: Found) -> Seen:
    red, tail = _spread_s(found, "-red"), _spread_s(found)
    return Seen.by(
        f"{red:.2f} s with RED, {tail:.2f} s with drop-tail",
        words.less(red, tail),
        note="The controls are CUBIC, NewReno and H-TCP.",
    )


@CLAIMS.judge("C-TH-279")
def _back(found: Found) -> Seen:
    own = [row for row in matching(found, f"{DISTURBED}-*") if isinstance(row, Return)]
    dipped = [one for one in own if not one.least_share >= RECOVERED_SHARE]
    times_s = [one.return_s for one in dipped] or [math.nan]
    return Seen.by(
        max(times_s),
        words.few_seconds(max(times_s)),
        unit="s",
        note=f"The time is that of the slowest run. {len(dipped)} of {len(own)} long flows fall "
        f"below {100 * RECOVERED_SHARE:.0f} % of their mean rate in the {BEFORE_S:g} s before the "
        f"Mega-Start, judged in slots of {SAMPLE_S:g} s, and recover after "
        f"{math.fsum(times_s) / len(times_s):.1f} s on "
        "average.",
    )


# ---- XCP and RCP ----


@CLAIMS.judge("C-TH-090")
def _xcp_equal(found: Found) -> Seen:
    own = _equal_s(found, "xcp")
    second, third = (mean_of(found, "xcp", f"{which}_equal_s") for which in ("second", "third"))
    return Seen.by(
        median(own),
        words.of_the_order_of(median(own), 5),
        unit="s",
        note=f"The time is the median. On average an equal share takes {second:.2f} s with two "
        f"flows and {third:.2f} s with three; range {min(own):.2f} to {max(own):.2f} s.",
    )


@CLAIMS.judge("C-TH-091")
def _rcp_equal(found: Found) -> Seen:
    own = _equal_s(found, "rcp")
    return Seen.by(
        max(own) * 1e3 / lab.RTT_MS,
        words.within_one_round_trip(max(own), lab.RTT_MS / 1e3),
        unit="round trips",
        note="The time is that of the slowest of all runs. Shares are compared in slots of one "
        "round trip, so the "
        "times are whole round trips.",
    )


@CLAIMS.judge("C-TH-092")
def _rcp_buffer(found: Found) -> Seen:
    peaks = [one.peak_pkts for one in outcomes(found, "rcp")]
    return Seen.by(
        min(peaks),
        words.some([words.several_hundred(min(peak, 900.0)) for peak in peaks]),
        unit="packets",
        note=f"Each run has a largest queue. Shown: the smallest of these over RCP's runs. Their "
        f"maximum is {max(peaks):.0f} packets; XCP's mean is "
        f"{mean_of(found, 'xcp', 'peak_pkts'):.0f}.",
    )


@CLAIMS.judge("C-TH-093")
def _faster_than_tcp(found: Found) -> Seen:
    times_s = {name: _equal_s(found, name) for name in ("rcp", "xcp", lab.SLOW_START)}
    shown = {LABELS[name]: (median(own), min(own), max(own)) for name, own in times_s.items()}
    # An infinite time means that shares did not become equal within the run.
    rcp_s, xcp_s, tcp_s = (min(median(own), LENGTH_S) for own in times_s.values())
    arrivals = times_s[lab.SLOW_START]
    return Seen.by(
        listed(shown, "{:.2f} ({:.2f} to {:.2f}) s"),
        words.much_less(rcp_s, xcp_s),
        words.less(xcp_s, tcp_s),
        note=f"The times are medians. After {sum(map(math.isinf, arrivals))} of {len(arrivals)} "
        "arrivals of TCP "
        "flows, shares never become equal.",
    )
