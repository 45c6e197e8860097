"""Check: C-TH-144 to 166."""

from __future__ import annotations

from functools import partial

import numpy as np

from headway import models
from headway.claims import Seen, Statement, all_of, between, replaced, scaled, swapped
from headway.studies.load import network_claims, quick_start_claims
from headway.studies.load.experiments import IDLE, LOADS, MODERATE, SMALL, key
from headway.studies.load.references import idle_s, lossless_s, processor_sharing_s
from headway.studies.load.seen import Found, by_load, gain_s, mean

SLOW = partial(models.startup.slow_start_response_s, window_pkts=3)
JUMP = partial(models.startup.jump_start_response_s, window_pkts=3)
ENDS = (
    partial(models.startup.slow_start_response_s, window_pkts=10),
    partial(models.startup.paced_response_s, rate_bps=10e6, window_pkts=3),
)
"""Initial- and Mega-Start as the study uses them, by table 6.1."""


def _sharing(_: Found) -> Seen:
    return between(processor_sharing_s(MODERATE), 0.337, 0.339, unit="s", note="At 30 % load.")


def _idle(found: Found) -> Seen:
    measured = mean(found, "slow-start", IDLE)
    return between(
        100 * (measured / idle_s() - 1),
        -5,
        5,
        unit="%",
        note=f"{measured:.3f} s at 2 % load; eq. 6.11 gives {idle_s():.3f} s, without loss.",
    )


def _jump_gain(found: Found) -> Seen:
    gains = [gain_s(found, "jump-start", load) for load in LOADS]
    return between(float(np.mean(gains)), 0.2, 0.6, unit="s", note="Mean over all loads.")


def _jump_near_sharing(found: Found) -> Seen:
    rows = {load: mean(found, "jump-start", load) for load in LOADS}
    holds = all(
        processor_sharing_s(load) < jump < mean(found, "slow-start", load)
        for load, jump in rows.items()
    )
    over = {load: jump - processor_sharing_s(load) for load, jump in rows.items()}
    return Seen(
        f"above processor sharing by {by_load(over)}", holds, "between PS and SS at every load"
    )


def _jump_always(found: Found) -> Seen:
    gains = {load: gain_s(found, "jump-start", load) for load in LOADS}
    return Seen(f"gain {by_load(gains)}", min(gains.values()) > 0)


def _ends_alike(found: Found) -> Seen:
    jump = gain_s(found, "jump-start", SMALL)
    gains = {s: gain_s(found, s, SMALL) for s in ("initial-start", "mega-start")}
    words = ", ".join(f"{s} {gain:.2f} s" for s, gain in gains.items())
    own = [f"{lossless_s(SLOW) - lossless_s(startup):.2f}" for startup in (JUMP, *ENDS)]
    return Seen(
        f"gain {words}, jump-start {jump:.2f} s",
        jump > 0 and min(gains.values()) >= jump / 2,
        "≥ half of Jump-Start's gain, at 5 %",
        note=f"Table 6.1, without loss, gives {own[1]} and {own[2]} s beside {own[0]} s.",
    )


def _ends_fail(found: Found) -> Seen:
    gains = {
        (s, load): gain_s(found, s, load) / mean(found, "slow-start", load)
        for s in ("initial-start", "mega-start")
        for load in LOADS
        if load >= MODERATE
    }
    words = ", ".join(f"{s} {100 * g:+.1f} % at {100 * at:g} %" for (s, at), g in gains.items())
    losses = [
        f"{s} {100 * found[key(s, MODERATE)].loss:.1f} %"
        for s in ("slow-start", "initial-start", "mega-start")
    ]
    return Seen(
        f"gain {words}",
        max(gains.values()) < 0.1,
        "gain < 10 % from 30 % load on",
        note=f"Loss at 30 % load: {', '.join(losses)}. It costs less than the round trips that "
        "are saved; at high loads Mega-Start is no better.",
    )


def _too_large_window(found: Found) -> Seen:
    gains = {load: gain_s(found, "initial-start-100", load) for load in LOADS if load >= MODERATE}
    return Seen(
        f"gain {by_load(gains)}",
        max(gains.values()) < 0,
        "slower from 30 % load on",
        note="A window of 100 packets over a buffer of 50; the text gives neither the window nor "
        "a load. At high loads it is slower.",
    )


STATEMENTS: tuple[Statement[Found], ...] = (
    Statement(
        "C-TH-144",
        "idle link, eq. 6.11",
        "integral over sizes",
        _idle,
        spoil=scaled("slow-start-02", 1.2, "seconds.mean"),
    ),
    Statement(
        "C-TH-145", "processor sharing, eq. 6.12", "T = tau + m/(R(1-rho))", _sharing, "model"
    ),
    Statement(
        "C-TH-146",
        "Jump-Start's mean response time is lower",
        "by several hundred milliseconds",
        _jump_gain,
        spoil=swapped("jump-start", "slow-start"),
    ),
    Statement(
        "C-TH-147",
        "Jump-Start beside processor sharing",
        "not reached, rather small difference",
        _jump_near_sharing,
        spoil=replaced("jump-start-90", 0.1, "seconds.mean"),
    ),
    Statement(
        "C-TH-148",
        "Jump-Start at high load",
        "stays low",
        _jump_always,
        spoil=scaled("jump-start-90", 2.0, "seconds.mean"),
    ),
    Statement(
        "C-TH-149",
        "Initial- and Mega-Start at small load",
        "similar to Jump-Start",
        _ends_alike,
        spoil=swapped("initial-start", "slow-start"),
    ),
    Statement(
        "C-TH-150",
        "Initial- and Mega-Start at loads far above 10 %",
        "not significantly better than Slow-Start",
        _ends_fail,
        ours="Loads of 30 % and more are taken for far above 10 %.",
        spoil=swapped("mega-start", "jump-start"),
        mend=all_of(
            *(
                replaced(f"{scheme}-{round(100 * load)}", 2.0, "seconds.mean")
                for scheme in ("slow-start", "initial-start", "mega-start")
                for load in LOADS
                if load >= MODERATE
            )
        ),
    ),
    Statement(
        "C-TH-151",
        "Initial-Start with a window above the buffer",
        "even worse than Slow-Start",
        _too_large_window,
        ours="Loads of 30 % and more, as in the sentence before it.",
        spoil=swapped("initial-start-100", "slow-start"),
        mend=scaled("initial-start-100-*", 2.0, "seconds.mean"),
    ),
    *network_claims.STATEMENTS,
    *quick_start_claims.STATEMENTS,
)
