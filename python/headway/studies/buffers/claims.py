"""Check: C-TH-195 to 201.

All schemes carry the same sessions. Losses are compared with Slow-Start's loss at the same buffer.
"""

import math
from collections.abc import Callable, Mapping

from headway.claims import Change, Claims, Seen, edited, replaced, scaled, swapped, words
from headway.claims.words import Check
from headway.studies.buffers.experiments import BUFFERS_PKTS, Found, key
from headway.studies.common import pairs
from headway.studies.common.changes import DELAYED_ACKS, NO_SACK, queues_of

CLAIMS: Claims[Found] = Claims(__name__)
SMALL = tuple(buffer for buffer in BUFFERS_PKTS if buffer < 100)
LARGE = tuple(buffer for buffer in BUFFERS_PKTS if buffer > 100)
CAREFUL = "quick-start"
"""The target algorithm without a threshold. The other variants of Quick-Start are more
aggressive."""
_EACH = "Each buffer is judged."
_SLOW, _JUMP, _QUICK = "slow-start-b*", "jump-start-b*", "quick-start*"
_CHANGES = {
    "delayed ACKs": DELAYED_ACKS,
    "persistent connections": edited({"flows.*.app.workload.persistent": True}),
    "hosts without SACK": NO_SACK,
    "a load of 15 %": edited({"flows.*.app.workload.load": 0.15}),
}
_ACKS, _PERSISTENT, _SACK, _LOAD = _CHANGES


def _tries(keys: str | tuple[str, ...], *changes: str) -> list[Change]:
    return [Change(name, _CHANGES[name], keys) for name in changes]


def _losses(found: Found, scheme: str, buffers: tuple[int, ...] = BUFFERS_PKTS) -> dict[int, float]:
    """Loss in % by buffer."""
    return {buffer: 100 * found[key(scheme, buffer)].loss for buffer in buffers}


def _ratios(found: Found, scheme: str, buffers: tuple[int, ...] = BUFFERS_PKTS) -> dict[int, float]:
    """Loss in units of Slow-Start's by buffer."""
    own, slow = (_losses(found, name, buffers) for name in (scheme, "slow-start"))
    return {at: own[at] / slow[at] if slow[at] else math.nan for at in buffers}


def _shown(values: Mapping[int, float]) -> str:
    return ", ".join(f"{value:.2f} at {buffer}" for buffer, value in values.items())


@CLAIMS.judge(
    "C-TH-195",
    spoil=scaled("slow-start-b500", 4.0, "loss"),
    mend=replaced("slow-start-*", 0.015, "loss"),
    tries=_tries(_SLOW, _ACKS, _PERSISTENT, _LOAD),
)
def _slow_loss(found: Found) -> Seen:
    losses = _losses(found, "slow-start")
    checks = [words.within(loss, 0.7, 2.5) for loss in losses.values()]
    return Seen.by(f"% {_shown(losses)}", *checks, note=_EACH)


@CLAIMS.judge(
    "C-TH-196",
    spoil=scaled("slow-start-b500", 0.1, "loss"),
    mend=scaled("slow-start-b50", 0.2, "loss"),
    tries=_tries(_SLOW, _ACKS),
)
def _least_loss(found: Found) -> Seen:
    losses = _losses(found, "slow-start")
    least = 0 if math.isnan(sum(losses.values())) else min(losses, key=losses.__getitem__)
    check = words.of_the_order_of(least, 50)
    return Seen.by(float(least), check, unit="packets", note=f"Loss in %: {_shown(losses)}.")


def _jump_beside_slow(
    found: Found, buffers: tuple[int, ...], judged: Callable[[float], Check]
) -> Seen:
    ratios = _ratios(found, "jump-start", buffers)
    return Seen.by(f"times {_shown(ratios)}", *map(judged, ratios.values()), note=_EACH)


@CLAIMS.judge(
    "C-TH-197",
    spoil=swapped("jump-start", "slow-start"),
    mend=[replaced("slow-start-*", 0.015, "loss"), replaced("jump-start-*", 0.03, "loss")],
    tries=_tries((_SLOW, _JUMP), *_CHANGES),
)
def _doubled(found: Found) -> Seen:
    def twice(ratio: float) -> Check:
        return words.both(words.twice(ratio, 1.0), words.about(ratio, 2.0))

    return _jump_beside_slow(found, SMALL, twice)


@CLAIMS.judge(
    "C-TH-198",
    spoil=scaled("jump-start-*", 1.5, "loss"),
    mend=replaced("*", 0.015, "loss"),
    tries=_tries((_SLOW, _JUMP), _ACKS, _PERSISTENT, _LOAD),
)
def _same(found: Found) -> Seen:
    return _jump_beside_slow(found, LARGE, lambda ratio: words.hardly(ratio - 1))


@CLAIMS.judge(
    "C-TH-199",
    spoil=swapped("initial-start", "jump-start"),
    mend=scaled("initial-start-*", 0.5, "loss"),
    tries=[Change("a smallest buffer of 20 packets", queues_of(20), "*-start-b10")],
)
def _initial_less(found: Found) -> Seen:
    initial, jump = (_losses(found, s, SMALL) for s in ("initial-start", "jump-start"))
    return Seen.by(
        f"% {_shown(initial)}; Jump-Start {_shown(jump)}",
        *(words.less(initial[buffer], jump[buffer]) for buffer in SMALL),
        note="Each buffer below 100 packets is judged.",
    )


@CLAIMS.judge(
    "C-TH-200", spoil=swapped("mega-start", "slow-start"), mend=scaled("mega-start-*", 2.0, "loss")
)
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


@CLAIMS.judge(
    "C-TH-201",
    spoil=scaled("quick-start-optimistic-*", 1.6, "loss"),
    mend=[
        replaced("slow-start-*", 0.02, "loss"),
        *(
            replaced(f"quick-start*-b{buffer:g}", 0.025 if buffer in SMALL else 0.02, "loss")
            for buffer in BUFFERS_PKTS
        ),
    ],
    tries=_tries((_SLOW, _QUICK), _ACKS, _SACK),
)
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
        note="Below 100 packets the more aggressive variants must lose more than Slow-Start. Above "
        "100 packets the additional loss must be at most 5 % of Slow-Start's. Each buffer is "
        "judged.",
    )
