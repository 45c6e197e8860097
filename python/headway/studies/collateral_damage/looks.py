"""Check: how the orders, shapes and bounds of C-CD-091 to C-CD-108 are looked at."""

from __future__ import annotations

import itertools
from collections.abc import Callable, Sequence

import numpy as np
from scipy import stats

from headway.claims import MissingTrialError, Seen, near
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
ONE_OR_TWO = list(itertools.product(RTTS_MS, (1, 2)))


def _count(passed: Sequence[bool], what: str) -> str:
    return f"{sum(passed)} of {len(passed)} {what}"


def _median(found: Found, rtt_ms: int, control: str, flows: int) -> float:
    return found[rtt_ms, control, flows].mean("owd_median_ms")


def goodput_alike(found: Found) -> Seen:
    """How far goodputs of the three controls are apart at most."""
    spreads = []
    for rtt_ms, flows in ALL_SIX:
        rates = [found[rtt_ms, c, flows].mean("goodput_kbytes_s") for c in CONTROLS]
        spreads.append(max(rates) / min(rates) - 1)
    worst = 100 * max(spreads)
    return Seen(f"at most {worst:.2f} % apart", worst <= 3, "spread ≤ 3 %")


def largest_queue_delay(_: Found) -> Seen:
    """Arithmetic of the setup."""
    return near(FULL_QUEUE_MS, 480.0, unit="ms", note="Arithmetic; C-CD-094 has what trials reach.")


def _extreme_ms(found: Found, name: str, pick: Callable[[list[float]], float]) -> float:
    cells = [found[cell] for cell in CELLS if cell[0] == RTTS_MS[0]]
    return pick([value for cell in cells for value in cell.values(name)])


def best_delay(found: Found) -> Seen:
    """The path's delay, of the datagram that waited least."""
    best = _extreme_ms(found, "owd_min_ms", min) - DATAGRAM_MS
    return Seen(
        best,
        abs(best - 25) <= 1,
        "±1 ms",
        "ms",
        "The datagrams sent before the first flow starts find the path empty.",
    )


def worst_delay(found: Found) -> Seen:
    """The delay of the datagram that waited longest."""
    worst = _extreme_ms(found, "owd_max_ms", max)
    return Seen(worst, abs(worst - 505) <= 13, "±13 ms (one packet)", "ms")


def few_datagrams_lost(found: Found) -> Seen:
    """Share of datagrams lost, over all cells and in the worst."""
    lost = {cell: 100 * found[cell].mean("voip_loss") for cell in CELLS}
    worst = max(lost, key=lambda cell: lost[cell])
    pooled = float(np.mean(list(lost.values())))
    return Seen(
        f"{pooled:.2f} % over all cells; most {lost[worst]:.2f} % ({cell_name(worst)})",
        lost[worst] < 2,
        "< 2 % in every cell",
        note="A dummynet queue refuses whatever arrives while more than 60 000 bytes are queued, "
        "small packets as well as large ones.",
    )


def cubic_delays_most(found: Found) -> Seen:
    """The control with the largest median."""
    passed = [
        _median(found, rtt, CUBIC, n)
        > max(_median(found, rtt, RENO, n), _median(found, rtt, HTCP, n))
        for rtt, n in ALL_SIX
    ]
    return Seen(_count(passed, "cells"), all(passed), "sign in all cells")


def htcp_below_reno(found: Found) -> Seen:
    """The order of the medians with one or two flows."""
    orders = [
        [_median(found, rtt, control, n) for control in (HTCP, RENO, CUBIC)]
        for rtt, n in ONE_OR_TWO
    ]
    passed = [htcp < reno < cubic for htcp, reno, cubic in orders]
    shown = ", ".join(f"{value:.1f}" for value in orders[1])
    return Seen(
        f"{_count(passed, 'cells')}; H-TCP, NewReno, CUBIC (two flows, 50 ms): {shown} ms",
        all(passed),
        "sign in all 4 cells",
    )


def five_flow_order(found: Found) -> Seen:
    """The order of the medians with five flows at 50 ms."""
    reno, htcp, cubic = (_median(found, 50, control, 5) for control in CONTROLS)
    return Seen(f"NewReno {reno:.1f}, H-TCP {htcp:.1f}, CUBIC {cubic:.1f} ms", reno < htcp < cubic)


def more_flows_more_delay(found: Found) -> Seen:
    """How the medians change with the number of flows."""
    passed = []
    for rtt_ms, control in itertools.product(RTTS_MS, CONTROLS):
        one, two, five = (_median(found, rtt_ms, control, n) for n in FLOW_COUNTS)
        passed.append(one < two < five)
    return Seen(_count(passed, "rows"), all(passed), "monotone in all rows")


def cubic_varies_least(found: Found) -> Seen:
    """The control with the smallest standard deviation."""
    passed = []
    for rtt, n in ALL_SIX:
        reno, htcp, cubic = (found[rtt, c, n].mean("owd_sd_ms") for c in CONTROLS)
        passed.append(cubic < min(reno, htcp))
    return Seen(_count(passed, "cells"), all(passed), "sign in all cells")


def same_shape_at_100_ms(found: Found) -> Seen:
    """How the distributions at 100 ms differ from those at 50 ms."""
    shifts, same_order, gaps = [], [], {}
    for flows in FLOW_COUNTS:
        medians = {
            rtt: {control: _median(found, rtt, control, flows) for control in CONTROLS}
            for rtt in RTTS_MS
        }
        orders = [sorted(CONTROLS, key=medians[rtt].__getitem__) for rtt in RTTS_MS]
        same_order.append(orders[0] == orders[1])
        shifts += [medians[100][control] - medians[50][control] for control in CONTROLS]
        for control in CONTROLS:
            gaps[f"{LABELS[control]}, {flows_name(flows)}"] = _largest_gap(
                *(found[rtt, control, flows].owd_ms() for rtt in RTTS_MS)
            )
    shift = float(np.mean(shifts))
    widest = max(gaps, key=gaps.__getitem__)
    return Seen(
        f"medians {shift:.1f} ms higher on average; same order for "
        f"{_count(same_order, 'flow counts')}",
        abs(shift - 25) <= 12.5 and all(same_order),
        "mean shift 25 ± 12.5 ms, same order",
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
    return Seen(
        f"step at {onset:.0f} ms (5 %), slowest near {plateau:.0f} ms, on to {top:.0f} ms (99 %)",
        380 <= onset <= 420 and 440 <= plateau <= 480 and top > plateau + 10,
        "step in 380–420 ms, slowest in 440–480 ms, growth beyond",
        note=f"Slowest by trial: near {by_trial} ms. The flow settles in one of two cycles. Where "
        "long and short epochs alternate, its W_max is below the window that fills the queue, and "
        "the delay lingers where the paper has it; where all epochs are alike, W_max is the full "
        "queue.",
    )


def _slowest_ms(delays_ms: Array) -> float:
    """Where a delay lingers: the middle of the 10 ms with most datagrams."""
    counts, edges = np.histogram(delays_ms, bins=np.arange(25.0, 540.0, 10.0))
    return float(edges[int(np.argmax(counts))]) + 5


def htcp_fills_the_queue_most_often(found: Found) -> Seen:
    """The control with most queue-full events, one or two flows."""
    passed = []
    for rtt, n in ONE_OR_TWO:
        reno, htcp, cubic = (found[rtt, c, n].mean("queue_full_per_minute") for c in CONTROLS)
        passed.append(htcp > max(reno, cubic))
    return Seen(_count(passed, "cells"), all(passed), "sign in all cells")


def htcp_falls_back_at_five(found: Found) -> Seen:
    """How queue-full events change from two to five flows."""
    falls, grows, shares, growths = [], [], [], []
    for rtt in RTTS_MS:
        events = {
            (control, n): found[rtt, control, n].mean("queue_full_per_minute")
            for control, n in itertools.product(CONTROLS, (2, 5))
        }
        share = {n: events[HTCP, n] / (events[RENO, n] + events[CUBIC, n]) for n in (2, 5)}
        reno, htcp, cubic = ((events[c, 5] - events[c, 2]) / 3 for c in CONTROLS)
        falls.append(share[5] < share[2])
        grows.append(cubic > max(reno, htcp))
        shares.append(f"{share[2]:.2f} to {share[5]:.2f}")
        growths.append(f"{reno:.1f}, {htcp:.1f}, {cubic:.1f}")
    return Seen(
        f"H-TCP's over the others' at 50 and 100 ms: {', '.join(shares)}; more per minute and "
        f"flow (NewReno, H-TCP, CUBIC): {'; '.join(growths)}",
        all(falls) and all(grows),
        "sign of change at both RTTs",
    )


def more_retransmissions(found: Found) -> Seen:
    """Retransmissions over NewReno's, the least of the cells."""
    least = {}
    for name in ("retransmits_pkts", "retransmits_per_minute"):
        ratios = []
        for rtt, n in ALL_SIX:
            reno, htcp, cubic = (found[rtt, c, n].mean(name) for c in CONTROLS)
            ratios.append((htcp / reno, cubic / reno))
        least[name] = np.min(ratios, axis=0)
    htcp, cubic = least["retransmits_pkts"]
    per_minute = least["retransmits_per_minute"]
    return Seen(
        f"at least {htcp:.2f} times (H-TCP), {cubic:.2f} times (CUBIC)",
        bool(min(htcp, cubic) >= 1.2),
        "ratio ≥ 1.2 in every cell",
        note="Packets per trial, as in figure 5; NewReno's trials last longer. Per minute at least "
        f"{per_minute[0]:.2f} and {per_minute[1]:.2f} times.",
    )


def events_follow_retransmissions(found: Found) -> Seen:
    """How queue-full events and retransmissions go together."""
    cells = [found[cell] for cell in CELLS]
    events = [cell.mean("queue_full_per_minute") for cell in cells]
    ranks = [
        float(stats.spearmanr(events, [cell.mean(name) for cell in cells]).statistic)
        for name in ("retransmits_pkts", "retransmits_per_minute")
    ]
    return Seen(
        f"rank correlation {ranks[0]:.2f} over {len(cells)} cells, {ranks[1]:.2f} per minute",
        all(rank > 0.7 for rank in ranks),
        "> 0.7",
        note="Figure 4's events per minute with figure 5's packets per trial, and with packets per "
        "minute.",
    )


def htcp_grows_as_a_parabola(found: Found) -> Seen:
    """H-TCP's growth, as fitted to the trial of figure 2."""
    growth = found.first(FIGURE_2).htcp_growth
    if growth is None:
        raise MissingTrialError("Too few epochs were recorded.")
    return Seen(
        f"{growth.first_pkts_per_rtt:.2f} packets per RTT in the first second, then exponent "
        f"{growth.exponent:.2f} ({growth.epochs} epochs)",
        abs(growth.first_pkts_per_rtt - 1) <= 0.25 and 1.5 <= growth.exponent <= 2.5,
        "1 ± 25 %; exponent nearest to 2",
        note="Linux adds at most a packet for every second ACK, and with some ten ACKs per round "
        "trip the window falls behind the parabola within a second; on faster links the exponent "
        "is nearer to 2. The paper's x²/2 is the draft's growth per round trip, not the window.",
    )


def cubic_grows_as_a_cubic(found: Found) -> Seen:
    """CUBIC's growth, as fitted to a recorded trial."""
    growth = found.first(CUBIC_GROWTH).cubic_growth
    if growth is None:
        raise MissingTrialError("Too few epochs were recorded.")
    lead = growth.least_lead_pkts
    behind = "never" if lead >= 0 else f"up to {-lead:.1f} packets"
    return Seen(
        f"{growth.constant:.3f} x³ ({growth.epochs} epochs), {behind} behind NewReno",
        0.35 <= growth.constant < 0.45 and lead >= 0,
        "what rounds to 0.4; never behind",
    )
