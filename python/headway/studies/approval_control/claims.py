"""Check: the statements of thesis sections 4.5 and 6.3.3 on approval."""

from __future__ import annotations

from collections.abc import Mapping

import numpy as np

from headway import models
from headway.claims import Seen, Statement, between, replaced, scaled, swapped
from headway.registry import registry
from headway.studies.approval_control import equations, loads, transfers
from headway.studies.approval_control.experiments import rate_bps
from headway.studies.approval_control.found import Found

approval = models.quick_start


def _default(name: str) -> int:
    """A tunable's default, of the router or the startup."""
    known = registry()
    for owner in [*known.routers, *known.startups]:
        if owner.name == "quick-start":
            for tunable in owner.tunables:
                if tunable.name == name:
                    return int(tunable.default)
    raise KeyError(name)


def _defaults(names: Mapping[str, int]) -> Seen:
    found = {name: _default(name) for name in names}
    words = ", ".join(f"{name} = {value}" for name, value in found.items())
    return Seen(words, found == dict(names), "exact")


def _rounding(_: Found) -> Seen:
    rates = np.linspace(1.0, 2.0, 100_001)[:-1] * rate_bps(5)
    codes = np.array([approval.rate_code(float(rate)) for rate in rates])
    measured = float(np.mean(rates / np.array([rate_bps(int(code)) for code in codes])))
    return between(measured, 1.499, 1.501, note="Rates spread evenly over an octave.")


def _encoding(_: Found) -> Seen:
    same = sum(approval.rate_code(40_000.0 * 2**code) == code for code in range(1, 16))
    return Seen(f"{same} of 15 codes", same == 15, "exact")


def _estimators(_: Found) -> Seen:
    weight, slots = _default("ewma_permille"), _default("peak_slots")
    return Seen(
        f"alpha = {weight}/1000, N_peak = {slots}",
        (weight, slots) == (125, 5),
        "exact",
        note="The last N_peak samples, as the text says; the printed equation has one more.",
    )


def _slots_needed(_: Found) -> Seen:
    same = [approval.slots_needed(0.2, interval_s=at) for at in (0.1, 0.2, 0.4)]
    return Seen(str(same), same == [4, 3, 3], "exact", note="For d = 200 ms.")


def _largest_rate(_: Found) -> Seen:
    rate = rate_bps(_default("max_code"))
    return Seen(rate, rate == 1.31072e9, "exact", "bit/s")


STATEMENTS: tuple[Statement[Found], ...] = (
    Statement(
        "C-TH-019", "rate codes", "40 kbit/s · 2^i, i = 1 to 15", _encoding, carrier="setting"
    ),
    Statement(
        "C-TH-020",
        "length of the IP option",
        "8 B",
        transfers.option_length,
        spoil=replaced("request-in-syn", 64, "syn_bytes"),
    ),
    Statement(
        "C-TH-021",
        "window of a grant",
        "W = q d / MTU",
        transfers.window,
        spoil=scaled("lot-alone", 0.5, "starts.0.largest_pkts"),
    ),
    Statement("C-TH-022", "estimators of the load", "1/8 and 5", _estimators, carrier="setting"),
    Statement(
        "C-TH-023",
        "slots of the ring, eq. 4.16",
        "ceil(d/Delta + 2)",
        _slots_needed,
        carrier="model",
    ),
    Statement(
        "C-TH-024",
        "target algorithm, eq. 4.17",
        "min(q, a - H)",
        lambda found: equations.grants_are(found, "target"),
        spoil=swapped("target", "optimistic"),
    ),
    Statement("C-TH-025", "mean loss by rounding down", 1.5, _rounding, carrier="model"),
    Statement(
        "C-TH-026",
        "optimistic algorithm, eq. 4.18",
        "min(q, a)",
        lambda found: equations.grants_are(found, "optimistic"),
        spoil=swapped("target", "optimistic"),
    ),
    Statement(
        "C-TH-027",
        "fair algorithm, eq. 4.19",
        "part of a opens with time",
        equations.fair_is,
        spoil=swapped("fair", "target"),
    ),
    Statement(
        "C-TH-032",
        "overhead of a packet that asks, of all others none",
        "8 B",
        transfers.option_length,
        same_as="C-TH-020",
        spoil=replaced("request-in-syn", 64, "syn_bytes"),
    ),
    Statement(
        "C-TH-040",
        "round-trip time that a receiver assumes for its buffer",
        "500 ms",
        carrier="setting",
        why_not="Receivers of both backends have buffers of a fixed size.",
    ),
    Statement(
        "C-TH-041",
        "packets that answer a spoofed SYN, with the extra ACK",
        2,
        transfers.amplification,
        spoil=replaced("extra-ack", 1, "answer_pkts"),
    ),
    Statement(
        "C-TH-099",
        "grants without cross traffic",
        "all 82 Mbit/s",
        transfers.all_approved,
        spoil=swapped("alone", "cross"),
    ),
    Statement(
        "C-TH-100",
        "load measured by router 1",
        "30 Mbit/s",
        transfers.measured_load,
        spoil=swapped("alone", "cross"),
    ),
    Statement(
        "C-TH-101",
        "grant of the first transfer",
        "41 Mbit/s",
        transfers.first_grant,
        spoil=swapped("alone", "cross"),
    ),
    Statement(
        "C-TH-102",
        "grant of the second transfer",
        "approved, used after one RTT",
        transfers.second_grant,
        spoil=replaced("lot-cross", 0.4, "starts.1.used_after_s"),
    ),
    Statement(
        "C-TH-103",
        "third transfer: routers 1 and 2",
        "82 Mbit/s and denied",
        transfers.third_grants,
        spoil=swapped("alone", "cross"),
    ),
    Statement(
        "C-TH-104",
        "spurious allocation at router 1",
        "400 ms",
        transfers.spurious,
        spoil=replaced("lot-cross", 82e6, "readings.outstanding_bps"),
    ),
    Statement(
        "C-TH-105",
        "how long a peak is remembered",
        "1 s",
        transfers.peak_memory,
        spoil=swapped("target", "ewma"),
    ),
    Statement(
        "C-TH-106",
        "EWMA beside peak",
        "grants more, small difference",
        transfers.ewma_grants_more,
        spoil=swapped("target", "ewma"),
    ),
    Statement(
        "C-TH-107",
        "fair algorithm: grants of the burst",
        "about the same",
        transfers.fair_burst,
        spoil=swapped("target", "fair"),
    ),
    Statement(
        "C-TH-108",
        "target algorithm: grants of the burst",
        "random",
        transfers.target_burst,
        spoil=swapped("target", "fair"),
        mend=replaced("pattern-target", 0.0, "answers.granted_bps"),
    ),
    Statement(
        "C-TH-109",
        "optimistic algorithm: granted",
        "ten times too much",
        transfers.overbooked,
        spoil=swapped("target", "optimistic"),
    ),
    Statement(
        "C-TH-110",
        "most that is granted, eq. 6.1",
        "(theta c - u)/(Delta Omega)",
        loads.most_granted,
        spoil=swapped("target", "optimistic"),
    ),
    Statement(
        "C-TH-111",
        "longer intervals grant less",
        "less",
        loads.longer_grants_less,
        spoil=swapped("100ms", "1000ms"),
    ),
    Statement(
        "C-TH-112",
        "target: fairness at 500 ms and 1 s",
        "very small",
        loads.target_unfair,
        spoil=swapped("5000M", "50M"),
    ),
    Statement(
        "C-TH-113",
        "fairness if all were approved",
        "below 1",
        loads.optimum,
        spoil=replaced("load-*", 1.0, "best_fairness"),
    ),
    Statement(
        "C-TH-114",
        "optimistic: fairness",
        "the optimum",
        loads.optimistic_fair,
        spoil=swapped("target", "optimistic"),
    ),
    Statement(
        "C-TH-115",
        "fair: fairness",
        "between target and optimum",
        loads.fair_between,
        spoil=swapped("fair", "target"),
    ),
    Statement(
        "C-TH-116",
        "fair: granted bandwidth",
        "less than target",
        loads.fair_grants_less,
        spoil=swapped("fair", "target"),
    ),
    Statement(
        "C-TH-267", "largest allowed rate", "1310720000 bit/s", _largest_rate, carrier="setting"
    ),
    Statement(
        "C-TH-268",
        "threshold",
        "100 %",
        lambda _: _defaults({"threshold_permille": 1000}),
        carrier="setting",
    ),
    Statement(
        "C-TH-270",
        "peak beside EWMA",
        "more conservative",
        transfers.peak_is_conservative,
        spoil=swapped("target", "ewma"),
    ),
    Statement(
        "C-TH-272",
        "denials after a request for all",
        "Omega Delta",
        equations.pool_is_empty,
        spoil=replaced("pool", 80e3, "answers.granted_bps"),
    ),
    Statement(
        "C-TH-273",
        "fair: most granted in a slot",
        "a / Omega",
        equations.fair_bound,
        spoil=swapped("fair", "target"),
    ),
    Statement(
        "C-TH-293",
        "defaults of ssthresh's strategy and interval",
        "0 and 0",
        lambda _: _defaults({"qs_ssthresh": 0, "interval_ms": 0}),
        carrier="setting",
    ),
)
