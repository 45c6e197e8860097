"""Check: C-TH-202 to 204."""

import numpy as np

from headway.claims import Claims, Evidence, Seen, words
from headway.metrics.stats import Estimate, batch_means, confidence_interval
from headway.studies.common import pairs
from headway.studies.common.runs import listed
from headway.studies.mixed_use.experiments import LOADS, Half, Halves, key

Found = Evidence[Halves]
CLAIMS: Claims[Found] = Claims(__name__)
Change = tuple[float, float]
"""Additional response time of one half of the hosts, as a part of this half's time if all hosts use
slow start, with its uncertainty.
"""
END_TO_END = ("jump-start", "initial-start")
_AT = "Shown: at 15, 30, 45, 60, 75 % load."


def change(found: Found, scheme: str, which: str, load: float) -> Change:
    """How the response times of one half of the hosts change.

    Both trials have the same sessions, so responses are compared one by one.
    """
    halves: list[Half] = [getattr(found[key(s, load)], which) for s in ("slow-start", scheme)]
    alone, mixed = (half.seconds.astype(np.float64) for half in halves)
    both = np.isfinite(alone) & np.isfinite(mixed)
    if not both.any():
        return float("nan"), float("nan")
    base = float(alone[both].mean())
    estimate = confidence_interval([float(mean) for mean in batch_means((mixed - alone)[both])])
    return estimate.mean / base, (estimate.half_width or 0.0) / base


def outcome_class(own: Change, others: Change) -> str:
    """One of the five outcomes of section 6.5.2; a dash if nothing changes significantly.

    A change counts if it is above its uncertainty. For slow start's half it must also be at least
    10 %, as the table of words defines "significantly".
    """
    faster, slower = own[0] < -own[1], own[0] > own[1]
    helped = others[0] < -max(others[1], words.SIGNIFICANT)
    harmed = others[0] > max(others[1], words.SIGNIFICANT)
    if faster:
        return "ideal" if helped else "unfair" if harmed else "good"
    if harmed:
        return "detrimental"
    return "contrary" if slower else "–"


def _changes(found: Found, scheme: str, which: str) -> list[Change]:
    return [change(found, scheme, which, load) for load in LOADS]


def _times(found: Found, scheme: str, which: str) -> list[Estimate]:
    """Mean response time of half of the hosts by load, divided by that if all use slow start."""
    return [Estimate(1 + off, None, width, 0) for off, width in _changes(found, scheme, which)]


def _shown(found: Found, scheme: str) -> str:
    own = ", ".join(f"{100 * off:+.1f}" for off, _ in _changes(found, scheme, "fast"))
    others = [f"{100 * off:+.1f} ±{100 * w:.1f}" for off, w in _changes(found, scheme, "default")]
    return f"{scheme}: own {own} %; others {', '.join(others)} %"


@CLAIMS.judge("C-TH-202")
def _good(found: Found) -> Seen:
    own, others = (
        [time for scheme in END_TO_END for time in _times(found, scheme, which)]
        for which in ("fast", "default")
    )
    return Seen.by(
        ". ".join(_shown(found, scheme) for scheme in END_TO_END),
        *(words.less(time, 1.0) for time in own),
        *(words.not_significantly_more(time, 1.0) for time in others),
        note=f"{_AT} Each load is judged.",
    )


@CLAIMS.judge("C-TH-203")
def _unfair(found: Found) -> Seen:
    own, others = (_times(found, "mega-start", which) for which in ("fast", "default"))
    unfair = [
        words.both(words.less(mine, 1.0), words.significantly_more(theirs, 1.0))
        for mine, theirs in zip(own, others, strict=True)
    ]
    return Seen.by(
        _shown(found, "mega-start"),
        words.some(unfair),
        note=f'{_AT} "Unfair" is judged as not fair in the sense of C-TH-202, at one load or more.',
    )


@CLAIMS.judge("C-TH-204")
def _quick(found: Found) -> Seen:
    schemes = [scheme.key for scheme in pairs.QUICK_STARTS]
    others = [one for scheme in schemes for one in _changes(found, scheme, "default")]
    worst, width = max(others, key=lambda one: one[0])
    own = {
        scheme: 1 + float(np.mean([off for off, _ in _changes(found, scheme, "fast")]))
        for scheme in (*END_TO_END, *schemes)
    }
    shown = listed({scheme: 100 * (time - 1) for scheme, time in own.items()}, "{:+.1f}")
    return Seen.by(
        f"own on average {shown} %; others at most {100 * worst:+.1f} ±{100 * width:.1f} %",
        *(words.hardly(max(off, 0.0)) for off, _ in others),
        *(words.less(own[scheme], 1.0) for scheme in schemes),
        *(words.more(own[scheme], own[other]) for scheme in schemes for other in END_TO_END),
        note="All four variants of Quick-Start are judged: at each load the times of the "
        "transfers with slow start, and on average over the loads the variants' own speedup.",
    )
