"""Check: C-TH-094 to 098."""

from __future__ import annotations

import math

from headway.claims import Evidence, Seen, Statement, between, replaced, scaled, swapped, words
from headway.claims.why import Change, Why, edited
from headway.studies.ssthresh_strategies.experiments import APPROVED_BPS
from headway.studies.ssthresh_strategies.observe import Start

Found = Evidence[Start]


def _slow_start_first(found: Found) -> Seen:
    slow, lowered = found["ss-10"].full_s, found["qs-b-10-5.12"].full_s
    return Seen.by(
        f"full after {slow:.2f} s, QS-b after {lowered:.2f} s",
        words.some([words.less(slow, lowered)]),
    )


def _kept(found: Found) -> Seen:
    return between(found["qs-a-10-5.12"].full_s, 0, 1, unit="s")


def _kept_fast(found: Found) -> Seen:
    kept = {mbps / 1e6: found[f"qs-a-100-{mbps / 1e6:g}"].full_s for mbps in APPROVED_BPS["100"]}
    told = ", ".join(f"{seconds:.2f} s with {rate:g}" for rate, seconds in kept.items())
    return Seen.by(
        f"{told} Mbit/s", words.every([words.within(one, -math.inf, 2) for one in kept.values()])
    )


def _lag(found: Found) -> Seen:
    lowered, kept = found["qs-b-100-5.12"], found["qs-a-100-5.12"]
    never = lowered.full_s != lowered.full_after_s
    return between(
        lowered.full_s - kept.full_s,
        3,
        float("inf"),
        unit="s",
        note="QS-b does not fill the link within 20 s." if never else "",
    )


def _timeout(found: Found) -> Seen:
    slow = found["ss-100"]
    when = f"after {slow.timeout_s:.1f} s" if math.isfinite(slow.timeout_s) else "none"
    return Seen.by(
        f"{when}, link full after {slow.full_s:.2f} s",
        words.about(slow.timeout_s, 3),
        note=f"Slow start overshoots by {slow.overshoot_pkts:.0f} packets.",
    )


STATEMENTS: tuple[Statement[Found], ...] = (
    Statement(
        "C-TH-094",
        "10 Mbit/s: even with CUBIC, slow start can be faster than Quick-Start with QS-b",
        "Slow-Start faster",
        _slow_start_first,
        spoil=replaced("qs-b-10-*", 0.4, "full_after_s"),
    ),
    Statement(
        "C-TH-095",
        "10 Mbit/s, QS-a: time until the link is full",
        "almost instantaneously",
        _kept,
        spoil=replaced("qs-a-10-*", 1.2, "full_after_s"),
    ),
    Statement(
        "C-TH-096",
        "100 Mbit/s, QS-a: time until the link is full, whatever rate was approved",
        "almost immediate",
        _kept_fast,
        spoil=scaled("qs-a-100-5.12", 2.0, "full_after_s"),
    ),
    Statement(
        "C-TH-097",
        "100 Mbit/s, 5.12 Mbit/s approved: additional time of QS-b to fill the link, over QS-a",
        "very slow, even with CUBIC",
        _lag,
        spoil=swapped("qs-a", "qs-b"),
    ),
    Statement(
        "C-TH-098",
        "100 Mbit/s: slow start's overshoot ends in a retransmission timeout",
        "timeout after about 3 s",
        _timeout,
        spoil=replaced("ss-100", math.nan, "timeout_s"),
        mend=replaced("ss-100", 3.1, "timeout_s"),
        why=Why(
            "refuted",
            "SACK reports each lost packet, and the sender retransmits all of them at the pace of "
            "ACKs. No retransmission is lost and no timeout occurs. The thesis calls its timeout "
            "an artefact of its simulation, and measured none.",
            [
                Change(
                    "hosts with interfaces of 100 Mbit/s",
                    edited({"topology.access_rate": "100 Mbit/s"}),
                    "ss-100",
                ),
                Change(
                    "a queue of 200 packets",
                    edited({"topology.reverse.buffer": "200 pkts"}),
                    "ss-100",
                ),
                Change("no SACK", edited({"flows.0.sack": False}), "ss-100"),
                Change("delayed ACKs", edited({"flows.0.delayed_ack": True}), "ss-100"),
                Change("hosts of today's Linux", edited({"stack": "linux-6"}), "ss-100"),
            ],
            nothing_helps=True,
        ),
    ),
)
