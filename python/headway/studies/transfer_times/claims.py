"""Check: C-TH-001, 014 to 018, 042, 117 to 131, 264, 266, 276, 289; gains has 132 to 143."""

from collections.abc import Callable, Iterable
from dataclasses import replace
from itertools import product

import numpy as np

from headway.claims import (
    Claims,
    Seen,
    between,
    near,
    scaled,
    swapped,
    words,
)
from headway.claims.spoil import Rows
from headway.metrics.stats import Array
from headway.models import startup
from headway.models._checks import Floats
from headway.registry import registry
from headway.studies.common import lab
from headway.studies.common.runs import listed
from headway.studies.transfer_times.experiments import (
    BASE,
    BUFFERS_PKTS,
    EARLY,
    JUMP,
    JUMPS,
    LABELS,
    LATE,
    LOSSY_PKTS,
    PIECES_BYTES,
    RTTS_MS,
    SPACED_MBPS,
    TIMED,
    Results,
    key,
    model_s,
)
from headway.units import NS_PER_S, bdp_bytes

CLAIMS: Claims[Results] = Claims(__name__)
KB, MB = 1e3, 1e6
RTT_S = lab.RTT_MS / 1e3
TOLERANCE, TOLERANCE_S = 0.03, 0.005
"""A simulated time agrees with table 6.1 within 3 % or 5 ms, whichever is more."""
K_DATA = startup.JUMP_START_DATA_BYTES
FIRST_WINDOW = 2 * lab.MSS_BYTES
"""Data that slow start sends in its first round trip, in bytes."""
PRINTED_S = 0.0005
"""Half of the last digit in which the claims list derives times."""
_HIGHEST = "flight-jump-1MB-rtt200"


def least_s(sizes_bytes: Floats) -> Floats:
    """The theoretical minimum: a round trip, and the data at the link's rate."""
    return np.asarray(RTT_S + sizes_bytes * 8 * lab.MTU_BYTES / lab.MSS_BYTES / lab.LINK_BPS)


def _off(found: Results, scheme: str) -> Array:
    """Relative difference of times at 200 ms from table 6.1, by size."""
    return np.abs(found.times(scheme) / model_s(scheme, found.sizes_bytes) - 1)


def _each(
    judge: Callable[[float, float], words.Check], mine: Array, than: Array
) -> list[words.Check]:
    """Compare two arrays of response times element by element."""
    return [judge(*pair) for pair in zip(mine.tolist(), than.tolist(), strict=True)]


def _default(name: str, tunable: str) -> float:
    owner = registry().startup(name)
    return float(next(known.default for known in owner.tunables if known.name == tunable))


@CLAIMS.judge("C-TH-001")
def _bdp(_found: Results) -> Seen:
    bdp = bdp_bytes(10**9, NS_PER_S // 5) / MB
    return Seen.by(bdp, words.about(bdp, 25), words.is_so(bdp == 25, "exact"), unit="MB")


@CLAIMS.judge("C-TH-014")
def _highest_rate(found: Results) -> Seen:
    rate_mbps = found.flights[_HIGHEST].payload_bytes * 8 / RTT_S / 1e6
    by_equation_bps = float(startup.jump_start_rate(1 * MB, rtt_s=0.2) * 8)
    return Seen.by(
        rate_mbps,
        words.about(rate_mbps, 2),
        unit="Mbit/s",
        note="Shown: the rate of payload that reaches the link in the first round trip. Eq. 4.12 "
        "gives "
        f"{by_equation_bps / 1e6:.2f} Mbit/s.",
    )


@CLAIMS.judge("C-TH-015")
def _rate(found: Results) -> Seen:
    shown, checks = [], []
    for name, one in JUMPS.items():
        tau_s = one.rtt_ms / 1e3
        expected = float(startup.jump_start_rate(one.size_bytes, rtt_s=tau_s)) * tau_s
        sent = found.flights[name].payload_bytes
        shown.append(f"{sent / tau_s * 8 / 1e6:.2f}/{expected / tau_s * 8 / 1e6:.2f}")
        whole = "as many whole packets as fit"
        checks.append(words.within(sent, expected - lab.MSS_BYTES + 1, expected, whole))
    return Seen.by(
        f"{', '.join(shown)} Mbit/s",
        *checks,
        note="Shown: the payload that reaches the link in the first round trip, and that of eq. "
        "4.12, for transfers of 20 kB, 50 kB "
        "and 1 MB at 200 ms, 1 MB at 50 ms and 20 kB at 10 ms.",
    )


@CLAIMS.judge("C-TH-018")
def _recovered(found: Results) -> Seen:
    shown, checks, exact = [], [], "exact, whole packets"
    for queue in LOSSY_PKTS:
        one = found.recoveries[f"recovery-b{queue}"]
        if not one.lost_pkts > 0:
            return Seen.by("no recovery", words.is_so(False, exact))
        paced, lost = int(one.paced_pkts), int(one.lost_pkts)
        expected = startup.jump_start_window_after_loss_pkts(paced, lost)
        shown.append(f"({one.paced_pkts:.0f} - {one.lost_pkts:.0f})/2: {one.window_pkts:.0f}")
        checks.append(words.is_so(one.window_pkts == expected, exact))
    return Seen.by(
        ", ".join(shown),
        *checks,
        unit="packets",
        note="All 45 packets leave at once into queues of 10, 20, 30 and 40 packets. The sender "
        "retransmits only lost packets.",
    )


@CLAIMS.judge("C-TH-042")
def _timers(found: Results) -> Seen:
    shown, checks = [], []
    for name, flight in TIMED.items():
        one = found.flights[name]
        expected = startup.pacing_timers(int(one.pkts), rtt_s=flight.rtt_ms / 1e3)
        shown.append(f"{one.pkts:.0f} over {flight.rtt_ms:g} ms: {one.bursts:.0f}")
        checks.append(words.is_so(one.bursts == expected, "exact"))
    return Seen.by(
        "packets in bursts at the link: " + ", ".join(shown),
        *checks,
        note="A window smaller than a chunk of three packets gets one timer, although the "
        "equation gives none.",
    )


@CLAIMS.judge("C-TH-264")
def _chunks(_found: Results) -> Seen:
    paced = (JUMP, "mega-start", "quick-start")
    chunks = {f"{name}:": _default(name, "pacing_chunk_pkts") for name in paced}
    return Seen.by(listed(chunks, "{:.0f}"), words.is_so(set(chunks.values()) == {3.0}, "exact"))


@CLAIMS.judge("C-TH-276")
def _pieces(found: Results) -> Seen:
    gains = [float(gain) for gain in found.by_piece(BASE) / found.by_piece(JUMP)]
    whole, larger, smaller = gains
    return Seen.by(
        ", ".join(
            f"{gain:.2f} times in writes of {piece / 1e3:g} kB"
            for gain, piece in zip(gains, PIECES_BYTES, strict=True)
        ),
        words.significantly_less(larger, whole),
        words.significantly_less(smaller, whole),
        words.less(smaller, larger),
        note="Slow start's time divided by Jump-Start's for the first 100 kB of an application "
        "that writes 320 Mbit/s.",
    )


@CLAIMS.judge("C-TH-289")
def _spaced(found: Results) -> Seen:
    """At 12 Mbit/s a packet of 1500 bytes takes 1 ms; 15 Mbit/s is "much larger" than 10."""
    keys = (f"flight-mega-{mbps}Mbps-rtt50" for mbps in SPACED_MBPS)
    largest = [found.flights[name].largest_burst_pkts for name in keys]
    spaced = [words.is_so(pkts == 1, "1 packet up to 12 Mbit/s") for pkts in largest[:2]]
    above = largest[2:]
    together = [words.is_so(pkts > 1, "more from 15 Mbit/s on") for pkts in above]
    shown = ", ".join(f"{n:.0f} at {mbps}" for n, mbps in zip(largest, SPACED_MBPS, strict=True))
    return Seen.by(
        f"largest burst {shown}",
        *spaced,
        # The claim's "much larger than 10 Mbit/s" decides which rates are judged.
        *(replace(check, words=frozenset({"much"})) for check in together),
        words.is_so(above == sorted(above), "never less at a higher rate"),
        words.more(above[-1], above[0]),
        unit="Mbit/s",
        note="Judged with chunks of one packet. With the thesis' chunks of three packets, groups "
        "of three packets leave together at any rate.",
    )


CLAIMS.add("C-TH-016", lambda _: near(_default(JUMP, "js_max_bytes"), 65_535, unit="bytes"))
CLAIMS.add("C-TH-017", lambda _: near(_default(JUMP, "js_max_rate_kbps") / 1e3, 10, unit="Mbit/s"))
CLAIMS.add(
    "C-TH-266", lambda _: near(_default("initial-start", "is_window_pkts"), 10, unit="packets")
)


@CLAIMS.judge("C-TH-117")
def _slow_start_equation(_found: Results) -> Seen:
    times_s = [float(model_s(BASE, np.asarray(size))) for size in (100 * KB, 1 * MB)]
    return Seen.by(
        f"{times_s[0]:.3f} and {times_s[1]:.3f} s",
        *(
            words.within(mine, derived - PRINTED_S, derived + PRINTED_S, "to the digits derived")
            for mine, derived in zip(times_s, (1.215, 2.145), strict=True)
        ),
    )


@CLAIMS.judge("C-TH-118")
def _paced_equation(_found: Results) -> Seen:
    early_s = float(model_s(EARLY, np.asarray(100 * KB)))
    return between(early_s, 0.362 - PRINTED_S, 0.362 + PRINTED_S, unit="s")


@CLAIMS.judge("C-TH-119")
def _table(found: Results) -> Seen:
    checks, off = [], 0.0
    for scheme, rtt_ms in product(LABELS, RTTS_MS):
        # C-TH-120 and 121
        judged = found.sizes_bytes > (K_DATA if scheme == JUMP else 0)
        times = found.times(scheme, rtt_ms, BUFFERS_PKTS[1])[judged]
        expected = model_s(scheme, found.sizes_bytes, rtt_ms)[judged]
        checks += [
            words.within(
                abs(time - want), -np.inf, max(TOLERANCE * want, TOLERANCE_S), "within 3 % or 5 ms"
            )
            for time, want in zip(times.tolist(), expected.tolist(), strict=True)
        ]
        off = max(off, float(np.abs(times / expected - 1).max()))
    return Seen.by(
        f"{sum(check.holds for check in checks)} of {len(checks)} times",
        words.every(checks),
        note=f"The simulated times are at most {100 * off:.1f} % off the equations. The trials' "
        "queue is so large that it drops nothing, because the equations assume no loss. We use "
        "the last row of table 6.1 with s - w L instead of the printed s - w.",
    )


@CLAIMS.judge("C-TH-120")
def _jump_start(found: Results) -> Seen:
    # C-TH-121 judges the sizes that are much less than K_data
    inside = (found.sizes_bytes > K_DATA / words.CLEAR) & (found.sizes_bytes <= K_DATA)
    jump = found.times(JUMP)[inside]
    checks = [words.within(time, 0.6 * 2 * RTT_S, 2 * RTT_S, "400 ms +0/-40 %") for time in jump]
    return Seen.by(f"{1e3 * jump.min():.0f} to {1e3 * jump.max():.0f} ms", words.every(checks))


@CLAIMS.judge("C-TH-121")
def _small_jump_starts(found: Results) -> Seen:
    sizes = found.sizes_bytes
    small = (sizes > FIRST_WINDOW) & (sizes <= K_DATA / words.CLEAR)
    jump, model = found.times(JUMP)[small], model_s(JUMP, sizes)[small]
    return Seen.by(
        f"by {1e3 * (model - jump).min():.0f} to {1e3 * (model - jump).max():.0f} ms up to "
        f"{sizes[small].max() / KB:g} kB",
        # The claim's "much less than K_data" decides which sizes are judged.
        *(replace(one, words=one.words | {"much"}) for one in _each(words.less, jump, model)),
    )


@CLAIMS.judge("C-TH-122")
def _slow_start(found: Results) -> Seen:
    # transfers below the smallest one that takes another time with a queue that never overflows
    alike = np.isclose(found.times(BASE), found.times(BASE, buffer_pkts=BUFFERS_PKTS[1]))
    lossless = np.logical_and.accumulate(alike)
    off, largest = _off(found, BASE), found.sizes_bytes[lossless].max(initial=0)
    most = float(off[lossless].max()) if lossless.any() else np.nan
    return Seen.by(
        f"at most {100 * most:.2f} % off up to {largest / MB:g} MB",
        words.within(most, -np.inf, 0.02, "±2 %"),
        note="Larger transfers overflow the queue of 1000 packets and are at most "
        f"{100 * off.max():.1f} % off.",
    )


def _alike_above_10_kb(rows: Rows) -> Rows:
    """Give both initial windows the same times for transfers of more than three round trips."""
    older, newer = rows[key(BASE)].response_s, rows["window3"].response_s
    alike = np.where(older > 3.5 * RTT_S, older, newer)
    return {**rows, "window3": replace(rows["window3"], response_s=alike)}


@CLAIMS.judge("C-TH-123", spoil=scaled("window3", 0.7, "response_s"), mend=_alike_above_10_kb)
def _older_kernel(found: Results) -> Seen:
    older, newer = found.times(BASE), found.transfers["window3"].response_s
    more_s = older - newer
    small = found.sizes_bytes <= 10 * KB
    share = np.abs(more_s) / older
    round_s = lab.model_path().round_s
    return Seen.by(
        f"{1e3 * more_s[small].max():.0f} ms up to 10 kB; {1e3 * more_s[~small].max():.0f} ms, "
        f"{100 * share[~small].max():.0f} %, above",
        words.some(_each(words.significantly_less, newer[small], older[small])),
        *(
            words.within(more, -1.1 * round_s, 1.1 * round_s, "± 1 round up to 10 kB")
            for more in more_s[small].tolist()
        ),
        words.every(_each(words.not_significantly_different, newer[~small], older[~small])),
    )


@CLAIMS.judge("C-TH-124")
def _match(found: Results) -> Seen:
    above = found.sizes_bytes > 10 * KB
    far = {label: float(_off(found, name)[above].max()) for name, label in LABELS.items()}
    own = far.pop(LABELS[BASE])
    others = listed({label: 100 * part for label, part in far.items()}, "{:.0f} %")
    return Seen.by(
        f"at most {100 * own:.1f} % off",
        words.within(own, -np.inf, 0.10, "±10 %"),
        note=f"Errors of the other startups: {others}. A Jump-Start of at most K_data ends when "
        "its last timer fires (C-TH-121).",
    )


@CLAIMS.judge("C-TH-125")
def _initial_start(found: Results) -> Seen:
    saved = (found.times(BASE) - found.times("initial-start"))[found.sizes_bytes >= 50 * KB]
    derived = [found.at(BASE, s) - found.at("initial-start", s) for s in (50e3, 100e3, 1000e3)]
    return Seen.by(
        f"{saved.min():.3f} to {saved.max():.3f} s; {', '.join(f'{one:.2f}' for one in derived)} s",
        *(words.within(one, 2 * RTT_S, 3 * RTT_S, "2 to 3 rounds of 0.2 s") for one in saved),
        note="The range covers sizes from 50 kB, the smallest size with a derived value, to 10 "
        "MB. The three values are those of the sizes with derived values.",
    )


@CLAIMS.judge("C-TH-126")
def _mega_start(found: Results) -> Seen:
    return near(found.at("mega-start", 100 * KB), 0.285, relative=0.05, unit="s")


@CLAIMS.judge("C-TH-127")
def _quick_start(found: Results) -> Seen:
    slow, quick, sizes = found.times(BASE), found.times(EARLY), found.sizes_bytes
    helped = (sizes >= 5 * KB) & (sizes <= (1 + words.ABOUT) * MB)
    long = sizes > 5 * MB
    speedup = slow / quick
    return Seen.by(
        f"{speedup[helped].min():.2f} to {speedup[helped].max():.2f} times from 5 kB to "
        f"{sizes[helped].max() / MB:g} MB, {speedup[long].max():.2f} at most above 5 MB",
        *_each(words.significantly_less, quick[helped], slow[helped]),
        words.within(float(speedup[helped].min()), 1.3, np.inf, "1.3 times up to 1 MB"),
        words.within(float(speedup[long].max()), -np.inf, 1.2, "at most 1.2 times above 5 MB"),
    )


@CLAIMS.judge("C-TH-128")
def _kink(found: Results) -> Seen:
    """The size at which the lines of response times before and after the paced round trip meet."""
    x = np.array([100 * KB, 115 * KB, 135 * KB, 150 * KB])
    y = np.array([found.at(EARLY, size) for size in x])
    before, after = (y[1] - y[0]) / (x[1] - x[0]), (y[3] - y[2]) / (x[3] - x[2])
    kink = float((y[2] - y[0] + before * x[0] - after * x[2]) / (before - after))
    note = "q tau is 128 kB including headers, of which 123.6 kB (L/MTU) are payload."
    return between(kink / KB, 123, 128, unit="kB", note=note)


@CLAIMS.judge("C-TH-129")
def _late(found: Results) -> Seen:
    extra = (found.times(LATE) - found.times(EARLY))[found.sizes_bytes > FIRST_WINDOW]
    return Seen.by(
        f"{1e3 * extra.min():.0f} to {1e3 * extra.max():.0f} ms",
        *(words.by_one_round_trip(one, RTT_S) for one in extra),
        *(words.quantity(one, RTT_S, 0.1) for one in extra),
        note="Judged at all transfer sizes above the first window.",
    )


def _list(numbers: Iterable[float]) -> str:
    return ", ".join(f"{number:g}" for number in numbers)


def _as_late(rows: Rows) -> Rows:
    """Replace XCP's times by late Quick-Start's."""
    return {**rows, key("xcp"): rows[key(LATE)]}


@CLAIMS.judge("C-TH-130", spoil=swapped("xcp", "slow-start"), mend=_as_late)
def _xcp(found: Results) -> Seen:
    xcp, late = found.times("xcp"), found.times(LATE)
    ratios = xcp / late
    outside = found.sizes_bytes[~(np.abs(ratios - 1) <= words.SIMILAR)]
    return Seen.by(
        f"{ratios.min():.2f} to {ratios.max():.2f} times",
        *_each(words.similar, xcp, late),
        note=f"The difference exceeds the tolerance at sizes of {_list(outside / 1e3)} kB."
        if outside.size
        else "",
    )


@CLAIMS.judge("C-TH-131")
def _rcp(found: Results) -> Seen:
    rcp, least = found.times("rcp"), least_s(found.sizes_bytes)
    over = rcp / least - 1
    return Seen.by(
        f"{100 * over.min():+.1f} to {100 * over.max():+.1f} %", *_each(words.identical, rcp, least)
    )
