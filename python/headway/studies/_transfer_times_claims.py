"""What the thesis says of single transfers, beside what was simulated."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from headway.claims import Claim
from headway.models import startup
from headway.registry import registry
from headway.studies import _transfer_times_gains as gains
from headway.studies._transfer_times_data import (
    BUFFERS_PKTS,
    PIECES_BYTES,
    PIECES_GAP,
    QS_RATE_BPS,
    RTTS_MS,
    SCHEMES,
    Results,
    agrees,
    model_s,
)
from headway.studies.common import lab
from headway.studies.common import legacy_claims as claim

KB, MB = 1e3, 1e6
INF = float("inf")
BASE = "slow-start"


def all_claims(results: Results) -> list[Claim]:
    """C-TH-001, 014 to 018, 042, 117 to 143 and 244 to 248, 264, 266, 276, 289, 290."""
    return [
        *_constants(),
        *_first_flight(results),
        *_equations(results),
        *_end_to_end(results),
        *_quick_start(results),
        *gains.all_claims(results),
    ]


def _default(name: str, tunable: str) -> float:
    owner = registry().startup(name)
    return float(next(known.default for known in owner.tunables if known.name == tunable))


def _constants() -> list[Claim]:
    k_data, k_rate = (
        _default("jump-start", "js_max_bytes"),
        _default("jump-start", "js_max_rate_kbps"),
    )
    chunks = {
        name: _default(name, "pacing_chunk_pkts")
        for name in ("jump-start", "mega-start", "quick-start")
    }
    widest = startup.jump_start_rate(1 * MB, rtt_s=0.2) * 8 / 1e6
    return [
        claim.within(
            "C-TH-001",
            "bandwidth-delay product of 1 Gbit/s and 200 ms",
            25,
            lab.model_path(rate_bps=1e9).rate_bps * 0.2 / 8 / MB,
            "MB",
        ),
        claim.in_range(
            "C-TH-014",
            "highest initial rate of the modified Jump-Start at 200 ms",
            "about 2 Mbit/s",
            float(widest),
            "Mbit/s",
            2.0,
            2.7,
            note="65,535 bytes in 200 ms are 2.62 Mbit/s.",
        ),
        claim.within("C-TH-016", "K_data of Jump-Start", 65_535, k_data, "bytes"),
        claim.within("C-TH-017", "K_rate of Jump-Start", 10, k_rate / 1e3, "Mbit/s"),
        claim.shown(
            "C-TH-264",
            "packets that leave together in every paced scheme",
            "3",
            ", ".join(f"{name}: {chunk:.0f}" for name, chunk in chunks.items()),
            set(chunks.values()) == {3.0},
            tolerance="exact",
        ),
        claim.within(
            "C-TH-266",
            "initial window of Initial-Start",
            10,
            _default("initial-start", "is_window_pkts"),
            "packets",
        ),
        claim.within(
            "C-TH-289",
            "rate above which timers of 1 ms cannot space packets of 1500 bytes",
            12,
            lab.MTU_BYTES * 8 / 1e-3 / 1e6,
            "Mbit/s",
            note='The thesis says "much larger than 10 Mbit/s": with bursts of 3 it is 36 Mbit/s.',
        ),
    ]


def _first_flight(results: Results) -> list[Claim]:
    paced, retransmitted, window = results.recovered
    expected = startup.jump_start_window_after_loss_pkts(paced, retransmitted)
    sizes = results.sizes_bytes
    timed = startup.timed_jump_start_response_s(sizes, path=lab.model_path())
    seen = results.times("jump-start", 200, BUFFERS_PKTS[1])
    off = float(np.abs(seen / timed - 1).max())
    window_timers = startup.pacing_timers(45, rtt_s=0.2)
    pieces = results.by_piece_s[BASE] / results.by_piece_s["jump-start"]
    return [
        claim.shown(
            "C-TH-276",
            "data written in small pieces gains less from Jump-Start",
            "smaller",
            ", ".join(
                f"{gain:.2f} times in writes of {piece / 1e3:g} kB"
                for gain, piece in zip(pieces, PIECES_BYTES, strict=True)
            ),
            bool(np.all(np.diff(pieces) < 0)),
            note=f"100 kB, a write every {PIECES_GAP} on average.",
        ),
        claim.shown(
            "C-TH-015",
            "eq. 4.12: response times that follow from the rate of the first round trip, 200 ms",
            "Q = min(min(s, K_data)/tau, K_rate)",
            f"at most {100 * off:.1f} % off",
            off <= 0.03,
            tolerance="±3 %",
            note="Table 6.1 with this Q and the timers of eq. 5.1, all sizes.",
        ),
        claim.shown(
            "C-TH-018",
            "eq. 4.11: window after recovery of a Jump-Start that lost packets",
            f"max(({paced} - {retransmitted})/2, 1) = {expected} packets",
            f"{window} packets",
            paced > 0 and retransmitted > 0 and abs(window - expected) <= 1,
            tolerance="±1 packet",
            note="All 45 packets at once into a queue of 20.",
        ),
        claim.shown(
            "C-TH-042",
            "eq. 5.1: timers of a window of 45 packets over 200 ms",
            f"min(45 // 3, 200) = {window_timers}",
            f"{results.bursts} bursts at the bottleneck",
            results.bursts == window_timers,
            tolerance="exact",
        ),
    ]


def _model_claim(name: str, what: str, seconds: float, measured: float) -> Claim:
    return claim.within(name, what, seconds, measured, "s", relative=0.03)


def _equations(results: Results) -> list[Claim]:
    path = lab.model_path()
    slow = [startup.slow_start_response_s(s, path=path) for s in (100 * KB, 1 * MB)]
    early = startup.paced_response_s(100 * KB, path=path, rate_bps=QS_RATE_BPS)
    agreed, count = agreement(results, list(SCHEMES), BUFFERS_PKTS[1])
    slow_off = [
        [
            float(
                np.abs(
                    results.times(BASE, rtt, queue) / model_s(BASE, results.sizes_bytes, rtt) - 1
                ).max()
            )
            for rtt in RTTS_MS
        ]
        for queue in BUFFERS_PKTS
    ]
    above = results.sizes_bytes >= 10 * KB
    far = {
        scheme: float(
            np.abs(
                results.times(scheme)[above] / model_s(scheme, results.sizes_bytes, 200)[above] - 1
            ).max()
        )
        for scheme in SCHEMES
    }
    older_s = (results.times(BASE) - results.window3_s)[results.sizes_bytes > 10 * KB]
    older_share = float((older_s / results.times(BASE)[results.sizes_bytes > 10 * KB]).max())
    return [
        claim.shown(
            "C-TH-117",
            "eq. 6.2 to 6.6 at 100 kB and 1 MB",
            "1.215 and 2.145 s",
            f"{float(slow[0]):.3f} and {float(slow[1]):.3f} s; simulated "
            f"{results.at(BASE, 100 * KB):.3f} and {results.at(BASE, 1 * MB):.3f} s",
            abs(float(slow[0]) - 1.215) < 1e-3 and abs(float(slow[1]) - 2.145) < 1e-3,
            tolerance="exact",
        ),
        claim.within(
            "C-TH-118",
            "eq. 6.7 to 6.10: 100 kB at 5.12 Mbit/s, early activation",
            0.362,
            float(early),
            "s",
            relative=0.002,
        ),
        claim.shown(
            "C-TH-119",
            "table 6.1: simulated response times of all schemes, sizes and round-trip times",
            "the equations",
            f"{agreed} of {count} within 3 % or 5 ms",
            agreed >= 0.9 * count,
            tolerance="≥ 90 % of all times",
            note="With a queue that drops nothing. The others are Jump-Starts within K_data, which "
            "end with the last timer; see the table.",
        ),
        claim.shown(
            "C-TH-122",
            "slow start is exactly eq. 6.3",
            "exactly modelled",
            f"at most {100 * max(slow_off[1]):.2f} % off",
            max(slow_off[1]) <= 0.02,
            tolerance="±2 %",
            note="With a queue that drops nothing, as the equation assumes. With 1000 packets slow "
            f"start fills it above 3 MB and is up to {100 * max(slow_off[0]):.1f} % off.",
        ),
        claim.shown(
            "C-TH-123",
            "Linux 2.6.18 and 2.6.24, initial windows of 2 and 3, differ only up to 10 kB",
            "± 1 round below 10 kB",
            f"above 10 kB up to {1e3 * older_s.max():.0f} ms, {100 * older_share:.0f} %",
            older_share <= 0.10,
            tolerance="≤ 10 % above 10 kB",
            note="By eq. 6.3 they differ by up to a round at any size that ends in slow start.",
        ),
        claim.shown(
            "C-TH-124",
            "slow start beside the model above 10 kB, 200 ms, 1000 packets",
            "match very well",
            f"at most {100 * far[BASE]:.1f} % off",
            far[BASE] <= 0.10,
            tolerance="±10 %",
            note="The others: "
            + ", ".join(f"{SCHEMES[s].label} {100 * v:.0f} %" for s, v in far.items() if s != BASE)
            + ". Jump-Starts within K_data end with the last timer (C-TH-121).",
        ),
    ]


def agreement(
    results: Results, schemes: Sequence[str], buffer_pkts: int, rtts_ms: Sequence[int] = RTTS_MS
) -> tuple[int, int]:
    """How many simulated times agree with table 6.1, and how many there are."""
    good = [
        agrees(
            results.times(scheme, rtt_ms, buffer_pkts),
            model_s(scheme, results.sizes_bytes, rtt_ms),
        )
        for scheme in schemes
        for rtt_ms in rtts_ms
    ]
    return int(np.sum(good)), int(np.size(good))


def _end_to_end(results: Results) -> list[Claim]:
    inside = (results.sizes_bytes > 2 * lab.MSS_BYTES) & (results.sizes_bytes <= 65_535)
    jump = results.times("jump-start")[inside]
    small = results.sizes_bytes[inside] <= 20 * KB
    few = results.sizes_bytes[inside] < 10 * KB
    model = model_s("jump-start", results.sizes_bytes, 200)[inside]
    saved = {
        s: results.at(BASE, s) - results.at("initial-start", s) for s in (50 * KB, 100 * KB, 1 * MB)
    }
    published = (0.40, 0.57, 0.47)
    return [
        claim.shown(
            "C-TH-120",
            "Jump-Start takes two round trips for all that fits K_data",
            "400 ms",
            f"{1e3 * jump[~few].min():.0f} to {1e3 * jump[~few].max():.0f} ms from 10 kB on",
            bool(np.all((jump[~few] >= 0.6 * 0.4) & (jump[~few] <= 0.4 * 1.01))),
            tolerance="+0/-40 %",
            note=f"One timer sends less than 10 kB at once: {1e3 * jump[few].min():.0f} ms "
            "(C-TH-121).",
        ),
        claim.shown(
            "C-TH-121",
            "small Jump-Starts are faster than the equation",
            "smaller than the model",
            f"by {1e3 * (model - jump)[small].min():.0f} to "
            f"{1e3 * (model - jump)[small].max():.0f} ms up to 20 kB",
            bool(np.all(jump[small] < model[small])),
        ),
        claim.shown(
            "C-TH-125",
            "Initial-Start saves two or three rounds: at 50 kB, 100 kB, 1 MB",
            "0.40, 0.57, 0.47 s",
            ", ".join(f"{value:.2f}" for value in saved.values()) + " s",
            all(
                abs(seen / want - 1) <= 0.1
                for seen, want in zip(saved.values(), published, strict=True)
            ),
            tolerance="±10 %",
        ),
        _model_claim(
            "C-TH-126",
            "Mega-Start at the link's rate is the optimum: 100 kB",
            0.285,
            results.at("mega-start", 100 * KB),
        ),
    ]


def _quick_start(results: Results) -> list[Claim]:
    speedup = results.speedup("quick-start")
    sizes = results.sizes_bytes
    helped = (sizes >= 5 * KB) & (sizes <= 1 * MB)
    long = sizes > 5 * MB
    kink = _kink_bytes(results)
    middle = (sizes > 10 * KB) & (sizes <= 1 * MB)
    extra = (results.times("quick-start-late") - results.times("quick-start"))[middle]
    return [
        claim.shown(
            "C-TH-127",
            "early Quick-Start speeds up transfers of a few kB to 1 MB",
            "> 1.3 inside, < 1.2 above 5 MB",
            f"{speedup[helped].min():.2f} to {speedup[helped].max():.2f} from 5 kB to 1 MB, "
            f"{speedup[long].max():.2f} at most above",
            bool(np.all(speedup[helped] > 1.3) and np.all(speedup[long] < 1.2)),
            tolerance="as published",
        ),
        claim.in_range(
            "C-TH-128",
            "kink of early Quick-Start: what the paced round trip carries",
            128,
            kink / KB,
            "kB",
            120,
            130,
            note="128 kB is q tau; L/MTU of it is payload: 123.6 kB.",
        ),
        claim.shown(
            "C-TH-129",
            "late activation costs one round trip more than early",
            "200 ms",
            f"{1e3 * extra.min():.0f} to {1e3 * extra.max():.0f} ms, mean {1e3 * extra.mean():.0f}",
            abs(float(extra.mean()) / 0.2 - 1) <= 0.1,
            tolerance="±10 % of the mean",
        ),
    ]


def _kink_bytes(results: Results) -> float:
    """Where the lines before and after the paced round trip meet."""
    x = np.array([100 * KB, 115 * KB, 135 * KB, 150 * KB])
    y = np.array([results.at("quick-start", size) for size in x])
    before, after = (y[1] - y[0]) / (x[1] - x[0]), (y[3] - y[2]) / (x[3] - x[2])
    return float((y[2] - y[0] + before * x[0] - after * x[2]) / (before - after))
