"""Check: settings and equations of the first round trip, and sizes of the application's writes."""

from __future__ import annotations

import dataclasses

from headway.claims import Change, Seen, Statement, Why, edited, near, replaced, scaled, words
from headway.models import startup
from headway.registry import registry
from headway.studies.common import lab
from headway.studies.transfer_times.first_flights import (
    JUMPS,
    LOSSY_PKTS,
    PIECES_BPS,
    PIECES_BYTES,
    SPACED,
    SPACED_MBPS,
    TIMED,
)
from headway.studies.transfer_times.results import Results
from headway.studies.transfer_times.schemes import BASE
from headway.units import NS_PER_S, bdp_bytes

MB = 1e6
PACED = ("jump-start", "mega-start", "quick-start")
MEANT_MBPS = 12
"""A packet of 1500 bytes per millisecond."""
MUCH_MBPS = words.CLEAR * 10
"""The least rate that is much larger than 10 Mbit/s."""


def _default(name: str, tunable: str) -> float:
    owner = registry().startup(name)
    return float(next(known.default for known in owner.tunables if known.name == tunable))


def _bdp(_found: Results) -> Seen:
    bdp = bdp_bytes(10**9, NS_PER_S // 5) / MB
    return Seen.by(bdp, words.about(bdp, 25), words.is_so(bdp == 25, "exact"), unit="MB")


def _highest_rate(found: Results) -> Seen:
    name = "jump-1MB-rtt200"
    rate_bps = found.flight(name).payload_bytes * 8 / (JUMPS[name].rtt_ms / 1e3)
    by_equation_bps = float(startup.jump_start_rate(1 * MB, rtt_s=0.2) * 8)
    return Seen.by(
        rate_bps / 1e6,
        words.about(rate_bps / 1e6, 2),
        unit="Mbit/s",
        note="Payload that reaches the link in the first round trip. Eq. 4.12 gives "
        f"{by_equation_bps / 1e6:.2f} Mbit/s.",
    )


def _rate(found: Results) -> Seen:
    told, checks = [], []
    for name, one in JUMPS.items():
        tau_s = one.rtt_ms / 1e3
        expected = float(startup.jump_start_rate(one.size_bytes, rtt_s=tau_s)) * tau_s
        sent = found.flight(name).payload_bytes
        told.append(f"{sent / tau_s * 8 / 1e6:.2f}/{expected / tau_s * 8 / 1e6:.2f}")
        whole = "as many whole packets as fit"
        checks.append(words.within(sent, expected - lab.MSS_BYTES + 1, expected, whole))
    return Seen.by(
        f"{', '.join(told)} Mbit/s",
        *checks,
        note="Payload that reaches the link in the first round trip, and eq. 4.12: 20 kB, 50 kB "
        "and 1 MB at 200 ms, 1 MB at 50 ms and 20 kB at 10 ms.",
    )


def _recovered(found: Results) -> Seen:
    told, checks = [], []
    for queue in LOSSY_PKTS:
        seen = found.recovery(queue)
        if not seen.lost_pkts > 0:
            return Seen.by("no recovery", words.is_so(False, "exact, whole packets"))
        expected = startup.jump_start_window_after_loss_pkts(
            int(seen.paced_pkts), int(seen.lost_pkts)
        )
        told.append(f"({seen.paced_pkts:.0f} - {seen.lost_pkts:.0f})/2: {seen.window_pkts:.0f}")
        checks.append(words.is_so(seen.window_pkts == expected, "exact, whole packets"))
    return Seen.by(
        ", ".join(told),
        *checks,
        unit="packets",
        note="All 45 packets leave at once into queues of 10, 20, 30 and 40 packets. The sender "
        "retransmits only lost packets.",
    )


def _timers(found: Results) -> Seen:
    told, checks = [], []
    for name, one in TIMED.items():
        seen = found.flight(name)
        expected = startup.pacing_timers(int(seen.pkts), rtt_s=one.rtt_ms / 1e3)
        told.append(f"{seen.pkts:.0f} over {one.rtt_ms:g} ms: {seen.bursts:.0f}")
        checks.append(words.is_so(seen.bursts == expected, "exact"))
    return Seen.by(
        "packets in bursts at the link: " + ", ".join(told),
        *checks,
        note="Windows smaller than a chunk get one timer. The equation gives none.",
    )


def _chunks(_found: Results) -> Seen:
    chunks = {name: _default(name, "pacing_chunk_pkts") for name in PACED}
    told = ", ".join(f"{name}: {chunk:.0f}" for name, chunk in chunks.items())
    return Seen.by(told, words.is_so(set(chunks.values()) == {3.0}, "exact"))


def _pieces(found: Results) -> Seen:
    gains = [float(gain) for gain in found.by_piece(BASE) / found.by_piece("jump-start")]
    told = ", ".join(
        f"{gain:.2f} times in writes of {piece / 1e3:g} kB"
        for gain, piece in zip(gains, PIECES_BYTES, strict=True)
    )
    whole, larger, smaller = gains
    return Seen.by(
        told,
        words.significantly_less(larger, whole),
        words.significantly_less(smaller, whole),
        words.less(smaller, larger),
        note="Slow start's time divided by Jump-Start's for the first 100 kB of an application "
        f"that writes {PIECES_BPS / 1e6:g} Mbit/s.",
    )


def _spaced(found: Results) -> Seen:
    largest = {
        mbps: found.flight(name).largest_burst_pkts
        for mbps, name in zip(SPACED_MBPS, SPACED, strict=True)
    }
    spaced = [
        words.is_so(pkts == 1, f"1 packet up to {MEANT_MBPS} Mbit/s")
        for mbps, pkts in largest.items()
        if mbps <= MEANT_MBPS
    ]
    above = [pkts for mbps, pkts in largest.items() if mbps >= MUCH_MBPS]
    together = [words.is_so(pkts > 1, f"more from {MUCH_MBPS:g} Mbit/s on") for pkts in above]
    grows = words.is_so(above == sorted(above), "never less at a higher rate")
    return Seen.by(
        "largest burst " + ", ".join(f"{pkts:.0f} at {mbps}" for mbps, pkts in largest.items()),
        *spaced,
        # "much larger" chooses the rates
        *(dataclasses.replace(check, words=frozenset({"much"})) for check in together),
        grows,
        words.more(above[-1], above[0]),
        unit="Mbit/s",
        note="Chunks of one packet. With the thesis' chunks of three, packets leave in threes at "
        "any rate.",
    )


STATEMENTS: tuple[Statement[Results], ...] = (
    Statement(
        "C-TH-001",
        "bandwidth-delay product of 1 Gbit/s and 200 ms",
        "about 25 MB",
        _bdp,
        carrier="model",
    ),
    Statement(
        "C-TH-014",
        "highest initial rate of the modified Jump-Start at 200 ms",
        "about 2 Mbit/s",
        _highest_rate,
        why=Why(
            "refuted",
            "Eq. 4.12 with the printed K_data of 65,535 bytes gives 2.62 Mbit/s at 200 ms. The "
            "text of the thesis rounds this down to about 2.",
            [
                Change(
                    "K_data of 50,000 bytes",
                    edited({"flows.0.control.tunables.js_max_bytes": 50_000}),
                    "flight-jump-1MB-rtt200",
                )
            ],
        ),
        spoil=scaled("flight-jump-1MB-rtt200", 2.0, "payload_bytes"),
        mend=scaled("flight-jump-1MB-rtt200", 0.8, "payload_bytes"),
    ),
    Statement(
        "C-TH-015",
        "eq. 4.12: the rate of Jump-Start's first round trip, measured and by the equation",
        "Q = min(min(s, K_data)/tau, K_rate)",
        _rate,
        # as without K_data
        spoil=scaled("flight-jump-1MB-rtt200", 3.0, "payload_bytes"),
    ),
    Statement(
        "C-TH-016",
        "K_data of Jump-Start",
        65_535,
        lambda _: near(_default("jump-start", "js_max_bytes"), 65_535, unit="bytes"),
        carrier="setting",
    ),
    Statement(
        "C-TH-017",
        "K_rate of Jump-Start",
        10,
        lambda _: near(_default("jump-start", "js_max_rate_kbps") / 1e3, 10, unit="Mbit/s"),
        carrier="setting",
    ),
    Statement(
        "C-TH-018",
        "eq. 4.11: window after recovery of a Jump-Start that lost packets",
        "max((N_pacing - N_rtx)/2, 1)",
        _recovered,
        # half of what was sent, not of what arrived
        spoil=replaced("recovery-b20", 22.0, "window_pkts"),
    ),
    Statement(
        "C-TH-042",
        "eq. 5.1: timers of a window that is paced over a round trip",
        "min(floor(W/3), floor(tau HZ))",
        _timers,
        # a timer per packet
        spoil=replaced("flight-jump-1MB-rtt200", 45.0, "bursts"),
    ),
    Statement(
        "C-TH-264",
        "packets that leave together in every paced scheme",
        "3",
        _chunks,
        carrier="setting",
    ),
    Statement(
        "C-TH-266",
        "initial window of Initial-Start",
        10,
        lambda _: near(_default("initial-start", "is_window_pkts"), 10, unit="packets"),
        carrier="setting",
    ),
    Statement(
        "C-TH-276",
        "Jump-Start gains significantly less when the application writes in small pieces",
        "significantly smaller",
        _pieces,
        # as if it had all been written at once
        spoil=scaled("pieces-jump-start-4000", 0.3, "delivered_s"),
    ),
    Statement(
        "C-TH-289",
        "rates at which timers of 1 ms cannot space packets of 1500 bytes",
        "much larger than 10 Mbit/s",
        _spaced,
        spoil=replaced("flight-mega-12Mbps-rtt50", 2.0, "largest_burst_pkts"),
    ),
)
