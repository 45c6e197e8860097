"""Check: C-TH-144 to 166."""

from __future__ import annotations

from functools import partial

import numpy as np

from headway import models
from headway.claims import Seen, Statement, all_of, replaced, scaled, swapped, words
from headway.studies.load import causes, network_claims, quick_start_claims
from headway.studies.load.experiments import IDLE, LOADS, MODERATE, SMALL, key
from headway.studies.load.references import idle_s, lossless_s, processor_sharing_s
from headway.studies.load.seen import FAR_ABOVE, LOADED, Found, by_load, gain_s, mean

SLOW = partial(models.startup.slow_start_response_s, window_pkts=3)
JUMP = partial(models.startup.jump_start_response_s, window_pkts=3)
ENDS = {
    "initial-start": partial(models.startup.slow_start_response_s, window_pkts=10),
    "mega-start": partial(models.startup.paced_response_s, rate_bps=10e6, window_pkts=3),
}
"""Initial- and Mega-Start with the study's parameters, by table 6.1."""


def _sharing(_: Found) -> Seen:
    seconds = processor_sharing_s(MODERATE)
    return Seen.by(seconds, words.within(seconds, 0.3375, 0.3385), unit="s", note="At 30 % load.")


def _idle(found: Found) -> Seen:
    measured, ideal = mean(found, "slow-start", IDLE), idle_s()
    return Seen.by(
        100 * (measured / ideal - 1),
        words.quantity(measured, ideal, 0.05),
        unit="%",
        note=f"{measured:.3f} s at 2 % load; eq. 6.11 gives {ideal:.3f} s, without loss.",
    )


def _jump_gain(found: Found) -> Seen:
    gains = {load: gain_s(found, "jump-start", load) for load in LOADS}
    return Seen.by(
        float(np.mean(list(gains.values()))),
        *(words.several_hundred(1e3 * gain) for gain in gains.values()),
        unit="s",
        note=f"Mean over all loads. By load: {by_load(gains)}. Each load is judged.",
    )


def _jump_near_sharing(found: Found) -> Seen:
    over = {load: mean(found, "jump-start", load) - processor_sharing_s(load) for load in LOADS}
    checks = [
        check
        for load in LOADS
        for check in (
            words.more(mean(found, "jump-start", load), processor_sharing_s(load)),
            words.less(mean(found, "jump-start", load), mean(found, "slow-start", load)),
        )
    ]
    return Seen.by(
        f"above processor sharing by {by_load(over)}",
        *checks,
        note="Each load is judged.",
    )


def _jump_stays_low(found: Found) -> Seen:
    jump, slow = (
        {load: mean(found, scheme, load) for load in LOADS}
        for scheme in ("jump-start", "slow-start")
    )
    lower = {load: words.less(jump[load], slow[load]) for load in LOADS}
    high = {load: jump[load] for load in LOADS[-2:]}
    beside = {load: slow[load] for load in LOADS[-2:]}
    return Seen.by(
        f"{by_load(high)}; Slow-Start {by_load(beside)}",
        words.at_high_load(lower),
        note=f"At 5 % load Jump-Start takes {jump[SMALL]:.2f} s.",
    )


def _ends_alike(found: Found) -> Seen:
    times = {load: {s: mean(found, s, load) for s in ("jump-start", *ENDS)} for load in LOADS}
    alike = {
        load: words.both(*(words.similar(by[s], by["jump-start"]) for s in ENDS))
        for load, by in times.items()
    }
    off = {
        s: {load: 100 * (by[s] / by["jump-start"] - 1) for load, by in times.items()} for s in ENDS
    }
    jump = lossless_s(JUMP)
    own = ", ".join(f"{100 * (lossless_s(end) / jump - 1):+.0f}" for end in ENDS.values())
    return Seen.by(
        "; ".join(
            f"{s} {by_load({load: one[load] for load in LOADS[:2]}, '%', 0)}"
            for s, one in off.items()
        ),
        words.at_small_load(alike),
        note=f"Differences to Jump-Start. Table 6.1, without loss, gives {own} %.",
    )


def _ends_fail(found: Found) -> Seen:
    cells = [(s, load) for s in ENDS for load in LOADED]
    gains = {(s, at): gain_s(found, s, at) / mean(found, "slow-start", at) for s, at in cells}
    shown = ", ".join(f"{s} {100 * g:+.1f} % at {100 * at:g} %" for (s, at), g in gains.items())
    losses = [f"{s} {100 * found[key(s, MODERATE)].loss:.1f} %" for s in ("slow-start", *ENDS)]
    return Seen.by(
        f"gain {shown}",
        *(
            words.not_significantly_less(mean(found, s, at), mean(found, "slow-start", at))
            for s, at in cells
        ),
        note=f"Loss at 30 % load: {', '.join(losses)}.",
    )


def _too_large_window(found: Found) -> Seen:
    gains = {load: gain_s(found, "initial-start-100", load) for load in LOADED}
    return Seen.by(
        f"gain {by_load(gains)}",
        *(
            words.more(mean(found, "initial-start-100", load), mean(found, "slow-start", load))
            for load in LOADED
        ),
        note="The window is 100 packets and the buffer 50.",
    )


STATEMENTS: tuple[Statement[Found], ...] = (
    Statement(
        "C-TH-144",
        "Slow-Start's mean response time on an idle link",
        "eq. 6.11, an integral over response sizes",
        _idle,
        spoil=scaled("slow-start-02", 1.2, "seconds.mean"),
    ),
    Statement(
        "C-TH-145",
        "mean response time by processor sharing",
        "eq. 6.12, T = tau + m/(R(1-rho))",
        _sharing,
        "model",
    ),
    Statement(
        "C-TH-146",
        "Jump-Start's mean response time is lower than Slow-Start's",
        "by several hundred milliseconds",
        _jump_gain,
        spoil=swapped("jump-start", "slow-start"),
    ),
    Statement(
        "C-TH-147",
        "Jump-Start's mean response time compared with processor sharing",
        "does not reach it; the difference is rather small",
        _jump_near_sharing,
        part="Jump-Start lies between processor sharing and Slow-Start at every load. The size of "
        "the difference is not judged, because neither the thesis nor the table of words defines "
        "how small it should be.",
        spoil=replaced("jump-start-90", 0.1, "seconds.mean"),
    ),
    Statement(
        "C-TH-148",
        "Jump-Start's mean response time at high load",
        "stays at a low level",
        _jump_stays_low,
        part="Jump-Start takes less time than Slow-Start. The level is not judged, because neither "
        "the thesis nor the table of words defines it.",
        spoil=scaled("jump-start-90", 2.0, "seconds.mean"),
    ),
    Statement(
        "C-TH-149",
        "mean response times of Initial- and Mega-Start at small load",
        "similar to Jump-Start's",
        _ends_alike,
        why=causes.ENDS_ALIKE,
        spoil=scaled("initial-start-05", 1.5, "seconds.mean"),
        mend=all_of(*(replaced(f"*-start-{at}", 0.6, "seconds.mean") for at in ("05", "10"))),
    ),
    Statement(
        "C-TH-150",
        "mean response times of Initial- and Mega-Start at loads far above 10 %",
        "not significantly better than Slow-Start's",
        _ends_fail,
        figures={"much": FAR_ABOVE},
        why=causes.ENDS_FAIL,
        spoil=swapped("mega-start", "jump-start"),
        mend=all_of(
            *(
                replaced(f"{scheme}-{round(100 * load)}", 2.0, "seconds.mean")
                for scheme in ("slow-start", *ENDS)
                for load in LOADED
            )
        ),
    ),
    Statement(
        "C-TH-151",
        "Initial-Start with a window above the buffer, at loads far above 10 %",
        "even worse than Slow-Start",
        _too_large_window,
        figures={"much": FAR_ABOVE},
        why=causes.TOO_LARGE_WINDOW,
        spoil=swapped("initial-start-100", "slow-start"),
        mend=scaled("initial-start-100-*", 2.0, "seconds.mean"),
    ),
    *network_claims.STATEMENTS,
    *quick_start_claims.STATEMENTS,
)
