"""Check: C-TH-132 to 143, gains by size, round-trip time and capacity, and on the long path."""

from functools import partial
from itertools import pairwise, product

import numpy as np

from headway.claims import Seen, words
from headway.metrics.stats import Array
from headway.studies.transfer_times.claims import CLAIMS, FIRST_WINDOW, KB, MB
from headway.studies.transfer_times.experiments import (
    AROUND_CODES_MBPS,
    BASE,
    CAPACITIES_BPS,
    EARLY,
    JUMP,
    LABELS,
    LONG_RATES_BPS,
    LONG_SIZES_BYTES,
    RTTS_MS,
    Results,
)

FAST = (JUMP, EARLY)
DERIVED = {(JUMP, 100): 2.7, (EARLY, 100): 3.0, (JUMP, 200): 2.7, (EARLY, 200): 3.7}
"""Largest speedups over the size, by table 6.1."""
WITHIN = 0.1
"""Tolerance of the derived speedups: that of C-TH-124, as the claims list gives none."""
LARGEST = int(np.argmax(CAPACITIES_BPS))


def _most(found: Results, scheme: str, rtt_ms: int) -> float:
    return float(found.speedup(scheme, rtt_ms).max())


@CLAIMS.judge("C-TH-132")
def _largest_speedups(found: Results) -> Seen:
    most = {cell: _most(found, *cell) for cell in DERIVED}
    several = [
        words.both(
            words.several_hundred(100 * (_most(found, scheme, rtt_ms) - 1)),
            # the RTTs of the claim: "of the order of 100 ms or larger"
            words.of_the_order_of(min(rtt_ms, 100), 100),
        )
        for scheme, rtt_ms in product(FAST, RTTS_MS)
    ]
    return Seen.by(
        ", ".join(f"{value:.2f}" for value in most.values()),
        words.some(several),
        *(words.quantity(most[cell], want, WITHIN) for cell, want in DERIVED.items()),
        unit="times",
        note=f"The largest speedup is {100 * max(most.values()) - 100:.0f} % over slow start.",
    )


@CLAIMS.judge("C-TH-133")
def _where(found: Results) -> Seen:
    speedups = {scheme: [found.speedup(scheme, rtt) for rtt in RTTS_MS] for scheme in FAST}
    known = bool(np.isfinite(np.array(list(speedups.values()))).all())
    where = {
        scheme: [float(found.sizes_bytes[np.argmax(one)]) for one in own]
        for scheme, own in speedups.items()
    }
    return Seen.by(
        "; ".join(
            f"{LABELS[scheme]} {', '.join(f'{size / KB:.0f}' for size in own)} kB"
            for scheme, own in where.items()
        ),
        *(
            words.is_so(known and 10 * KB <= size <= 1 * MB, "inside")
            for own in where.values()
            for size in own
        ),
        note="Shown: at RTTs of 50, 100 and 200 ms.",
    )


@CLAIMS.judge("C-TH-134")
def _over_rtt(found: Results) -> Seen:
    quick, jump = ([_most(found, scheme, rtt) for rtt in RTTS_MS] for scheme in (EARLY, JUMP))
    return Seen.by(
        f"Quick-Start {', '.join(f'{value:.2f}' for value in quick)}; "
        f"Jump-Start {', '.join(f'{value:.2f}' for value in jump)}",
        *(words.more(after, before) for before, after in (*pairwise(quick), *pairwise(jump))),
        *(words.quantity(one, DERIVED[JUMP, 200], WITHIN) for one in jump[1:]),
        note="Shown: at RTTs of 50, 100 and 200 ms. Jump-Start's speedup no longer grows from 100 "
        "ms on.",
    )


@CLAIMS.judge("C-TH-135")
def _ends(found: Results) -> Seen:
    outside = (found.sizes_bytes <= FIRST_WINDOW) | (found.sizes_bytes >= 10 * MB)
    speedups = np.concatenate([found.speedup(scheme)[outside] for scheme in FAST])
    return Seen.by(
        float(speedups.max()),
        *(words.not_significantly_more(one, 1.0) for one in speedups.tolist()),
        unit="times",
        note="Judged at sizes that fit the first window, and at 10 MB.",
    )


@CLAIMS.judge("C-TH-136")
def _on_fast_paths(found: Results) -> Seen:
    times = found.by_capacity(BASE)[np.array(CAPACITIES_BPS) >= 10e6]
    return Seen.by(
        f"{times.min():.2f} to {times.max():.2f} s from 10 Mbit/s to 1 Gbit/s",
        *(words.of_the_order_of(time, 2) for time in times.tolist()),
    )


@CLAIMS.judge("C-TH-137")
def _enough_asked(found: Results) -> Seen:
    slow, quick = (found.by_capacity(scheme)[LARGEST] for scheme in (BASE, "quick-start"))
    return Seen.by(float(slow / quick), words.order_of_magnitude(slow, quick), unit="times")


def _saved(found: Results, scheme: str) -> Seen:
    saved_s = float(found.by_capacity(BASE)[LARGEST] - found.by_capacity(scheme)[LARGEST])
    return Seen.by(saved_s, words.about(saved_s, 1), unit="s", note="At 1 Gbit/s.")


CLAIMS.add("C-TH-138", partial(_saved, scheme="quick-start-5"))
CLAIMS.add("C-TH-139", partial(_saved, scheme=JUMP))


@CLAIMS.judge("C-TH-140")
def _reduced(found: Results) -> Seen:
    slow, reduced = found.by_capacity(BASE), found.by_capacity("quick-start-b")
    worse = reduced - slow
    worst = int(np.argmax(worse))
    return Seen.by(
        f"{worse[worst]:+.2f} s at {CAPACITIES_BPS[worst] / 1e6:g} Mbit/s, "
        f"{worse[LARGEST]:+.2f} s at 1 Gbit/s",
        words.some([words.more(*pair) for pair in zip(reduced, slow, strict=True)]),
    )


@CLAIMS.judge("C-TH-141")
def _steps(found: Results) -> Seen:
    times = found.by_capacity("quick-start")
    shown, checks = [], []
    for around in AROUND_CODES_MBPS:
        before, after, along = (float(times[CAPACITIES_BPS.index(1e6 * at)]) for at in around)
        shown += [
            f"{100 * (after / before - 1):+.1f} % to {around[1]:g}",
            f"{100 * (along / after - 1):+.1f} % to {around[2]:g}",
        ]
        checks += [
            words.significantly_less(after, before),
            words.within(along / after - 1, -0.01, 0.01, "at most 1 % next to it"),
        ]
    return Seen.by(
        ", ".join(shown),
        *checks,
        unit="Mbit/s",
        note="Shown: the change of the response time as the capacity grows past the request rates "
        "of 40.96 and 81.92 Mbit/s.",
    )


def _best_rate(found: Results) -> str:
    """Text that names the requested rate with which a transfer of 1 MB is fastest."""
    times = found.long_quick_start()[:, LONG_SIZES_BYTES.index(1 * MB)]
    mbps = LONG_RATES_BPS[int(np.argmin(times))] / 1e6
    return f"The best rate to request is {mbps:g} Mbit/s."


def _by_size(values: Array) -> str:
    pairs = zip(values, LONG_SIZES_BYTES, strict=True)
    return ", ".join(f"{value:.1f} at {size / MB:g} MB" for value, size in pairs)


@CLAIMS.judge("C-TH-142")
def _long_speedup(found: Results) -> Seen:
    slow = found.long_slow_start()
    most = (slow / found.long_quick_start()).max(axis=0)
    checks = [words.within(one, 5, 12) for one in most.tolist()]
    return Seen.by(
        _by_size(most),
        words.some(checks),
        *checks,
        unit="times",
        note=f"{_best_rate(found)} Slow start takes {slow[-1]:.1f} s for 10 MB.",
    )


@CLAIMS.judge("C-TH-143")
def _long_saved(found: Results) -> Seen:
    most_s = (found.long_slow_start() - found.long_quick_start()).max(axis=0)
    # The claim's "up to several seconds" is about the largest saving.
    largest = words.several_seconds(float(most_s.max()))
    return Seen.by(_by_size(most_s), largest, unit="s", note=_best_rate(found))


STATEMENTS = CLAIMS.statements()
