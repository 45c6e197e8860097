"""Check: claims on the router, the law, the option and the buffer."""

from __future__ import annotations

import math

import numpy as np

from headway.claims import Seen, between, near, words
from headway.claims.words import Check
from headway.registry import registry
from headway.studies.maxnet import published
from headway.studies.maxnet.experiments import (
    HIGHER_MU,
    LAYOUTS,
    MU,
    QUEUE,
    RATE_BPS,
    RTT_MS,
    key,
    told,
)
from headway.studies.maxnet.measures import Found, on_wire, sharing
from headway.studies.maxnet.observe import Sharing
from headway.studies.maxnet.wire import MAXNET

MOST_APART_MS = 2.0
OFFERED_MBPS = (9.45, 9.65)
UNSTEADY_LOSS = 0.001


def utilization(found: Found) -> Seen:
    """C-MN-035."""
    row = sharing(found, key("one", "maxnet"))
    low, high = OFFERED_MBPS
    return Seen.by(
        row.offered_mbps * 1e6 / RATE_BPS * 100,
        words.within(row.offered_mbps, low, high, "9.5 to 9.6 Mbit/s, to one decimal"),
        unit="%",
    )


def _unsteady(row: Sharing) -> Check:
    """Losses go on, or the queue's standard deviation is above a sixth of the RTT."""
    losses = row.later_dropped_share / UNSTEADY_LOSS - 1
    queue = row.later_queue_sd_ms / (RTT_MS / 6) - 1
    return words.within(max(losses, queue), 0, math.inf, "later losses > 0.1 % or queue ± > 4.7 ms")


def higher_mu(found: Found) -> Seen:
    """C-MN-036."""
    at_it = [sharing(found, told(layout, MU)) for layout in LAYOUTS]
    cases = {
        f"{mu / 1024:.2f}, {layout}": sharing(found, told(layout, mu))
        for mu in HIGHER_MU
        for layout in LAYOUTS
    }
    checks = {name: _unsteady(row) for name, row in cases.items()}
    bad = [name for name, check in checks.items() if check.holds]
    named = ", ".join(
        f"{name} ({100 * cases[name].later_dropped_share:.2f} %, "
        f"{cases[name].later_queue_sd_ms:.1f} ms)"
        for name in bad
    )
    return Seen.by(
        f"{len(bad)} of {len(cases)}: {named}" if bad else "none",
        words.some(checks),
        words.is_so(len(bad) < len(cases), "not all"),
        words.is_so(not any(_unsteady(row).holds for row in at_it), "none at 0.96"),
    )


def rare(found: Found) -> Seen:
    """C-MN-037."""
    row = sharing(found, key("one", "maxnet"))
    return between(
        100 * row.dropped_share,
        0,
        0.1,
        unit="%",
        note=f"In the second half of the run {100 * row.later_dropped_share:.3f} %.",
    )


def price_steps(found: Found) -> Seen:
    """C-MN-038."""
    # X is read at every second, and counted up to the computation before it: an interval of 10 ms
    rows = [sharing(found, key(layout, "maxnet")) for layout in LAYOUTS]
    later = np.concatenate([row.price_errors_ms[row.price_errors_ms.size // 2 :] for row in rows])
    return between(float(np.abs(later).max()), 0, 12, unit="ms")


def price_course(found: Found) -> Seen:
    """C-MN-039."""
    rows = [sharing(found, key(layout, "maxnet")) for layout in LAYOUTS]
    later = [row.price_errors_ms[row.price_errors_ms.size // 2 :] for row in rows]
    return between(max(abs(float(errors.sum())) for errors in later), 0, 12, unit="ms")


def law(found: Found) -> Seen:
    """C-MN-040."""
    tunables = {one.name: one.default for one in registry().control("maxnet").tunables}
    apart = []
    for layout in LAYOUTS:
        row = sharing(found, key(layout, "maxnet"))
        price_s = row.price_ms / 1e3 * tunables["price_scale"] / 1024
        rate = tunables["p1"] / (tunables["p2"] * price_s * tunables["interval_ms"] / 1e3)
        apart.append(np.abs(row.window_rate_pps / rate - 1))
    return between(100 * float(np.concatenate(apart).max()), 0, 10, unit="%")


def queue_in_seconds(found: Found) -> Seen:
    """C-MN-041."""
    apart = sharing(found, QUEUE).price_queue_ms
    later = apart[apart.size // 2 :]
    return between(
        abs(float(later.mean())),
        0,
        MOST_APART_MS,
        unit="ms",
    )


def fixed_point(_found: Found) -> Seen:
    """C-MN-043."""
    tunables = {one.name: one.default for one in registry().router("maxnet").tunables}
    return near(float(tunables["mu"]), published.MU_1024)


def option(found: Found) -> Seen:
    """C-MN-044."""
    row = on_wire(found)
    sizes = np.unique(row.lengths_bytes)
    told = " or ".join(f"{size:g}" for size in sizes)
    comes_back = sizes.size and row.echoes.max() > 1 and row.prices.max() >= 0
    return Seen.by(
        f"{row.lengths_bytes.size} options of kind {MAXNET}, {told} bytes in all; echoes up to "
        f"{row.echoes.max():.0f}, prices up to {row.prices.max():.0f}"
        if sizes.size
        else "none",
        words.is_so(sizes.tolist() == [8.0], "8 bytes"),
        words.is_so(bool(comes_back), "prices that come back"),
    )


def buffer(_found: Found) -> Seen:
    """C-MN-045."""
    products = [RATE_BPS / 8 * rtt_ms / 1e3 for rtt_ms in (RTT_MS, 2 * RTT_MS)]
    parts = [published.BUFFER_BYTES / product for product in products]
    return Seen.by(
        f"{parts[0]:.2f} and {parts[1]:.2f} of the products",
        *(words.slightly_less(published.BUFFER_BYTES, product) for product in products),
        note="The products are 35 and 70 KB. 30 KB are slightly less than the first, and less "
        "than half of the second.",
    )
