"""Convergence: values from three flows' counters, checked by hand."""

from __future__ import annotations

import math
from pathlib import Path

import numpy as np
import pytest
from support import S, experiment, trace

from headway.backends.sim import SimBackend
from headway.claims import words
from headway.studies.common import lab, runs
from headway.studies.convergence import STUDY
from headway.studies.convergence.observe import disturbed, outcome
from headway.study import StudyContext
from headway.trace import Trace

SLOT_S = 0.5
ROOM_BYTES = lab.SMALL_BUFFER_PKTS * lab.MTU_BYTES


def counters(flow: int, rates_mbps: list[float]) -> list[tuple]:
    """Rows of a flow's counters every half second, made from its goodput in each slot."""
    total = np.cumsum(np.array(rates_mbps) * 1e6 * SLOT_S / 8)
    return [
        (int((n + 1) * SLOT_S * S), flow, int(sent), 0, 0, 0, 0) for n, sent in enumerate(total)
    ]


def in_slots(*parts: tuple[float, list[float]]) -> list[float]:
    """The rate of each slot. A part of the time is (its end in s, rates that alternate slot by
    slot).
    """
    made: list[float] = []
    for until_s, rates in parts:
        while len(made) * SLOT_S < until_s:
            made.append(rates[len(made) % len(rates)])
    return made


def three_flows(ends_s: list[float]) -> Trace:
    """Three flows: one with 9 Mbit/s, then two with 6 and 3, then three with 4, 4 and 1 on average.

    The first two flows then alternate between 5 and 3 Mbit/s. The queue is half full.
    """
    flows = [
        in_slots((5, [9.0]), (10, [6.0]), (ends_s[0], [5.0, 3.0])),
        in_slots((5, [0.0]), (10, [3.0]), (ends_s[1], [3.0, 5.0])),
        in_slots((10, [0.0]), (ends_s[2], [1.0])),
    ]
    link = [(int(t * S), 1, 0, 0, 0, 0, 0, 0, int(t * 1e6 * ROOM_BYTES / 2)) for t in (0, 100)]
    of = experiment(
        flows=[{"control": "reno", "start": f"{start_s} s"} for start_s in (0, 5, 10)],
        duration="100 s",
        warmup="0 s",
    )
    tables = {
        "flow_counters": [row for flow, rates in enumerate(flows) for row in counters(flow, rates)],
        "responses": [(flow, 0, 5 * S * flow, int(end_s * S)) for flow, end_s in enumerate(ends_s)],
        "link_counters": link,
    }
    return trace(tables, of=of)


def test_shares_are_compared_until_the_first_flow_ends() -> None:
    seen = outcome(three_flows([14.0, 30.0, 40.0]))
    assert seen.together_s == 4
    assert seen.jain == pytest.approx((4 + 4 + 1) ** 2 / 3 / (16 + 16 + 1))
    two = (5 * 6 + 4 * 4) / 9, (5 * 3 + 4 * 4) / 9
    assert seen.jain_two == pytest.approx(sum(two) ** 2 / 2 / (two[0] ** 2 + two[1] ** 2))
    assert (seen.new_mbps, seen.old_mbps) == pytest.approx((3, 6))
    assert (seen.third_s, seen.last_end_s) == (30, 40)
    assert seen.queue_share == pytest.approx(0.5)


def test_rates_are_compared_for_ten_seconds_at_most_and_changes_while_there_are_others() -> None:
    seen = outcome(three_flows([25.0, 30.0, 40.0]))
    assert seen.together_s == 10
    # while other flows run, two flows change by 2 Mbit/s in every slot, and the third not at all
    swings = [(0.0, 9), (1.0, 1), (2.0, 29)], [(0.0, 9), (0.0, 1), (2.0, 39)], [(0.0, 39)]
    changes = [change for flow in swings for change, times in flow for _ in range(times)]
    assert seen.change_mbps == pytest.approx(np.mean(changes))


def in_round_trips(*parts: tuple[float, float]) -> list[tuple[float, float]]:
    """Readings (s, bytes delivered) every 20 ms. A part of the time is (its end in s, rate in
    Mbit/s).
    """
    readings, sum_bytes = [], 0.0
    for step in range(1, 1500):
        time_s = step * 0.02
        rate = next((rate for until_s, rate in parts if time_s <= until_s + 1e-9), 0.0)
        sum_bytes += rate * 1e6 * 0.02 / 8
        readings.append((time_s, sum_bytes))
    return readings


def arrivals(second: list[tuple[float, float]], third: list[tuple[float, float]]) -> Trace:
    """Three flows: the first has 9, then 4.5, then 3 Mbit/s; the arguments describe the others'
    rates.
    """
    flows = [in_round_trips(*parts) for parts in ([(5, 9.0), (10, 4.5), (20, 3.0)], second, third)]
    of = experiment(
        flows=[{"control": "reno", "start": f"{start_s} s"} for start_s in (0, 5, 10)],
        duration="100 s",
        warmup="0 s",
    )
    rows = [
        (round(time_s * S), flow, int(sent), 0, 0, 0, 0)
        for flow, readings in enumerate(flows)
        for time_s, sent in readings
    ]
    queue = [(lab.DOWNLINK, int(t * S), 1500 * n, n) for t, n in ((1, 900), (6, 300), (11, 200))]
    tables = {
        "flow_counters": rows,
        "responses": [(0, 0, 0, 20 * S), (1, 0, 5 * S, 25 * S), (2, 0, 10 * S, 30 * S)],
        "link_counters": [(int(t * S), 1, 0, 0, 0, 0, 0, 0, 0) for t in (0, 100)],
        "queue": queue,
    }
    return trace(tables, of=of)


def test_a_new_flow_shares_equally_from_the_first_slot_on_or_when_it_has_grown() -> None:
    # data arrives 0.4 s after a flow's start; the third flow reaches its share 2 s later
    seen = outcome(
        arrivals(
            [(5.4, 0.0), (10, 4.5), (25, 3.0)],
            [(10.4, 0.0), (12.4, 1.0), (30, 3.0)],
        )
    )
    assert seen.second_equal_s == pytest.approx(0.2)
    assert seen.third_equal_s == pytest.approx(2.2, abs=0.03)
    assert seen.peak_pkts == 300


def test_a_share_that_is_equal_by_chance_or_too_late_does_not_count() -> None:
    seen = outcome(
        arrivals(
            # the second flow has an equal share for only half a second, or only after the third
            # flow started
            [(5.4, 0.0), (6.0, 1.0), (6.5, 4.5), (10.4, 1.0), (25, 3.0)],
            [(10.4, 0.0), (19.9, 1.0), (30, 3.0)],
        )
    )
    assert math.isinf(seen.second_equal_s)
    assert math.isinf(seen.third_equal_s)


def one_disturbed(rates_mbps: list[float]) -> Trace:
    of = experiment(
        flows=[{"control": "reno", "start": f"{start_s} s"} for start_s in (0, 20)],
        duration="100 s",
        warmup="0 s",
    )
    return trace({"flow_counters": counters(0, rates_mbps)}, of=of)


def test_a_disturbed_flow_is_back_with_most_of_the_rate_it_had() -> None:
    seen = disturbed(one_disturbed(in_slots((21, [8.0]), (22, [4.0]), (24, [7.0]), (40, [7.6]))))
    assert (seen.least_share, seen.return_s) == pytest.approx((0.5, 4.5))
    assert disturbed(one_disturbed(in_slots((40, [8.0])))).return_s == 0
    assert math.isnan(disturbed(one_disturbed(in_slots((21, [8.0]), (40, [4.0])))).return_s)


def test_a_scheme_with_a_missing_run_is_not_judged(tmp_path: Path) -> None:
    ctx = StudyContext(tmp_path, SimBackend(), quick=True)
    keys = [key for key in STUDY.experiments(ctx) if key != "slow-start-r2"]
    found = STUDY.gather(ctx, dict.fromkeys(keys, None))
    assert not [key for key in found if key.startswith("slow-start-r") and "red" not in key]
    assert "reno-r2" in found


def test_a_run_without_a_value_is_skipped_only_if_asked() -> None:
    mine, other = [3.0, math.nan, 5.0], [1.0, 2.0, 2.0]
    assert runs.paired(mine, other)[0].mean == 4.0
    alone, than = runs.paired(mine, other, skip_nan=False)
    assert math.isnan(alone.mean)
    assert not words.more(alone, than).holds
