"""Check: claims on flows without random loss, and access to the rows of either kind."""

from __future__ import annotations

import itertools
import math
from collections.abc import Callable
from dataclasses import replace

import numpy as np

from headway import metrics
from headway.claims import Evidence, Seen, between, words
from headway.metrics.stats import Array, Estimate, confidence_interval
from headway.studies.maxnet import published
from headway.studies.maxnet.experiments import CONTROLS, RATE_BPS, WIRE, key, lossy
from headway.studies.maxnet.observe import Lossy, Row, Sharing, observe
from headway.studies.maxnet.wire import Wire
from headway.trace import Trace

Found = Evidence[Row]
Look = Callable[[Found], Seen]

FIRST_SLOTS = 5
"""Seconds that are "shortly after the start"."""
FOUR_LEAST_MBPS, FOUR_MOST_MBPS, FOUR_APART = 2.0, 2.4, 0.05
TWO_TOLERANCE, ALIKE = 0.07, 1.15
"""Tolerances of the claims list: of C-MN-024, and of C-MN-030."""


def sharing(found: Found, name: str) -> Sharing:
    """A trial without random loss."""
    row = found[name]
    assert isinstance(row, Sharing)
    return row


def of_table(found: Found, control: str, loss: int) -> list[Lossy]:
    """All runs of a cell of table I. Raises MissingTrialError without any."""
    rows = []
    for run in range(1, len(found) + 1):
        if lossy(control, loss, run) not in found:
            break
        rows.append(found[lossy(control, loss, run)])
    if not rows:
        rows.append(found[lossy(control, loss, 1)])
    return [row for row in rows if isinstance(row, Lossy)]


def mean_mbps(found: Found, control: str, loss: int) -> Estimate:
    """A cell of table I: the mean over runs and its interval."""
    return confidence_interval([row.goodput_mbps for row in of_table(found, control, loss)])


def on_wire(found: Found) -> Wire:
    """The trial whose packets were captured."""
    row = found[WIRE]
    assert isinstance(row, Wire)
    return row


# ---- One flow ----


def mean_rtt(layout: str) -> Look:
    """C-MN-019 and 026, with the buffer of 30 KB."""

    def look(found: Found) -> Seen:
        row = sharing(found, key(layout, "maxnet"))
        later = [float(course[course.size // 2 :].mean()) for course in row.rtt_courses_ms]
        rtt_ms = float(np.mean(row.rtts_ms))
        low, high = published.RTT_RANGE_MS
        one = words.within(rtt_ms, low, high)
        return Seen.by(
            rtt_ms,
            one if layout == "one" else words.about(rtt_ms, published.RTT_MS),
            unit="ms",
            note=f"In the second half of the run the mean is {np.mean(later):.1f} ms. The whole "
            "run includes the queue of the start. The transmission of one packet takes 1.2 ms.",
        )

    return look


def exceeds(layout: str, control: str, least_ms: float, note: str = "") -> Look:
    """C-MN-027 and 028, with the larger buffer."""

    def look(found: Found) -> Seen:
        rtt_ms = float(np.mean(sharing(found, key(layout, control, "large")).rtts_ms))
        return between(rtt_ms, least_ms, math.inf, unit="ms", note=note)

    return look


def _rtt_of_one_ms(found: Found, control: str) -> float:
    """The mean RTT of one flow with the larger buffer."""
    return float(np.mean(sharing(found, key("one", control, "large")).rtts_ms))


def smoothed_rtts(name: str, trace: Trace) -> Row:
    """A trial without random loss, its RTTs the senders' smoothed ones, over ACKs."""
    row = observe(name, trace)
    assert isinstance(row, Sharing)
    return replace(
        row, rtts_ms=np.array([_smoothed_ms(trace, at) for at in range(row.rtts_ms.size)])
    )


def _smoothed_ms(trace: Trace, flow: int) -> float:
    known = trace.rows_of("flow_state", "flow", flow)["srtt_us"].to_numpy()
    return float(known[known > 0].mean()) / 1e3


def bic_rtt(found: Found) -> Seen:
    """C-MN-020, with the larger buffer."""
    maxnet, bic = (_rtt_of_one_ms(found, control) for control in ("maxnet", "bic"))
    return Seen.by(
        f"{bic:.1f} ms, {bic / maxnet:.2f} times MaxNet's",
        words.within(bic, published.BIC_RTT_MS, math.inf),
        words.twice(bic, maxnet),
    )


def rtt_order(found: Found) -> Seen:
    """C-MN-021, with the larger buffer."""
    maxnet, fast, bic = (_rtt_of_one_ms(found, control) for control in CONTROLS)
    return Seen.by(
        f"{maxnet:.1f}, {fast:.1f} and {bic:.1f} ms",
        words.much_less(maxnet, fast),
        words.less(fast, bic),
    )


def _steady(row: Sharing) -> Array:
    """Raw throughput of the first flow in the second half."""
    raw = row.raw_mbps[0]
    return np.asarray(raw[raw.size // 2 :], dtype=np.float64)


def raw(found: Found) -> Seen:
    """C-MN-022."""
    maxnet, fast, bic = (
        float(_steady(sharing(found, key("one", control))).mean()) for control in CONTROLS
    )
    return Seen.by(
        f"{maxnet:.2f}, {fast:.2f} and {bic:.2f} Mbit/s",
        words.slightly_less(maxnet, fast),
        words.slightly_less(maxnet, bic),
    )


def comparable(found: Found) -> Seen:
    """C-MN-023: each pair of the three controls."""
    rows = [sharing(found, key("one", control)) for control in CONTROLS]
    after = [float(row.rate_after_s[0]) for row in rows]
    least = [float(_steady(row).min() / _steady(row).mean()) for row in rows]
    pairs = list(itertools.combinations(range(len(rows)), 2))
    times, parts = (
        ", ".join(f"{value:.3g}" for value in values)
        for values in (after, [100 * part for part in least])
    )
    return Seen.by(
        f"{times} s of MaxNet, FAST and BIC; the least second has {parts} % of the mean",
        words.every([words.similar(after[a], after[b]) for a, b in pairs]),
        words.every([words.similar(least[a], least[b]) for a, b in pairs]),
        note="Time to 90 % of the later mean, read in slots of 25 ms; and the least second of the "
        "second half, as a part of its mean.",
    )


# ---- Several flows ----


def four(found: Found) -> Seen:
    """C-MN-024."""
    mbps = sharing(found, key("four", "maxnet")).goodputs_mbps
    apart = float(np.ptp(mbps) / mbps.mean())
    return Seen.by(
        f"{mbps.min():.3f} to {mbps.max():.3f} Mbit/s",
        words.within(float(mbps.min()), FOUR_LEAST_MBPS, math.inf),
        words.within(float(mbps.max()), -math.inf, FOUR_MOST_MBPS),
        words.within(apart, 0, FOUR_APART, f"less than {100 * FOUR_APART:g} % apart"),
        note=f"At most {100 * float(np.abs(mbps / mbps.mean() - 1).max()):.1f} % from their mean.",
    )


def all_fair(found: Found) -> Seen:
    """C-MN-025."""
    jains = [
        metrics.jain_index(list(sharing(found, key("four", control)).goodputs_mbps)) or 0.0
        for control in CONTROLS
    ]
    told = ", ".join(f"{jain:.3f}" for jain in jains)
    return Seen.by(
        f"{told} of MaxNet, FAST, BIC",
        words.every([words.within(jain, 0.95, 1.0, "Jain's index ≥ 0.95") for jain in jains]),
    )


def overestimate(found: Found) -> Seen:
    """C-MN-029."""
    told, checks = [], []
    for control in ("fast", "bic"):
        row = sharing(found, key("four", control))
        first = float(np.stack(row.raw_mbps).sum(axis=0)[:FIRST_SLOTS].max())
        checks += [
            words.within(first, RATE_BPS / 1e6, math.inf, "> 10 Mbit/s in the first five seconds"),
            words.within(row.dropped_share, 1e-9, math.inf, "losses"),
        ]
        told.append(f"{control.upper()} {first:.2f} Mbit/s, {100 * row.dropped_share:.2f} % lost")
    return Seen.by("; ".join(told), *checks)


def two(found: Found) -> Seen:
    """C-MN-030."""
    far, near_by = sharing(found, key("two", "maxnet")).goodputs_mbps
    low, high = sorted((float(far), float(near_by)))
    return Seen.by(
        f"{far:.2f} of 57 ms, {near_by:.2f} of 29 ms",
        *(
            words.quantity(ours, theirs, TWO_TOLERANCE)
            for ours, theirs in zip((low, high), published.TWO_MBPS, strict=True)
        ),
        words.within(high / low, 1.0, ALIKE, f"ratio ≤ {ALIKE:g}"),
        unit="Mbit/s",
    )


def prefers(found: Found) -> Seen:
    """C-MN-031."""
    of = {control: sharing(found, key("two", control)).goodputs_mbps for control in CONTROLS}
    ratios = {control: float(near_by / far) for control, (far, near_by) in of.items()}
    told = ", ".join(f"{ratio:.2f}" for ratio in ratios.values())
    return Seen.by(
        f"{told} of MaxNet, FAST, BIC",
        words.within(ratios["maxnet"], 1 / ALIKE, ALIKE),
        *(words.more(float(of[one][1]), float(of[one][0])) for one in ("fast", "bic")),
        note="Throughput at 29 ms over that at 57 ms.",
    )


def empty(found: Found) -> Seen:
    """C-MN-032."""
    return between(sharing(found, key("two", "maxnet")).queue_ms, 0, 5, unit="ms")
