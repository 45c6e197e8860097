"""Check: C-TH-195 to 201.

All schemes carry the same sessions. Losses are compared with Slow-Start's loss at the same buffer.
"""

from __future__ import annotations

import math
from collections.abc import Callable

from headway.claims import Evidence, Seen, Statement, all_of, replaced, scaled, swapped, words
from headway.claims.words import Check
from headway.studies.buffers import causes
from headway.studies.buffers.experiments import BUFFERS_PKTS, key
from headway.studies.common import pairs
from headway.studies.common.traffic import Traffic

Found = Evidence[Traffic]

SMALL = tuple(buffer for buffer in BUFFERS_PKTS if buffer < 100)
LARGE = tuple(buffer for buffer in BUFFERS_PKTS if buffer > 100)
CAREFUL = "quick-start"
"""The target algorithm without a threshold. The other variants of Quick-Start are more
aggressive."""


def _losses(found: Found, scheme: str, buffers: tuple[int, ...] = BUFFERS_PKTS) -> dict[int, float]:
    """Loss in % by buffer."""
    return {buffer: 100 * found[key(scheme, buffer)].loss for buffer in buffers}


def _shown(values: dict[int, float]) -> str:
    return ", ".join(f"{value:.2f} at {buffer}" for buffer, value in values.items())


def _slow_loss(found: Found) -> Seen:
    losses = _losses(found, "slow-start")
    return Seen.by(
        f"% {_shown(losses)}",
        *(words.within(loss, 0.7, 2.5) for loss in losses.values()),
        note="Each buffer is judged.",
    )


def _least_loss(found: Found) -> Seen:
    losses = _losses(found, "slow-start")
    least = min(losses, key=lambda buffer: losses[buffer])
    if math.isnan(sum(losses.values())):
        least = 0
    return Seen.by(
        float(least),
        words.of_the_order_of(least, 50),
        unit="packets",
        note=f"Loss in %: {_shown(losses)}.",
    )


def _beside_slow_start(
    found: Found, buffers: tuple[int, ...], judged: Callable[[float], Check]
) -> Seen:
    """Jump-Start's loss in units of Slow-Start's, at each buffer."""
    jump, slow = (_losses(found, s, buffers) for s in ("jump-start", "slow-start"))
    ratios = {at: jump[at] / slow[at] if slow[at] else math.nan for at in buffers}
    return Seen.by(
        f"times {_shown(ratios)}",
        *(judged(ratio) for ratio in ratios.values()),
        note="Each buffer is judged.",
    )


def _doubled(found: Found) -> Seen:
    def twice(ratio: float) -> Check:
        return words.both(words.twice(ratio, 1.0), words.about(ratio, 2.0))

    return _beside_slow_start(found, SMALL, twice)


def _same(found: Found) -> Seen:
    return _beside_slow_start(found, LARGE, lambda ratio: words.hardly(ratio - 1))


def _initial_less(found: Found) -> Seen:
    initial, jump = (_losses(found, s, SMALL) for s in ("initial-start", "jump-start"))
    return Seen.by(
        f"% {_shown(initial)}; Jump-Start {_shown(jump)}",
        *(words.less(initial[buffer], jump[buffer]) for buffer in SMALL),
        note="Each buffer below 100 packets is judged.",
    )


def _mega(found: Found) -> Seen:
    mega, slow = (_losses(found, s) for s in ("mega-start", "slow-start"))
    ratios = {at: mega[at] / slow[at] if slow[at] else math.nan for at in mega}
    return Seen.by(
        f"% {_shown(mega)}; times Slow-Start's {_shown(ratios)}",
        words.some(
            [
                words.both(
                    words.within(mega[at], 5, math.inf),
                    words.within(ratios[at], 2, math.inf, "2 times Slow-Start's"),
                )
                for at in mega
            ]
        ),
        note="The claims list also requires at least twice Slow-Start's loss.",
    )


def _quick(found: Found) -> Seen:
    slow = _losses(found, "slow-start")
    losses = {scheme.key: _losses(found, scheme.key) for scheme in pairs.QUICK_STARTS}
    more = {
        scheme: {at: loss - slow[at] for at, loss in by.items()} for scheme, by in losses.items()
    }
    shown = ", ".join(
        f"{scheme} at most {max(by[at] for at in SMALL):+.2f} below 100 and "
        f"{max(by[at] for at in LARGE):+.2f} above"
        for scheme, by in more.items()
    )
    checks = []
    for scheme, by in losses.items():
        checks += [words.of_the_order_of(by[at] / slow[at], 1.0) for at in by]
        checks += [words.within(off, -math.inf, 1.0) for off in more[scheme].values()]
        checks += [words.hardly(max(by[at] / slow[at] - 1, 0.0)) for at in LARGE]
        if scheme != CAREFUL:
            checks += [words.more(by[at], slow[at]) for at in SMALL]
    return Seen.by(
        shown,
        *checks,
        unit="percentage points",
        note="Below 100 packets the more aggressive variants must lose more than Slow-Start. Above "
        "100 packets the additional loss must be at most 5 % of Slow-Start's. Each buffer is "
        "judged.",
    )


STATEMENTS: tuple[Statement[Found], ...] = (
    Statement(
        "C-TH-195",
        "loss with the default congestion control",
        "between 1 and 2 %",
        _slow_loss,
        why=causes.SLOW_LOSS,
        spoil=scaled("slow-start-b500", 4.0, "loss"),
        mend=replaced("slow-start-*", 0.015, "loss"),
    ),
    Statement(
        "C-TH-196",
        "buffer with the least loss",
        "of the order of 50 packets",
        _least_loss,
        why=causes.LEAST_LOSS,
        spoil=scaled("slow-start-b500", 0.1, "loss"),
        mend=scaled("slow-start-b50", 0.2, "loss"),
    ),
    Statement(
        "C-TH-197",
        "Jump-Start's loss compared with Slow-Start's, buffers below 100 packets",
        "about twice",
        _doubled,
        why=causes.DOUBLED,
        spoil=swapped("jump-start", "slow-start"),
        mend=all_of(
            replaced("slow-start-*", 0.015, "loss"), replaced("jump-start-*", 0.03, "loss")
        ),
    ),
    Statement(
        "C-TH-198",
        "Jump-Start's loss compared with Slow-Start's, buffers above 100 packets",
        "hardly any difference",
        _same,
        why=causes.SAME,
        spoil=scaled("jump-start-*", 1.5, "loss"),
        mend=replaced("*", 0.015, "loss"),
    ),
    Statement(
        "C-TH-199",
        "Initial-Start's loss compared with Jump-Start's, even with a rather small buffer",
        "less",
        _initial_less,
        why=causes.INITIAL_LESS,
        spoil=swapped("initial-start", "jump-start"),
        mend=scaled("initial-start-*", 0.5, "loss"),
    ),
    Statement(
        "C-TH-200",
        "Mega-Start's loss at the path's full rate",
        "can reach 5 %",
        _mega,
        spoil=swapped("mega-start", "slow-start"),
        mend=scaled("mega-start-*", 2.0, "loss"),
    ),
    Statement(
        "C-TH-201",
        "Quick-Start's loss compared with Slow-Start's",
        "of the same order; slightly more, by less than 1 %, in the more aggressive variants and "
        "only below 100 packets",
        _quick,
        figures={"slightly": "less than 1 percentage point"},
        why=causes.QUICK,
        spoil=scaled("quick-start-optimistic-*", 1.6, "loss"),
        mend=all_of(
            replaced("slow-start-*", 0.02, "loss"),
            *(
                replaced(f"quick-start*-b{buffer:g}", loss, "loss")
                for buffers, loss in ((SMALL, 0.025), (BUFFERS_PKTS[len(SMALL) :], 0.02))
                for buffer in buffers
            ),
        ),
    ),
)
