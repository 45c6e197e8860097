"""Every statement of paper 001 (C-CD-001 to C-CD-109) beside what was measured."""

from __future__ import annotations

import itertools
from collections.abc import Callable, Sequence
from dataclasses import dataclass

import numpy as np
from scipy import stats

from headway import models
from headway.claims import Claim, Verdict
from headway.studies._collateral_damage_data import (
    CELLS,
    CONTROLS,
    DELAY,
    DELAY_LEVEL,
    DELAY_SD,
    FLOW_COUNTS,
    GOODPUT,
    GOODPUT_MEAN,
    GOODPUT_SD,
    LABELS,
    RTTS_MS,
    CellKey,
    Tolerance,
)
from headway.studies._collateral_damage_results import CubicGrowth, HtcpGrowth, Results

RENO, HTCP, CUBIC = CONTROLS


@dataclass(frozen=True)
class Evidence:
    """All that the claims are checked against."""

    results: Results
    full_queue_ms: float
    """Time to send a full queue, from the experiment's rate and buffer."""
    datagram_ms: float
    """Time to send one datagram at the bottleneck."""
    htcp_growth: HtcpGrowth | None
    cubic_growth: CubicGrowth | None

    def mean(self, rtt_ms: int, control: str, flows: int, name: str) -> float:
        """A quantity of a cell: the mean of its middle trials."""
        return self.results[rtt_ms, control, flows].mean(name)


def all_claims(evidence: Evidence) -> list[Claim]:
    """C-CD-001 to C-CD-109 in order."""
    statements = [check(evidence) for check in _STATEMENTS]
    claims = _table_1(evidence) + _table_2(evidence)
    first = len(claims) + 1
    claims += [
        Claim(f"C-CD-{number:03}", parts.statement, "simulated", *parts.fields())
        for number, parts in enumerate(statements, start=first)
    ]
    return claims


def cell_name(key: CellKey) -> str:
    """A cell as a reader calls it: "50 ms, NewReno, 2 flows"."""
    rtt_ms, control, flows = key
    return f"{rtt_ms} ms, {LABELS[control]}, {flows} flow{'s' if flows > 1 else ''}"


def _value(
    number: int,
    statement: str,
    published: float,
    measured: float,
    unit: str,
    tolerance: Tolerance,
) -> Claim:
    return Claim(
        id=f"C-CD-{number:03}",
        basis="simulated",
        published=published,
        measured=round(measured, 3),
        unit=unit,
        tolerance=str(tolerance),
        verdict=_verdict(tolerance.accepts(published, measured)),
        statement=statement,
    )


def _table_1(evidence: Evidence) -> list[Claim]:
    claims: list[Claim] = []
    for key in CELLS:
        cell, published = evidence.results[key], GOODPUT[key]
        for what, expected, measured, tolerance in (
            ("mean over runs", published.mean, cell.mean("goodput_kbytes_s"), GOODPUT_MEAN),
            ("spread over runs", published.sd, cell.sd("goodput_kbytes_s"), GOODPUT_SD),
        ):
            statement = f"table 1, {cell_name(key)}: summed goodput, {what}"
            claims.append(_value(len(claims) + 1, statement, expected, measured, "kB/s", tolerance))
    return claims


def _table_2(evidence: Evidence) -> list[Claim]:
    claims: list[Claim] = []
    before = 2 * len(CELLS)
    for key in CELLS:
        cell, published = evidence.results[key], DELAY[key]
        for what, expected, name, tolerance in (
            ("median", published.median, "owd_median_ms", DELAY_LEVEL),
            ("mean", published.mean, "owd_mean_ms", DELAY_LEVEL),
            ("standard deviation", published.sd, "owd_sd_ms", DELAY_SD),
        ):
            statement = f"table 2, {cell_name(key)}: one-way delay, {what}"
            number = before + len(claims) + 1
            claims.append(_value(number, statement, expected, cell.mean(name), "ms", tolerance))
    return claims


@dataclass(frozen=True)
class _Statement:
    """A claim without its number."""

    statement: str
    published: float | str
    measured: float | str | None
    unit: str | None
    tolerance: str
    verdict: Verdict

    def fields(self) -> tuple[float | str, float | str | None, str | None, str, Verdict]:
        """In the order of Claim, after the basis."""
        return (
            self.published,
            self.measured,
            self.unit,
            self.tolerance,
            self.verdict,
        )


def _verdict(holds: bool) -> Verdict:
    return "holds" if holds else "fails"


def _cells(rtts: Sequence[int], flows: Sequence[int]) -> list[tuple[int, int]]:
    return list(itertools.product(rtts, flows))


def _count(passed: Sequence[bool], what: str) -> str:
    return f"{sum(passed)} of {len(passed)} {what}"


def _goodput_alike(evidence: Evidence) -> _Statement:
    spreads = []
    for rtt_ms, flows in _cells(RTTS_MS, FLOW_COUNTS):
        rates = [evidence.mean(rtt_ms, c, flows, "goodput_kbytes_s") for c in CONTROLS]
        spreads.append(max(rates) / min(rates) - 1)
    worst = 100 * max(spreads)
    return _Statement(
        "goodput hardly depends on the control (same RTT and number of flows)",
        "much the same",
        f"at most {worst:.2f} % apart",
        None,
        "spread ≤ 3 %",
        _verdict(worst <= 3),
    )


def _largest_queue_delay(evidence: Evidence) -> _Statement:
    return _Statement(
        "longest queueing delay: the buffer's bytes at the link's rate",
        480.0,
        evidence.full_queue_ms,
        "ms",
        "exact",
        _verdict(evidence.full_queue_ms == 480.0),
    )


def _extreme_ms(evidence: Evidence, name: str, pick: Callable[[list[float]], float]) -> float:
    return pick(
        [
            value
            for key, cell in evidence.results.items()
            if key[0] == RTTS_MS[0]
            for value in cell.values(name)
        ]
    )


def _best_delay(evidence: Evidence) -> _Statement:
    # The paper means the path's own delay; a datagram's own time on the link comes on top.
    best = _extreme_ms(evidence, "owd_min_ms", min) - evidence.datagram_ms
    return _Statement(
        "shortest delay at 50 ms RTT is half the RTT (the datagram's own sending time taken off)",
        25.0,
        round(best, 3),
        "ms",
        "±1 ms",
        _verdict(abs(best - 25) <= 1),
    )


def _worst_delay(evidence: Evidence) -> _Statement:
    bound_ms, margin_ms = 505.0, 13.0
    worst = _extreme_ms(evidence, "owd_max_ms", max)
    return _Statement(
        "longest delay at 50 ms RTT is half the RTT and a full queue",
        bound_ms,
        round(worst, 3),
        "ms",
        f"±{margin_ms:g} ms (one packet)",
        _verdict(abs(worst - bound_ms) <= margin_ms),
    )


def _few_datagrams_lost(evidence: Evidence) -> _Statement:
    lost = {key: 100 * cell.mean("voip_loss") for key, cell in evidence.results.items()}
    worst = max(lost, key=lambda key: lost[key])
    pooled = float(np.mean(list(lost.values())))
    return _Statement(
        "few datagrams are lost to the full queue",
        "statistically insignificant",
        f"{pooled:.2f} % over all cells; most {lost[worst]:.2f} % ({cell_name(worst)})",
        None,
        "< 2 % in every cell",
        _verdict(lost[worst] < 2),
    )


def _median(evidence: Evidence, rtt_ms: int, control: str, flows: int) -> float:
    return evidence.mean(rtt_ms, control, flows, "owd_median_ms")


def _cubic_delays_most(evidence: Evidence) -> _Statement:
    passed = [
        _median(evidence, rtt, CUBIC, n)
        > max(_median(evidence, rtt, RENO, n), _median(evidence, rtt, HTCP, n))
        for rtt, n in _cells(RTTS_MS, FLOW_COUNTS)
    ]
    return _Statement(
        "CUBIC has the largest median delay of the three",
        "in all 6 cells",
        _count(passed, "cells"),
        None,
        "sign in all cells",
        _verdict(all(passed)),
    )


def _htcp_below_reno(evidence: Evidence) -> _Statement:
    orders = [
        [_median(evidence, rtt, control, n) for control in (HTCP, RENO, CUBIC)]
        for rtt, n in _cells(RTTS_MS, (1, 2))
    ]
    passed = [order == sorted(order) for order in orders]
    shown = ", ".join(f"{value:.1f}" for value in orders[1])
    return _Statement(
        "median delay with one or two flows: H-TCP < NewReno < CUBIC",
        "390.8 < 422.8 < 474.1 ms (two flows, 50 ms)",
        f"{_count(passed, 'cells')}; H-TCP, NewReno, CUBIC (two flows, 50 ms): {shown} ms",
        None,
        "sign in all 4 cells",
        _verdict(all(passed)),
    )


def _five_flow_order(evidence: Evidence) -> _Statement:
    order = [_median(evidence, 50, control, 5) for control in (RENO, HTCP, CUBIC)]
    return _Statement(
        "median delay with five flows at 50 ms: NewReno < H-TCP < CUBIC",
        "445.5 < 459.6 < 485.0 ms",
        f"NewReno {order[0]:.1f}, H-TCP {order[1]:.1f}, CUBIC {order[2]:.1f} ms",
        None,
        "sign",
        _verdict(order[0] < order[1] < order[2]),
    )


def _more_flows_more_delay(evidence: Evidence) -> _Statement:
    passed = []
    for rtt_ms, control in itertools.product(RTTS_MS, CONTROLS):
        one, two, five = (_median(evidence, rtt_ms, control, n) for n in FLOW_COUNTS)
        passed.append(one < two < five)
    return _Statement(
        "median delay rises from 1 to 2 to 5 flows",
        "in all 6 rows",
        _count(passed, "rows"),
        None,
        "monotone in all rows",
        _verdict(all(passed)),
    )


def _cubic_varies_least(evidence: Evidence) -> _Statement:
    passed = []
    for rtt, n in _cells(RTTS_MS, FLOW_COUNTS):
        reno, htcp, cubic = (evidence.mean(rtt, c, n, "owd_sd_ms") for c in CONTROLS)
        passed.append(cubic < min(reno, htcp))
    return _Statement(
        "CUBIC has the smallest standard deviation of delay",
        "in all 6 cells",
        _count(passed, "cells"),
        None,
        "sign in all cells",
        _verdict(all(passed)),
    )


def _same_shape_at_100_ms(evidence: Evidence) -> _Statement:
    shifts, same_order = [], []
    for flows in FLOW_COUNTS:
        medians = {
            rtt: {control: _median(evidence, rtt, control, flows) for control in CONTROLS}
            for rtt in RTTS_MS
        }
        orders = [sorted(CONTROLS, key=medians[rtt].__getitem__) for rtt in RTTS_MS]
        same_order.append(orders[0] == orders[1])
        shifts += [medians[100][control] - medians[50][control] for control in CONTROLS]
    mean_shift = float(np.mean(shifts))
    return _Statement(
        "delay distributions at 100 ms look like those at 50 ms",
        "identical; base delay 25 ms more",
        f"medians {mean_shift:.1f} ms higher on average; same order for "
        f"{_count(same_order, 'flow counts')}",
        None,
        "mean shift 25 ± 12.5 ms, same order",
        _verdict(abs(mean_shift - 25) <= 12.5 and all(same_order)),
    )


def _cubic_step_and_plateau(evidence: Evidence) -> _Statement:
    delays = evidence.results[50, CUBIC, 1].owd_ms()
    onset, top = (float(value) for value in np.percentile(delays, [5, 99]))
    counts, edges = np.histogram(delays, bins=np.arange(25.0, 540.0, 10.0))
    plateau = float(edges[int(np.argmax(counts))]) + 5
    holds = 380 <= onset <= 420 and 430 <= plateau <= 490 and top > plateau + 10
    return _Statement(
        "CUBIC, one flow, 50 ms: delay steps up near 400 ms, lingers near W_max, grows again",
        "step at 400 ms, slow between 440 and 480 ms, then growth",
        f"step at {onset:.0f} ms (5 %), slowest near {plateau:.0f} ms, on to {top:.0f} ms (99 %)",
        None,
        "step in 380–420 ms, slowest in 430–490 ms, growth beyond",
        _verdict(holds),
    )


def _htcp_fills_the_queue_most_often(evidence: Evidence) -> _Statement:
    passed = []
    for rtt, n in _cells(RTTS_MS, (1, 2)):
        reno, htcp, cubic = (evidence.mean(rtt, c, n, "queue_full_per_minute") for c in CONTROLS)
        passed.append(htcp > max(reno, cubic))
    return _Statement(
        "queue-full events with one or two flows: H-TCP has most",
        "highest in all 4 cells",
        _count(passed, "cells"),
        None,
        "sign in all cells",
        _verdict(all(passed)),
    )


def _htcp_falls_back_at_five(evidence: Evidence) -> _Statement:
    relative_falls, cubic_grows = [], []
    for rtt in RTTS_MS:
        events = {
            (control, n): evidence.mean(rtt, control, n, "queue_full_per_minute")
            for control, n in itertools.product(CONTROLS, (2, 5))
        }
        share = {n: events[HTCP, n] / (events[RENO, n] + events[CUBIC, n]) for n in (2, 5)}
        growth = {c: events[c, 5] - events[c, 2] for c in CONTROLS}
        relative_falls.append(share[5] < share[2])
        cubic_grows.append(growth[CUBIC] > max(growth[RENO], growth[HTCP]))
    return _Statement(
        "queue-full events from two to five flows: H-TCP's share falls, CUBIC's count grows most",
        "H-TCP relatively fewer; CUBIC grows fastest",
        f"H-TCP relatively fewer at {_count(relative_falls, 'RTTs')}; "
        f"CUBIC grows fastest at {_count(cubic_grows, 'RTTs')}",
        None,
        "sign of change at both RTTs",
        _verdict(all(relative_falls) and all(cubic_grows)),
    )


def _more_retransmissions(evidence: Evidence) -> _Statement:
    ratios = []
    for rtt, n in _cells(RTTS_MS, FLOW_COUNTS):
        reno, htcp, cubic = (evidence.mean(rtt, c, n, "retransmits_per_minute") for c in CONTROLS)
        ratios.append((htcp / reno, cubic / reno))
    least_htcp, least_cubic = (min(column) for column in zip(*ratios, strict=True))
    return _Statement(
        "retransmissions per time: H-TCP and CUBIC clearly above NewReno",
        "significantly more",
        f"at least {least_htcp:.2f} times (H-TCP), {least_cubic:.2f} times (CUBIC)",
        None,
        "ratio ≥ 1.2 in every cell",
        _verdict(min(least_htcp, least_cubic) >= 1.2),
    )


def _events_follow_retransmissions(evidence: Evidence) -> _Statement:
    cells = evidence.results.values()
    events = [cell.mean("queue_full_per_minute") for cell in cells]
    retransmits = [cell.mean("retransmits_per_minute") for cell in cells]
    rank = float(stats.spearmanr(events, retransmits).statistic)
    return _Statement(
        "queue-full events and retransmissions go together",
        "closely correlated",
        f"rank correlation {rank:.2f} over {len(events)} cells",
        None,
        "> 0.7",
        _verdict(rank > 0.7),
    )


def _htcp_grows_as_a_parabola(evidence: Evidence) -> _Statement:
    statement = "H-TCP grows like NewReno for a second, then faster with the square of time"
    published = "1 packet per RTT, then ~ x^2"
    tolerance = "first second ±25 %; exponent of the law 2 ± 0.25, of the trace above 1.2"
    growth = evidence.htcp_growth
    if growth is None:
        return _Statement(
            statement, published, "too few epochs recorded", None, tolerance, "not checked"
        )
    # With few packets per round trip the trace cannot follow the law for long: Linux adds at most
    # one packet for every second ACK.
    x = np.linspace(0.5, 3.0, 50)
    beyond_reno = models.htcp_window_pkts(1 + x, window_after_pkts=1, rtt_s=1) - 1 - (1 + x)
    law = float(np.polyfit(np.log(x), np.log(beyond_reno), 1)[0])
    holds = (
        abs(growth.low_speed_pkts_per_rtt - 1) <= 0.25
        and abs(law - 2) <= 0.25
        and growth.exponent > 1.2
    )
    return _Statement(
        statement,
        published,
        f"{growth.low_speed_pkts_per_rtt:.2f} packets per RTT in the first second; then exponent "
        f"{law:.2f} by the law, {growth.exponent:.2f} in the trace ({growth.epochs} epochs), where "
        "ACKs limit it",
        None,
        tolerance,
        _verdict(holds),
    )


def _cubic_grows_as_a_cubic(evidence: Evidence) -> _Statement:
    statement = "CUBIC grows with 0.4 times the cube of time, never more slowly than NewReno"
    tolerance = "0.4 ± 25 % fitted to the trace"
    growth = evidence.cubic_growth
    if growth is None:
        return _Statement(
            statement, 0.4, None, "packets/s^3", f"{tolerance}; too few epochs", "not checked"
        )
    return _Statement(
        statement,
        0.4,
        round(growth.constant, 3),
        "packets/s^3",
        tolerance,
        _verdict(abs(growth.constant / 0.4 - 1) <= 0.25),
    )


def _router_clock(_: Evidence) -> _Statement:
    return _Statement(
        "the testbed router's configured delay is good to half a millisecond",
        0.5,
        None,
        "ms",
        "a property of the testbed's 2000 Hz clock: the simulator's delays are exact, "
        "so only a kernel backend can be checked",
        "not checked",
    )


_STATEMENTS: tuple[Callable[[Evidence], _Statement], ...] = (
    _goodput_alike,
    _largest_queue_delay,
    _best_delay,
    _worst_delay,
    _few_datagrams_lost,
    _cubic_delays_most,
    _htcp_below_reno,
    _five_flow_order,
    _more_flows_more_delay,
    _cubic_varies_least,
    _same_shape_at_100_ms,
    _cubic_step_and_plateau,
    _htcp_fills_the_queue_most_often,
    _htcp_falls_back_at_five,
    _more_retransmissions,
    _events_follow_retransmissions,
    _htcp_grows_as_a_parabola,
    _cubic_grows_as_a_cubic,
    _router_clock,
)
"""C-CD-091 to C-CD-109, in order."""
