"""Check: what is looked at for claims on flows without random loss, and the rows of either kind."""

from __future__ import annotations

import math
from collections.abc import Callable

import numpy as np

from headway import metrics
from headway.claims import Evidence, Seen, between, near
from headway.metrics.stats import Array
from headway.studies.maxnet import published
from headway.studies.maxnet.experiments import CONTROLS, RATE_BPS, WIRE, key, lossy
from headway.studies.maxnet.observe import FULL_SHARE, Lossy, Row, Sharing
from headway.studies.maxnet.wire import Wire

Found = Evidence[Row]
Look = Callable[[Found], Seen]

RTT_TOLERANCE = 1.5 / published.RTT_MS
COMPARABLE_S = 2.0
"""Longest time by which a flow may come to its rate after the fastest control's."""
FIRST_SLOTS = 5
"""Seconds that are "shortly after the start"."""


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


def mean_mbps(found: Found, control: str, loss: int) -> float:
    """A cell of table I."""
    return float(np.mean([row.goodput_mbps for row in of_table(found, control, loss)]))


def on_wire(found: Found) -> Wire:
    """The trial that was captured."""
    row = found[WIRE]
    assert isinstance(row, Wire)
    return row


# ---- One flow ----


def mean_rtt(layout: str) -> Look:
    """C-MN-019 and 026, with the buffer of 30 KB."""

    def look(found: Found) -> Seen:
        row = sharing(found, key(layout, "maxnet"))
        later = [float(course[course.size // 2 :].mean()) for course in row.rtt_courses_ms]
        seen = near(
            float(np.mean(row.rtts_ms)), published.RTT_MS, relative=RTT_TOLERANCE, unit="ms"
        )
        note = (
            f"In the second half {np.mean(later):.1f} ms: before, the queue of the start is in it. "
            "A packet's own transmission is 1.2 ms."
        )
        return Seen(seen.measured, seen.holds, seen.tolerance, seen.unit, note)

    return look


def exceeds(layout: str, control: str, least_ms: float, note: str) -> Look:
    """C-MN-027 and 028, with the larger buffer."""

    def look(found: Found) -> Seen:
        rtt_ms = float(np.mean(sharing(found, key(layout, control, "large")).rtts_ms))
        return between(rtt_ms, least_ms, math.inf, unit="ms", note=note)

    return look


def bic_rtt(found: Found) -> Seen:
    """C-MN-020, with the larger buffer."""
    maxnet, bic = (
        float(np.mean(sharing(found, key("one", control, "large")).rtts_ms))
        for control in ("maxnet", "bic")
    )
    return Seen(
        f"{bic:.1f} ms, {bic / maxnet:.2f} times MaxNet's",
        bic > published.BIC_RTT_MS and bic > 2 * maxnet,
        "> 70 ms and > twice MaxNet's",
    )


def rtt_order(found: Found) -> Seen:
    """C-MN-021, with the larger buffer."""
    maxnet, fast, bic = (
        float(np.mean(sharing(found, key("one", control, "large")).rtts_ms)) for control in CONTROLS
    )
    return Seen(f"{maxnet:.1f}, {fast:.1f} and {bic:.1f} ms", maxnet < fast < bic)


def _steady(row: Sharing) -> Array:
    """Raw throughput of the first flow in the second half."""
    raw = row.raw_mbps[0]
    return np.asarray(raw[raw.size // 2 :], dtype=np.float64)


def raw(found: Found) -> Seen:
    """C-MN-022."""
    maxnet, fast, bic = (
        float(_steady(sharing(found, key("one", control))).mean()) for control in CONTROLS
    )
    return Seen(
        f"{maxnet:.2f}, {fast:.2f} and {bic:.2f} Mbit/s",
        0.9 * min(fast, bic) <= maxnet < min(fast, bic),
        "less than both, by at most 10 %",
    )


def _rate_after_s(row: Sharing) -> float:
    """When raw throughput first was there; NaN: never."""
    raw = row.raw_mbps[0]
    hits = np.flatnonzero(raw >= FULL_SHARE * _steady(row).mean())
    return float(hits[0] + 1) if hits.size else math.nan


def comparable(found: Found) -> Seen:
    """C-MN-023."""
    rows = [sharing(found, key("one", control)) for control in CONTROLS]
    after = [_rate_after_s(row) for row in rows]
    spread = [float(_steady(row).std() / _steady(row).mean()) for row in rows]
    return Seen(
        f"{after[0]:g} s, others {after[1]:g} and {after[2]:g} s; varies by {100 * spread[0]:.1f} "
        f"%, others {100 * spread[1]:.1f} and {100 * spread[2]:.1f} %",
        after[0] <= min(after[1:]) + COMPARABLE_S and spread[0] <= max(*spread[1:], 0.02),
        f"at most {COMPARABLE_S:g} s after the fastest, no less steady than the less steady",
    )


# ---- Several flows ----


def four(found: Found) -> Seen:
    """C-MN-024."""
    mbps = sharing(found, key("four", "maxnet")).goodputs_mbps
    low, high = published.FOUR_MBPS
    apart = float(np.ptp(mbps) / mbps.mean())
    return Seen(
        f"{mbps.min():.3f} to {mbps.max():.3f} Mbit/s",
        low * 0.95 <= mbps.min() and mbps.max() <= high * 1.05 and apart < 0.05,
        "±5 %, less than 5 % apart",
        note=f"At most {100 * float(np.abs(mbps / mbps.mean() - 1).max()):.1f} % from their mean.",
    )


def all_fair(found: Found) -> Seen:
    """C-MN-025."""
    jains = [
        metrics.jain_index(list(sharing(found, key("four", control)).goodputs_mbps)) or 0.0
        for control in CONTROLS
    ]
    words = ", ".join(f"{jain:.3f}" for jain in jains)
    return Seen(f"{words} of MaxNet, FAST, BIC", min(jains) > 0.95, "Jain's index > 0.95 of each")


def overestimate(found: Found) -> Seen:
    """C-MN-029."""
    words, holds = [], True
    for control in ("fast", "bic"):
        row = sharing(found, key("four", control))
        first = float(np.stack(row.raw_mbps).sum(axis=0)[:FIRST_SLOTS].max())
        holds = holds and first > RATE_BPS / 1e6 and row.dropped_share > 0.0
        words.append(f"{control.upper()} {first:.2f} Mbit/s, {100 * row.dropped_share:.2f} % lost")
    return Seen("; ".join(words), holds, "> 10 Mbit/s in a second of the first five, and losses")


def two(found: Found) -> Seen:
    """C-MN-030."""
    far, near_by = sharing(found, key("two", "maxnet")).goodputs_mbps
    low, high = sorted((far, near_by))
    holds = all(
        abs(ours / theirs - 1) <= 0.07
        for ours, theirs in zip((low, high), published.TWO_MBPS, strict=True)
    )
    return Seen(
        f"{far:.2f} of 57 ms, {near_by:.2f} of 29 ms",
        holds and high / low < 1.15,
        "±7 % each, ratio < 1.15",
        "Mbit/s",
    )


def prefers(found: Found) -> Seen:
    """C-MN-031."""
    ratios = [
        float(np.divide(*sharing(found, key("two", control)).goodputs_mbps[::-1]))
        for control in CONTROLS
    ]
    words = ", ".join(f"{ratio:.2f}" for ratio in ratios)
    return Seen(
        f"{words} of MaxNet, FAST, BIC",
        1 / 1.15 < ratios[0] < 1.15 and min(ratios[1:]) > 1,
        "29 ms over 57 ms: within 1.15; more than 1 of the others",
    )


def empty(found: Found) -> Seen:
    """C-MN-032."""
    return between(sharing(found, key("two", "maxnet")).queue_ms, 0, 5, unit="ms")
