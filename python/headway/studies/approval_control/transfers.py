"""Check: the parking lot, the pattern of 28 transfers, and two handshakes."""

from __future__ import annotations

import math

import numpy as np

from headway import metrics
from headway.claims import Seen, words
from headway.metrics.stats import Array, or_nan
from headway.studies.approval_control import experiments as setup
from headway.studies.approval_control.experiments import rate_bps
from headway.studies.approval_control.found import Found
from headway.studies.approval_control.observe import Pattern
from headway.studies.common import lab
from headway.units import NS_PER_S

READ_EVERY_NS = 50_000_000
RESTART_PKTS = 3
"""The window after an idle time: Linux 2.6's initial window (RFC 3390)."""


# ---- Parking lot ----


def window(found: Found) -> Seen:
    """The window of each used grant against q d / MTU with the RTT that the sender measured."""
    told, right = [], True
    for name, transfers in (("lot-alone", (0, 1, 2)), ("lot-cross", (0, 1))):
        lot = found.lots[name]
        for number in transfers:
            granted = float(lot.answers[2].granted_bps[number])
            start = lot.starts[number]
            wanted = setup.window_pkts(granted, rtt_s=start.rtt_s)
            right &= 0 <= wanted - start.used_pkts < 1
            told.append(f"{start.used_pkts:g} of {wanted:.1f}")
    exact = words.is_so(right, "exact, in whole packets")
    return Seen.by(", ".join(told), exact, unit="packets")


def all_approved(found: Found) -> Seen:
    """Grants without cross traffic."""
    answers = found.lots["lot-alone"].answers
    granted = [rate for router in (1, 2) for rate in answers[router].granted_bps.tolist()]
    return Seen.by(
        ", ".join(f"{rate / 1e6:.2f}" for rate in granted),
        words.is_so(len(granted) == 6, "six answers"),
        words.every([words.is_so(rate == rate_bps(11), "81.92 Mbit/s") for rate in granted]),
        unit="Mbit/s",
    )


def _granted(found: Found, number: int, router: int) -> float:
    """A router's grant to the ``number``-th transfer with cross traffic, bit/s."""
    return float(found.lots["lot-cross"].answers[router].granted_bps[number])


def measured_load(found: Found) -> Seen:
    """Router 1's load estimate at the first transfer's request."""
    load_bps = float(found.lots["lot-cross"].answers[1].loads_bps[0])
    return Seen.by(load_bps / 1e6, words.quantity(load_bps / 1e6, 30, 0.05), unit="Mbit/s")


def first_grant(found: Found) -> Seen:
    """Router 1's grant to the first transfer."""
    granted = _granted(found, 0, 1)
    exact = words.is_so(granted == rate_bps(10), "40.96 Mbit/s")
    return Seen.by(granted / 1e6, exact, unit="Mbit/s")


def second_grant(found: Found) -> Seen:
    """Both grants to the second transfer, its window before, and when it used the grant."""
    granted = [_granted(found, 1, router) for router in (1, 2)]
    start = found.lots["lot-cross"].starts[1]
    delay = start.used_after_s / (lab.RTT_MS / 1e3)
    return Seen.by(
        f"{min(granted) / 1e6:.2f} Mbit/s, used {delay:.2f} RTT later; {start.before_pkts:g} "
        "packets until then",
        words.is_so(granted == [rate_bps(11)] * 2, "81.92 Mbit/s"),
        words.quantity(delay, 1),
        words.is_so(start.before_pkts <= RESTART_PKTS, f"≤ {RESTART_PKTS} packets"),
    )


def third_grants(found: Found) -> Seen:
    """Both routers' answers to the third transfer, and its largest window afterwards."""
    granted = [_granted(found, 2, router) for router in (1, 2)]
    largest = found.lots["lot-cross"].starts[2].largest_pkts
    told = " and ".join(f"{rate / 1e6:.2f}" for rate in granted)
    return Seen.by(
        f"{told} Mbit/s; at most {largest:g} packets in two round trips",
        words.is_so(granted == [rate_bps(11), 0.0], "81.92 and 0 Mbit/s"),
        words.is_so(largest <= 4 * RESTART_PKTS, f"≤ {4 * RESTART_PKTS} packets"),
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
    a_slot_off = words.within(held_ms, 200, 600, "400 ms ± a slot")
    return Seen.by(held_ms, a_slot_off, unit="ms", note="Read every 50 ms.")


# ---- Pattern ----


def _all_granted_bps(pattern: Pattern) -> float:
    return float(pattern.answers.granted_bps.sum())


def burst(pattern: Pattern) -> Array:
    """Grants to the first requests of the burst's twenty transfers."""
    answers = pattern.answers
    flows, first = np.unique(answers.flows, return_index=True)
    return answers.granted_bps[np.sort(first[np.isin(flows, list(setup.BURST))])]


def burst_fairness(pattern: Pattern) -> float:
    """Jain's index of the burst's grants."""
    return or_nan(metrics.jain_index(burst(pattern).tolist()))


def peak_memory(found: Found) -> Seen:
    """How long the first transfer's largest estimate lasts."""
    readings = found.patterns["pattern-target"].readings
    first = readings.times_ns < 4 * NS_PER_S
    loads = readings.loads_bps[first]
    held = readings.times_ns[first][loads == loads.max()]
    held_s = (int(held[-1]) - int(held[0]) + READ_EVERY_NS) / NS_PER_S
    an_interval_off = words.within(held_s, 0.8, 1.2, "1 s ± an interval")
    note = "The first transfer's largest estimate."
    return Seen.by(held_s, an_interval_off, unit="s", note=note)


def ewma_grants_more(found: Found) -> Seen:
    """Grants and times with both estimators."""
    peak, ewma = found.patterns["pattern-target"], found.patterns["pattern-ewma"]
    took_s = [float(np.mean(one.response_s)) for one in (ewma, peak)]
    granted = [_all_granted_bps(one) for one in (ewma, peak)]
    return Seen.by(
        f"{granted[0] / granted[1]:.2f} times the bandwidth, response times "
        f"{100 * (took_s[0] / took_s[1] - 1):+.1f} %",
        words.more(*granted),
        words.similar(*took_s),
    )


def peak_is_conservative(found: Found) -> Seen:
    """Mean unused bandwidth and mean grant with both estimators."""
    peak, ewma = (found.patterns[f"pattern-{name}"] for name in ("target", "ewma"))
    unused = [
        float(np.mean(np.maximum(lab.LINK_BPS - one.readings.loads_bps, 0.0))) / 1e6
        for one in (peak, ewma)
    ]
    grants = [float(np.mean(one.answers.granted_bps)) / 1e6 for one in (peak, ewma)]
    return Seen.by(
        f"unused {unused[0]:.2f} and {unused[1]:.2f}, mean grant {grants[0]:.2f} and "
        f"{grants[1]:.2f}",
        words.less(*unused),
        words.less(*grants),
        unit="Mbit/s",
    )


def fair_burst(found: Found) -> Seen:
    """How much the burst's grants differ, and their fairness."""
    fair, target = (found.patterns[f"pattern-{name}"] for name in ("fair", "target"))
    grants = burst(fair)
    mean = float(grants.mean()) or math.nan
    indices = [burst_fairness(one) for one in (fair, target)]
    later = [burst_fairness(found.patterns[setup.late_key(ms)]) for ms in setup.LATER_MS]
    return Seen.by(
        f"{grants.min() / mean:.2f} to {grants.max() / mean:.2f} of the mean; Jain "
        f"{indices[0]:.3f}, target {indices[1]:.3f}",
        words.every([words.similar(one, mean) for one in grants.tolist()]),
        words.within(indices[0], 0.7, math.inf, "index ≥ 0.7"),
        words.more(*indices),
        words.less(float(grants.max()), float(burst(target).max())),
        note=f"If all transfers begin {setup.LATER_MS[0]} to {setup.LATER_MS[-1]} ms later, Jain's "
        f"index is {min(later):.2f} to {max(later):.2f}.",
    )


def target_burst(found: Found) -> Seen:
    """The target algorithm's largest grant to the burst, and its fairness."""
    fair, target = (found.patterns[f"pattern-{name}"] for name in ("fair", "target"))
    grants, indices = burst(target), [burst_fairness(one) for one in (target, fair)]
    return Seen.by(
        f"{grants.max() / grants.mean():.1f} times the mean at most; Jain {indices[0]:.2f}, fair "
        f"{indices[1]:.2f}",
        words.more(float(grants.max()), float(grants.mean())),
        words.much_less(*indices),
        note="All transfers ask for the same rate.",
    )


def overbooked(found: Found) -> Seen:
    """The sum of the optimistic algorithm's grants to the burst."""
    granted = float(burst(found.patterns["pattern-optimistic"]).sum())
    return Seen.by(
        granted / lab.LINK_BPS,
        words.order_of_magnitude(granted, lab.LINK_BPS),
        note="Times the capacity, granted within one second.",
    )


# ---- Handshakes ----


def amplification(found: Found) -> Seen:
    """Packets that answer a SYN before its sender can have replied."""
    one = found.handshakes["extra-ack"]
    exact = words.is_so(one.answer_pkts == 2 * one.syn_pkts, "exact")
    return Seen.by(one.answer_pkts / one.syn_pkts, exact)


def option_length(found: Found) -> Seen:
    """How many bytes a request adds to a SYN."""
    asking, plain = (found.handshakes[name] for name in ("request-in-syn", "extra-ack"))
    longer = asking.syn_bytes - plain.syn_bytes
    return Seen.by(
        longer,
        words.is_so(longer == 8 and asking.requests == 1, "exact"),
        unit="B",
        note=f"The simulator's SYN has {asking.syn_bytes:g} instead of {plain.syn_bytes:g} bytes "
        "of IP. The tests of crates/wire compare the bytes on the wire with RFC 4782.",
    )
