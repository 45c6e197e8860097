"""The network of the thesis' testbed in experiments, against values computed by hand."""

from __future__ import annotations

import math

import numpy as np
import pytest
from support import S, experiment, trace

from headway.claims import words
from headway.studies.common import lab
from headway.studies.common.runs import each, picked


def test_response_times_count_from_the_handshakes_end() -> None:
    made = trace({"responses": [(0, 0, 0, 3 * S), (0, 1, 5 * S, 6 * S)]}, of=experiment())
    first = made.flows[0].model_copy(update={"handshake_rtt_us": 200_000})
    made = type(made)(made.tables, (first, *made.flows[1:]), made.links, made.meta)
    assert lab.response_times_s(made) == pytest.approx([2.8, 1.0])


def test_rates_are_slopes_of_counters() -> None:
    times, totals = np.array([1, 2, 2, 4]) * S, np.array([0, 1000, 1000, 1000])
    ends, rates = lab._slopes(times, totals)
    assert ends == pytest.approx([1, 2, 4])
    assert rates == pytest.approx([0, 8000, 0])
    assert lab.first_above(ends, rates, 1.0) == 2
    assert math.isnan(lab.first_above(ends, rates, 1.0, after_s=2))


def test_the_labs_path_is_the_same_both_ways() -> None:
    forward, reverse = lab.path(buffer_pkts=50, loss=0.1).links()[0]
    assert (forward.rate, forward.delay, forward.loss) == (reverse.rate, reverse.delay, 0.1)
    assert forward.buffer == reverse.buffer


def test_the_long_path_has_its_bottleneck_where_its_buffer_is() -> None:
    path = lab.long_path(router={"capacity_kbps": 2_000_000})
    forward, reverse = path.links()[0]
    assert (forward.rate, path.rtt) == (10**9, 233 * S // 1000)
    assert path.access_rate == 10 * forward.rate
    assert str(reverse.buffer) == str(forward.buffer) == "50 pkts"
    assert forward.quick_start == reverse.quick_start
    assert forward.quick_start is not None
    assert lab.long_path().links()[0][1].quick_start is None
    assert str(lab.long_path(buffer_pkts=2000).buffer) == "2000 pkts"


def test_requests_wait_between_but_not_after() -> None:
    flow = lab.requests([2e6, 2e6], idle_s=10)
    assert [epoch[1:] for epoch in flow.app.epochs] == [(2_000_000, 10 * S), (2_000_000, 0)]
    assert flow.rmem == (4096, 8 << 20, 8 << 20)


def test_numbers_of_several_trials_are_picked_and_judged_one_by_one() -> None:
    found = {"n-1": {"loss": 0.5}, "n-20": {"loss": 2.0}, "m-1": {"loss": 9.0}}
    losses = picked(found, "n-{}", (1, 20), "loss")
    assert losses == {1: 0.5, 20: 2.0}
    seen = each(losses, lambda one: words.within(one, 0, 1), "flows: {:.1f} %", unit="%")
    assert (seen.measured, seen.holds, seen.unit) == ("1 flows: 0.5 %, 20 flows: 2.0 %", False, "%")
    assert each({1: 0.5}, lambda one: words.within(one, 0, 1)).holds
