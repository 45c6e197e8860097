"""Check: C-CD-001 to C-CD-109; the first 90 are the cells of tables 1 and 2."""

import fnmatch
from collections.abc import Callable, Iterable, Sequence
from dataclasses import replace
from functools import partial
from itertools import pairwise, product

import numpy as np
from scipy import stats

from headway.claims import (
    Change,
    Claims,
    MissingTrialError,
    Seen,
    Spoil,
    Statement,
    Why,
    edited,
    near,
    replaced,
    scaled,
    swapped,
    words,
)
from headway.claims.spoil import Rows
from headway.claims.why import Edit
from headway.metrics.stats import Array
from headway.studies.collateral_damage import experiments as setup
from headway.studies.collateral_damage.experiments import (
    CELLS,
    CLAIM_IDS,
    CONTROLS,
    CUBIC_GROWTH,
    DATAGRAM_MS,
    DELAYS,
    FIGURE_2,
    FLOW_COUNTS,
    FULL_QUEUE_MS,
    GOODPUT,
    GOODPUT_SD,
    LABELS,
    PUBLISHED,
    ROWS,
    RTTS_MS,
    SPREAD,
    TOLERANCES,
    TRIALS,
    CellKey,
    cell_name,
    flows_name,
    trial_key,
)
from headway.studies.collateral_damage.observe import Found, Law
from headway.units import NS_PER_S

CLAIMS: Claims[Found] = Claims(__name__)
ALL_SIX = list(product(RTTS_MS, FLOW_COUNTS))
ONE_OR_TWO = list(product(RTTS_MS, (1, 2)))


def _both_ways(field: str, value: str) -> Edit:
    return edited({f"topology.{way}{field}": value for way in ("", "reverse.")})


def _why(cause: str, *tries: Change) -> Why:
    return CLAIMS.file.why[cause].why(tries)


_LONGER = Change(
    "trials of three minutes instead of 85 s", setup.three_minutes, trial_key(CELLS[-1], "*")
)
_STARTS = Change(
    "flows that start at random within 2 s instead of one round trip",
    partial(setup.starting_within, spread_ns=2 * NS_PER_S),
)


def _starts_in(cell: CellKey) -> Change:
    """The change in a cell's trials; the cell's mean reads no others."""
    return replace(_STARTS, keys=trial_key(cell, "*"))


_SD_TRIES = (
    Change(
        "flows and a VoIP stream that each start at random within 2.5 s, and a VoIP stream that "
        "ends up to 2.5 s before or after the first flow ends",
        partial(setup.own_times, most_ns=5 * NS_PER_S // 2),
    ),
    _STARTS,
    Change(
        "trials that each last a random time of up to 10 s longer",
        partial(setup.longer, most_ns=10 * NS_PER_S),
    ),
    Change(
        "a random delay added to the link's, 0.2 ms on average, drawn every 0.1 s",
        partial(setup.noisy_delays, noise_ns=200_000, step_ns=100_000_000),
    ),
)
_WHYS = {
    **{(cell, GOODPUT): _why("goodput-mean", _starts_in(cell)) for cell in CELLS if cell[2] == 5},
    **{(cell, GOODPUT_SD): _why("goodput-sd", *_SD_TRIES) for cell in CELLS},
    (CELLS[-1], DELAYS["sd"]): _why("short-trials", _LONGER),
}
_TEXTS = {
    GOODPUT: "table 1, RTT {}: sum of the flows' goodputs, mean over runs",
    GOODPUT_SD: "table 1, RTT {}: sum of the flows' goodputs, standard deviation over runs",
    DELAYS["median"]: "table 2, RTT {}: one-way delay of the VoIP stream, median",
    DELAYS["mean"]: "table 2, RTT {}: one-way delay of the VoIP stream, mean",
    DELAYS["sd"]: "table 2, RTT {}: one-way delay of the VoIP stream, standard deviation",
}


def _of_table(cell: CellKey, name: str, claim: str) -> Statement[Found]:
    """A measured number of a table, with as many digits as the paper prints."""
    text, published = _TEXTS[name].format(cell_name(cell)), PUBLISHED[name][cell]
    why = _WHYS.get((cell, name))
    if name == GOODPUT_SD:
        return Statement(
            claim,
            text,
            published,
            partial(_sds_as_a_group, shown=cell),
            same_as="" if claim == SPREAD else SPREAD,
            why=why,
            spoil=replaced("*", 112.0, f"numbers.{GOODPUT}"),  # all trials have the same goodput
            mend=_spread_as_published,
        )
    tolerance = TOLERANCES[name]

    def look(found: Found) -> Seen:
        measured = found[cell].mean(name)
        check = tolerance.check(published, measured)
        return Seen.by(round(measured, 1), check, unit=tolerance.unit)

    trials, path = trial_key(cell, "*"), f"numbers.{name}"
    spoil, mend = scaled(trials, tolerance.refuting, path), replaced(trials, published, path)
    return Statement(claim, text, published, look, why=why, spoil=spoil, mend=mend)


def _sds_as_a_group(found: Found, shown: CellKey) -> Seen:
    """Judge that at least 12 of the 18 standard deviations agree with table 1."""
    # Each standard deviation comes from only three values, so agreement in two thirds of the cells
    # suffices.
    factor, least = 3.0, 12
    sds, published = {cell: found[cell].sd(GOODPUT) for cell in CELLS}, PUBLISHED[GOODPUT_SD]
    checks = [words.within(sd / published[cell], 1 / factor, factor) for cell, sd in sds.items()]
    last = sorted(checks, key=lambda one: (one.holds, one.margin))[-least]
    bound = f"within a factor of {factor:g} in {least} of {len(checks)} cells"
    return Seen.by(
        float(f"{sds[shown]:.2g}"),
        words.Check(last.holds, last.margin, bound),
        unit="kB/s",
        note=f"{_count(checks, 'cells')} of table 1 agree with the paper's standard deviation.",
    )


def _spread_as_published(rows: Rows) -> Rows:
    """Replace the trials' goodputs by values with the published mean and standard deviation."""
    changed = {}
    for cell, number in product(CELLS, range(1, TRIALS + 1)):
        row = rows.get(trial_key(cell, number))
        if row is not None:
            mean, sd = PUBLISHED[GOODPUT][cell], PUBLISHED[GOODPUT_SD][cell]
            spread = mean + (number - (TRIALS + 1) / 2) * sd
            numbers = replace(row.numbers, goodput_kbytes_s=spread)
            changed[trial_key(cell, number)] = replace(row, numbers=numbers)
    return changed


def _count(checks: Sequence[words.Check], what: str) -> str:
    return f"{sum(one.holds for one in checks)} of {len(checks)} {what}"


def _in_all(checks: Sequence[words.Check], what: str, more: str = "") -> Seen:
    return Seen.by(_count(checks, what) + more, words.every(checks))


def _means(found: Found, cells: Iterable[tuple[int, int]], name: str) -> list[list[float]]:
    """Mean of a number with each control, by round-trip time and number of flows."""
    return [[found[rtt, c, n].mean(name) for c in CONTROLS] for rtt, n in cells]


def _rising(values: Sequence[float]) -> words.Check:
    return words.both(*(words.less(one, after) for one, after in pairwise(values)))


def _changed(keys: str, change: Callable[[str, Rows], object]) -> Spoil:
    """Replace the observations of trials whose keys match."""
    return lambda rows: {**rows, **{key: change(key, rows) for key in fnmatch.filter(rows, keys)}}


@CLAIMS.judge("C-CD-091")
def _goodput_alike(found: Found) -> Seen:
    means = _means(found, ALL_SIX, GOODPUT)
    spreads = [100 * (max(rates) / min(rates) - 1) for rates in means]
    # as in table 1
    checks = [words.within(spread, 0, 2.1, "at most 2.1 % apart") for spread in spreads]
    return Seen.by(f"at most {max(spreads):.2f} % apart", words.every(checks))


@CLAIMS.judge("C-CD-092")
def _largest_queue_delay(_: Found) -> Seen:
    return near(
        FULL_QUEUE_MS,
        480.0,
        unit="ms",
        note="Computed from the buffer and the link's "
        "rate. C-CD-094 has the longest delay in trials.",
    )


def _extreme_ms(found: Found, name: str, pick: Callable[[list[float]], float]) -> float:
    cells = [found[cell] for cell in CELLS if cell[0] == RTTS_MS[0]]
    return pick([value for cell in cells for value in cell.values(name)])


@CLAIMS.judge("C-CD-093")
def _best_delay(found: Found) -> Seen:
    best = _extreme_ms(found, "owd_min_ms", min) - DATAGRAM_MS
    return Seen.by(
        best,
        words.within(best, 24, 26, "25 ms ±1 ms"),
        unit="ms",
        note="The datagrams that are sent before the first flow starts find the path empty.",
    )


@CLAIMS.judge("C-CD-094")
def _worst_delay(found: Found) -> Seen:
    worst = _extreme_ms(found, "owd_max_ms", max)
    return Seen.by(worst, words.within(worst, 492, 518, "505 ms ±13 ms, a packet"), unit="ms")


@CLAIMS.judge("C-CD-095")
def _few_datagrams_lost(found: Found) -> Seen:
    lost = {cell: found[cell].mean("voip_loss") for cell in CELLS}
    worst = max(lost, key=lost.__getitem__)
    pooled = float(np.mean(list(lost.values())))
    checks = [
        words.both(words.few(one), words.not_significantly_more(1 + one, 1.0))
        for one in lost.values()
    ]
    return Seen.by(
        f"{100 * pooled:.2f} % over all cells; most {100 * lost[worst]:.2f} % ({cell_name(worst)})",
        words.every(checks),
    )


@CLAIMS.judge("C-CD-096")
def _cubic_delays_most(found: Found) -> Seen:
    checks, leads = [], []
    least = 0.8 * 5.3  # CUBIC in table 2: at least 5.3 % above the next control
    bound = f"by at least {least:.1f} %"
    for reno, htcp, cubic in _means(found, ALL_SIX, "owd_median_ms"):
        leads.append(100 * (cubic / max(reno, htcp) - 1))
        noticeable = words.within(leads[-1], least, np.inf, bound)
        checks.append(words.both(words.more(cubic, reno), words.more(cubic, htcp), noticeable))
    return _in_all(checks, "cells", f"; at least {min(leads):.1f} % more")


@CLAIMS.judge("C-CD-097")
def _htcp_below_reno(found: Found) -> Seen:
    medians = _means(found, ONE_OR_TWO, "owd_median_ms")
    orders = [(htcp, reno, cubic) for reno, htcp, cubic in medians]
    shown = ", ".join(f"{value:.1f}" for value in orders[1])
    more = f"; H-TCP, NewReno, CUBIC (two flows, 50 ms): {shown} ms"
    return _in_all([_rising(order) for order in orders], "cells", more)


@CLAIMS.judge("C-CD-098")
def _five_flow_order(found: Found) -> Seen:
    ((reno, htcp, cubic),) = _means(found, [(50, 5)], "owd_median_ms")
    return Seen.by(
        f"NewReno {reno:.1f}, H-TCP {htcp:.1f}, CUBIC {cubic:.1f} ms",
        words.slightly_more(htcp, reno),
        words.less(htcp, cubic),
    )


@CLAIMS.judge("C-CD-099")
def _more_flows_more_delay(found: Found) -> Seen:
    medians = [[found[*row, n].mean("owd_median_ms") for n in FLOW_COUNTS] for row in ROWS]
    return _in_all(list(map(_rising, medians)), "rows")


@CLAIMS.judge("C-CD-100")
def _cubic_varies_least(found: Found) -> Seen:
    sds = _means(found, ALL_SIX, "owd_sd_ms")
    checks = [words.both(words.less(c, r), words.less(c, h)) for r, h, c in sds]
    return _in_all(checks, "cells")


def _as_at_50_ms(key: str, rows: Rows) -> object:
    """Replace the delays at 100 ms RTT by those at 50 ms plus 25 ms."""
    twin = rows[key.replace("rtt100", "rtt50")].numbers
    later = {"owd_median_ms": twin.owd_median_ms + 25, "owd_sd_ms": twin.owd_sd_ms}
    return replace(rows[key], numbers=replace(rows[key].numbers, **later))


@CLAIMS.judge(
    "C-CD-101",
    spoil=scaled("rtt100-htcp-n5-*", 0.9, "numbers.owd_median_ms"),
    mend=_changed("rtt100-*", _as_at_50_ms),
    tries=[
        Change("a queue of 120 000 bytes", _both_ways("buffer", "120000 B")),
        Change("no delayed ACKs", setup.without_delayed_acks),
        Change("trials three times as long", partial(setup.lengthened, factor=3.0)),
    ],
)
def _same_shape_at_100_ms(found: Found) -> Seen:
    """Distance of the delay distributions at 100 and 50 ms RTT, beyond the base delay."""
    medians, deviations, gaps = [], [], {}
    for control, flows in product(CONTROLS, FLOW_COUNTS):
        near, far = (found[rtt, control, flows] for rtt in RTTS_MS)
        medians.append((far.mean("owd_median_ms") - 50, near.mean("owd_median_ms") - 25))
        deviations.append((far.mean("owd_sd_ms"), near.mean("owd_sd_ms")))
        gap = _largest_gap(far.owd_ms(), near.owd_ms())
        gaps[f"{LABELS[control]}, {flows_name(flows)}"] = gap
    off = [max(100 * abs(far / near - 1) for far, near in own) for own in (medians, deviations)]
    widest = max(gaps, key=gaps.__getitem__)
    return Seen.by(
        f"medians up to {off[0]:.1f} % apart, standard deviations up to {off[1]:.1f} %",
        words.every([words.identical(*pair) for pair in medians + deviations]),
        note=f"If the two distribution functions are shifted to the same median, they differ by "
        f"at most {gaps[widest]:.2f} ({widest}).",
    )


def _largest_gap(one: Array, other: Array) -> float:
    """The largest vertical distance between two distributions, each about its median."""
    samples = [np.sort(own - np.median(own)) for own in (one, other)]
    places = np.concatenate(samples)
    shares = [np.searchsorted(own, places, side="right") / own.size for own in samples]
    return float(np.abs(shares[0] - shares[1]).max())


def _lingers_at_460_ms(key: str, rows: Rows) -> object:
    """Move CUBIC's delays between 440 and 495 ms half of the way to 460 ms."""
    delays = rows[key].owd_ms
    near_460 = np.where((delays > 440) & (delays < 495), (delays + 460) / 2, delays)
    return replace(rows[key], owd_ms=near_460)


@CLAIMS.judge(
    "C-CD-102",
    spoil=swapped("cubic26", "reno"),
    mend=_changed(trial_key((50, "cubic26", 1), "*"), _lingers_at_460_ms),
    tries=[
        Change(
            "a flow that starts within 2 ms after a datagram of the VoIP stream",
            partial(setup.starting_within, spread_ns=2_000_000),
            trial_key((50, "cubic26", 1), "*"),
        )
    ],
)
def _cubic_step_and_plateau(found: Found) -> Seen:
    """Judge where the VoIP stream's delays beside one CUBIC flow begin, grow slowest and end."""
    cell = found[50, "cubic26", 1]
    delays = cell.owd_ms()
    onset, top = (float(value) for value in np.percentile(delays, [5, 99]))
    plateau = _slowest_ms(delays)
    by_trial = ", ".join(f"{_slowest_ms(trial.owd_ms):.0f}" for trial in cell.trials)
    low, high = 440.0, 480.0  # figure 3a, by the text: where the delay grows slowly
    return Seen.by(
        f"step at {onset:.0f} ms (5 %), slowest near {plateau:.0f} ms, on to {top:.0f} ms (99 %)",
        words.within(onset, 380, 420, "step in 380–420 ms"),
        words.within(plateau, low, high, f"slowest in {low:.0f}–{high:.0f} ms"),
        words.within(top, high + 1e-9, np.inf, f"growth beyond {high:.0f} ms"),
        note=f"In the trials the delay grows slowest near {by_trial} ms.",
    )


def _slowest_ms(delays_ms: Array) -> float:
    """The delay at which growth is slowest: the middle of the 10 ms with most datagrams."""
    counts, edges = np.histogram(delays_ms, bins=np.arange(25.0, 540.0, 10.0))
    return float(edges[int(np.argmax(counts))]) + 5


@CLAIMS.judge("C-CD-103")
def _htcp_fills_the_queue_most_often(found: Found) -> Seen:
    events = _means(found, ONE_OR_TWO, "queue_full_per_minute")
    checks = [words.both(words.more(h, r), words.more(h, c)) for r, h, c in events]
    return _in_all(checks, "cells")


@CLAIMS.judge("C-CD-104")
def _htcp_falls_back_at_five(found: Found) -> Seen:
    """How queue-full events change from two to five flows."""
    checks, shares, growths = [], [], []
    for rtt in RTTS_MS:
        two, five = _means(found, [(rtt, 2), (rtt, 5)], "queue_full_per_minute")
        before, after = (htcp / (reno + cubic) for reno, htcp, cubic in (two, five))
        reno, htcp, cubic = ((more - less) / 3 for less, more in zip(two, five, strict=True))
        checks += [words.less(after, before), words.more(cubic, max(reno, htcp))]
        shares.append(f"{before:.2f} to {after:.2f}")
        growths.append(f"{reno:.1f}, {htcp:.1f}, {cubic:.1f}")
    return Seen.by(
        f"H-TCP's over the others' at 50 and 100 ms: {', '.join(shares)}; more per minute and "
        f"flow (NewReno, H-TCP, CUBIC): {'; '.join(growths)}",
        *checks,
    )


@CLAIMS.judge("C-CD-105")
def _more_retransmissions(found: Found) -> Seen:
    """H-TCP's and CUBIC's retransmissions divided by NewReno's; the smallest ratio of all cells."""
    per_trial, per_minute = (
        _means(found, ALL_SIX, name) for name in ("retransmits_pkts", "retransmits_per_minute")
    )
    trial, minute = (
        np.min([(htcp / reno, cubic / reno) for reno, htcp, cubic in means], axis=0)
        for means in (per_trial, per_minute)
    )
    checks = [words.significantly_more(one, reno) for reno, *faster in per_trial for one in faster]
    return Seen.by(
        f"at least {trial[0]:.2f} times (H-TCP), {trial[1]:.2f} times (CUBIC)",
        words.every(checks),
        note="Judged by packets per trial, as in figure 5, although NewReno's trials last longer. "
        f"Per minute H-TCP and CUBIC have at least {minute[0]:.2f} and {minute[1]:.2f} times "
        "NewReno's retransmissions.",
    )


@CLAIMS.judge("C-CD-106")
def _events_follow_retransmissions(found: Found) -> Seen:
    names = ("queue_full_per_minute", "retransmits_pkts", "retransmits_per_minute")
    events, *retransmits = ([found[cell].mean(name) for cell in CELLS] for name in names)
    ranks = [float(stats.spearmanr(events, one).statistic) for one in retransmits]
    return Seen.by(
        f"rank correlation {ranks[0]:.2f} over {len(CELLS)} cells, {ranks[1]:.2f} per minute",
        *(words.grows_with(events, one) for one in retransmits),
        note="Shown: the correlation of queue-full events per minute (figure 4) with "
        "retransmitted packets per trial (figure 5), and with retransmitted packets per minute.",
    )


_X = np.linspace(0.5, 3.0, 20)
_H_TCP, _CUBIC = trial_key(FIGURE_2, 1), trial_key(CUBIC_GROWTH, 1)


@CLAIMS.judge(
    "C-CD-107",
    spoil=replaced(_H_TCP, 1.0, "htcp_growth.exponent"),  # as NewReno
    mend=[
        replaced(_H_TCP, 2.0, "htcp_growth.exponent"),
        replaced(_H_TCP, Law(_X**2, _X**2 / 2), "htcp_growth.parabola"),
    ],
    tries=[
        Change("a link of 2 Mbit/s", _both_ways("rate", "2 Mbit/s"), _H_TCP),
        Change("a link of 4 Mbit/s", _both_ways("rate", "4 Mbit/s"), _H_TCP),
        Change("no delayed ACKs", setup.without_delayed_acks, _H_TCP),
    ],
)
def _htcp_grows_as_a_parabola(found: Found) -> Seen:
    growth = found.first(FIGURE_2).htcp_growth
    if growth is None:
        raise MissingTrialError("The trials recorded too few congestion epochs.")
    return Seen.by(
        f"{growth.first_pkts_per_rtt:.2f} packets per RTT in the first second, then exponent "
        f"{growth.exponent:.2f} ({growth.epochs} epochs)",
        words.similar(growth.first_pkts_per_rtt, 1.0),
        words.quantity(growth.exponent, 2.0),
        words.proportional(growth.parabola.power.tolist(), growth.parabola.growth.tolist()),
    )


@CLAIMS.judge("C-CD-108")
def _cubic_grows_as_a_cubic(found: Found) -> Seen:
    growth = found.first(CUBIC_GROWTH).cubic_growth
    if growth is None:
        raise MissingTrialError("The trials recorded too few congestion epochs.")
    lead = growth.least_lead_pkts
    behind = "never" if lead >= 0 else f"up to {-lead:.1f} packets"
    return Seen.by(
        f"{growth.constant:.3f} x³ ({growth.epochs} epochs), {behind} behind NewReno",
        words.quantity(growth.constant, 0.4),
        words.proportional(growth.cubic.power.tolist(), growth.cubic.growth.tolist()),
        words.every([words.within(lead, 0, np.inf, "never behind NewReno")]),
    )


STATEMENTS = (
    *(_of_table(*number, claim) for number, claim in CLAIM_IDS.items()),
    *CLAIMS.statements(),
)
"""The statements C-CD-001 to C-CD-109."""
