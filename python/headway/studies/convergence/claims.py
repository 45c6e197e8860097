"""Check: C-TH-084 to 089, 271, 278, 279."""

from __future__ import annotations

from headway.claims import Seen, Statement, all_of, between, replaced, scaled, swapped
from headway.models import fairness
from headway.studies.common import lab
from headway.studies.convergence.experiments import CONTROLS, DISTURBED, SAMPLE_S, control_trial
from headway.studies.convergence.observe import RECOVERED_SHARE, Found

_RED = "slow-start-red"


def _no_equal_share(found: Found) -> Seen:
    return between(found.mean(lab.SLOW_START, "jain"), 0, 0.9)


def _red_fairer(found: Found) -> Seen:
    red, tail = found.mean(_RED, "jain"), found.mean(lab.SLOW_START, "jain")
    return Seen(f"{red:.3f} and {tail:.3f}", red > tail)


def _jump_no_fairer(found: Found) -> Seen:
    jump, slow = found.mean("jump-start", "jain"), found.mean(lab.SLOW_START, "jain")
    return Seen(
        f"Jain's index {jump:.3f}, slow start {slow:.3f}",
        jump - slow < 0.1,
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
        note="CUBIC, NewReno and H-TCP; thresholds of 12 and 36 or 17 and 50 packets give 8.9 "
        "and 6.8 s. RED keeps the queue so short that the link idles after a backoff, and "
        "their growth decides for how long; drop-tail's queue hides it.",
    )


def _back(found: Found) -> Seen:
    return between(
        found.disturbed[DISTURBED].return_s,
        0,
        5,
        unit="s",
        note=f"{100 * RECOVERED_SHARE:.0f} % of the rate before, in slots of {SAMPLE_S:g} s.",
    )


_WITHOUT_RED = all_of(*(swapped(name, f"{name}-red") for name in (lab.SLOW_START, *CONTROLS)))
"""Drop-tail's trials as RED's, and the other way round."""

STATEMENTS: tuple[Statement[Found], ...] = (
    Statement(
        "C-TH-084",
        "slow start, drop-tail: Jain's index of the three flows",
        "no equal share",
        _no_equal_share,
        spoil=swapped(lab.SLOW_START, _RED),
    ),
    Statement(
        "C-TH-085",
        "RED shares more equally than drop-tail",
        "FI(RED) > FI(drop-tail)",
        _red_fairer,
        spoil=swapped(lab.SLOW_START, _RED),
    ),
    Statement(
        "C-TH-086",
        "Jump-Start does not necessarily improve convergence",
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
        "denied",
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
        spoil=scaled(DISTURBED, 3.0, "return_s"),
    ),
)
