"""Check: how the orders, shapes and bounds of C-CD-091 to C-CD-108 are looked at."""

from __future__ import annotations

import itertools
from collections.abc import Callable, Iterable, Sequence

import numpy as np
from scipy import stats

from headway.claims import MissingTrialError, Seen, near, words
from headway.metrics.stats import Array
from headway.studies.collateral_damage.cells import Found
from headway.studies.collateral_damage.experiments import (
    CUBIC_GROWTH,
    DATAGRAM_MS,
    FIGURE_2,
    FULL_QUEUE_MS,
)
from headway.studies.collateral_damage.published import (
    CELLS,
    CONTROLS,
    FLOW_COUNTS,
    LABELS,
    RTTS_MS,
    cell_name,
    flows_name,
)

RENO, HTCP, CUBIC = CONTROLS
ALL_SIX = list(itertools.product(RTTS_MS, FLOW_COUNTS))
GOODPUT_APART = 2.1
"""Table 1: how far the goodputs of the controls are apart at most, per cent."""
NOTICEABLE = 0.8 * 5.3
"""Table 2: CUBIC's median is at least 5.3 % above the next one; per cent, less a fifth."""
PLATEAU_MS = (440.0, 480.0)
"""Figure 3a, by the text: where the delay beside one CUBIC flow grows slowly."""
ONE_OR_TWO = list(itertools.product(RTTS_MS, (1, 2)))


def _count(checks: Sequence[words.Check], what: str) -> str:
    return f"{sum(one.holds for one in checks)} of {len(checks)} {what}"


def _median(found: Found, rtt_ms: int, control: str, flows: int) -> float:
    return found[rtt_ms, control, flows].mean("owd_median_ms")


def goodput_alike(found: Found) -> Seen:
    """How far goodputs of the three controls are apart at most."""
    spreads = []
    for rtt_ms, flows in ALL_SIX:
        rates = [found[rtt_ms, c, flows].mean("goodput_kbytes_s") for c in CONTROLS]
        spreads.append(100 * (max(rates) / min(rates) - 1))
    bound = f"at most {GOODPUT_APART:g} % apart"
    return Seen.by(
        f"at most {max(spreads):.2f} % apart",
        words.every([words.within(one, 0, GOODPUT_APART, bound) for one in spreads]),
    )


def largest_queue_delay(_: Found) -> Seen:
    """Arithmetic of the setup."""
    return near(FULL_QUEUE_MS, 480.0, unit="ms", note="Arithmetic; C-CD-094 has what trials reach.")


def _extreme_ms(found: Found, name: str, pick: Callable[[list[float]], float]) -> float:
    cells = [found[cell] for cell in CELLS if cell[0] == RTTS_MS[0]]
    return pick([value for cell in cells for value in cell.values(name)])


def best_delay(found: Found) -> Seen:
    """The path's delay, of the datagram that waited least."""
    best = _extreme_ms(found, "owd_min_ms", min) - DATAGRAM_MS
    return Seen.by(
        best,
        words.within(best, 24, 26, "25 ms ±1 ms"),
        unit="ms",
        note="The datagrams that are sent before the first flow starts find the path empty.",
    )


def worst_delay(found: Found) -> Seen:
    """The delay of the datagram that waited longest."""
    worst = _extreme_ms(found, "owd_max_ms", max)
    return Seen.by(worst, words.within(worst, 492, 518, "505 ms ±13 ms, a packet"), unit="ms")


def few_datagrams_lost(found: Found) -> Seen:
    """Share of datagrams lost, over all cells and in the worst."""
    lost = {cell: found[cell].mean("voip_loss") for cell in CELLS}
    worst = max(lost, key=lambda cell: lost[cell])
    pooled = float(np.mean(list(lost.values())))
    return Seen.by(
        f"{100 * pooled:.2f} % over all cells; most {100 * lost[worst]:.2f} % ({cell_name(worst)})",
        words.every(
            [
                words.both(words.few(one), words.not_significantly_more(1 + one, 1.0))
                for one in lost.values()
            ]
        ),
    )


def cubic_delays_most(found: Found) -> Seen:
    """The control with the largest median, and how far it is above the next one."""
    checks, leads = [], []
    for rtt, n in ALL_SIX:
        reno, htcp, cubic = (_median(found, rtt, control, n) for control in CONTROLS)
        leads.append(100 * (cubic / max(reno, htcp) - 1))
        checks.append(
            words.both(
                words.more(cubic, reno),
                words.more(cubic, htcp),
                words.within(leads[-1], NOTICEABLE, np.inf, f"by at least {NOTICEABLE:.1f} %"),
            )
        )
    return Seen.by(
        f"{_count(checks, 'cells')}; at least {min(leads):.1f} % more", words.every(checks)
    )


def htcp_below_reno(found: Found) -> Seen:
    """The order of the medians with one or two flows."""
    orders = [
        [_median(found, rtt, control, n) for control in (HTCP, RENO, CUBIC)]
        for rtt, n in ONE_OR_TWO
    ]
    checks = [_rising(order) for order in orders]
    shown = ", ".join(f"{value:.1f}" for value in orders[1])
    return Seen.by(
        f"{_count(checks, 'cells')}; H-TCP, NewReno, CUBIC (two flows, 50 ms): {shown} ms",
        words.every(checks),
    )


def _rising(values: Sequence[float]) -> words.Check:
    return words.both(*(words.less(one, after) for one, after in itertools.pairwise(values)))


def five_flow_order(found: Found) -> Seen:
    """The order of the medians with five flows at 50 ms."""
    reno, htcp, cubic = (_median(found, 50, control, 5) for control in CONTROLS)
    return Seen.by(
        f"NewReno {reno:.1f}, H-TCP {htcp:.1f}, CUBIC {cubic:.1f} ms",
        words.slightly_more(htcp, reno),
        words.less(htcp, cubic),
    )


def more_flows_more_delay(found: Found) -> Seen:
    """How the medians change with the number of flows."""
    checks = [
        _rising([_median(found, rtt_ms, control, n) for n in FLOW_COUNTS])
        for rtt_ms, control in itertools.product(RTTS_MS, CONTROLS)
    ]
    return Seen.by(_count(checks, "rows"), words.every(checks))


def _means(found: Found, cells: Iterable[tuple[int, int]], metric: str) -> list[list[float]]:
    """A metric's mean with each control, by cell of round-trip time and number of flows."""
    return [[found[rtt, c, n].mean(metric) for c in CONTROLS] for rtt, n in cells]


def cubic_varies_least(found: Found) -> Seen:
    """The control with the smallest standard deviation."""
    checks = [
        words.both(words.less(cubic, reno), words.less(cubic, htcp))
        for reno, htcp, cubic in _means(found, ALL_SIX, "owd_sd_ms")
    ]
    return Seen.by(_count(checks, "cells"), words.every(checks))


def same_shape_at_100_ms(found: Found) -> Seen:
    """How the distributions at 100 ms differ from those at 50 ms, beyond the base delay."""
    medians, deviations, gaps = {}, {}, {}
    for control, flows in itertools.product(CONTROLS, FLOW_COUNTS):
        near, far = (found[rtt, control, flows] for rtt in RTTS_MS)
        name = f"{LABELS[control]}, {flows_name(flows)}"
        medians[name] = (far.mean("owd_median_ms") - 50, near.mean("owd_median_ms") - 25)
        deviations[name] = (far.mean("owd_sd_ms"), near.mean("owd_sd_ms"))
        gaps[name] = _largest_gap(far.owd_ms(), near.owd_ms())
    checks = [words.identical(*pair) for pair in (*medians.values(), *deviations.values())]
    off = [
        max(abs(far / near - 1) for far, near in pairs.values()) for pairs in (medians, deviations)
    ]
    widest = max(gaps, key=gaps.__getitem__)
    return Seen.by(
        f"medians up to {100 * off[0]:.1f} % apart, standard deviations up to {100 * off[1]:.1f} %",
        words.every(checks),
        note=f"About their medians two curves are at most {gaps[widest]:.2f} apart ({widest}).",
    )


def _largest_gap(one: Array, other: Array) -> float:
    """The largest vertical distance between two distributions, each about its median."""
    samples = [np.sort(own - np.median(own)) for own in (one, other)]
    places = np.concatenate(samples)
    shares = [np.searchsorted(own, places, side="right") / own.size for own in samples]
    return float(np.abs(shares[0] - shares[1]).max())


def cubic_step_and_plateau(found: Found) -> Seen:
    """Where the delays beside one CUBIC flow begin, linger and end."""
    cell = found[50, CUBIC, 1]
    delays = cell.owd_ms()
    onset, top = (float(value) for value in np.percentile(delays, [5, 99]))
    plateau = _slowest_ms(delays)
    by_trial = ", ".join(f"{_slowest_ms(trial.owd_ms):.0f}" for trial in cell.trials)
    low, high = PLATEAU_MS
    return Seen.by(
        f"step at {onset:.0f} ms (5 %), slowest near {plateau:.0f} ms, on to {top:.0f} ms (99 %)",
        words.within(onset, 380, 420, "step in 380–420 ms"),
        words.within(plateau, low, high, f"slowest in {low:.0f}–{high:.0f} ms"),
        words.within(top, high + 1e-9, np.inf, f"growth beyond {high:.0f} ms"),
        note=f"Slowest by trial: near {by_trial} ms.",
    )


def _slowest_ms(delays_ms: Array) -> float:
    """Where a delay lingers: the middle of the 10 ms with most datagrams."""
    counts, edges = np.histogram(delays_ms, bins=np.arange(25.0, 540.0, 10.0))
    return float(edges[int(np.argmax(counts))]) + 5


def htcp_fills_the_queue_most_often(found: Found) -> Seen:
    """The control with the largest number of queue-full events, one or two flows."""
    checks = [
        words.both(words.more(htcp, reno), words.more(htcp, cubic))
        for reno, htcp, cubic in _means(found, ONE_OR_TWO, "queue_full_per_minute")
    ]
    return Seen.by(_count(checks, "cells"), words.every(checks))


def htcp_falls_back_at_five(found: Found) -> Seen:
    """How queue-full events change from two to five flows."""
    checks, shares, growths = [], [], []
    for rtt in RTTS_MS:
        events = {
            (control, n): found[rtt, control, n].mean("queue_full_per_minute")
            for control, n in itertools.product(CONTROLS, (2, 5))
        }
        share = {n: events[HTCP, n] / (events[RENO, n] + events[CUBIC, n]) for n in (2, 5)}
        reno, htcp, cubic = ((events[c, 5] - events[c, 2]) / 3 for c in CONTROLS)
        checks += [words.less(share[5], share[2]), words.more(cubic, max(reno, htcp))]
        shares.append(f"{share[2]:.2f} to {share[5]:.2f}")
        growths.append(f"{reno:.1f}, {htcp:.1f}, {cubic:.1f}")
    return Seen.by(
        f"H-TCP's over the others' at 50 and 100 ms: {', '.join(shares)}; more per minute and "
        f"flow (NewReno, H-TCP, CUBIC): {'; '.join(growths)}",
        *checks,
    )


def more_retransmissions(found: Found) -> Seen:
    """Retransmissions over NewReno's, the least of the cells."""
    least, checks = {}, []
    for name in ("retransmits_pkts", "retransmits_per_minute"):
        ratios = []
        for rtt, n in ALL_SIX:
            reno, *faster = (found[rtt, c, n].mean(name) for c in CONTROLS)
            ratios.append([one / reno for one in faster])
            if name == "retransmits_pkts":
                checks += [words.significantly_more(one, reno) for one in faster]
        least[name] = np.min(ratios, axis=0)
    htcp, cubic = least["retransmits_pkts"]
    per_minute = least["retransmits_per_minute"]
    return Seen.by(
        f"at least {htcp:.2f} times (H-TCP), {cubic:.2f} times (CUBIC)",
        words.every(checks),
        note="Packets per trial, as in figure 5; NewReno's trials last longer. Per minute at least "
        f"{per_minute[0]:.2f} and {per_minute[1]:.2f} times.",
    )


def events_follow_retransmissions(found: Found) -> Seen:
    """How queue-full events and retransmissions go together."""
    cells = [found[cell] for cell in CELLS]
    events = [cell.mean("queue_full_per_minute") for cell in cells]
    checks, ranks = [], []
    for name in ("retransmits_pkts", "retransmits_per_minute"):
        retransmits = [cell.mean(name) for cell in cells]
        checks.append(words.grows_with(events, retransmits))
        ranks.append(float(stats.spearmanr(events, retransmits).statistic))
    return Seen.by(
        f"rank correlation {ranks[0]:.2f} over {len(cells)} cells, {ranks[1]:.2f} per minute",
        *checks,
        note="Figure 4's events per minute with figure 5's packets per trial, and with packets per "
        "minute.",
    )


def htcp_grows_as_a_parabola(found: Found) -> Seen:
    """H-TCP's growth, as fitted to the trial of figure 2."""
    growth = found.first(FIGURE_2).htcp_growth
    if growth is None:
        raise MissingTrialError("Too few epochs were recorded.")
    return Seen.by(
        f"{growth.first_pkts_per_rtt:.2f} packets per RTT in the first second, then exponent "
        f"{growth.exponent:.2f} ({growth.epochs} epochs)",
        words.similar(growth.first_pkts_per_rtt, 1.0),
        words.quantity(growth.exponent, 2.0),
        words.proportional(growth.parabola.power.tolist(), growth.parabola.growth.tolist()),
    )


def cubic_grows_as_a_cubic(found: Found) -> Seen:
    """CUBIC's growth, as fitted to a recorded trial."""
    growth = found.first(CUBIC_GROWTH).cubic_growth
    if growth is None:
        raise MissingTrialError("Too few epochs were recorded.")
    lead = growth.least_lead_pkts
    behind = "never" if lead >= 0 else f"up to {-lead:.1f} packets"
    return Seen.by(
        f"{growth.constant:.3f} x³ ({growth.epochs} epochs), {behind} behind NewReno",
        words.quantity(growth.constant, 0.4),
        words.proportional(growth.cubic.power.tolist(), growth.cubic.growth.tolist()),
        words.every([words.within(lead, 0, np.inf, "never behind NewReno")]),
    )
