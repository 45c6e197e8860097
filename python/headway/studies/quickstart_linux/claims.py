"""Check: C-QSL-001 to 018 and 034 to 036; web-surge judges the statements on the Web."""

import math
from itertools import product

import numpy as np
import numpy.typing as npt

from headway.claims import Claims, Seen, between, near, words
from headway.claims.spoil import Rows
from headway.models import quick_start, startup
from headway.registry import registry
from headway.studies.common import lab
from headway.studies.common.runs import listed
from headway.studies.quickstart_linux.experiments import (
    CONTROLS,
    LABELS,
    RTTS_MS,
    SIZES_BYTES,
    SPEEDUP_RTTS_MS,
    TRACE_S,
    Found,
)

CLAIMS: Claims[Found] = Claims(__name__)
SIZES = np.array(SIZES_BYTES)
MIDDLE = (SIZES >= 10e3) & (SIZES <= 1e6)
EVERY = list(product(SPEEDUP_RTTS_MS, CONTROLS))


def _by_control(values: dict[str, float]) -> str:
    times = {LABELS[c]: "never" if s >= TRACE_S else f"{s:.2f}" for c, s in values.items()}
    return listed(times, "{}") + " s"


# ---- Figures 9 and 10 ----


def _reno_for_cubic(rows: Rows) -> Rows:
    """Replace the slow start that ends at 100 packets by one that ends at the link's rate."""
    return {**rows, "trace-200-cubic-ss": rows["trace-200-reno-ss"]}


@CLAIMS.judge("C-QSL-001")
def _slow_start(found: Found) -> Seen:
    slow = found.full_s(100, "ss")
    return Seen.by(
        _by_control(slow),
        *(words.about(value, 1.0) for value in slow.values()),
        note="Rates are read in slots of a round trip, as in the paper.",
    )


@CLAIMS.judge("C-QSL-002")
def _same(found: Found) -> Seen:
    reno, cubic = (found.start(100, control, "ss").full_after_s for control in CONTROLS)
    apart_s = abs(reno - cubic)
    return Seen.by(apart_s, words.within(apart_s, -math.inf, 0.1, "one round trip"), unit="s")


@CLAIMS.judge("C-QSL-003")
def _at_once(found: Found) -> Seen:
    quick = found.full_s(100, "qs")
    return Seen.by(
        _by_control(quick),
        *(words.within(value, -math.inf, 0.4, "≤ 0.4 s") for value in quick.values()),
        note="The time consists of half a round trip until the server sends data, two more round "
        "trips, and the rest of a measured slot.",
    )


@CLAIMS.judge("C-QSL-005")
def _later(found: Found) -> Seen:
    quick, lowered = found.full_s(100, "qs"), found.full_s(100, "qs-reduced")
    later = {name: lowered[name] - quick[name] for name in CONTROLS}
    return Seen.by(
        _by_control(later),
        words.some({name: words.within(s, 2, math.inf, "≥ 2 s") for name, s in later.items()}),
        note="CUBIC of Linux 2.6 grows by 4 % per round trip before its first loss.",
    )


@CLAIMS.judge("C-QSL-006")
def _smaller(found: Found) -> Seen:
    lowered, smaller = found.full_s(100, "qs-reduced"), found.full_s(100, "qs-reduced-2")
    return Seen.by(
        f"{_by_control(smaller)}; with 5.12: {_by_control(lowered)}",
        *(words.more(smaller[control], lowered[control]) for control in CONTROLS),
    )


@CLAIMS.judge("C-QSL-007")
def _growth(found: Found) -> Seen:
    starts = {LABELS[c]: found.start(100, c, "qs-reduced") for c in CONTROLS}
    at = {c: float(s.rates_bps[np.searchsorted(s.times_s, 3.0)]) for c, s in starts.items()}
    lowered = found.full_s(100, "qs-reduced")
    rates_mbps = listed({label: bps / 1e6 for label, bps in at.items()}, "{:.2f}")
    return Seen.by(
        f"{rates_mbps} Mbit/s; full after {_by_control(lowered)}",
        words.more(at["CUBIC"], at["Reno"]),
        words.less(lowered["cubic"], lowered["reno"]),
    )


@CLAIMS.judge("C-QSL-009", spoil=_reno_for_cubic)
def _exit_rate(found: Found) -> Seen:
    rates = found.start(200, "cubic", "ss").rates_bps
    busy = rates[rates > 5e4]
    slow = np.flatnonzero(busy[1:] < 1.1 * busy[:-1])
    # The first slots carry the handshake and the initial window.
    slow = slow[slow >= 2]
    rate_mbps = float(busy[slow[0]] / 1e6) if slow.size else math.nan
    return Seen.by(
        rate_mbps if slow.size else "never",
        words.about(rate_mbps, 6.0),
        unit="Mbit/s",
        note="Shown: the rate in the first slot after which the rate grows by less than a tenth.",
    )


@CLAIMS.judge("C-QSL-010")
def _small_ssthresh(found: Found) -> Seen:
    far = found.full_s(200, "ss")
    return Seen.by(_by_control(far), words.more(far["cubic"], far["reno"]))


@CLAIMS.judge("C-QSL-011")
def _slow_start_first(found: Found) -> Seen:
    slow, lowered = (found.start(200, "reno", kind).full_s for kind in ("ss", "qs-reduced"))
    return Seen.by(
        f"{slow:.2f} s; {lowered:.2f} s",
        words.less(slow, lowered),
        note=f"A time of {TRACE_S:g} s means that the link was never full.",
    )


@CLAIMS.judge("C-QSL-012")
def _leave_it(found: Found) -> Seen:
    kinds, pairs = ("qs", "qs-reduced"), list(product(RTTS_MS, CONTROLS))
    alone, lowered = (
        float(np.mean([found.start(*p, kind).full_s for p in pairs])) for kind in kinds
    )
    return Seen.by(f"{alone:.2f} s, lowered {lowered:.2f} s", words.less(alone, lowered))


# ---- Figure 11 ----


@CLAIMS.judge("C-QSL-013")
def _best(found: Found) -> Seen:
    far = [(rtt, control) for rtt, control in EVERY if rtt > 50]
    best = {pair: 100 * (float(found.speedup(*pair).max()) - 1) for pair in far}
    return Seen.by(
        ", ".join(f"{LABELS[c]} {value:.0f} % at {rtt} ms" for (rtt, c), value in best.items()),
        words.some([words.several_hundred(value) for value in best.values()]),
        note="The improvement is slow start's response time divided by Quick-Start's, minus 1, "
        "for the transfer size with the largest improvement.",
    )


@CLAIMS.judge("C-QSL-014")
def _where(found: Found) -> Seen:
    known = all(np.isfinite(found.speedup(*pair)).all() for pair in EVERY)
    at = {pair: float(SIZES[int(np.argmax(found.speedup(*pair)))]) / 1e3 for pair in EVERY}
    return Seen.by(
        ", ".join(f"{at[rtt, 'reno']:g} kB at {rtt} ms" for rtt in SPEEDUP_RTTS_MS),
        *(words.within(size if known else math.nan, 10, 1000) for size in at.values()),
        note="The sizes for Reno are shown; those for CUBIC are judged, too.",
    )


@CLAIMS.judge("C-QSL-015")
def _slightly(found: Found) -> Seen:
    by = {
        LABELS[c]: float(np.mean([found.speedup(rtt, c)[MIDDLE].mean() for rtt in SPEEDUP_RTTS_MS]))
        for c in CONTROLS
    }
    return Seen.by(
        f"{listed(by, '{:.3f}')} on average",
        words.slightly_more(by["Reno"], by["CUBIC"]),
        note="Shown: the mean speedup over sizes of 10 kB to 1 MB and all RTTs.",
    )


def _speedups(found: Found, of: npt.NDArray[np.bool_]) -> list[float]:
    """Speedups of some sizes, over all RTTs and controls."""
    return [float(v) for rtt, control in EVERY for v in found.speedup(rtt, control)[of]]


@CLAIMS.judge("C-QSL-016")
def _long(found: Found) -> Seen:
    long = _speedups(found, SIZES > 10e6)
    return Seen.by(max(long), *(words.within(value, -math.inf, 1.2) for value in long))


@CLAIMS.judge("C-QSL-017")
def _short(found: Found) -> Seen:
    short = _speedups(found, SIZES <= 2.8e3)
    return Seen.by(
        f"{min(short):.3f} to {max(short):.3f}",
        *(words.quantity(value, 1.0, 0.05) for value in short),
    )


@CLAIMS.judge("C-QSL-018")
def _quick_acks(found: Found) -> Seen:
    errors = {eta: _model_error(found, eta) for eta in (1.0, 2.0)}
    return Seen.by(
        f"{100 * errors[1.0]:.1f} % with, {100 * errors[2.0]:.1f} % without",
        words.within(errors[1.0], -math.inf, 0.10, "≤ 10 % with one segment per ACK"),
        words.less(errors[1.0], errors[2.0]),
    )


def _model_error(found: Found, segments_per_ack: float) -> float:
    errors = []
    for rtt_ms in SPEEDUP_RTTS_MS:
        path = startup.StartupPath(lab.LINK_BPS, rtt_ms / 1e3, segments_per_ack=segments_per_ack)
        expected = startup.slow_start_response_s(SIZES_BYTES, path=path)
        errors.append(np.abs(found.times_s(rtt_ms, "reno", "ss") / expected - 1))
    return float(np.mean(errors))


# ---- Numbers ----


@CLAIMS.judge("C-QSL-004")
def _largest_request(_: Found) -> Seen:
    return near(quick_start.RATES_BPS[quick_start.rate_code(10e6)] / 1e6, 5.12, unit="Mbit/s")


@CLAIMS.judge("C-QSL-008")
def _product(_: Found) -> Seen:
    return between(10e6 * 0.2 / 8 / lab.MTU_BYTES, 166.5, 167.5, unit="packets")


@CLAIMS.judge("C-QSL-034")
def _rates(_: Found) -> Seen:
    rates = quick_start.RATES_BPS
    return Seen.by(
        f"{len(rates) - 1} from {rates[1] / 1e3:g} kbit/s to {rates[-1] / 1e9:.2f} Gbit/s",
        words.is_so(rates[1:] == tuple(80_000 * 2**k for k in range(15)), "exact"),
    )


@CLAIMS.judge("C-QSL-035")
def _timers(_: Found) -> Seen:
    tunables = registry().startup("quick-start").tunables
    [chunk] = [one.default for one in tunables if one.name == "pacing_chunk_pkts"]
    timers = [startup.pacing_timers(85, rtt_s=rtt, chunk_pkts=chunk) for rtt in (0.2, 0.02)]
    return Seen.by(
        f"{timers[0]} and {timers[1]}, chunks of {chunk}", words.is_so(timers == [28, 20], "exact")
    )


@CLAIMS.judge("C-QSL-036")
def _defaults(_: Found) -> Seen:
    default = {one.name: one.default for one in registry().router("quick-start").tunables}
    slots, interval_ms = default["slots"], default["interval_ms"]
    return Seen.by(
        f"{slots} slots, " + (f"{interval_ms / 1e3:g} s" if interval_ms else "adaptive"),
        words.is_so((slots, interval_ms) == (2, 1000), "exact"),
        note="The later thesis chooses the slots' length automatically (C-TH-293), and so does "
        "Headway's default. The trials of the paper's claims set interval_ms=1000.",
    )
