"""What fast startups gain over size, round-trip time, capacity and target, beside the thesis."""

from __future__ import annotations

import numpy as np

from headway.claims import Claim
from headway.models import quick_start
from headway.studies._transfer_times_data import (
    CAPACITIES_BPS,
    RTTS_MS,
    SCHEMES,
    TARGETS_S,
    Results,
    target_rate_bps,
)
from headway.studies.common import lab
from headway.studies.common import legacy_claims as claim

KB, MB = 1e3, 1e6
INF = float("inf")
BASE = "slow-start"


def all_claims(results: Results) -> list[Claim]:
    """C-TH-132 to 143 and 244 to 248, 290."""
    return [*_speedups(results), *_capacities(results), *_targets(results)]


def _speedups(results: Results) -> list[Claim]:
    fast = ("jump-start", "quick-start")
    most = {(s, rtt): float(np.nanmax(results.speedup(s, rtt))) for s in fast for rtt in RTTS_MS}
    where = {s: float(results.sizes_bytes[np.nanargmax(results.speedup(s))]) for s in fast}
    derived = {("jump-start", 100): 2.7, ("quick-start", 100): 3.0}
    derived |= {("jump-start", 200): 2.7, ("quick-start", 200): 3.7}
    outside = (results.sizes_bytes <= 2 * lab.MSS_BYTES) | (results.sizes_bytes >= 10 * MB)
    ends = [float(np.nanmax(results.speedup(s)[outside])) for s in fast]
    quick = [most["quick-start", rtt] for rtt in RTTS_MS]
    return [
        claim.shown(
            "C-TH-132",
            "largest speedups of Jump-Start and early Quick-Start at 100 and 200 ms",
            "2.7, 3.0; 2.7, 3.7",
            ", ".join(f"{most[key]:.2f}" for key in derived),
            all(most[key] >= 0.9 * want for key, want in derived.items()),
            tolerance="at least 90 % of what table 6.1 gives",
            note="Jump-Start exceeds the equation where few timers send early (C-TH-121).",
        ),
        claim.shown(
            "C-TH-133",
            "size with the largest speedup",
            "10 kB to 1 MB",
            ", ".join(f"{SCHEMES[s].label} {size / KB:.0f} kB" for s, size in where.items()),
            all(10 * KB <= size <= 1 * MB for size in where.values()),
            tolerance="inside",
        ),
        claim.shown(
            "C-TH-134",
            "the larger the RTT, the larger Quick-Start's speedup",
            "monotone",
            " < ".join(f"{value:.2f}" for value in quick),
            quick == sorted(quick),
        ),
        claim.shown(
            "C-TH-135",
            "no speedup for what fits the first window, or for 10 MB",
            "ratio < 1.2",
            f"at most {max(ends):.2f}",
            max(ends) < 1.2,
            tolerance="< 1.2",
        ),
    ]


def _capacities(results: Results) -> list[Claim]:
    by = results.by_capacity_s
    slow = by[BASE]
    largest = int(np.argmax(CAPACITIES_BPS))
    gains = {scheme: float((slow - by[scheme])[largest]) for scheme in by if scheme != BASE}
    best = float(slow[largest] / by["quick-start"][largest])
    at = {rate / 1e6: index for index, rate in enumerate(CAPACITIES_BPS)}
    full = by["quick-start"]
    over_step = float(full[at[39]] - full[at[43]])
    beside_step = float(full[at[43]] - full[at[47]])
    worse = (by["quick-start-b"] - slow)[largest]
    return [
        claim.in_range(
            "C-TH-136",
            "slow start of 1 MB on a path of 1 Gbit/s and 200 ms",
            "of the order of 2 s",
            float(slow[largest]),
            "s",
            1.5,
            2.5,
        ),
        claim.in_range(
            "C-TH-137",
            "speedup of a Quick-Start that asks for enough, 1 Gbit/s",
            "one order of magnitude",
            best,
            None,
            6,
            12,
        ),
        claim.in_range(
            "C-TH-138",
            "what Quick-Start at 5.12 Mbit/s saves",
            "about one second",
            gains["quick-start-5"],
            "s",
            0.7,
            1.3,
        ),
        claim.in_range(
            "C-TH-139",
            "what Jump-Start saves",
            "about one second",
            gains["jump-start"],
            "s",
            0.7,
            1.3,
        ),
        claim.shown(
            "C-TH-140",
            "Quick-Start with a reduced ssthresh (QS-b, 5.12 Mbit/s) can be worse than slow start",
            "worse",
            f"{float(worse):+.2f} s at 1 Gbit/s",
            float(np.max(by["quick-start-b"] - slow)) > 0,
        ),
        claim.shown(
            "C-TH-141",
            "few request rates make steps over the capacity",
            "steps",
            f"39 to 43 Mbit/s: {1e3 * over_step:.0f} ms, 43 to 47: {1e3 * beside_step:.0f} ms",
            over_step > 2 * abs(beside_step),
            note=f"{quick_start.RATES_BPS[10] / 1e6:g} Mbit/s can be asked for from there on.",
        ),
        *(
            claim.unchecked(
                name,
                statement,
                published,
                "Measured on a real path of 1 Gbit/s and 233 ms; needs the kernel testbed.",
            )
            for name, statement, published in (
                ("C-TH-142", "speedup over the rate asked for", "up to a factor of ten"),
                ("C-TH-143", "delay saved on that path", "up to several seconds"),
            )
        ),
    ]


def _targets(results: Results) -> list[Claim]:
    by, targets = results.by_target_s, np.array(TARGETS_S)
    least_s = 0.285
    mega = by["mega-start"]
    can = targets >= least_s
    met = mega[can] <= targets[can] * 1.03
    constant = {
        scheme: float(np.ptp(by[scheme])) for scheme in (BASE, "initial-start", "jump-start")
    }
    late = by["quick-start-late"]
    asked = np.array([target_rate_bps(t) is not None for t in targets])
    slow = float(by[BASE][0])
    # Later ones are met by slow start itself.
    tight = asked & (targets < slow)
    over = (late - targets)[tight]
    missed = targets[tight][over > 0]
    refused = mega[~asked]
    penalty = max(float(np.max(by[s])) / slow for s in ("mega-start", "quick-start-late"))
    path = lab.model_path()
    hand_bps = 100 * KB / (0.5 - 0.2) * 8 * path.mtu_bytes / path.mss_bytes
    return [
        claim.shown(
            "C-TH-244",
            "Mega-Start meets response time targets that the link allows",
            "met from 0.29 s",
            f"{int(met.sum())} of {met.size} targets from {targets[can].min():g} s met",
            bool(np.all(met)),
            tolerance="+3 %",
        ),
        claim.shown(
            "C-TH-245",
            "late Quick-Start does not meet targets",
            "exceeded by a round trip and the rounding of rates",
            f"{missed.size} of {over.size} targets missed, up to {missed.max():g} s",
            missed.size == over.size,
            tolerance="all that slow start misses",
            note=f"By {over[over > 0].min():.2f} to {over.max():.2f} s. With more time slow start, "
            "which follows the paced round trip, makes up for the round trip and the rounding.",
        ),
        claim.shown(
            "C-TH-246",
            "Jump-, Initial- and Slow-Start do not depend on the target",
            "constant",
            ", ".join(f"{SCHEMES[s].label} ±{1e3 * v:.1f} ms" for s, v in constant.items()),
            max(constant.values()) < 1e-3,
            tolerance="< 1 ms",
        ),
        claim.shown(
            "C-TH-247",
            "a target below the round-trip time leaves slow start",
            "as Slow-Start",
            f"{', '.join(f'{t:.3f}' for t in refused)} s; slow start {slow:.3f} s",
            bool(refused.size and np.all(np.abs(refused / slow - 1) < 0.01)),
            tolerance="±1 %",
        ),
        claim.within(
            "C-TH-248",
            "eq. 7.1: rate for 100 kB within 0.5 s at 200 ms, as an IP rate",
            hand_bps / 1e6,
            (target_rate_bps(0.5) or 0) / 1e6,
            "Mbit/s",
        ),
        claim.in_range(
            "C-TH-290",
            "wrong targets cost little: worst time over slow start's",
            "not much worse",
            penalty,
            None,
            -INF,
            1.1,
        ),
    ]
