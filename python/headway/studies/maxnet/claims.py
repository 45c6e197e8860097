"""Check: C-MN-001 to 047.

The paper states a buffer of 30 KB, with which no RTT can exceed 52 ms. The RTTs of figures 6 and 7
exceed that. Statements on the runs of figures 5 to 7 (C-MN-019 to 029, 037) are therefore judged
with the larger buffer, all others with 30 KB.
"""

import dataclasses
import itertools
import math
from collections.abc import Callable
from functools import partial

import numpy as np

from headway import metrics
from headway.claims import (
    Change,
    Claims,
    Seen,
    between,
    edited,
    near,
    replaced,
    words,
)
from headway.claims.words import Check
from headway.metrics.stats import Array, Estimate
from headway.registry import registry
from headway.studies.common.runs import estimate, listed
from headway.studies.maxnet.experiments import (
    CONTROLS,
    HIGHER_MU,
    LAYOUTS,
    LOSSES,
    MU,
    QUEUE,
    RATE_BPS,
    RTT_MS,
    Found,
    Sharing,
    framed,
    of_table,
    of_trial,
    of_wire,
    sharing,
    sharing_of,
)
from headway.trace import Trace
from headway.units import fixed_memory

CLAIMS: Claims[Found] = Claims(__name__)
TABLE_I = CLAIMS.file.published["table_i"]
TABLE_TOLERANCE = {"maxnet": 0.1, "fast": 0.2, "bic": 0.2}
"""Tolerances of the claims list."""
ALIKE = 1.15
"""Largest ratio of equal throughputs, from the claims list."""
_FIG6_LARGE = ("one-maxnet-large", "one-bic-large")


def _mbps(found: Found, control: str, loss: int) -> Estimate:
    return estimate(of_table(found, control, loss), "goodput_mbps")


def _second_half(values: Array) -> Array:
    return values[values.size // 2 :]


# ---- Table I: C-MN-001 to 018 ----


def _cell(control: str, loss: int, found: Found) -> Seen:
    mbps = _mbps(found, control, loss).mean
    published = TABLE_I[control][loss]
    return Seen.by(mbps, words.quantity(mbps, published, TABLE_TOLERANCE[control]), unit="Mbit/s")


for _number, (_loss, _control) in enumerate(itertools.product(LOSSES, CONTROLS), start=1):
    _keys, _mean = f"loss{_loss}-{_control}-r*", TABLE_I[_control][_loss]
    CLAIMS.add(
        f"C-MN-{_number:03}",
        partial(_cell, _control, _loss),
        spoil=replaced(_keys, 2 * _mean, "goodput_mbps"),
        mend=replaced(_keys, _mean, "goodput_mbps"),
    )


# ---- One flow ----


def _of_figure(found: Found, layout: str, control: str = "maxnet") -> Sharing:
    """A run of figures 5 to 7: one flow, or four."""
    return of_trial(found, layout, control, "large")


def _rtt_ms(found: Found, layout: str, control: str) -> float:
    return float(np.mean(_of_figure(found, layout, control).rtts_ms))


def _mean_rtt(found: Found, layout: str, judged: Callable[[float], Check]) -> Seen:
    rtt_ms = _rtt_ms(found, layout, "maxnet")
    courses = _of_figure(found, layout).rtt_courses_ms
    later = [float(_second_half(course).mean()) for course in courses]
    return Seen.by(
        rtt_ms,
        judged(rtt_ms),
        unit="ms",
        note=f"In the second half of the run the mean is {np.mean(later):.1f} ms. The whole run "
        "includes the queue of the start. The transmission of one packet takes 1.2 ms.",
    )


@CLAIMS.judge("C-MN-019")
def _rtt_of_one(found: Found) -> Seen:
    return _mean_rtt(found, "one", lambda rtt_ms: words.within(rtt_ms, 28.0, 33.0))


@CLAIMS.judge("C-MN-026")
def _rtt_of_four(found: Found) -> Seen:
    return _mean_rtt(found, "four", lambda rtt_ms: words.about(rtt_ms, 29.0))


def _smoothed_rtts(_key: str, trace: Trace) -> Sharing:
    """A trial without random loss, with the senders' smoothed RTTs, averaged over ACKs."""
    row = sharing(trace)
    flows = (trace.rows_of("flow_state", "flow", flow) for flow in range(row.rtts_ms.size))
    known = [rows["srtt_us"].to_numpy() for rows in flows]
    smoothed = [float(srtt_us[srtt_us > 0].mean()) / 1e3 for srtt_us in known]
    return dataclasses.replace(row, rtts_ms=np.array(smoothed))


def _change(says: str, fields: dict[str, str]) -> Change:
    return Change(says, edited(fields), _FIG6_LARGE)


@CLAIMS.judge(
    "C-MN-020",
    tries=[
        _change("runs of 10 s", {"duration": "10 s"}),
        _change("runs of 30 s", {"duration": "30 s"}),
        Change(
            "the senders' smoothed RTTs as the measure, which include the delay of ACKs by "
            "receivers",
            keys=_FIG6_LARGE,
            observe=_smoothed_rtts,
        ),
        _change("runs of 120 s", {"duration": "120 s"}),
        _change("send buffers of 125,000 bytes", {"flows.*.wmem": fixed_memory("125000 B")}),
    ],
)
def _bic_rtt(found: Found) -> Seen:
    maxnet, bic = (_rtt_ms(found, "one", control) for control in ("maxnet", "bic"))
    return Seen.by(
        f"{bic:.1f} ms, {bic / maxnet:.2f} times MaxNet's",
        words.within(bic, 70, math.inf),
        words.twice(bic, maxnet),
    )


@CLAIMS.judge("C-MN-021")
def _rtt_order(found: Found) -> Seen:
    maxnet, fast, bic = (_rtt_ms(found, "one", control) for control in CONTROLS)
    return Seen.by(
        f"{maxnet:.1f}, {fast:.1f} and {bic:.1f} ms",
        words.much_less(maxnet, fast),
        words.less(fast, bic),
    )


def _steady(row: Sharing) -> Array:
    """Raw throughput of the first flow in the second half of the run."""
    return np.asarray(_second_half(row.raw_mbps[0]), dtype=np.float64)


@CLAIMS.judge("C-MN-022")
def _raw(found: Found) -> Seen:
    maxnet, fast, bic = (
        float(_steady(_of_figure(found, "one", control)).mean()) for control in CONTROLS
    )
    return Seen.by(
        f"{maxnet:.2f}, {fast:.2f} and {bic:.2f} Mbit/s",
        words.slightly_less(maxnet, fast),
        words.slightly_less(maxnet, bic),
    )


@CLAIMS.judge("C-MN-023")
def _comparable(found: Found) -> Seen:
    rows = [_of_figure(found, "one", control) for control in CONTROLS]
    after = [float(row.rate_after_s[0]) for row in rows]
    least = [float(_steady(row).min() / _steady(row).mean()) for row in rows]
    times = ", ".join(f"{value:.3g}" for value in after)
    parts = ", ".join(f"{100 * value:.3g}" for value in least)
    return Seen.by(
        f"{times} s of MaxNet, FAST and BIC; the least second has {parts} % of the mean",
        *(
            words.every([words.similar(a, b) for a, b in itertools.combinations(values, 2)])
            for values in (after, least)
        ),
        note="Shown: the time until a flow's rate reaches 90 % of its later mean, in slots of 25 "
        "ms; and the lowest rate in a second of the run's second half, divided by the mean of "
        "this half.",
    )


# ---- Several flows ----


@CLAIMS.judge("C-MN-024")
def _four(found: Found) -> Seen:
    mbps = _of_figure(found, "four").goodputs_mbps
    return Seen.by(
        f"{mbps.min():.3f} to {mbps.max():.3f} Mbit/s",
        words.within(float(mbps.min()), 2.0, math.inf),
        words.within(float(mbps.max()), -math.inf, 2.4),
        words.within(float(np.ptp(mbps) / mbps.mean()), 0, 0.05, "less than 5 % apart"),
        note=f"Each flow's throughput is at most "
        f"{100 * float(np.abs(mbps / mbps.mean() - 1).max()):.1f} % from the mean of the four "
        "flows.",
    )


@CLAIMS.judge("C-MN-025")
def _all_fair(found: Found) -> Seen:
    goodputs = [_of_figure(found, "four", control).goodputs_mbps for control in CONTROLS]
    jains = [metrics.jain_index(list(mbps)) or 0.0 for mbps in goodputs]
    return Seen.by(
        f"{', '.join(f'{jain:.3f}' for jain in jains)} of MaxNet, FAST, BIC",
        words.every([words.within(jain, 0.95, 1.0, "Jain's index ≥ 0.95") for jain in jains]),
    )


@CLAIMS.judge("C-MN-027")
def _fast_rtt(found: Found) -> Seen:
    return between(_rtt_ms(found, "four", "fast"), 200, math.inf, unit="ms")


@CLAIMS.judge("C-MN-028")
def _four_bic_rtt(found: Found) -> Seen:
    return between(_rtt_ms(found, "four", "bic"), 250, math.inf, unit="ms")


@CLAIMS.judge("C-MN-029")
def _overestimate(found: Found) -> Seen:
    shown, checks = {}, []
    for control in ("fast", "bic"):
        row = _of_figure(found, "four", control)
        first = float(np.stack(row.raw_mbps).sum(axis=0)[:5].max())
        checks += [
            words.within(first, RATE_BPS / 1e6, math.inf, "> 10 Mbit/s in the first five seconds"),
            words.within(row.dropped_share, 1e-9, math.inf, "losses"),
        ]
        shown[control.upper()] = first, 100 * row.dropped_share
    return Seen.by(listed(shown, "{:.2f} Mbit/s, {:.2f} % lost", "; "), *checks)


@CLAIMS.judge("C-MN-030")
def _two(found: Found) -> Seen:
    far, close = (float(mbps) for mbps in of_trial(found, "two").goodputs_mbps)
    low, high = sorted((far, close))
    return Seen.by(
        f"{far:.2f} of 57 ms, {close:.2f} of 29 ms",
        # The paper does not say which of the two flows has which throughput. The tolerance is that
        # of the claims list.
        words.quantity(low, 4.40, 0.07),
        words.quantity(high, 4.68, 0.07),
        words.within(high / low, 1.0, ALIKE, f"ratio ≤ {ALIKE:g}"),
        unit="Mbit/s",
    )


@CLAIMS.judge("C-MN-031")
def _prefers(found: Found) -> Seen:
    mbps = {control: of_trial(found, "two", control).goodputs_mbps for control in CONTROLS}
    ratios = {control: float(close / far) for control, (far, close) in mbps.items()}
    return Seen.by(
        f"{', '.join(f'{ratio:.2f}' for ratio in ratios.values())} of MaxNet, FAST, BIC",
        words.within(ratios["maxnet"], 1 / ALIKE, ALIKE),
        *(words.more(float(mbps[one][1]), float(mbps[one][0])) for one in ("fast", "bic")),
        note="Shown: throughput at 29 ms divided by that at 57 ms.",
    )


@CLAIMS.judge("C-MN-032")
def _empty(found: Found) -> Seen:
    return between(of_trial(found, "two").queue_ms, 0, 5, unit="ms")


# ---- Random loss ----


def _order(losses: tuple[int, ...], controls: tuple[str, ...], found: Found) -> Seen:
    cells = {loss: [_mbps(found, control, loss) for control in controls] for loss in losses}
    shown = {f"{loss} %:": tuple(own.mean for own in mbps) for loss, mbps in cells.items()}
    return Seen.by(
        listed(shown, "{:.2f}, {:.2f}, {:.2f}", "; "),
        *(words.more(a, b) for mbps in cells.values() for a, b in itertools.pairwise(mbps)),
    )


CLAIMS.add("C-MN-033", partial(_order, LOSSES[1:], CONTROLS))
CLAIMS.add("C-MN-034", partial(_order, LOSSES[:1], CONTROLS[::-1]))


@CLAIMS.judge("C-MN-042")
def _excellent(found: Found) -> Seen:
    parts = [_mbps(found, "maxnet", loss).mean / TABLE_I["maxnet"][loss] for loss in LOSSES[1:]]
    blocks = of_wire(found).sack_blocks
    most = float(blocks.max()) if blocks.size else math.nan
    return Seen.by(
        f"{min(parts):.2f} of the published throughput at least; at most {most:g} blocks",
        words.within(min(parts), 1 - TABLE_TOLERANCE["maxnet"], math.inf),
        words.is_so(most == 2, "2 blocks"),
    )


def _with_loss(found: Found, field: str) -> Array:
    """Values of all runs of MaxNet at 1 to 5 % loss."""
    rows = [row for loss in LOSSES[1:] for row in of_table(found, "maxnet", loss)]
    return np.concatenate([getattr(row, field) for row in rows])


@CLAIMS.judge("C-MN-046")
def _no_decrease(found: Found) -> Seen:
    kept = _with_loss(found, "kept")
    if not kept.size:
        return Seen("no recovery", False)
    median, low = (float(np.quantile(kept, q)) for q in (0.5, 0.05))
    return Seen.by(
        f"median {median:.2f} of cwnd, 5 % below {low:.2f}, {kept.size} recoveries",
        # the ACK that begins a recovery also brings a price, by which the law may change a window
        words.within(median, 0.98, math.inf, "median ≥ 0.98"),
        words.within(low, 0.8, math.inf, "5 % quantile ≥ 0.8"),
        note="Standard TCP keeps half of cwnd.",
    )


@CLAIMS.judge("C-MN-047")
def _as_tcp(found: Found) -> Seen:
    halves, windows = (_with_loss(found, f"timeouts_{what}") for what in ("kept", "cwnd_pkts"))
    if not windows.size:
        return Seen("no timeout", False)
    shown = f"{windows.size} timeouts: cwnd {windows.min():g} to {windows.max():g}"
    checks = [words.is_so(bool((windows <= 1).all()), "cwnd of 1")]
    if halves.size:
        low, high = float(halves.min()), float(halves.max())
        shown += f"; ssthresh {low:.2f} to {high:.2f} of cwnd outside of recoveries"
        checks.append(words.within(high, 0, 0.51))
    bound = "cwnd of 1; half as ssthresh where no recovery had set it"
    return dataclasses.replace(Seen.by(shown, *checks), tolerance=bound)


# ---- The router, the law, the option and the buffer ----


@CLAIMS.judge("C-MN-035")
def _utilization(found: Found) -> Seen:
    mbps = of_trial(found, "one").offered_mbps
    check = words.within(mbps, 9.45, 9.65, "9.5 to 9.6 Mbit/s, to one decimal")
    return Seen.by(mbps * 1e6 / RATE_BPS * 100, check, unit="%")


def _unsteady(row: Sharing) -> Check:
    """Whether losses continue, or the queue's standard deviation is above a sixth of the RTT."""
    losses = row.later_dropped_share / 0.001 - 1
    queue = row.later_queue_sd_ms / (RTT_MS / 6) - 1
    return words.within(max(losses, queue), 0, math.inf, "later losses > 0.1 % or queue ± > 4.7 ms")


@CLAIMS.judge("C-MN-036")
def _higher_mu(found: Found) -> Seen:
    printed = [sharing_of(found, framed(layout, MU)) for layout in LAYOUTS]
    cases = {
        f"{mu / 1024:.2f}, {layout}": sharing_of(found, framed(layout, mu))
        for mu, layout in itertools.product(HIGHER_MU, LAYOUTS)
    }
    checks = {name: _unsteady(row) for name, row in cases.items()}
    bad = {
        name: (100 * row.later_dropped_share, row.later_queue_sd_ms)
        for name, row in cases.items()
        if checks[name].holds
    }
    return Seen.by(
        f"{len(bad)} of {len(cases)}: {listed(bad, '({:.2f} %, {:.1f} ms)')}" if bad else "none",
        words.some(checks),
        words.is_so(len(bad) < len(cases), "not all"),
        words.is_so(not any(_unsteady(row).holds for row in printed), "none at 0.96"),
    )


@CLAIMS.judge("C-MN-037")
def _rare(found: Found) -> Seen:
    row = _of_figure(found, "one")
    note = f"In the second half of the run {100 * row.later_dropped_share:.3f} %."
    return between(100 * row.dropped_share, 0, 0.1, unit="%", note=note)


def _price_errors_ms(found: Found) -> list[Array]:
    return [_second_half(of_trial(found, layout).price_errors_ms) for layout in LAYOUTS]


@CLAIMS.judge("C-MN-038")
def _price_steps(found: Found) -> Seen:
    # The counter of the offered load X is read every second; the price includes X only up to the
    # price's last computation, at most 10 ms earlier.
    most = float(np.abs(np.concatenate(_price_errors_ms(found))).max())
    return between(most, 0, 12, unit="ms")


@CLAIMS.judge("C-MN-039")
def _price_course(found: Found) -> Seen:
    most = max(abs(float(errors.sum())) for errors in _price_errors_ms(found))
    return between(most, 0, 12, unit="ms")


@CLAIMS.judge("C-MN-040")
def _law(found: Found) -> Seen:
    tunables = {one.name: one.default for one in registry().control("maxnet").tunables}
    apart = []
    for layout in LAYOUTS:
        row = of_trial(found, layout)
        price_s = row.price_ms / 1e3 * tunables["price_scale"] / 1024
        rate = tunables["p1"] / (tunables["p2"] * price_s * tunables["interval_ms"] / 1e3)
        apart.append(np.abs(row.window_rate_pps / rate - 1))
    return between(100 * float(np.concatenate(apart).max()), 0, 10, unit="%")


@CLAIMS.judge("C-MN-041")
def _queue_in_seconds(found: Found) -> Seen:
    row = sharing_of(found, QUEUE)
    price_ms, wait_ms = (float(_second_half(v).mean()) for v in (row.prices_ms, row.waits_ms))
    return Seen.by(
        f"{price_ms:.1f} ms, queueing delay {wait_ms:.1f} ms",
        words.quantity(price_ms / wait_ms, 1),
    )


@CLAIMS.judge("C-MN-043")
def _fixed_point(_found: Found) -> Seen:
    [mu] = [one.default for one in registry().router("maxnet").tunables if one.name == "mu"]
    return near(float(mu), CLAIMS.number("C-MN-043"))


@CLAIMS.judge("C-MN-044")
def _option(found: Found) -> Seen:
    row = of_wire(found)
    sizes = np.unique(row.lengths_bytes)
    comes_back = sizes.size and row.echoes.max() > 1 and row.prices.max() >= 0
    return Seen.by(
        f"{row.lengths_bytes.size} options of kind 42, "
        f"{' or '.join(f'{size:g}' for size in sizes)} bytes in all; echoes up to "
        f"{row.echoes.max():.0f}, prices up to {row.prices.max():.0f}"
        if sizes.size
        else "none",
        words.is_so(sizes.tolist() == [8.0], "8 bytes"),
        words.is_so(bool(comes_back), "prices that come back"),
    )


@CLAIMS.judge("C-MN-045")
def _buffer(_found: Found) -> Seen:
    size = 30_000
    products = [RATE_BPS / 8 * rtt_ms / 1e3 for rtt_ms in (RTT_MS, 2 * RTT_MS)]
    return Seen.by(
        f"{size / products[0]:.2f} and {size / products[1]:.2f} of the products",
        *(words.slightly_less(size, product) for product in products),
        note="The bandwidth-delay products are 35 and 70 KB. The queue of 30 KB is slightly less "
        "than the first product, and less than half of the second.",
    )
