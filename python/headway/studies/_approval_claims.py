"""The statements of thesis sections 4.5 and 6.3.3 on approval, and how they are looked at."""

from __future__ import annotations

import math
from collections.abc import Mapping
from itertools import pairwise

import numpy as np
import polars as pl

from headway import metrics, models
from headway.claims import Claim, Seen, Statement, between
from headway.claims import Evidence as Trials
from headway.claims import judge as evaluate
from headway.studies import _approval_setup as setup
from headway.studies._approval_records import (
    best_fairness,
    burst,
    default,
    fairness,
    granted,
    in_handshake,
    of_link,
    per_second,
    rates,
    slots,
    usage,
)
from headway.studies._approval_setup import load_key, rate_bps
from headway.studies.common import lab
from headway.trace import Trace
from headway.units import NS_PER_S

Found = Trials[Trace]
READ_EVERY_NS = 50_000_000
approval = models.quick_start


def all_claims(traces: Mapping[str, Trace]) -> list[Claim]:
    """All claims of the study but those that no simulation can see."""
    return evaluate(_STATEMENTS, Trials(traces))


# ---- Every grant beside its equation ----


def _as_by_model(trace: Trace, link: int, capacity_bps: float, algorithm: str) -> tuple[int, int]:
    """How many answers are those of equations 4.17 or 4.18, and of how many."""
    same = 0
    rows = of_link(trace, link).to_dicts()
    for row in rows:
        asked = rate_bps(row["requested_code"])
        spare = max(capacity_bps - row["usage_bps"], 0.0)
        if algorithm == "optimistic":
            given = approval.optimistic_grant_bps(asked, spare_bps=spare)
        else:
            given = approval.target_grant_bps(
                asked, spare_bps=spare, outstanding_bps=row["outstanding_bps"]
            )
        same += approval.rate_code(given) == row["granted_code"]
    return same, len(rows)


def _grants_are(found: Found, algorithm: str) -> Seen:
    trials = [
        (found[f"pattern-{algorithm}"], lab.DOWNLINK, float(lab.LINK_BPS)),
        *(
            (found[load_key(algorithm, 200, requested)], 0, float(setup.LOAD_BPS))
            for requested in setup.REQUESTED
        ),
    ]
    counts = [_as_by_model(trace, link, c, algorithm) for trace, link, c in trials]
    same, total = (sum(count[i] for count in counts) for i in (0, 1))
    return Seen(f"{same} of {total} answers", same == total > 0, "exact")


def _fair_is(found: Found) -> Seen:
    same = total = 0
    for requested in setup.REQUESTED:
        rows = of_link(found[load_key("fair", 200, requested)], 0)
        now, slot = 0.0, -1
        for at, row in zip(slots(rows, 0.2), rows.to_dicts(), strict=True):
            if math.floor(at) != slot:
                slot, now = math.floor(at), 0.0
            asked = rate_bps(row["requested_code"])
            spare = max(setup.LOAD_BPS - row["usage_bps"], 0.0)
            if row["outstanding_bps"] == 0:
                # A request that comes alone gets the target's rate.
                given = approval.target_grant_bps(asked, spare_bps=spare, outstanding_bps=0.0)
            else:
                given = approval.fair_grant_bps(
                    asked,
                    spare_bps=spare,
                    granted_now_bps=now,
                    outstanding_bps=row["outstanding_bps"],
                    elapsed=at - math.floor(at),
                )
            # The router opens the share in steps of 2^-20 of it, and reads time in microseconds.
            step = spare * 2.0**-17
            codes = {approval.rate_code(max(given + off, 0.0)) for off in (-step, 0.0, step)}
            same += row["granted_code"] in codes
            total += 1
            now += rate_bps(row["granted_code"])
    return Seen(f"{same} of {total} answers", same == total > 0, "exact but for rounding")


def _fair_bound(found: Found) -> Seen:
    worst = 0.0
    for requested in setup.REQUESTED:
        rows = of_link(found[load_key("fair", 200, requested)], 0)
        slot = np.floor(slots(rows, 0.2)).astype(np.int64)
        # A request that finds no grant remembered is not bound by the rule.
        bound = (rows["outstanding_bps"] > 0).to_numpy()
        granted = np.where(bound, rates(rows["granted_code"]), 0.0)
        if slot.size:
            worst = max(worst, float(np.bincount(slot, granted).max()))
    share = setup.LOAD_BPS / setup.SLOTS
    return Seen(f"{worst / share:.3f} times a / Omega at most", worst <= share, "≤ 1")


def _rounding(_: Found) -> Seen:
    rates = np.linspace(1.0, 2.0, 100_001)[:-1] * rate_bps(5)
    codes = np.array([approval.rate_code(float(rate)) for rate in rates])
    measured = float(np.mean(rates / np.array([rate_bps(int(code)) for code in codes])))
    return between(measured, 1.499, 1.501, note="Rates spread evenly over an octave.")


def _encoding(_: Found) -> Seen:
    same = sum(approval.rate_code(40_000.0 * 2**code) == code for code in range(1, 16))
    return Seen(f"{same} of 15 codes", same == 15, "exact")


def _window(found: Found) -> Seen:
    trace = found["lot-alone"]
    asked_ns = int(of_link(trace, setup.ROUTER_1)["time_ns"][0])
    rows = trace["flow_state"].filter(
        (pl.col("flow") == 0)
        & (pl.col("time_ns") > asked_ns)
        & (pl.col("time_ns") < asked_ns + 2 * lab.RTT_MS * 1_000_000)
    )
    wanted = setup.window_pkts(11)
    largest = rows["cwnd_pkts"].max()
    measured = float(largest) if isinstance(largest, int) else math.nan
    return between(
        measured / wanted, 0.98, 1.02, note=f"{measured:g} packets, q d / (8 MTU) = {wanted:.1f}."
    )


def _estimators(_: Found) -> Seen:
    weight, slots = default("ewma_permille"), default("peak_slots")
    return Seen(
        f"alpha = {weight}/1000, N_peak = {slots}",
        (weight, slots) == (125, 5),
        "exact",
        note="The last N_peak samples, as the text says; the printed equation has one more.",
    )


# ---- Parking lot ----


def _lot(found: Found, name: str, router: int) -> list[dict[str, int]]:
    rows = of_link(found[name], router).filter(pl.col("flow") == 0)
    return rows.to_dicts()


def _all_approved(found: Found) -> Seen:
    codes = [
        row["granted_code"]
        for router in (setup.ROUTER_1, setup.ROUTER_2)
        for row in _lot(found, "lot-alone", router)
    ]
    return Seen(
        ", ".join(f"{rate_bps(code) / 1e6:.2f}" for code in codes),
        codes == [11] * 6,
        "exact",
        "Mbit/s",
    )


def _answer(found: Found, number: int, router: int = setup.ROUTER_1) -> dict[str, int]:
    """The ``number``-th request of the transfer with cross traffic, at a router."""
    rows = _lot(found, "lot-cross", router)
    return rows[number] if number < len(rows) else {"granted_code": 255, "usage_bps": 0}


def _measured_load(found: Found) -> Seen:
    return between(_answer(found, 0)["usage_bps"] / 1e6, 28.5, 31.5, unit="Mbit/s")


def _first_grant(found: Found) -> Seen:
    code = _answer(found, 0)["granted_code"]
    return Seen(rate_bps(code) / 1e6, code == 10, "exact", "Mbit/s")


def _second_grant(found: Found) -> Seen:
    row = _answer(found, 1)
    trace = found["lot-cross"]
    asked_ns = row.get("time_ns", 0)
    after = trace["flow_state"].filter(
        (pl.col("flow") == 0)
        & (pl.col("time_ns") > asked_ns)
        & (pl.col("cwnd_pkts") > 0.9 * setup.window_pkts(11))
    )
    delay = (int(after["time_ns"][0]) - asked_ns) / (lab.RTT_MS * 1e6) if after.height else math.inf
    return Seen(
        f"{rate_bps(row['granted_code']) / 1e6:.2f} Mbit/s, used {delay:.2f} RTT later",
        row["granted_code"] == 11 and 0.9 <= delay <= 1.2,
        "82 Mbit/s; 0.9 to 1.2 RTT",
    )


def _third_grants(found: Found) -> Seen:
    codes = [
        _answer(found, 2, router)["granted_code"] for router in (setup.ROUTER_1, setup.ROUTER_2)
    ]
    words = " and ".join(f"{rate_bps(code) / 1e6:.2f}" for code in codes)
    return Seen(words, codes == [11, 0], "exact", "Mbit/s")


def _spurious(found: Found) -> Seen:
    trace = found["lot-cross"]
    asked_ns = _answer(found, 2).get("time_ns", 0)
    rows = trace["approval_counters"].filter(
        (pl.col("link") == setup.ROUTER_1)
        & (pl.col("time_ns") >= asked_ns)
        & (pl.col("time_ns") < asked_ns + 2 * NS_PER_S)
        & (pl.col("outstanding_bps") > 0)
    )
    times = rows["time_ns"]
    held_ms = (int(times[-1]) - asked_ns) / 1e6 if rows.height else 0.0
    return between(held_ms, 200, 600, unit="ms", note="Read every 50 ms.")


# ---- Pattern ----


def _peak_memory(found: Found) -> Seen:
    rows = usage(found["pattern-target"]).filter(pl.col("time_ns") < 4 * NS_PER_S)
    largest = rows["usage_bps"].max()
    held = rows.filter(pl.col("usage_bps") == largest)["time_ns"]
    held_s = (int(held[-1]) - int(held[0]) + READ_EVERY_NS) / NS_PER_S
    return between(held_s, 0.8, 1.2, unit="s", note="The first transfer's largest estimate.")


def _ewma_grants_more(found: Found) -> Seen:
    peak, ewma = found["pattern-target"], found["pattern-ewma"]
    times = [
        np.mean([lab.response_times_s(trace, flow)[0] for flow in range(len(setup.PATTERN))])
        for trace in (peak, ewma)
    ]
    change = float(times[1] / times[0] - 1)
    more = granted(ewma) / granted(peak)
    return Seen(
        f"{more:.2f} times the bandwidth, response times {100 * change:+.1f} %",
        more > 1 and abs(change) < 0.1,
        "more; times ±10 %",
    )


def _peak_is_conservative(found: Found) -> Seen:
    peak, ewma = (
        float(np.mean(usage(found[f"pattern-{name}"])["usage_bps"].to_numpy())) / 1e6
        for name in ("target", "ewma")
    )
    return Seen(f"mean estimates {peak:.2f} and {ewma:.2f} Mbit/s", peak > ewma)


def _burst_fairness(found: Found, name: str, skip: int = 0) -> float:
    return metrics.jain_index(burst(found[f"pattern-{name}"])[skip:]) or 0.0


def _fair_burst(found: Found) -> Seen:
    fair, target = (_burst_fairness(found, name) for name in ("fair", "target"))
    return Seen(f"Jain {fair:.2f}, target {target:.2f}", fair > target)


def _target_burst(found: Found) -> Seen:
    fair, target = (_burst_fairness(found, name) for name in ("fair", "target"))
    rest = [f"{_burst_fairness(found, name, 1):.2f}" for name in ("target", "fair")]
    return Seen(
        f"Jain {target:.2f}, fair {fair:.2f}",
        target < 0.8 * fair,
        "below 0.8 of fair's",
        note="The burst's first request finds nothing granted, for which eq. 4.19 has no rule: "
        f"here it gets what the target algorithm gives. The other 19: {' and '.join(rest)}.",
    )


def _overbooked(found: Found) -> Seen:
    ratio = sum(burst(found["pattern-optimistic"])) / lab.LINK_BPS
    return between(ratio, 5, 20, note="Times the capacity, granted within one second.")


# ---- Load ----


def _dense(found: Found, algorithm: str, interval_ms: int) -> Trace:
    return found[load_key(algorithm, interval_ms, setup.DENSE)]


def _most_granted(found: Found) -> Seen:
    ratios = []
    for ms in setup.INTERVALS_MS:
        most = approval.most_granted_bps_per_s(
            spare_bps=setup.LOAD_BPS, interval_s=ms / 1e3, slots=setup.SLOTS
        )
        ratios.append(per_second(_dense(found, "target", ms), "granted_code") / most)
    words = ", ".join(
        f"{ratio:.2f} at {ms} ms" for ratio, ms in zip(ratios, setup.INTERVALS_MS, strict=True)
    )
    return Seen(
        f"times Xi: {words}",
        all(0.8 <= ratio <= 1.02 for ratio in ratios),
        "0.8 to 1.02 at the densest requests",
        note="Rates are rounded down to codes.",
    )


def _longer_grants_less(found: Found) -> Seen:
    rows = [
        per_second(_dense(found, "target", ms), "granted_code") / 1e6 for ms in setup.INTERVALS_MS
    ]
    return Seen(
        ", ".join(f"{value:.0f}" for value in rows),
        all(a > b for a, b in pairwise(rows)),
        unit="Mbit/s per s",
    )


def _target_unfair(found: Found) -> Seen:
    parts = [
        fairness(trace) / best_fairness(trace)
        for trace in (_dense(found, "target", ms) for ms in (500, 1000))
    ]
    words = ", ".join(f"{part:.3f}" for part in parts)
    return Seen(f"{words} of the optimum", max(parts) < 0.5, "< 0.5")


def _optimum(found: Found) -> Seen:
    return between(best_fairness(_dense(found, "optimistic", 200)), 0.0, 0.999)


def _optimistic_fair(found: Found) -> Seen:
    off = [
        abs(fairness(trace) - best_fairness(trace))
        for trace in (found[load_key("optimistic", 200, at)] for at in setup.REQUESTED)
    ]
    return Seen(f"at most {max(off):.2g} from the optimum", max(off) < 1e-9, "exact")


def _fair_between(found: Found) -> Seen:
    values = [fairness(_dense(found, name, 200)) for name in ("target", "fair", "optimistic")]
    words = ", ".join(f"{value:.3f}" for value in values)
    return Seen(f"target, fair, optimistic: {words}", values[0] < values[1] < values[2])


def _fair_grants_less(found: Found) -> Seen:
    fair, target = (
        per_second(_dense(found, name, 200), "granted_code") / 1e6 for name in ("fair", "target")
    )
    return Seen(f"{fair:.0f} and {target:.0f}", fair < target, unit="Mbit/s per s")


# ---- Other ----


def _pool_is_empty(found: Found) -> Seen:
    rows = of_link(found["pool"], 0)
    large = rows.filter((pl.col("requested_code") == 15) & (pl.col("granted_code") > 0))
    if not large.height:
        return Seen("the large request was not granted", False, "exact")
    begin_ns = int(large["time_ns"][0])
    after = rows.filter((pl.col("time_ns") > begin_ns) & (pl.col("granted_code") > 0))
    held = (int(after["time_ns"][0]) - begin_ns) / (setup.INTERVAL_S * NS_PER_S)
    return between(
        held,
        setup.SLOTS - 1,
        setup.SLOTS + 0.1,
        unit="slots",
        note="Until the next request that is granted, some milliseconds after.",
    )


def _amplification(found: Found) -> Seen:
    answers = in_handshake(found["extra-ack"], lab.DOWNLINK, "arrived_pkts")
    return Seen(float(answers), answers == 2, "exact")


def _option_length(found: Found) -> Seen:
    trials = ("request-in-syn", "extra-ack")
    asking, plain = (in_handshake(found[name], 0, "arrived_bytes") for name in trials)
    requests = of_link(found["request-in-syn"], 0).height
    return Seen(
        asking - plain,
        asking - plain == 8 and requests == 1,
        "exact",
        "B",
        note=f"A SYN of {asking} instead of {plain} bytes of IP; the simulator's. The bytes on the "
        "wire are held against RFC 4782 by crates/wire.",
    )


def _slots_needed(_: Found) -> Seen:
    same = [approval.slots_needed(0.2, interval_s=at) for at in (0.1, 0.2, 0.4)]
    return Seen(str(same), same == [4, 3, 3], "exact", note="For d = 200 ms.")


def _defaults(names: Mapping[str, int]) -> Seen:
    found = {name: default(name) for name in names}
    words = ", ".join(f"{name} = {value}" for name, value in found.items())
    return Seen(words, found == dict(names), "exact")


_STATEMENTS: tuple[Statement[Found], ...] = (
    Statement("C-TH-019", "rate codes", "40 kbit/s · 2^i, i = 1 to 15", _encoding),
    Statement("C-TH-020", "length of the IP option", "8 B", _option_length),
    Statement("C-TH-021", "window of a grant", "W = q d / MTU", _window),
    Statement("C-TH-022", "estimators of the load", "1/8 and 5", _estimators),
    Statement("C-TH-023", "slots of the ring, eq. 4.16", "ceil(d/Delta + 2)", _slots_needed),
    Statement(
        "C-TH-024",
        "target algorithm, eq. 4.17",
        "min(q, a - H)",
        lambda found: _grants_are(found, "target"),
    ),
    Statement("C-TH-025", "mean loss by rounding down", 1.5, _rounding),
    Statement(
        "C-TH-026",
        "optimistic algorithm, eq. 4.18",
        "min(q, a)",
        lambda found: _grants_are(found, "optimistic"),
    ),
    Statement("C-TH-027", "fair algorithm, eq. 4.19", "part of a opens with time", _fair_is),
    Statement(
        "C-TH-032", "overhead of a packet that asks, of all others none", "8 B", _option_length
    ),
    Statement(
        "C-TH-041", "packets that answer a spoofed SYN, with the extra ACK", 2, _amplification
    ),
    Statement("C-TH-099", "grants without cross traffic", "all 82 Mbit/s", _all_approved),
    Statement("C-TH-100", "load measured by router 1", "30 Mbit/s", _measured_load),
    Statement("C-TH-101", "grant of the first transfer", "41 Mbit/s", _first_grant),
    Statement(
        "C-TH-102", "grant of the second transfer", "approved, used after one RTT", _second_grant
    ),
    Statement("C-TH-103", "third transfer: routers 1 and 2", "82 Mbit/s and denied", _third_grants),
    Statement("C-TH-104", "spurious allocation at router 1", "400 ms", _spurious),
    Statement("C-TH-105", "how long a peak is remembered", "1 s", _peak_memory),
    Statement("C-TH-106", "EWMA beside peak", "grants more, small difference", _ewma_grants_more),
    Statement("C-TH-107", "fair algorithm: grants of the burst", "about the same", _fair_burst),
    Statement("C-TH-108", "target algorithm: grants of the burst", "random", _target_burst),
    Statement("C-TH-109", "optimistic algorithm: granted", "ten times too much", _overbooked),
    Statement(
        "C-TH-110", "most that is granted, eq. 6.1", "(theta c - u)/(Delta Omega)", _most_granted
    ),
    Statement("C-TH-111", "longer intervals grant less", "less", _longer_grants_less),
    Statement("C-TH-112", "target: fairness at 500 ms and 1 s", "very small", _target_unfair),
    Statement("C-TH-113", "fairness if all were approved", "below 1", _optimum),
    Statement("C-TH-114", "optimistic: fairness", "the optimum", _optimistic_fair),
    Statement("C-TH-115", "fair: fairness", "between target and optimum", _fair_between),
    Statement("C-TH-116", "fair: granted bandwidth", "less than target", _fair_grants_less),
    Statement(
        "C-TH-267",
        "largest allowed rate",
        "1310720000 bit/s",
        lambda _: Seen(
            rate_bps(default("max_code")),
            rate_bps(default("max_code")) == 1.31072e9,
            "exact",
            "bit/s",
        ),
    ),
    Statement(
        "C-TH-268",
        "threshold",
        "100 %",
        lambda _: _defaults({"threshold_permille": 1000}),
    ),
    Statement("C-TH-270", "peak beside EWMA", "more conservative", _peak_is_conservative),
    Statement("C-TH-272", "denials after a request for all", "Omega Delta", _pool_is_empty),
    Statement("C-TH-273", "fair: most granted in a slot", "a / Omega", _fair_bound),
    Statement(
        "C-TH-293",
        "defaults of ssthresh's strategy and interval",
        "0 and 0",
        lambda _: _defaults({"qs_ssthresh": 0, "interval_ms": 0}),
    ),
)
