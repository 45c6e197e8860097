"""Check: C-TH-035 to 038."""

import math

import numpy as np

from headway.claims import Claims, Seen, Spoil, scaled, swapped, words
from headway.claims.spoil import Rows
from headway.studies.receive_window.experiments import RTT_S, Found

CLAIMS: Claims[Found] = Claims(__name__)
MOST_AHEAD_ROUNDS = 1.1


def _twice_cwnd(rows: Rows) -> Rows:
    """Replace the windows by twice cwnd, as in the thesis."""
    measured = rows["slow-start"]
    rounds = [
        {**one, "windows": [{**at, "window_bytes": 2 * at["cwnd_bytes"]} for at in one["windows"]]}
        for one in measured["rounds"]
    ]
    return {**rows, "slow-start": {**measured, "rounds": rounds}}


def _as(key: str, other: str) -> Spoil:
    """Replace the observations of a case by those of another case."""
    return lambda rows: {**rows, key: rows[other]}


def _taking(key: str, factor: float) -> Spoil:
    return scaled(key, factor, "rounds.*.took_us")


@CLAIMS.judge(
    "C-TH-035", spoil=scaled("slow-start", 2.0, "rounds.*.windows.*.window_bytes"), mend=_twice_cwnd
)
def _twice(found: Found) -> Seen:
    case = found["slow-start"]
    low, middle, high = np.quantile(case.window_by_cwnd(), (0.25, 0.5, 0.75))
    announced = float(np.median(case.window_by_cwnd(as_announced=True)))
    return Seen.by(
        f"{middle:.2f} ({low:.2f} to {high:.2f})",
        *(words.about(float(one), 2) for one in (low, high)),
        note="Divided by the cwnd of half a round trip earlier, when the receiver announced the "
        f"window, the ratio is {announced:.2f}.",
    )


@CLAIMS.judge(
    "C-TH-036", spoil=swapped("sender-only", "both-ends"), mend=_as("sender-only", "slow-start")
)
def _enforced(found: Found) -> Seen:
    slow, bound = found["slow-start"], found["sender-only"]
    tenths = [part / 10 for part in range(1, 11)]
    ahead = [(slow.reached_s(part) - bound.reached_s(part)) / RTT_S for part in tenths]
    limit = f"≤ {MOST_AHEAD_ROUNDS:g} round trips, at every tenth of the data"
    return Seen.by(
        f"{min(ahead):.2f} to {max(ahead):.2f} round trips ahead of slow start",
        words.within(max(map(abs, ahead)), -math.inf, MOST_AHEAD_ROUNDS, limit),
        note=f"Jump-Start takes {bound.took_s:.2f} s, slow start {slow.took_s:.2f} s.",
    )


@CLAIMS.judge("C-TH-037")
def _supported(found: Found) -> Seen:
    free, bound = found["both-ends"].took_s, found["sender-only"].took_s
    opened, held = found["initiator-extra-ack"].took_s, found["initiator"].took_s
    return Seen.by(
        f"{free:.2f} instead of {bound:.2f} s; {opened:.2f} instead of {held:.2f} s with the "
        "extra ACK",
        words.less(free, bound),
        words.less(opened, held),
    )


@CLAIMS.judge(
    "C-TH-038",
    spoil=swapped("beyond-window", "slow-start"),
    mend=[_as("beyond-window", "both-ends"), _taking("both-ends", 0.9), _taking("slow-start", 2.0)],
)
def _beyond(found: Found) -> Seen:
    cases = ("slow-start", "beyond-window", "both-ends")
    slow, beyond, both = (found[case].took_s for case in cases)
    gain = 100 * (slow - beyond) / (slow - both) if slow != both else math.nan
    return Seen.by(
        f"{beyond:.3f} s, {both:.3f} with both, slow start {slow:.3f}",
        words.less(beyond, slow),
        words.slightly_less(slow / beyond, slow / both),
        note="The speedup is slow start's transfer time divided by Jump-Start's. Ignoring the "
        "window saves "
        f"{gain:.0f} % of the time that support at both ends saves.",
    )
