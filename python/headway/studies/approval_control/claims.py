"""Check: the parking lot, the pattern of 28 transfers, requests without data, and headers."""

import math
from collections.abc import Sequence
from functools import partial
from itertools import pairwise

import numpy as np

from headway.claims import Change, Seen, edited, words
from headway.experiment import Experiment, Requests
from headway.models import quick_start
from headway.studies.approval_control import experiments as setup
from headway.studies.approval_control.equations import CLAIMS, exact, loads
from headway.studies.approval_control.experiments import INTERVAL_MS, INTERVALS_MS, RATES_BPS, Found
from headway.studies.common import lab
from headway.units import NS_PER_S

RESTART_PKTS = 3
"""Congestion window after an idle time: the initial window of Linux 2.6 (RFC 3390)."""


# ---- Parking lot ----


@CLAIMS.judge("C-TH-021")
def _window(found: Found) -> Seen:
    measured, right = [], True
    for name, transfers in {"lot-alone": (0, 1, 2), "lot-cross": (0, 1)}.items():
        lot = found.lots[name]
        for number in transfers:
            granted_bps, start = float(lot.answers[2].granted_bps[number]), lot.starts[number]
            wanted = quick_start.window_pkts(granted_bps, rtt_s=start.rtt_s)
            right &= 0 <= wanted - start.used_pkts < 1
            measured.append(f"{start.used_pkts:g} of {wanted:.1f}")
    exact = words.is_so(right, "exact, in whole packets")
    return Seen.by(", ".join(measured), exact, unit="packets")


@CLAIMS.judge("C-TH-099")
def _all_approved(found: Found) -> Seen:
    answers = found.lots["lot-alone"].answers
    granted_bps = [rate for router in (1, 2) for rate in answers[router].granted_bps.tolist()]
    return Seen.by(
        ", ".join(f"{rate / 1e6:.2f}" for rate in granted_bps),
        words.is_so(len(granted_bps) == 6, "six answers"),
        words.every([words.is_so(rate == RATES_BPS[11], "81.92 Mbit/s") for rate in granted_bps]),
        unit="Mbit/s",
    )


def _granted_bps(lot: setup.Lot, number: int) -> list[float]:
    """Rates that routers 1 and 2 granted to the ``number``-th transfer."""
    return [float(lot.answers[router].granted_bps[number]) for router in (1, 2)]


@CLAIMS.judge("C-TH-100")
def _measured_load(found: Found) -> Seen:
    load_mbps = float(found.lots["lot-cross"].answers[1].loads_bps[0]) / 1e6
    return Seen.by(load_mbps, words.quantity(load_mbps, 30, 0.05), unit="Mbit/s")


@CLAIMS.judge("C-TH-101")
def _first_grant(found: Found) -> Seen:
    granted_bps, _ = _granted_bps(found.lots["lot-cross"], 0)
    exact = words.is_so(granted_bps == float(RATES_BPS[10]), "40.96 Mbit/s")
    return Seen.by(granted_bps / 1e6, exact, unit="Mbit/s")


@CLAIMS.judge("C-TH-102")
def _second_grant(found: Found) -> Seen:
    lot = found.lots["lot-cross"]
    granted_bps, start = _granted_bps(lot, 1), lot.starts[1]
    round_trips = start.used_after_s / setup.RTT_S
    return Seen.by(
        f"{min(granted_bps) / 1e6:.2f} Mbit/s, used {round_trips:.2f} RTT later; "
        f"{start.before_pkts:g} packets until then",
        words.is_so(granted_bps == [RATES_BPS[11]] * 2, "81.92 Mbit/s"),
        words.quantity(round_trips, 1),
        words.is_so(start.before_pkts <= RESTART_PKTS, f"≤ {RESTART_PKTS} packets"),
    )


@CLAIMS.judge("C-TH-103")
def _third_grants(found: Found) -> Seen:
    lot = found.lots["lot-cross"]
    granted_bps, largest_pkts = _granted_bps(lot, 2), lot.starts[2].largest_pkts
    both = " and ".join(f"{rate / 1e6:.2f}" for rate in granted_bps)
    return Seen.by(
        f"{both} Mbit/s; at most {largest_pkts:g} packets in two round trips",
        words.is_so(granted_bps == [RATES_BPS[11], 0.0], "81.92 and 0 Mbit/s"),
        words.is_so(largest_pkts <= 4 * RESTART_PKTS, f"≤ {4 * RESTART_PKTS} packets"),
    )


@CLAIMS.judge("C-TH-104")
def _spurious(found: Found) -> Seen:
    lot = found.lots["lot-cross"]
    later_ns = lot.readings.times_ns - lot.answers[1].times_ns[2]
    soon = (later_ns >= 0) & (later_ns < 2 * NS_PER_S)
    held_ns = later_ns[soon & (lot.readings.outstanding_bps > 0)]
    held_ms = int(held_ns[-1]) / 1e6 if held_ns.size else 0.0
    a_slot_off = words.within(held_ms, 200, 600, "400 ms ± a slot")
    return Seen.by(
        held_ms,
        a_slot_off,
        unit="ms",
        note="The router's counter of allocated bandwidth is read every 50 ms.",
    )


# ---- Pattern ----


def _patterns(found: Found, *names: str) -> list[setup.Pattern]:
    return [found.patterns[f"pattern-{name}"] for name in names]


@CLAIMS.judge("C-TH-105")
def _peak_memory(found: Found) -> Seen:
    readings = found.patterns["pattern-target"].readings
    first = readings.times_ns < 4 * NS_PER_S
    loads_bps = readings.loads_bps[first]
    held_ns = readings.times_ns[first][loads_bps == loads_bps.max()]
    # read every 50 ms
    held_s = (int(held_ns[-1]) - int(held_ns[0]) + 50_000_000) / NS_PER_S
    an_interval_off = words.within(held_s, 0.8, 1.2, "1 s ± an interval")
    note = "Shown: how long the router's estimate stays at the peak of the first transfer's load."
    return Seen.by(held_s, an_interval_off, unit="s", note=note)


@CLAIMS.judge("C-TH-106")
def _ewma_grants_more(found: Found) -> Seen:
    both = _patterns(found, "ewma", "target")
    times_s = [float(np.mean(one.response_s)) for one in both]
    granted_bps = [float(one.answers.granted_bps.sum()) for one in both]
    return Seen.by(
        f"{granted_bps[0] / granted_bps[1]:.2f} times the bandwidth, response times "
        f"{100 * (times_s[0] / times_s[1] - 1):+.1f} %",
        words.more(*granted_bps),
        words.similar(*times_s),
    )


@CLAIMS.judge("C-TH-270")
def _peak_is_conservative(found: Found) -> Seen:
    both = _patterns(found, "target", "ewma")
    spare_bps = [np.maximum(lab.LINK_BPS - one.readings.loads_bps, 0.0) for one in both]
    unused = [float(np.mean(own_bps)) / 1e6 for own_bps in spare_bps]
    grants = [float(np.mean(one.answers.granted_bps)) / 1e6 for one in both]
    return Seen.by(
        f"unused {unused[0]:.2f} and {unused[1]:.2f}, mean grant {grants[0]:.2f} and "
        f"{grants[1]:.2f}",
        words.less(*unused),
        words.less(*grants),
        unit="Mbit/s",
    )


@CLAIMS.judge("C-TH-107")
def _fair_burst(found: Found) -> Seen:
    fair, target = _patterns(found, "fair", "target")
    grants = fair.burst_bps
    mean = float(grants.mean()) or math.nan
    later = [found.patterns[setup.late_key(ms)].burst_fairness for ms in setup.LATER_MS]
    return Seen.by(
        f"{grants.min() / mean:.2f} to {grants.max() / mean:.2f} of the mean; Jain "
        f"{fair.burst_fairness:.3f}, target {target.burst_fairness:.3f}",
        words.every([words.similar(one, mean) for one in grants.tolist()]),
        words.within(fair.burst_fairness, 0.7, math.inf, "index ≥ 0.7"),
        words.more(fair.burst_fairness, target.burst_fairness),
        words.less(float(grants.max()), float(target.burst_bps.max())),
        note=f"If all transfers begin {setup.LATER_MS[0]} to {setup.LATER_MS[-1]} ms later, "
        f"Jain's index of the granted rates is {min(later):.2f} to {max(later):.2f}.",
    )


@CLAIMS.judge("C-TH-108")
def _target_burst(found: Found) -> Seen:
    target, fair = _patterns(found, "target", "fair")
    largest, mean = float(target.burst_bps.max()), float(target.burst_bps.mean())
    return Seen.by(
        f"{largest / mean:.1f} times the mean at most; Jain {target.burst_fairness:.2f}, fair "
        f"{fair.burst_fairness:.2f}",
        words.more(largest, mean),
        words.much_less(target.burst_fairness, fair.burst_fairness),
        note="All transfers of the burst request the same rate.",
    )


@CLAIMS.judge("C-TH-109")
def _overbooked(found: Found) -> Seen:
    granted_bps = float(found.patterns["pattern-optimistic"].burst_bps.sum())
    return Seen.by(
        granted_bps / lab.LINK_BPS,
        words.order_of_magnitude(granted_bps, lab.LINK_BPS),
        note="Shown: the bandwidth granted within one second, as a multiple of the capacity.",
    )


# ---- Requests without data ----


def _granted_mbps(found: Found, algorithm: str, ms: int = INTERVAL_MS) -> list[float]:
    """Bandwidth that routers grant per second, in Mbit/s, at every load."""
    return [load.granted_bps_per_s / 1e6 for load in loads(found, algorithm, ms)]


def _most_bps_per_s(interval_ms: int) -> float:
    """Upper limit of the granted bandwidth per second, Xi of eq. 6.1, for a link without load."""
    return quick_start.most_granted_bps_per_s(
        spare_bps=setup.LOAD_BPS, interval_s=interval_ms / 1e3, slots=setup.SLOTS
    )


def _scarce(interval_ms: int) -> list[float]:
    """The loads at which less than half of the requested bandwidth can be granted."""
    return [at for at in setup.REQUESTED if at > 2 * _most_bps_per_s(interval_ms)]


def _range(values: Sequence[float]) -> str:
    return f"{min(values):.3f} to {max(values):.3f}"


@CLAIMS.judge("C-TH-110")
def _most_granted(found: Found) -> Seen:
    parts = {
        ms: [one.granted_bps_per_s / _most_bps_per_s(ms) for one in loads(found, "target", ms)]
        for ms in INTERVALS_MS
    }
    never, dense = "≤ 1.02 at every load", "≥ 0.8 at the densest requests"
    return Seen.by(
        "times Xi: " + ", ".join(f"{own[-1]:.3f} at {ms} ms" for ms, own in parts.items()),
        *(words.within(max(own), -math.inf, 1.02, never) for own in parts.values()),
        *(words.within(own[-1], 0.8, math.inf, dense) for own in parts.values()),
    )


@CLAIMS.judge("C-TH-111")
def _longer_grants_less(found: Found) -> Seen:
    by_load = list(zip(*(_granted_mbps(found, "target", ms) for ms in INTERVALS_MS), strict=True))
    monotone = all(a >= b for own in by_load for a, b in pairwise(own))
    dense, more_slots = by_load[-1], found.loads[setup.MORE_SLOTS_TRIAL].granted_bps_per_s / 1e6
    return Seen.by(
        ", ".join(f"{value:.0f}" for value in dense)
        + f"; {more_slots:.0f} with {setup.MORE_SLOTS} slots",
        words.is_so(monotone, "never more at any load"),
        *(words.less(b, a) for a, b in pairwise(dense)),
        words.less(more_slots, dense[INTERVALS_MS.index(INTERVAL_MS)]),
        unit="Mbit/s per s",
        note="Shown for the largest number of requests per second.",
    )


@CLAIMS.judge("C-TH-112")
def _target_unfair(found: Found) -> Seen:
    parts = {
        ms: [load.fairness / load.best_fairness for load in loads(found, "target", ms, _scarce(ms))]
        for ms in (500, 1000)
    }
    every = [part for own in parts.values() for part in own]
    return Seen.by(
        ", ".join(f"{_range(own)} at {ms} ms" for ms, own in parts.items()) + " of the optimum",
        *(words.much_less(part, 1.0) for part in every),
        *(words.within(part, -math.inf, 0.5, "< 0.5") for part in every),
    )


@CLAIMS.judge("C-TH-113")
def _optimum(found: Found) -> Seen:
    best = [load.best_fairness for load in loads(found, "optimistic")]
    return Seen.by(_range(best), *(words.within(value, 0, 1 - 1e-9, "< 1") for value in best))


@CLAIMS.judge("C-TH-114")
def _optimistic_fair(found: Found) -> Seen:
    own = loads(found, "optimistic")
    off = max(abs(load.fairness - load.best_fairness) for load in own)
    return exact(f"at most {off:.2g} from the optimum", off < 1e-9)


def _three_rates(experiment: Experiment) -> Experiment:
    """Let requests ask only for the mix's three smallest rates, for the same total per second."""
    (flow,) = experiment.flows
    assert isinstance(flow.app, Requests)
    codes = setup.LOAD_CODES[:3]
    mean_bps = float(RATES_BPS[list(codes)].sum()) / len(codes)
    gap_ns = flow.app.mean_interval * mean_bps / setup.LOAD_MEAN_BPS
    fields = {"codes": codes, "mean_interval": f"{gap_ns:.0f} ns"}
    return edited({f"flows.0.app.{name}": value for name, value in fields.items()})(experiment)


@CLAIMS.judge(
    "C-TH-115",
    tries=[
        Change(
            "requests that together ask for at most 1 Gbit/s within a second",
            edited({"flows.0.app.mean_interval": f"{setup.LOAD_MEAN_BPS:.0f} ns"}),
            ("load-*-200ms-2000M", "load-*-200ms-5000M"),
        ),
        Change("a mix of requests for 0.64, 1.28 and 2.56 Mbit/s", _three_rates, "load-*-200ms-*"),
    ],
)
def _fair_between(found: Found) -> Seen:
    names = ("target", "fair", "optimistic")
    columns = [loads(found, name, at=_scarce(INTERVAL_MS)) for name in names]
    values = [[load.fairness for load in row] for row in zip(*columns, strict=True)]
    return Seen.by(
        "target, fair, optimum: "
        + "; ".join(", ".join(f"{value:.3f}" for value in own) for own in values),
        *(words.slightly_less(fair, optimum) for _, fair, optimum in values),
        *(words.much_more(fair, target) for target, fair, _ in values),
        note="In the trials all requests of a second together ask for 1, 2 or 5 Gbit/s.",
    )


@CLAIMS.judge("C-TH-116")
def _fair_grants_less(found: Found) -> Seen:
    pairs = list(zip(*(_granted_mbps(found, name) for name in ("fair", "target")), strict=True))
    return Seen.by(
        ", ".join(f"{fair:.0f} and {target:.0f}" for fair, target in pairs),
        *(words.less(fair, target) for fair, target in pairs),
        unit="Mbit/s per s",
    )


# ---- Handshakes and headers ----


@CLAIMS.judge("C-TH-041")
def _amplification(found: Found) -> Seen:
    one = found.handshakes["extra-ack"]
    return exact(one.answer_pkts / one.syn_pkts, one.answer_pkts == 2 * one.syn_pkts)


@CLAIMS.judge("C-TH-020", "C-TH-032")
def _option_length(found: Found) -> Seen:
    asking, plain = (found.handshakes[name] for name in ("request-in-syn", "extra-ack"))
    longer = asking.syn_bytes - plain.syn_bytes
    return exact(
        longer,
        longer == 8 and asking.requests == 1,
        unit="B",
        note=f"With the option the simulator's SYN is an IP packet of {asking.syn_bytes:g} "
        f"instead of {plain.syn_bytes:g} bytes. The tests of crates/wire compare the bytes on the "
        "wire with RFC 4782.",
    )


def _overhead(found: Found, scheme: str, bytes_more: int) -> Seen:
    """How many bytes a scheme adds to the headers of plain TCP's data packets."""
    plain, own = (found.headers[f"header-{name}"].bytes_per_pkt for name in ("plain", scheme))
    note = (
        f"The headers of a packet have {own:g} instead of {plain:g} bytes. Headway uses a TCP "
        "option with its kind and length, not a header between IP and TCP."
        if bytes_more
        else f"The headers of a packet have {own:g} bytes with ECN and {plain:g} without."
    )
    return exact(own - plain, own - plain == bytes_more, unit="B", note=note)


CLAIMS.add("C-TH-031", partial(_overhead, scheme="ecn", bytes_more=0))
CLAIMS.add("C-TH-033", partial(_overhead, scheme="xcp", bytes_more=20))
CLAIMS.add("C-TH-034", partial(_overhead, scheme="rcp", bytes_more=12))

STATEMENTS = CLAIMS.statements()
