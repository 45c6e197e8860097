"""Check: C-TH-195 to 201.

All schemes carry the same sessions. Losses are compared with Slow-Start's loss at the same buffer.
"""

import math
from collections.abc import Callable, Mapping

from headway.claims import Claims, Seen, words
from headway.claims.words import Check
from headway.studies.buffers.experiments import BUFFERS_PKTS, Found, key
from headway.studies.common import pairs

CLAIMS: Claims[Found] = Claims(__name__)
SMALL = tuple(buffer for buffer in BUFFERS_PKTS if buffer < 100)
LARGE = tuple(buffer for buffer in BUFFERS_PKTS if buffer > 100)
CAREFUL = "quick-start"
"""Quick-Start's least aggressive variant: the target algorithm without an activation threshold."""
_EACH = "Each buffer size is judged."


def _losses(found: Found, scheme: str, buffers: tuple[int, ...] = BUFFERS_PKTS) -> dict[int, float]:
    """Packet loss of a scheme in %, by buffer size."""
    return {buffer: 100 * found[key(scheme, buffer)].loss for buffer in buffers}


def _ratios(found: Found, scheme: str, buffers: tuple[int, ...] = BUFFERS_PKTS) -> dict[int, float]:
    """Packet loss of a scheme divided by Slow-Start's, by buffer size."""
    own, slow = (_losses(found, name, buffers) for name in (scheme, "slow-start"))
    return {at: own[at] / slow[at] if slow[at] else math.nan for at in buffers}


def _shown(values: Mapping[int, float]) -> str:
    return ", ".join(f"{value:.2f} at {buffer}" for buffer, value in values.items())


@CLAIMS.judge("C-TH-195")
def _slow_loss(found: Found) -> Seen:
    losses = _losses(found, "slow-start")
    checks = [words.within(loss, 0.7, 2.5) for loss in losses.values()]
    return Seen.by(f"% {_shown(losses)}", *checks, note=_EACH)


@CLAIMS.judge("C-TH-196")
def _least_loss(found: Found) -> Seen:
    losses = _losses(found, "slow-start")
    least = 0 if math.isnan(sum(losses.values())) else min(losses, key=losses.__getitem__)
    check = words.of_the_order_of(least, 50)
    return Seen.by(
        float(least),
        check,
        unit="packets",
        note=f"Loss by buffer size in packets, in %: {_shown(losses)}.",
    )


def _jump_beside_slow(
    found: Found, buffers: tuple[int, ...], judged: Callable[[float], Check]
) -> Seen:
    ratios = _ratios(found, "jump-start", buffers)
    return Seen.by(f"times {_shown(ratios)}", *map(judged, ratios.values()), note=_EACH)


@CLAIMS.judge("C-TH-197")
def _doubled(found: Found) -> Seen:
    def twice(ratio: float) -> Check:
        return words.both(words.twice(ratio, 1.0), words.about(ratio, 2.0))

    return _jump_beside_slow(found, SMALL, twice)


@CLAIMS.judge("C-TH-198")
def _same(found: Found) -> Seen:
    return _jump_beside_slow(found, LARGE, lambda ratio: words.hardly(ratio - 1))


@CLAIMS.judge("C-TH-199")
def _initial_less(found: Found) -> Seen:
    initial, jump = (_losses(found, s, SMALL) for s in ("initial-start", "jump-start"))
    return Seen.by(
        f"% {_shown(initial)}; Jump-Start {_shown(jump)}",
        *(words.less(initial[buffer], jump[buffer]) for buffer in SMALL),
        note="Each buffer size below 100 packets is judged.",
    )


@CLAIMS.judge("C-TH-200")
def _mega(found: Found) -> Seen:
    mega, ratios = _losses(found, "mega-start"), _ratios(found, "mega-start")

    def reached(at: int) -> Check:
        more = words.within(ratios[at], 2, math.inf, "2 times Slow-Start's")
        return words.both(words.within(mega[at], 5, math.inf), more)

    return Seen.by(
        f"% {_shown(mega)}; times Slow-Start's {_shown(ratios)}",
        words.some([reached(at) for at in mega]),
        note="The claims list also requires at least twice Slow-Start's loss.",
    )


@CLAIMS.judge("C-TH-201")
def _quick(found: Found) -> Seen:
    slow, shown, checks = _losses(found, "slow-start"), [], []
    for scheme in [scheme.key for scheme in pairs.QUICK_STARTS]:
        losses = _losses(found, scheme)
        more = {at: loss - slow[at] for at, loss in losses.items()}
        below, above = (max(more[at] for at in buffers) for buffers in (SMALL, LARGE))
        shown.append(f"{scheme} at most {below:+.2f} below 100 and {above:+.2f} above")
        checks += [words.of_the_order_of(losses[at] / slow[at], 1.0) for at in losses]
        checks += [words.within(off, -math.inf, 1.0) for off in more.values()]
        checks += [words.hardly(max(losses[at] / slow[at] - 1, 0.0)) for at in LARGE]
        if scheme != CAREFUL:
            checks += [words.more(losses[at], slow[at]) for at in SMALL]
    return Seen.by(
        ", ".join(shown),
        *checks,
        unit="percentage points",
        note="With buffers below 100 packets the more aggressive variants of Quick-Start must "
        "lose more than slow start. With buffers above 100 packets their additional loss must be "
        "at most 5 % of slow start's loss. Each buffer size is "
        "judged.",
    )
