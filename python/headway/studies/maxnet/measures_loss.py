"""Check: table I, and how losses change windows."""

from __future__ import annotations

import dataclasses
import itertools
import math

import numpy as np

from headway.claims import Change, Seen, Statement, Why, edited, replaced, scaled, words
from headway.studies.maxnet import published
from headway.studies.maxnet.experiments import CONTROLS, LOSSES
from headway.studies.maxnet.measures import Found, mean_mbps, of_table, on_wire

TABLE_TOLERANCE = {"maxnet": 0.1, "fast": 0.2, "bic": 0.2}
"""Tolerances of the claims list."""
MOST_BLOCKS = 2
KEPT, ALLOWED_DECREASE = 0.98, 0.2
"""The ACK that begins a recovery also brings a price, by which the law may change a window."""


def cell(control: str, loss: int) -> Statement[Found]:
    """C-MN-001 to 018: a cell of table I."""
    number = 1 + 3 * loss + CONTROLS.index(control)
    value = published.TABLE_I[control][loss]

    def look(found: Found) -> Seen:
        mbps = mean_mbps(found, control, loss).mean
        check = words.quantity(mbps, value, TABLE_TOLERANCE[control])
        return Seen.by(mbps, check, unit="Mbit/s")

    keys = f"loss{loss}-{control}-r*"
    return Statement(
        f"C-MN-{number:03}",
        f"table I: throughput of {control.upper() if control != 'maxnet' else 'MaxNet'} at "
        f"{loss} % loss",
        f"{value:.2f} Mbit/s",
        look,
        why=_WHYS.get(number),
        spoil=scaled(keys, 2.0, "goodput_mbps"),
        mend=replaced(keys, value, "goodput_mbps"),
    )


LARGER_QUEUE = edited({"topology.buffer": "400000 B"})


def _timeouts(loss: int) -> Why:
    return Why(
        "refuted",
        "At this loss windows have three or four packets, and each timeout counts. Lost ACKs make "
        "timeouts, too; the paper has loss on all interfaces.",
        (
            Change(
                "loss of data alone",
                edited({"topology.reverse.loss": 0.0}),
                f"loss{loss}-bic-r*",
            ),
            Change("a run of 20 s", edited({"duration": "20 s"}), f"loss{loss}-bic-r*"),
        ),
    )


_WHYS: dict[int, Why] = {
    2: Why(
        "refuted",
        "A flow of FAST keeps 38 packets in the queue, as four flows with an RTT above 200 ms do. "
        "The printed queue of 30 KB holds 20, so FAST overflows it and halves its window.",
        (Change("a queue of 400 KB", LARGER_QUEUE, "loss0-fast-r*"),),
    ),
    15: _timeouts(4),
    16: Why(
        "unknown setting",
        "The paper prints no units, so which part of the price the law takes is ours. A larger "
        "part answers losses' bursts harder and gives less at this loss. The printed law, without "
        "the wait that we added to it, gives less still, but then misses 1 and 4 % loss.",
        (
            Change(
                "a law that takes 1/16 of the price instead of 1/32",
                edited({"flows.*.control.tunables.price_scale": 64}),
                "loss5-maxnet-r*",
            ),
            Change(
                "the printed law, whose eta does not wait for cwnd",
                edited({"flows.*.control.tunables.anti_windup": "off"}),
                "loss5-maxnet-r*",
            ),
        ),
    ),
    18: _timeouts(5),
}


def _order(found: Found, losses: tuple[int, ...], order: tuple[str, ...]) -> Seen:
    told, checks = [], []
    for loss in losses:
        values = [mean_mbps(found, control, loss) for control in order]
        checks += [words.more(a, b) for a, b in itertools.pairwise(values)]
        told.append(f"{loss} %: " + ", ".join(f"{value.mean:.2f}" for value in values))
    return Seen.by("; ".join(told), *checks)


def order_with_loss(found: Found) -> Seen:
    """C-MN-033."""
    return _order(found, LOSSES[1:], CONTROLS)


def order_without_loss(found: Found) -> Seen:
    """C-MN-034."""
    return _order(found, LOSSES[:1], CONTROLS[::-1])


def excellent(found: Found) -> Seen:
    """C-MN-042: as in table I, or above it."""
    parts = [
        mean_mbps(found, "maxnet", loss).mean / published.TABLE_I["maxnet"][loss]
        for loss in LOSSES[1:]
    ]
    blocks = on_wire(found).sack_blocks
    most = float(blocks.max()) if blocks.size else math.nan
    return Seen.by(
        f"{min(parts):.2f} of the published throughput at least; at most {most:g} blocks",
        words.within(min(parts), 1 - TABLE_TOLERANCE["maxnet"], math.inf),
        words.is_so(most == MOST_BLOCKS, f"{MOST_BLOCKS} blocks"),
    )


def no_decrease(found: Found) -> Seen:
    """C-MN-046."""
    rows = [row for loss in LOSSES[1:] for row in of_table(found, "maxnet", loss)]
    kept = np.concatenate([row.kept for row in rows])
    if not kept.size:
        return Seen("no recovery", False)
    median, low = (float(np.quantile(kept, q)) for q in (0.5, 0.05))
    return Seen.by(
        f"median {median:.2f} of cwnd, 5 % below {low:.2f}, {kept.size} recoveries",
        words.within(median, KEPT, math.inf, f"median ≥ {KEPT:g}"),
        words.within(low, 1 - ALLOWED_DECREASE, math.inf, "5 % quantile ≥ 0.8"),
        note="Standard TCP keeps half.",
    )


def as_tcp(found: Found) -> Seen:
    """C-MN-047."""
    rows = [row for loss in LOSSES[1:] for row in of_table(found, "maxnet", loss)]
    halves = np.concatenate([row.timeouts_kept for row in rows])
    windows = np.concatenate([row.timeouts_cwnd_pkts for row in rows])
    if not windows.size:
        return Seen("no timeout", False)
    told = f"{windows.size} timeouts: cwnd {windows.min():g} to {windows.max():g}"
    checks = [words.is_so(bool((windows <= 1).all()), "cwnd of 1")]
    if halves.size:
        told += f"; ssthresh {halves.min():.2f} to {halves.max():.2f} of cwnd outside of recoveries"
        checks.append(words.within(float(halves.max()), 0, 0.51))
    bound = "cwnd of 1; half as ssthresh where no recovery had set it"
    return dataclasses.replace(Seen.by(told, *checks), tolerance=bound)
