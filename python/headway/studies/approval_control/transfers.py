"""Check: the parking lot, the pattern of 28 transfers, and two handshakes."""

from __future__ import annotations

import numpy as np

from headway import metrics
from headway.claims import Seen, between
from headway.metrics.stats import Array
from headway.studies.approval_control import experiments as setup
from headway.studies.approval_control.experiments import rate_bps
from headway.studies.approval_control.found import Found
from headway.studies.approval_control.observe import Pattern
from headway.studies.common import lab
from headway.units import NS_PER_S

READ_EVERY_NS = 50_000_000


# ---- Parking lot ----


def window(found: Found) -> Seen:
    """The window of a grant."""
    wanted = setup.window_pkts(11)
    measured = found.lots["lot-alone"].starts[0].largest_pkts
    return between(
        measured / wanted, 0.98, 1.02, note=f"{measured:g} packets, q d / (8 MTU) = {wanted:.1f}."
    )


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


def _granted(found: Found, number: int, router: int = 1) -> float:
    """What a router granted to the ``number``-th transfer beside cross traffic, bit/s."""
    return float(found.lots["lot-cross"].answers[router].granted_bps[number])


def measured_load(found: Found) -> Seen:
    """The load that router 1 knew when the first transfer asked."""
    load_bps = float(found.lots["lot-cross"].answers[1].loads_bps[0])
    return between(load_bps / 1e6, 28.5, 31.5, unit="Mbit/s")


def first_grant(found: Found) -> Seen:
    """What it gave."""
    granted = _granted(found, 0)
    return Seen(granted / 1e6, granted == rate_bps(10), "exact", "Mbit/s")


def second_grant(found: Found) -> Seen:
    """What the second transfer got, and when it was used."""
    granted = _granted(found, 1)
    delay = found.lots["lot-cross"].starts[1].used_after_s / (lab.RTT_MS / 1e3)
    return Seen(
        f"{granted / 1e6:.2f} Mbit/s, used {delay:.2f} RTT later",
        granted == rate_bps(11) and 0.9 <= delay <= 1.2,
        "82 Mbit/s; 0.9 to 1.2 RTT",
    )


def third_grants(found: Found) -> Seen:
    """What both routers answered to the third."""
    granted = [_granted(found, 2, router) for router in (1, 2)]
    words = " and ".join(f"{rate / 1e6:.2f}" for rate in granted)
    return Seen(words, granted == [rate_bps(11), 0.0], "exact", "Mbit/s")


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


def _burst(found: Found, name: str) -> Array:
    """What the twenty transfers of the burst were granted with their first request."""
    answers = found.patterns[f"pattern-{name}"].answers
    flows, first = np.unique(answers.flows, return_index=True)
    return answers.granted_bps[np.sort(first[np.isin(flows, list(setup.BURST))])]


def _burst_fairness(found: Found, name: str, skip: int = 0) -> float:
    return metrics.jain_index(_burst(found, name)[skip:].tolist()) or 0.0


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
    """Mean estimates of the load."""
    peak, ewma = (
        float(np.mean(found.patterns[f"pattern-{name}"].readings.loads_bps)) / 1e6
        for name in ("target", "ewma")
    )
    return Seen(f"mean estimates {peak:.2f} and {ewma:.2f} Mbit/s", peak > ewma)


def fair_burst(found: Found) -> Seen:
    """Fairness of the burst's grants."""
    fair, target = (_burst_fairness(found, name) for name in ("fair", "target"))
    return Seen(f"Jain {fair:.2f}, target {target:.2f}", fair > target)


def target_burst(found: Found) -> Seen:
    """The same with the target algorithm."""
    fair, target = (_burst_fairness(found, name) for name in ("fair", "target"))
    rest = [f"{_burst_fairness(found, name, 1):.2f}" for name in ("target", "fair")]
    return Seen(
        f"Jain {target:.2f}, fair {fair:.2f}",
        target < 0.8 * fair,
        "below 0.8 of fair's",
        note="The burst's first request finds nothing granted, for which eq. 4.19 has no rule: "
        f"here it gets what the target algorithm gives. The other 19: {' and '.join(rest)}.",
    )


def overbooked(found: Found) -> Seen:
    """What the burst was granted by the optimistic algorithm."""
    ratio = float(_burst(found, "optimistic").sum()) / lab.LINK_BPS
    return between(ratio, 5, 20, note="Times the capacity, granted within one second.")


# ---- Handshakes ----


def amplification(found: Found) -> Seen:
    """What a SYN is answered with."""
    answers = found.handshakes["extra-ack"].answer_pkts
    return Seen(answers, answers == 2, "exact")


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
