"""Check: settings and equations of the first round trip; what is written at a time."""

from __future__ import annotations

import numpy as np

from headway.claims import Seen, Statement, between, near, replaced, scaled
from headway.models import startup
from headway.registry import registry
from headway.studies.common import lab
from headway.studies.transfer_times.experiments import BUFFERS_PKTS, PIECES_BYTES, PIECES_GAP
from headway.studies.transfer_times.results import Results
from headway.studies.transfer_times.schemes import BASE

MB = 1e6
PACED = ("jump-start", "mega-start", "quick-start")


def _default(name: str, tunable: str) -> float:
    owner = registry().startup(name)
    return float(next(known.default for known in owner.tunables if known.name == tunable))


def _bdp(_found: Results) -> Seen:
    return near(lab.model_path(rate_bps=1e9).rate_bps * 0.2 / 8 / MB, 25, unit="MB")


def _highest_rate(_found: Results) -> Seen:
    return between(
        float(startup.jump_start_rate(1 * MB, rtt_s=0.2) * 8 / 1e6),
        2.0,
        2.7,
        unit="Mbit/s",
        note="65,535 bytes in 200 ms are 2.62 Mbit/s.",
    )


def _rate(found: Results) -> Seen:
    timed = startup.timed_jump_start_response_s(found.sizes_bytes, path=lab.model_path())
    seen = found.times("jump-start", 200, BUFFERS_PKTS[1])
    off = float(np.abs(seen / timed - 1).max())
    return Seen(
        f"at most {100 * off:.1f} % off",
        off <= 0.03,
        "±3 %",
        note="Table 6.1 with this Q and the timers of eq. 5.1, all sizes.",
    )


def _recovered(found: Results) -> Seen:
    seen = found.recovery
    if not seen.retransmitted_pkts > 0:
        return Seen("no recovery", holds=False)
    expected = startup.jump_start_window_after_loss_pkts(
        int(seen.paced_pkts), int(seen.retransmitted_pkts)
    )
    return Seen(
        f"{seen.cwnd_pkts:.0f} packets",
        abs(seen.cwnd_pkts - expected) <= 1,
        "±1 packet",
        note="All 45 packets at once into a queue of 20.",
    )


def _timers(found: Results) -> Seen:
    bursts = found.flight.bursts
    expected = startup.pacing_timers(45, rtt_s=0.2)
    return Seen(f"{bursts:.0f} bursts at the bottleneck", bursts == expected, "exact")


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
        note=f"100 kB, a write every {PIECES_GAP} on average.",
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
        "highest initial rate of the modified Jump-Start at 200 ms",
        "about 2 Mbit/s",
        _highest_rate,
        carrier="model",
    ),
    Statement(
        "C-TH-015",
        "eq. 4.12: response times that follow from the rate of the first round trip, 200 ms",
        "Q = min(min(s, K_data)/tau, K_rate)",
        _rate,
        spoil=scaled("jump-start-rtt200-b10000", 1.2, "response_s"),
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
        "max((45 - 26)/2, 1) = 9 packets",
        _recovered,
        spoil=replaced("mechanics-loss", 20, "cwnd_pkts"),
    ),
    Statement(
        "C-TH-042",
        "eq. 5.1: timers of a window of 45 packets over 200 ms",
        "min(45 // 3, 200) = 15",
        _timers,
        spoil=replaced("mechanics-bursts", 45, "bursts"),
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
        spoil=scaled("pieces-slow-start-10000", 3.0, "delivered_s"),
    ),
    Statement(
        "C-TH-289",
        "rate above which timers of 1 ms cannot space packets of 1500 bytes",
        12,
        lambda _: near(
            lab.MTU_BYTES * 8 / 1e-3 / 1e6,
            12,
            unit="Mbit/s",
            note='The thesis says "much larger than 10 Mbit/s": with bursts of 3 it is 36 Mbit/s.',
        ),
        carrier="model",
    ),
)
