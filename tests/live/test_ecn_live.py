"""Compares ECN negotiation and reaction to marks on the kernel with the simulator.

The numbers of reductions may differ by the tolerance at the assertion. A late run is repeated.
"""

from __future__ import annotations

import pytest
from real_time import in_real_time, live_each
from support import on_kernel
from test_ecn import (
    CODEL,
    PATHS,
    RED,
    agreed,
    are_marked_where_they_can_be,
    datagrams,
    expected,
    halves_once_per_round_trip,
    marked,
    of_all_sides,
)

from headway import metrics, run
from headway.backends import backend_named


@on_kernel
@pytest.mark.parametrize("path", PATHS)
def test_the_kernel_agrees_on_ecn_as_the_simulator_does(path: str) -> None:
    # the result of ECN negotiation does not depend on time, so a late run is not repeated
    trace = backend_named("kernel").run(of_all_sides(path))
    assert agreed(trace) == expected(path)
    # drops with reason 4: the path dropped each SYN that requested ECN, each once
    refused = trace["drops"].filter(trace["drops"]["reason"] == 4).height
    assert refused == (3 if path == "drop-syn" else 0)


@on_kernel
@in_real_time
def test_marks_halve_the_kernels_reno_once_per_round_trip() -> None:
    # at 5 Mbit/s, the machine has room for two parallel runs
    asked = [marked(aqm=aqm, rate="5Mbit/s") for aqm in (RED, CODEL)]
    for live, made in zip(live_each(asked), asked, strict=True):
        simulated = run(made)
        halves_once_per_round_trip(live)
        goodputs = [metrics.goodput_bps(trace, 0) for trace in (live, simulated)]
        assert goodputs[0] == pytest.approx(goodputs[1], rel=0.15)
        first = [t["backoffs"].sort("time_ns").row(0, named=True) for t in (live, simulated)]
        assert first[0]["cwnd_pkts"] == pytest.approx(first[1]["cwnd_pkts"], rel=0.1)
        assert first[0]["time_ns"] == pytest.approx(first[1]["time_ns"], abs=20_000_000)


@on_kernel
@in_real_time
def test_datagrams_on_the_kernel_are_marked_where_they_can_be_and_else_dropped() -> None:
    are_marked_where_they_can_be(*live_each([datagrams(True), datagrams(False)]))
