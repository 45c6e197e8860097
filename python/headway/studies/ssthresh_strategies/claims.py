"""Check: C-TH-094 to 098."""

import math

from headway.claims import Claims, Seen, between, words
from headway.studies.ssthresh_strategies.experiments import APPROVED_MBPS, Found

CLAIMS: Claims[Found] = Claims(__name__)


@CLAIMS.judge("C-TH-094")
def _slow_start_first(found: Found) -> Seen:
    slow, lowered = found["ss-10"].full_s, found["qs-b-10-5.12"].full_s
    faster = words.some([words.less(slow, lowered)])
    return Seen.by(f"full after {slow:.2f} s, QS-b after {lowered:.2f} s", faster)


@CLAIMS.judge("C-TH-095")
def _kept(found: Found) -> Seen:
    return between(found["qs-a-10-5.12"].full_s, 0, 1, unit="s")


@CLAIMS.judge("C-TH-096")
def _kept_fast(found: Found) -> Seen:
    kept_s = {rate: found[f"qs-a-100-{rate}"].full_s for rate in APPROVED_MBPS["100"]}
    return Seen.by(
        ", ".join(f"{own_s:.2f} s with {rate}" for rate, own_s in kept_s.items()) + " Mbit/s",
        words.every([words.within(own_s, -math.inf, 2) for own_s in kept_s.values()]),
    )


@CLAIMS.judge("C-TH-097")
def _lag(found: Found) -> Seen:
    lowered, kept = found["qs-b-100-5.12"], found["qs-a-100-5.12"]
    never = lowered.full_s != lowered.full_after_s
    note = "QS-b does not fill the link within 20 s." if never else ""
    return between(lowered.full_s - kept.full_s, 3, math.inf, unit="s", note=note)


@CLAIMS.judge("C-TH-098")
def _timeout(found: Found) -> Seen:
    slow = found["ss-100"]
    when = f"after {slow.timeout_s:.1f} s" if math.isfinite(slow.timeout_s) else "none"
    return Seen.by(
        f"{when}, link full after {slow.full_s:.2f} s",
        words.about(slow.timeout_s, 3),
        note=f"Slow start overshoots by {slow.overshoot_pkts:.0f} packets.",
    )
