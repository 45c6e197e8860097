"""Check: C-TH-064 to 069."""

import math

import numpy as np

from headway.claims import Claims, Seen, words
from headway.studies.common import lab
from headway.studies.common.runs import listed
from headway.studies.head_of_line import experiments as setup
from headway.studies.head_of_line.experiments import CONTROLS, LOSSES, OTHER_STACK, Found, key

CLAIMS: Claims[Found] = Claims(__name__)
SMALL_LOSS = 1e-2
"""Above this loss the thesis' times exceed eq. A.7 (section 6.2.3.2)."""
_HIGH = [loss for loss in LOSSES if loss > SMALL_LOSS]


@CLAIMS.judge("C-TH-065")
def _small_loss(found: Found) -> Seen:
    def furthest(most_loss: float, stack: str = lab.STACK) -> dict[str, float]:
        """The largest deviation from eq. A.7 by control, up to a loss."""
        losses = [loss for loss in LOSSES if loss <= most_loss]
        rows = {c: [found[key(c, loss, stack)] for loss in losses] for c in CONTROLS}
        return {c: max(abs(one.mean_s / one.model_s - 1) for one in rows[c]) for c in CONTROLS}

    off, tiny, other = furthest(SMALL_LOSS), furthest(1e-3), furthest(SMALL_LOSS, OTHER_STACK)
    worst = max(off, key=lambda c: off[c])
    return Seen.by(
        f"at most {100 * off[worst]:.1f} % off ({CONTROLS[worst]})",
        words.within(off[worst], -math.inf, 0.05, "±5 %"),
        note=f"The RTT is {setup.RTT_MS} ms; the thesis does not print its RTT. Up to a loss of "
        f"0.1 % the time is at most {100 * max(tiny.values()):.1f} % off eq. A.7, and with hosts "
        f"of {OTHER_STACK} at most {100 * max(other.values()):.1f} %.",
    )


@CLAIMS.judge("C-TH-066")
def _high_loss(found: Found) -> Seen:
    above = {CONTROLS[c]: [found[key(c, loss)] for loss in _HIGH] for c in CONTROLS}
    least = {name: min(one.mean_s / one.model_s for one in own) for name, own in above.items()}
    return Seen.by(
        listed(least, "at least {:.2f} times"),
        *(words.more(one.time_s, one.model_s) for own in above.values() for one in own),
    )


@CLAIMS.judge("C-TH-067")
def _cubic_first(found: Found) -> Seen:
    pairs = {p: (found[key("cubic26", p)], found[key("reno", p)]) for p in _HIGH}
    return Seen.by(
        ", ".join(
            f"{1e3 * cubic.mean_s:.1f} and {1e3 * reno.mean_s:.1f} ms at {loss:g}"
            for loss, (cubic, reno) in pairs.items()
        ),
        *(words.less(cubic.time_s, reno.time_s) for cubic, reno in pairs.values()),
    )


def _counted_s(loss: float) -> float:
    """Mean time to the far end and back if one of 1/loss messages is lost each way.

    It is counted message by message, with constant gaps between messages. The third message after
    the lost one reveals the loss.
    """
    sent = np.arange(round(1 / loss)) * setup.INTERVAL_S
    arrival = sent + setup.RTT_MS / 2e3
    arrival[0] += 3 * setup.INTERVAL_S + setup.RTT_MS / 1e3
    delivered = np.maximum.accumulate(arrival)
    return 2 * float((delivered - sent).mean()) + setup.PROCESSING_S


@CLAIMS.judge("C-TH-069")
def _equation(_found: Found) -> Seen:
    times_s = {loss: (float(setup.model_s(loss)), _counted_s(loss)) for loss in (1e-3, 1e-2)}
    return Seen.by(
        ", ".join(
            f"{1e3 * a:.3f} and {1e3 * b:.3f} ms at {loss:g}" for loss, (a, b) in times_s.items()
        ),
        words.is_so(all(math.isclose(a, b, rel_tol=1e-9) for a, b in times_s.values()), "exact"),
    )
