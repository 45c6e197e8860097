"""Check: simulated response times of each scheme, compared with table 6.1."""

from __future__ import annotations

import dataclasses
from collections.abc import Sequence

import numpy as np

from headway.claims import (
    Change,
    Seen,
    Statement,
    Why,
    between,
    edited,
    near,
    replaced,
    scaled,
    swapped,
    words,
)
from headway.claims.spoil import Rows
from headway.metrics.stats import Array
from headway.models import startup
from headway.models._checks import Floats
from headway.studies.common import lab
from headway.studies.transfer_times.experiments import BUFFERS_PKTS, RTTS_MS, over_sizes_key
from headway.studies.transfer_times.results import Results
from headway.studies.transfer_times.schemes import (
    BASE,
    EARLY,
    LATE,
    QS_RATE_BPS,
    SCHEMES,
    TOLERANCE,
    TOLERANCE_S,
    agrees,
    model_s,
)

KB, MB = 1e3, 1e6
RTT_S = lab.RTT_MS / 1e3
K_DATA = startup.JUMP_START_DATA_BYTES
FIRST_WINDOW = 2 * lab.MSS_BYTES
"""Data that slow start sends in its first round trip, in bytes."""
PRINTED_S = 0.0005
"""Half of the last digit in which the claims list derives times."""


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


def _off(found: Results, scheme: str, buffer_pkts: int = BUFFERS_PKTS[0]) -> Array:
    """Part by which times at 200 ms differ from table 6.1, over the sizes."""
    expected = model_s(scheme, found.sizes_bytes, lab.RTT_MS)
    return np.abs(found.times(scheme, buffer_pkts=buffer_pkts) / expected - 1)


def _slow_start_equation(_found: Results) -> Seen:
    path = lab.model_path()
    slow = [float(startup.slow_start_response_s(s, path=path)) for s in (100 * KB, 1 * MB)]
    return Seen.by(
        f"{slow[0]:.3f} and {slow[1]:.3f} s",
        *(
            words.within(mine, derived - PRINTED_S, derived + PRINTED_S, "to the digits derived")
            for mine, derived in zip(slow, (1.215, 2.145), strict=True)
        ),
    )


def _paced_equation(_found: Results) -> Seen:
    early = startup.paced_response_s(100 * KB, path=lab.model_path(), rate_bps=QS_RATE_BPS)
    return between(float(early), 0.362 - PRINTED_S, 0.362 + PRINTED_S, unit="s")


def _table(found: Results) -> Seen:
    known: Floats = found.sizes_bytes
    bound = f"within {100 * TOLERANCE:g} % or {1e3 * TOLERANCE_S:g} ms"
    checks, off = [], 0.0
    for scheme in SCHEMES:
        # C-TH-120 and 121
        judged = known > (K_DATA if scheme == "jump-start" else 0)
        for rtt_ms in RTTS_MS:
            times = found.times(scheme, rtt_ms, BUFFERS_PKTS[1])[judged]
            expected = model_s(scheme, known, rtt_ms)[judged]
            checks += [
                words.within(abs(time - want), -np.inf, max(TOLERANCE * want, TOLERANCE_S), bound)
                for time, want in zip(times.tolist(), expected.tolist(), strict=True)
            ]
            off = max(off, float(np.abs(times / expected - 1).max()))
    return Seen.by(
        f"{sum(check.holds for check in checks)} of {len(checks)} times",
        words.every(checks),
        note=f"At most {100 * off:.1f} % off. The queue drops nothing, because the equations "
        "assume no loss. The last row of the table is used with s - w L instead of s - w.",
    )


def _jump_start(found: Results) -> Seen:
    inside = (found.sizes_bytes > FIRST_WINDOW) & (found.sizes_bytes <= K_DATA)
    sizes, jump = found.sizes_bytes[inside], found.times("jump-start")[inside]
    checks = [words.within(time, 0.6 * 2 * RTT_S, 2 * RTT_S, "400 ms +0/-40 %") for time in jump]
    below = [size for size, check in zip(sizes, checks, strict=True) if not check.holds]
    return Seen.by(
        f"{1e3 * jump.min():.0f} to {1e3 * jump.max():.0f} ms",
        words.every(checks),
        note=f"Outside the bounds: sizes up to {max(below) / KB:g} kB." if below else "",
    )


def _small_jump_starts(found: Results) -> Seen:
    sizes = found.sizes_bytes
    small = (sizes > FIRST_WINDOW) & (sizes <= K_DATA / words.CLEAR)
    jump = found.times("jump-start")[small]
    model = model_s("jump-start", sizes, lab.RTT_MS)[small]
    checks = [words.less(*pair) for pair in zip(jump.tolist(), model.tolist(), strict=True)]
    return Seen.by(
        f"by {1e3 * (model - jump).min():.0f} to {1e3 * (model - jump).max():.0f} ms up to "
        f"{sizes[small].max() / KB:g} kB",
        # "much less than K_data" chooses the sizes
        *(dataclasses.replace(check, words=check.words | {"much"}) for check in checks),
    )


def _slow_start(found: Results) -> Seen:
    off = _off(found, BASE)
    beyond = found.sizes_bytes[off > 0.02]
    return Seen.by(
        f"at most {100 * off.max():.2f} % off",
        words.within(float(off.max()), -np.inf, 0.02, "±2 %"),
        note=f"Further off at {_list(beyond / MB)} MB." if beyond.size else "",
    )


def _older_kernel(found: Results) -> Seen:
    older, newer = found.times(BASE), found.window3()
    more_s = older - newer
    small = found.sizes_bytes <= 10 * KB
    share = np.abs(more_s) / older
    round_s = lab.model_path().round_s
    pairs = list(zip(newer.tolist(), older.tolist(), strict=True))
    below, above = (
        [pair for pair, chosen in zip(pairs, which, strict=True) if chosen]
        for which in (small, ~small)
    )
    return Seen.by(
        f"{1e3 * more_s[small].max():.0f} ms up to 10 kB; {1e3 * more_s[~small].max():.0f} ms, "
        f"{100 * share[~small].max():.0f} %, above",
        words.some([words.significantly_less(*pair) for pair in below]),
        *(
            words.within(slow - fast, -1.1 * round_s, 1.1 * round_s, "± 1 round up to 10 kB")
            for fast, slow in below
        ),
        words.every([words.not_significantly_different(*pair) for pair in above]),
    )


def _match(found: Results) -> Seen:
    above = found.sizes_bytes > 10 * KB
    far = {scheme: float(_off(found, scheme)[above].max()) for scheme in SCHEMES}
    return Seen.by(
        f"at most {100 * far[BASE]:.1f} % off",
        words.within(far[BASE], -np.inf, 0.10, "±10 %"),
        note="The others: "
        + ", ".join(f"{SCHEMES[s].label} {100 * v:.0f} %" for s, v in far.items() if s != BASE)
        + ". Jump-Starts of at most K_data end with the last timer (C-TH-121).",
    )


def _initial_start(found: Results) -> Seen:
    derived_kb = (50, 100, 1000)
    above = found.sizes_bytes >= derived_kb[0] * KB
    saved = (found.times(BASE) - found.times("initial-start"))[above]
    told = [found.at(BASE, k * KB) - found.at("initial-start", k * KB) for k in derived_kb]
    return Seen.by(
        f"{saved.min():.3f} to {saved.max():.3f} s; {', '.join(f'{one:.2f}' for one in told)} s",
        *(words.within(one, 2 * RTT_S, 3 * RTT_S, "2 to 3 rounds of 0.2 s") for one in saved),
        note="The range is over sizes from 50 kB, where the derived values begin, to 10 MB. The "
        "three values are those at the derived sizes.",
    )


def _mega_start(found: Results) -> Seen:
    return near(found.at("mega-start", 100 * KB), 0.285, relative=0.05, unit="s")


def _quick_start(found: Results) -> Seen:
    slow, quick, sizes = found.times(BASE), found.times(EARLY), found.sizes_bytes
    helped = (sizes >= 5 * KB) & (sizes <= (1 + words.ABOUT) * MB)
    long = sizes > 5 * MB
    speedup = slow / quick
    return Seen.by(
        f"{speedup[helped].min():.2f} to {speedup[helped].max():.2f} times from 5 kB to "
        f"{sizes[helped].max() / MB:g} MB, {speedup[long].max():.2f} at most above 5 MB",
        *(words.significantly_less(a, b) for a, b in zip(quick[helped], slow[helped], strict=True)),
        words.within(float(speedup[helped].min()), 1.3, np.inf, "1.3 times up to 1 MB"),
        words.within(float(speedup[long].max()), -np.inf, 1.2, "at most 1.2 times above 5 MB"),
    )


def _kink(found: Results) -> Seen:
    """Where the lines before and after the paced round trip meet."""
    x = np.array([100 * KB, 115 * KB, 135 * KB, 150 * KB])
    y = np.array([found.at(EARLY, size) for size in x])
    before, after = (y[1] - y[0]) / (x[1] - x[0]), (y[3] - y[2]) / (x[3] - x[2])
    kink = float((y[2] - y[0] + before * x[0] - after * x[2]) / (before - after))
    return between(
        kink / KB,
        123,
        128,
        unit="kB",
        note="128 kB is q tau. L/MTU of it is payload: 123.6 kB.",
    )


def _late(found: Results) -> Seen:
    asking = found.sizes_bytes > FIRST_WINDOW
    extra = (found.times(LATE) - found.times(EARLY))[asking]
    return Seen.by(
        f"{1e3 * extra.min():.0f} to {1e3 * extra.max():.0f} ms",
        *(words.by_one_round_trip(one, RTT_S) for one in extra),
        *(words.quantity(one, RTT_S, 0.1) for one in extra),
        note="All sizes that need more than the first window.",
    )


def _list(numbers: Floats) -> str:
    return ", ".join(f"{number:g}" for number in numbers)


def _alike_above_10_kb(rows: Rows) -> Rows:
    """Make both initial windows equally fast above 10 kB, three round trips of slow start."""
    older, newer = rows[f"{BASE}-rtt200-b1000"].response_s, rows["window3"].response_s
    alike = np.where(older > 3.5 * RTT_S, older, newer)
    return {**rows, "window3": dataclasses.replace(rows["window3"], response_s=alike)}


def _chunks_of(packets: int, says: str) -> Change:
    return Change(
        says,
        edited({"flows.*.control.tunables.pacing_chunk_pkts": packets}),
        over_sizes_key("jump-start", lab.RTT_MS, BUFFERS_PKTS[0]),
    )


def _both_windows(says: str, **fields: str) -> Change:
    """Slow start from 2 and from 3 packets, with something of the path changed."""
    edit = edited({f"topology.{path.replace('_', '.')}": value for path, value in fields.items()})
    return Change(says, edit, (f"{BASE}-rtt200-b1000", "window3"))


STATEMENTS: tuple[Statement[Results], ...] = (
    Statement(
        "C-TH-117",
        "eq. 6.2 to 6.6 at 100 kB and 1 MB",
        "1.215 and 2.145 s",
        _slow_start_equation,
        carrier="model",
    ),
    Statement(
        "C-TH-118",
        "eq. 6.7 to 6.10: 100 kB at 5.12 Mbit/s, early activation",
        0.362,
        _paced_equation,
        carrier="model",
    ),
    Statement(
        "C-TH-119",
        "table 6.1: simulated response times of all schemes, sizes and round-trip times",
        "the equations",
        _table,
        part="All rows of the table. Jump-Start is judged only at sizes above K_data, because "
        "C-TH-120 and 121 judge the others.",
        ours="The claims list names no tolerance.",
        spoil=swapped(EARLY, LATE),
    ),
    Statement(
        "C-TH-120",
        "Jump-Start ideally takes two round trips for sizes above the first window, up to K_data",
        "400 ms",
        _jump_start,
        why=Why(
            "refuted",
            "The thesis paces in chunks of three packets. By eq. 5.1 three to five packets form "
            "one chunk and leave at once.",
            [_chunks_of(1, "chunks of one packet"), _chunks_of(2, "chunks of two packets")],
        ),
        spoil=swapped("jump-start", BASE),
        # evenly spread over the round trip
        mend=replaced("jump-start-rtt200-b1000", 0.39, "response_s"),
    ),
    Statement(
        "C-TH-121",
        "Jump-Starts of much less than K_data are faster than the equation",
        "smaller than the model",
        _small_jump_starts,
        spoil=swapped("jump-start", LATE),
    ),
    Statement(
        "C-TH-122",
        "slow start is exactly eq. 6.3: 200 ms, 1000 packets",
        "exactly modelled",
        _slow_start,
        why=Why(
            "refuted",
            "Transfers of more than 3.4 MB overflow the queue of 1000 packets during slow start, "
            "and eq. 6.3 assumes no loss. The thesis does not print its largest size.",
            [
                Change(
                    "a queue of 2000 packets",
                    edited({"topology.reverse.buffer": "2000 pkts"}),
                    over_sizes_key(BASE, lab.RTT_MS, BUFFERS_PKTS[0]),
                )
            ],
        ),
        spoil=swapped(BASE, "initial-start"),
        mend=swapped("b1000", "b10000"),
    ),
    Statement(
        "C-TH-123",
        "Linux 2.6.18 and 2.6.24 with initial windows of 2 and 3: the times differ significantly "
        "only up to 10 kB",
        "± 1 round up to 10 kB, match very well above",
        _older_kernel,
        why=Why(
            "refuted",
            "By eq. 6.3 one more packet in the initial window saves up to a round trip for all "
            "transfers that end in slow start, also above 10 kB. This is less than 10 % of the "
            "transfer time only if the round-trip time is short.",
            [
                _both_windows("a queue of 10,000 packets", reverse_buffer="10000 pkts"),
                _both_windows("a round-trip time of 50 ms", rtt="50 ms", reverse_delay="25 ms"),
                _both_windows("a round-trip time of 10 ms", rtt="10 ms", reverse_delay="5 ms"),
            ],
        ),
        spoil=scaled("window3", 0.7, "response_s"),
        mend=_alike_above_10_kb,
    ),
    Statement(
        "C-TH-124",
        "slow start compared with the model above 10 kB, 200 ms, 1000 packets",
        "match very well",
        _match,
        part="Simulation and model. The measurements with Linux 2.6.24 are not printed.",
        spoil=swapped(BASE, "initial-start"),
    ),
    Statement(
        "C-TH-125",
        "Initial-Start's curve is slow start's, shifted down by two to three rounds",
        "vertical shift; 0.40, 0.57 and 0.47 s at 50 kB, 100 kB and 1 MB",
        _initial_start,
        spoil=swapped("initial-start", "jump-start"),
    ),
    Statement(
        "C-TH-126",
        "Mega-Start at the link's rate is the optimum: 100 kB",
        0.285,
        _mega_start,
        spoil=swapped("mega-start", EARLY),
    ),
    Statement(
        "C-TH-127",
        "early Quick-Start significantly speeds up transfers of few kilobytes to about 1 MB",
        "few kilobytes to about 1 MB",
        _quick_start,
        figures={
            "few": "sizes from 5 kB on, as few seconds are at most 5",
            "about": "sizes up to 15 % more than 1 MB",
        },
        spoil=swapped(EARLY, BASE),
    ),
    Statement(
        "C-TH-128",
        "kink of early Quick-Start: what the paced round trip carries",
        128,
        _kink,
        spoil=swapped(EARLY, "initial-start"),
    ),
    Statement(
        "C-TH-129",
        "late activation is slower than early activation by one round trip",
        "200 ms",
        _late,
        spoil=swapped(LATE, "jump-start"),
    ),
)
