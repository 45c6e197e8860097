"""Check: settings and equations of the first round trip; what is written at a time."""

from __future__ import annotations

import numpy as np

from headway.claims import Seen, Statement, near, replaced, scaled
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


def _default(name: str, tunable: str) -> float:
    owner = registry().startup(name)
    return float(next(known.default for known in owner.tunables if known.name == tunable))


def _bdp(_found: Results) -> Seen:
    return near(bdp_bytes(10**9, NS_PER_S // 5) / MB, 25, unit="MB")


def _highest_rate(_found: Results) -> Seen:
    rate_bps = float(startup.jump_start_rate(1 * MB, rtt_s=0.2) * 8)
    return near(rate_bps / 1e6, 2.62, relative=0.001, unit="Mbit/s")


def _rate(found: Results) -> Seen:
    told, exact = [], []
    for name, one in JUMPS.items():
        tau_s = one.rtt_ms / 1e3
        expected = float(startup.jump_start_rate(one.size_bytes, rtt_s=tau_s)) * tau_s
        sent = found.flight(name).payload_bytes
        told.append(f"{sent / tau_s * 8 / 1e6:.2f}/{expected / tau_s * 8 / 1e6:.2f}")
        exact.append(expected - lab.MSS_BYTES < sent <= expected)
    return Seen(
        f"{', '.join(told)} Mbit/s",
        all(exact),
        "the packets that fit whole",
        note="Payload at the link in the first round trip over eq. 4.12: 20 kB, 50 kB and 1 MB at "
        "200 ms, 1 MB at 50 and 20 kB at 10 ms.",
    )


def _recovered(found: Results) -> Seen:
    told, exact = [], []
    for queue in LOSSY_PKTS:
        seen = found.recovery(queue)
        if not seen.lost_pkts > 0:
            return Seen("no recovery", holds=False)
        expected = startup.jump_start_window_after_loss_pkts(
            int(seen.paced_pkts), int(seen.lost_pkts)
        )
        told.append(f"({seen.paced_pkts:.0f} - {seen.lost_pkts:.0f})/2: {seen.window_pkts:.0f}")
        exact.append(seen.window_pkts == expected)
    return Seen(
        ", ".join(told),
        all(exact),
        "exact, whole packets",
        "packets",
        note="All 45 packets at once into queues of 10, 20, 30 and 40. Only what is lost is sent "
        "again.",
    )


def _timers(found: Results) -> Seen:
    told, exact = [], []
    for name, one in TIMED.items():
        seen = found.flight(name)
        expected = startup.pacing_timers(int(seen.pkts), rtt_s=one.rtt_ms / 1e3)
        told.append(f"{seen.pkts:.0f} over {one.rtt_ms:g} ms: {seen.bursts:.0f}")
        exact.append(seen.bursts == expected)
    return Seen(
        "packets in bursts at the link: " + ", ".join(told),
        all(exact),
        "exact",
        note="One for less than a chunk, for which the equation gives none.",
    )


def _chunks(_found: Results) -> Seen:
    chunks = {name: _default(name, "pacing_chunk_pkts") for name in PACED}
    words = ", ".join(f"{name}: {chunk:.0f}" for name, chunk in chunks.items())
    return Seen(words, set(chunks.values()) == {3.0}, "exact")


def _pieces(found: Results) -> Seen:
    gains = found.by_piece(BASE) / found.by_piece("jump-start")
    words = ", ".join(
        f"{gain:.2f} times in writes of {piece / 1e3:g} kB"
        for gain, piece in zip(gains, PIECES_BYTES, strict=True)
    )
    return Seen(
        words,
        bool(np.all(np.diff(gains) < 0)),
        note=f"The first 100 kB of an application that writes {PIECES_BPS / 1e6:g} Mbit/s.",
    )


def _spaced(found: Results) -> Seen:
    largest = {
        mbps: found.flight(name).largest_burst_pkts
        for mbps, name in zip(SPACED_MBPS, SPACED, strict=True)
    }
    alone = all(pkts == 1 for mbps, pkts in largest.items() if mbps <= MEANT_MBPS)
    growing = [pkts for mbps, pkts in largest.items() if mbps > MEANT_MBPS]
    return Seen(
        "largest burst " + ", ".join(f"{pkts:.0f} at {mbps}" for mbps, pkts in largest.items()),
        alone and growing[0] > 1 and growing == sorted(growing) and growing[-1] > growing[0],
        "1 packet up to 12 Mbit/s, more above",
        "Mbit/s",
        note="Chunks of one packet; with the thesis' three, packets leave in threes at any rate.",
    )


STATEMENTS: tuple[Statement[Results], ...] = (
    Statement(
        "C-TH-001",
        "bandwidth-delay product of 1 Gbit/s and 200 ms",
        25,
        _bdp,
        carrier="model",
    ),
    Statement(
        "C-TH-014",
        "highest initial rate of the modified Jump-Start at 200 ms (eq. 4.12)",
        "about 2 Mbit/s; 65,535 bytes in 200 ms are 2.62",
        _highest_rate,
        carrier="model",
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
        "data written in small pieces gains less from Jump-Start",
        "smaller",
        _pieces,
        # as if it had all been written at once
        spoil=scaled("pieces-jump-start-4000", 0.3, "delivered_s"),
    ),
    Statement(
        "C-TH-289",
        "rate from which timers of 1 ms cannot space packets of 1500 bytes",
        "much larger than 10 Mbit/s; one packet per ms is 12",
        _spaced,
        spoil=replaced("flight-mega-12Mbps-rtt50", 2.0, "largest_burst_pkts"),
    ),
)
