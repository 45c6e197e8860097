"""Compares thinned ACKs, corruption and an MTU on the kernel with the simulator."""

from __future__ import annotations

from typing import Any

import polars as pl
import pytest
from real_time import in_real_time, live, live_each
from support import on_kernel
from test_link_faults import CORRUPT, TOO_BIG, asymmetric, drops

from headway import metrics, run
from headway.experiment import Dumbbell, Experiment
from headway.trace import Trace


def _made(flows: str = "1xcubic", duration: str = "5 s", **effects: Any) -> Experiment:
    path = {"rate": "10 Mbit/s", "rtt": "40 ms", "buffer": "1 BDP", **effects}
    return Experiment(
        topology=Dumbbell.model_validate(path),
        flows=flows,
        duration=duration,
        record=("drops",),
        capture=None,
    )


def _counter(trace: Trace, name: str) -> int:
    return int(trace["flow_counters"].filter(pl.col("flow") == 0)[name][-1])


@on_kernel
@in_real_time
def test_path_mtu_discovery_on_the_kernel_is_that_of_the_simulator() -> None:
    asked = [_made(mtu=mtu) for mtu in ("1400B", "576B")]
    for measured, made in zip(live_each(asked), asked, strict=True):
        simulated = run(made)
        for trace in (measured, simulated):
            assert drops(trace, TOO_BIG) == 10, "the initial window"
            assert _counter(trace, "rtos") == 0
        assert measured.flows[0].mss_bytes == simulated.flows[0].mss_bytes
        goodputs = [metrics.goodput_bps(trace, 0) for trace in (measured, simulated)]
        assert goodputs[0] == pytest.approx(goodputs[1], rel=0.03)
        again = [_counter(trace, "retransmits_pkts") for trace in (measured, simulated)]
        assert again[0] == pytest.approx(again[1], rel=0.25)


@on_kernel
def test_without_icmp_nothing_arrives_on_the_kernel_either() -> None:
    made = _made(duration="3 s", mtu="1400B:icmp=off")
    for trace in (live(made), run(made)):
        assert _counter(trace, "delivered_bytes") == 0
        assert _counter(trace, "rtos") > 0


@on_kernel
@in_real_time
def test_the_kernel_repairs_damaged_packets_as_the_simulator_does() -> None:
    made = _made("cubic:size=2MB", "15 s", corruption="0.5%")
    measured, simulated = live(made), run(made)
    for trace in (measured, simulated):
        damaged = drops(trace, CORRUPT)
        assert damaged >= 3
        assert _counter(trace, "retransmits_pkts") == pytest.approx(damaged, abs=3)
        assert trace.flows[0].done_ns is not None
    shares = [drops(t, CORRUPT) / _counter(t, "sent_pkts") for t in (measured, simulated)]
    assert shares[0] == pytest.approx(0.005, abs=0.005)


@on_kernel
@in_real_time
def test_thinned_acks_free_the_kernels_download_too() -> None:
    asked = [asymmetric(None), asymmetric("filter"), asymmetric("keep=1/4")]
    unthinned, *thinned = [metrics.goodput_bps(trace, 0) for trace in live_each(asked)]
    of_link = 50e6 * 1448 / 1500
    assert unthinned < 0.9 * of_link
    assert all(goodput >= 0.95 * of_link for goodput in thinned)
