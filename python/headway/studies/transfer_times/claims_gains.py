"""Check: what fast startups gain over size, round-trip time and capacity."""

from __future__ import annotations

import numpy as np

from headway.claims import Seen, Statement, between, scaled, swapped
from headway.models import quick_start
from headway.studies.common import lab
from headway.studies.transfer_times.experiments import CAPACITIES_BPS, RTTS_MS
from headway.studies.transfer_times.results import Results
from headway.studies.transfer_times.schemes import BASE, EARLY, SCHEMES

KB, MB = 1e3, 1e6
FAST = ("jump-start", EARLY)
DERIVED = {
    ("jump-start", 100): 2.7,
    (EARLY, 100): 3.0,
    ("jump-start", 200): 2.7,
    (EARLY, 200): 3.7,
}
"""Largest speedups over the size, by table 6.1."""
AT = {rate / 1e6: index for index, rate in enumerate(CAPACITIES_BPS)}
LARGEST = int(np.argmax(CAPACITIES_BPS))


def _most(found: Results, scheme: str, rtt_ms: int) -> float:
    return float(found.speedup(scheme, rtt_ms).max())


def _largest_speedups(found: Results) -> Seen:
    most = {key: _most(found, *key) for key in DERIVED}
    return Seen(
        ", ".join(f"{value:.2f}" for value in most.values()),
        all(most[key] >= 0.9 * want for key, want in DERIVED.items()),
        "at least 90 % of what table 6.1 gives",
        note="Jump-Start exceeds the equation where few timers send early (C-TH-121).",
    )


def _where(found: Results) -> Seen:
    where = {s: float(found.sizes_bytes[np.argmax(found.speedup(s))]) for s in FAST}
    return Seen(
        ", ".join(f"{SCHEMES[s].label} {size / KB:.0f} kB" for s, size in where.items()),
        all(10 * KB <= size <= 1 * MB for size in where.values()),
        "inside",
    )


def _over_rtt(found: Results) -> Seen:
    quick = [_most(found, EARLY, rtt) for rtt in RTTS_MS]
    return Seen(" < ".join(f"{value:.2f}" for value in quick), quick[0] < quick[1] < quick[2])


def _ends(found: Results) -> Seen:
    outside = (found.sizes_bytes <= 2 * lab.MSS_BYTES) | (found.sizes_bytes >= 10 * MB)
    ends = [float(found.speedup(s)[outside].max()) for s in FAST]
    return Seen(f"at most {max(ends):.2f}", max(ends) < 1.2, "< 1.2")


def _slow_start(found: Results) -> Seen:
    return between(found.by_capacity(BASE)[LARGEST], 1.5, 2.5, unit="s")


def _enough_asked(found: Results) -> Seen:
    return between(
        found.by_capacity(BASE)[LARGEST] / found.by_capacity("quick-start")[LARGEST], 6, 12
    )


def _saved(found: Results, scheme: str) -> Seen:
    saved_s = found.by_capacity(BASE)[LARGEST] - found.by_capacity(scheme)[LARGEST]
    return between(saved_s, 0.7, 1.3, unit="s")


def _reduced(found: Results) -> Seen:
    worse = found.by_capacity("quick-start-b") - found.by_capacity(BASE)
    return Seen(f"{float(worse[LARGEST]):+.2f} s at 1 Gbit/s", float(worse.max()) > 0)


def _steps(found: Results) -> Seen:
    full = found.by_capacity("quick-start")
    over_step = float(full[AT[39]] - full[AT[43]])
    beside_step = float(full[AT[43]] - full[AT[47]])
    return Seen(
        f"39 to 43 Mbit/s: {1e3 * over_step:.0f} ms, 43 to 47: {1e3 * beside_step:.0f} ms",
        over_step > 2 * abs(beside_step),
        note=f"{quick_start.RATES_BPS[10] / 1e6:g} Mbit/s can be asked for from there on.",
    )


REAL_PATH = "Measured on a real path of 1 Gbit/s and 233 ms; needs the kernel testbed."

STATEMENTS: tuple[Statement[Results], ...] = (
    Statement(
        "C-TH-132",
        "largest speedups of Jump-Start and early Quick-Start at 100 and 200 ms",
        "2.7, 3.0; 2.7, 3.7",
        _largest_speedups,
        spoil=swapped(EARLY, "jump-start"),
    ),
    Statement(
        "C-TH-133",
        "size with the largest speedup",
        "10 kB to 1 MB",
        _where,
        spoil=scaled(f"{EARLY}-rtt200-b1000", 0.1, "response_s.0"),
    ),
    Statement(
        "C-TH-134",
        "the larger the RTT, the larger Quick-Start's speedup",
        "monotone",
        _over_rtt,
        spoil=swapped("rtt50", "rtt200"),
    ),
    Statement(
        "C-TH-135",
        "no speedup for what fits the first window, or for 10 MB",
        "ratio < 1.2",
        _ends,
        spoil=scaled(f"{BASE}-rtt200-b1000", 1.5, "response_s"),
    ),
    Statement(
        "C-TH-136",
        "slow start of 1 MB on a path of 1 Gbit/s and 200 ms",
        "of the order of 2 s",
        _slow_start,
        spoil=swapped(BASE, "jump-start"),
    ),
    Statement(
        "C-TH-137",
        "speedup of a Quick-Start that asks for enough, 1 Gbit/s",
        "one order of magnitude",
        _enough_asked,
        spoil=swapped("quick-start", "quick-start-5"),
    ),
    Statement(
        "C-TH-138",
        "what Quick-Start at 5.12 Mbit/s saves",
        "about one second",
        lambda found: _saved(found, "quick-start-5"),
        spoil=swapped("quick-start-5", "quick-start"),
    ),
    Statement(
        "C-TH-139",
        "what Jump-Start saves",
        "about one second",
        lambda found: _saved(found, "jump-start"),
        spoil=swapped("jump-start", "quick-start"),
    ),
    Statement(
        "C-TH-140",
        "Quick-Start with a reduced ssthresh (QS-b, 5.12 Mbit/s) can be worse than slow start",
        "worse",
        _reduced,
        spoil=swapped("quick-start-b", "quick-start-5"),
    ),
    Statement(
        "C-TH-141",
        "few request rates make steps over the capacity",
        "steps",
        _steps,
        spoil=scaled("capacity-quick-start-43", 1.3, "response_s"),
    ),
    Statement(
        "C-TH-142",
        "speedup over the rate asked for",
        "up to a factor of ten",
        why_not=REAL_PATH,
    ),
    Statement(
        "C-TH-143",
        "delay saved on that path",
        "up to several seconds",
        why_not=REAL_PATH,
    ),
)
