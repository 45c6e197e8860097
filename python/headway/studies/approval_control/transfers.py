"""Check: the parking lot, the pattern of 28 transfers, and two handshakes."""

from __future__ import annotations

import numpy as np

from headway import metrics
from headway.claims import Seen, between, near
from headway.metrics.stats import Array, or_nan
from headway.studies.approval_control import experiments as setup
from headway.studies.approval_control.experiments import rate_bps
from headway.studies.approval_control.found import Found
from headway.studies.approval_control.observe import Pattern
from headway.studies.common import lab
from headway.units import NS_PER_S

READ_EVERY_NS = 50_000_000
RESTART_PKTS = 3
"""The window that is left after an idle time: Linux 2.6's first one (RFC 3390)."""


# ---- Parking lot ----


def window(found: Found) -> Seen:
    """The window of each grant that was used, beside the round-trip time the sender measured."""
    words, right = [], True
    for name, transfers in (("lot-alone", (0, 1, 2)), ("lot-cross", (0, 1))):
        lot = found.lots[name]
        for number in transfers:
            granted = float(lot.answers[2].granted_bps[number])
            start = lot.starts[number]
            wanted = setup.window_pkts(granted, rtt_s=start.rtt_s)
            right &= 0 <= wanted - start.used_pkts < 1
            words.append(f"{start.used_pkts:g} of {wanted:.1f}")
    return Seen(", ".join(words), right, "exact, in whole packets", "packets")


def all_approved(found: Found) -> Seen:
    """Grants without cross traffic."""
    answers = found.lots["lot-alone"].answers
    granted = [rate for router in (1, 2) for rate in answers[router].granted_bps.tolist()]
    return Seen(
        ", ".join(f"{rate / 1e6:.2f}" for rate in granted),
        granted == [rate_bps(11)] * 6,
        "exact",
        "Mbit/s",
    )


def _granted(found: Found, number: int, router: int) -> float:
    """What a router granted to the ``number``-th transfer beside cross traffic, bit/s."""
    return float(found.lots["lot-cross"].answers[router].granted_bps[number])


def measured_load(found: Found) -> Seen:
    """The load that router 1 knew when the first transfer asked."""
    load_bps = float(found.lots["lot-cross"].answers[1].loads_bps[0])
    return near(load_bps / 1e6, 30, relative=0.05, unit="Mbit/s")


def first_grant(found: Found) -> Seen:
    """What it gave."""
    granted = _granted(found, 0, 1)
    return Seen(granted / 1e6, granted == rate_bps(10), "exact", "Mbit/s")


def second_grant(found: Found) -> Seen:
    """What both gave to the second transfer, its window before, and when the grant was used."""
    granted = [_granted(found, 1, router) for router in (1, 2)]
    start = found.lots["lot-cross"].starts[1]
    delay = start.used_after_s / (lab.RTT_MS / 1e3)
    return Seen(
        f"{min(granted) / 1e6:.2f} Mbit/s, used {delay:.2f} RTT later; {start.before_pkts:g} "
        "packets until then",
        granted == [rate_bps(11)] * 2 and 0.9 <= delay <= 1.2 and start.before_pkts <= RESTART_PKTS,
        f"81.92 Mbit/s; 0.9 to 1.2 RTT; ≤ {RESTART_PKTS} packets",
    )


def third_grants(found: Found) -> Seen:
    """What both routers answered to the third, and how it went on."""
    granted = [_granted(found, 2, router) for router in (1, 2)]
    largest = found.lots["lot-cross"].starts[2].largest_pkts
    words = " and ".join(f"{rate / 1e6:.2f}" for rate in granted)
    return Seen(
        f"{words} Mbit/s; at most {largest:g} packets in two round trips",
        granted == [rate_bps(11), 0.0] and largest <= 4 * RESTART_PKTS,
        f"81.92 and 0 Mbit/s; ≤ {4 * RESTART_PKTS} packets",
    )


def spurious(found: Found) -> Seen:
    """How long router 1 remembers the third grant."""
    lot = found.lots["lot-cross"]
    asked_ns = int(lot.answers[1].times_ns[2])
    times_ns = lot.readings.times_ns
    held = times_ns[
        (times_ns >= asked_ns)
        & (times_ns < asked_ns + 2 * NS_PER_S)
        & (lot.readings.outstanding_bps > 0)
    ]
    held_ms = (int(held[-1]) - asked_ns) / 1e6 if held.size else 0.0
    return between(held_ms, 200, 600, unit="ms", note="Read every 50 ms.")


# ---- Pattern ----


def _all_granted_bps(pattern: Pattern) -> float:
    return float(pattern.answers.granted_bps.sum())


def burst(pattern: Pattern) -> Array:
    """What the twenty transfers of the burst were granted with their first request."""
    answers = pattern.answers
    flows, first = np.unique(answers.flows, return_index=True)
    return answers.granted_bps[np.sort(first[np.isin(flows, list(setup.BURST))])]


def burst_fairness(pattern: Pattern) -> float:
    """Jain's index of these grants."""
    return or_nan(metrics.jain_index(burst(pattern).tolist()))


def peak_memory(found: Found) -> Seen:
    """How long the first transfer's largest estimate lasts."""
    readings = found.patterns["pattern-target"].readings
    first = readings.times_ns < 4 * NS_PER_S
    loads = readings.loads_bps[first]
    held = readings.times_ns[first][loads == loads.max()]
    held_s = (int(held[-1]) - int(held[0]) + READ_EVERY_NS) / NS_PER_S
    return between(held_s, 0.8, 1.2, unit="s", note="The first transfer's largest estimate.")


def ewma_grants_more(found: Found) -> Seen:
    """Grants and times with both estimators."""
    peak, ewma = found.patterns["pattern-target"], found.patterns["pattern-ewma"]
    change = float(np.mean(ewma.response_s) / np.mean(peak.response_s) - 1)
    more = _all_granted_bps(ewma) / _all_granted_bps(peak)
    return Seen(
        f"{more:.2f} times the bandwidth, response times {100 * change:+.1f} %",
        more > 1 and abs(change) < 0.1,
        "more; times ±10 %",
    )


def peak_is_conservative(found: Found) -> Seen:
    """What both estimators let the router give: mean unused bandwidth, and mean grant."""
    peak, ewma = (found.patterns[f"pattern-{name}"] for name in ("target", "ewma"))
    unused = [
        float(np.mean(np.maximum(lab.LINK_BPS - one.readings.loads_bps, 0.0))) / 1e6
        for one in (peak, ewma)
    ]
    grants = [float(np.mean(one.answers.granted_bps)) / 1e6 for one in (peak, ewma)]
    return Seen(
        f"unused {unused[0]:.2f} and {unused[1]:.2f}, mean grant {grants[0]:.2f} and "
        f"{grants[1]:.2f}",
        unused[0] < unused[1] and grants[0] < grants[1],
        unit="Mbit/s",
    )


def fair_burst(found: Found) -> Seen:
    """Fairness of the burst's grants."""
    fair, target = (
        burst_fairness(found.patterns[f"pattern-{name}"]) for name in ("fair", "target")
    )
    later = [burst_fairness(found.patterns[setup.late_key(ms)]) for ms in setup.LATER_MS]
    first = float(burst(found.patterns["pattern-fair"])[0]) / 1e6
    return Seen(
        f"Jain {fair:.3f}, target {target:.3f}",
        fair >= 0.7 and fair > target,
        "≥ 0.7 and above target's",
        note=f"The burst comes in the middle of a slot that nothing was granted in, and its first "
        f"request gets {first:.2f} Mbit/s. With all transfers {setup.LATER_MS[0]} to "
        f"{setup.LATER_MS[-1]} ms later Jain's index is {min(later):.2f} to {max(later):.2f}, "
        f"above 0.7 in {sum(one >= 0.7 for one in later)} of {len(later)} cases.",
    )


def target_burst(found: Found) -> Seen:
    """The same with the target algorithm."""
    fair, target = (
        burst_fairness(found.patterns[f"pattern-{name}"]) for name in ("fair", "target")
    )
    return Seen(f"Jain {target:.2f}, fair {fair:.2f}", target < 0.8 * fair, "below 0.8 of fair's")


def overbooked(found: Found) -> Seen:
    """What the burst was granted by the optimistic algorithm."""
    ratio = float(burst(found.patterns["pattern-optimistic"]).sum()) / lab.LINK_BPS
    return between(ratio, 5, 20, note="Times the capacity, granted within one second.")


# ---- Handshakes ----


def amplification(found: Found) -> Seen:
    """What a SYN is answered with before anything of its sender can have come back."""
    one = found.handshakes["extra-ack"]
    return Seen(one.answer_pkts / one.syn_pkts, one.answer_pkts == 2 * one.syn_pkts, "exact")


def option_length(found: Found) -> Seen:
    """By how much a request makes a SYN longer."""
    asking, plain = (found.handshakes[name] for name in ("request-in-syn", "extra-ack"))
    longer = asking.syn_bytes - plain.syn_bytes
    return Seen(
        longer,
        longer == 8 and asking.requests == 1,
        "exact",
        "B",
        note=f"A SYN of {asking.syn_bytes:g} instead of {plain.syn_bytes:g} bytes of IP; the "
        "simulator's. The bytes on the wire are held against RFC 4782 by crates/wire.",
    )
