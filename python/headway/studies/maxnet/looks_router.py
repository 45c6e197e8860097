"""Check: what is looked at for claims on the router, the law, the option and the buffer."""

from __future__ import annotations

import numpy as np

from headway.claims import Seen, between, near
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
from headway.studies.maxnet.looks import Found, on_wire, sharing
from headway.studies.maxnet.observe import Sharing
from headway.studies.maxnet.wire import MAXNET

MOST_APART_MS = 2.0


def utilization(found: Found) -> Seen:
    """C-MN-035."""
    row = sharing(found, key("one", "maxnet"))
    return near(row.offered_mbps * 1e6 / RATE_BPS * 100, 96, relative=0.01, unit="%")


def _unsteady(row: Sharing) -> bool:
    """Losses go on, or the queue moves by more than a sixth of the path's."""
    return row.later_dropped_share > 0.001 or row.later_queue_sd_ms > RTT_MS / 6


def higher_mu(found: Found) -> Seen:
    """C-MN-036."""
    steady = [_unsteady(sharing(found, told(layout, MU))) for layout in LAYOUTS]
    cases = {
        f"{mu / 1024:.2f}, {layout}": sharing(found, told(layout, mu))
        for mu in HIGHER_MU
        for layout in LAYOUTS
    }
    bad = [name for name, row in cases.items() if _unsteady(row)]
    words = ", ".join(
        f"{name} ({100 * cases[name].later_dropped_share:.2f} %, "
        f"{cases[name].later_queue_sd_ms:.1f} ms)"
        for name in bad
    )
    return Seen(
        f"{len(bad)} of {len(cases)}: {words}" if bad else "none",
        not any(steady) and 0 < len(bad) < len(cases),
        "some of the cases above 0.96, none at it: later losses > 0.1 % or queue ± > 4.7 ms",
    )


def rare(found: Found) -> Seen:
    """C-MN-037."""
    row = sharing(found, key("one", "maxnet"))
    return between(
        100 * row.dropped_share,
        0,
        0.1,
        unit="%",
        note=f"In the second half {100 * row.later_dropped_share:.3f} %: all are of the start. The "
        "price rises only by what is offered too much, and has to rise to 0.11 s.",
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
        note="What the price was held at 0 for in the first round trips, in intervals of 10 ms in "
        "which bursts were queued, it keeps: at mu = 1 nothing but an idle link lowers it.",
    )


def fixed_point(_found: Found) -> Seen:
    """C-MN-043."""
    tunables = {one.name: one.default for one in registry().router("maxnet").tunables}
    return near(float(tunables["mu"]), published.MU_1024)


def option(found: Found) -> Seen:
    """C-MN-044."""
    row = on_wire(found)
    sizes = np.unique(row.lengths_bytes)
    words = " or ".join(f"{size:g}" for size in sizes)
    return Seen(
        f"{row.lengths_bytes.size} options of kind {MAXNET}, {words} bytes in all; echoes up to "
        f"{row.echoes.max():.0f}, prices up to {row.prices.max():.0f}"
        if sizes.size
        else "none",
        sizes.tolist() == [8.0] and row.echoes.max() > 1 and row.prices.max() >= 0,
        "8 bytes, and prices that come back",
    )


def buffer(_found: Found) -> Seen:
    """C-MN-045."""
    products = [RATE_BPS / 8 * rtt_ms / 1e3 for rtt_ms in (RTT_MS, 2 * RTT_MS)]
    parts = [published.BUFFER_BYTES / product for product in products]
    return Seen(
        f"{parts[0]:.2f} and {parts[1]:.2f} of the products",
        all(0.75 <= part < 1 for part in parts),
        "0.75 to 1 of both",
        note="35 and 70 KB: slightly less than the one, less than half of the other.",
    )
