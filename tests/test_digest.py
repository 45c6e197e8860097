"""The digest: what `headway try` prints about one trial."""

from __future__ import annotations

import dataclasses
from typing import Any

import polars as pl
import pytest
from support import beside

from headway import metrics
from headway.backends import run
from headway.backends.sim import SimBackend
from headway.cli.try_results import print_results
from headway.cli.try_run import FinishedTrial
from headway.digest import QUANTILE_RESOLUTION, average, digest_of, digest_of_totals
from headway.experiment import Experiment
from headway.mechanisms import routers
from headway.metrics.stats import confidence_interval
from headway.metrics.totals import trace_totals
from headway.trace import Trace


@pytest.fixture(scope="module")
def trace() -> Trace:
    """A lossy path with endless flows, transfers (one of which does not complete), and a call."""
    return run(
        Experiment.model_validate(
            {
                "topology": {
                    "kind": "dumbbell",
                    "rate": "5Mbit/s",
                    "rtt": "60 ms",
                    "buffer": "1BDP",
                    "loss": "0.2%",
                },
                "flows": "1xcubic,1xreno:size=300kB:start=2 s,1xhtcp:size=1GB,1xvoip",
                "duration": "12 s",
                "warmup": "3 s",
            }
        )
    )


def test_a_digest_gives_what_the_metrics_of_each_flow_give(trace: Trace) -> None:
    digest = digest_of(trace)
    assert [flow["name"] for flow in digest["flows"]] == ["cubic-0", "reno-1", "htcp-2"]
    for number, flow in enumerate(digest["flows"]):
        assert flow["goodput_bps"] == pytest.approx(metrics.goodput_bps(trace, number), rel=1e-12)
        assert flow["goodput_tcptrace_bps"] == metrics.goodput_tcptrace_bps(trace, number)
        assert flow["retransmits_pkts"] == metrics.retransmits_pkts(trace, number)
        assert flow["rtos"] == metrics.rtos(trace, number)
        assert flow["backoffs"] == len(metrics.backoff_times_ns(trace, number))
        assert flow["srtt_us"] == pytest.approx(metrics.srtt_us(trace, number).mean, rel=1e-12)
        assert flow["cwnd_pkts"] == pytest.approx(metrics.cwnd_pkts(trace, number).mean, rel=1e-12)
        batches = confidence_interval(metrics.batch_goodputs_bps(trace, number).tolist())
        assert flow["goodput_bps_batch_ci95"] == pytest.approx(batches.half_width, rel=1e-9)
    assert digest["jain_index"] == pytest.approx(metrics.flow_jain_index(trace))
    for number, link in enumerate(digest["links"]):
        queue = metrics.queue_bytes(trace, number)
        assert link["queue_bytes"]["p95"] == queue.p95
        assert link["utilization"] == metrics.utilization(trace, number)
        assert link["drop_rate"] == metrics.drop_rate(trace, number)
        assert link["queue_full_per_minute"] == metrics.queue_full_per_minute(trace, number)
    assert digest["link"] == digest["links"][0]
    assert digest["voip"] is not None
    assert digest["voip"]["owd_us"]["median"] == metrics.owd_distribution_us(trace).median
    assert digest["voip"]["lost_pkts"] == metrics.lost_pkts(trace)


def test_completion_is_from_the_syn_to_the_last_byte_in_order(trace: Trace) -> None:
    endless, finite, too_large = digest_of(trace)["flows"]
    assert endless["fct_us"] is None
    assert endless["size_bytes"] is None
    assert too_large["fct_us"] is None
    assert too_large["size_bytes"] == 10**9
    assert finite["delivered_bytes"] == finite["size_bytes"] == 300_000
    # A flow's FIN and last ACKs come later than its data.
    end = trace.flows[1]
    assert end.done_ns is not None
    assert end.first_packet_ns is not None
    assert end.last_packet_ns is not None
    assert 2e9 == end.first_packet_ns < end.done_ns < end.last_packet_ns
    assert finite["fct_us"] == (end.done_ns - end.first_packet_ns) / 1000
    # the handshake takes 1 RTT, and 300 kB take longer than their transmission at the link's rate
    assert finite["fct_us"] > 60_000 + 300_000 * 8 / 5


def test_slow_start_is_left_when_ssthresh_is_finite(trace: Trace) -> None:
    states = trace["flow_state"].filter(flow=0).drop_nulls("ssthresh_pkts")
    first_ns = states["time_ns"][0] - (trace.flows[0].first_packet_ns or 0)
    assert digest_of(trace)["flows"][0]["slow_start_us"] == first_ns / 1000
    idle = run(trace.experiment.model_copy(update={"duration": 100_000_000, "warmup": 0}))
    assert digest_of(idle)["flows"][0]["slow_start_us"] is None


def test_trials_are_averaged_over_those_that_know() -> None:
    trials = [{"a": 1, "b": None, "c": [None, "x"]}, {"a": 2, "b": 4.0, "c": [None, "x"]}]
    assert average(trials) == {"a": 1.5, "b": 4.0, "c": [None, "x"]}
    assert average(trials[:1]) is trials[0]


def _dumbbell(**changes: Any) -> dict[str, Any]:
    return {"kind": "dumbbell", "rate": "5Mbit/s", "rtt": "40 ms", "buffer": "1BDP", **changes}


_HOP = {
    "forward": {
        "rate": "3Mbit/s",
        "delay": "10 ms",
        "buffer": "20 pkts",
        "reorder": 0.01,
        "reorder_delay": "5 ms",
        "duplicate": 0.01,
    }
}
EXPERIMENTS: dict[str, dict[str, Any]] = {
    "several flows and a call on a lossy path": {
        "topology": _dumbbell(loss="0.2%"),
        "flows": "2xcubic,1xreno:size=200kB,1xvoip,1xhtcp:sack=off:stop=6 s",
        "warmup": "1500 ms",
    },
    "early drops and an older stack": {
        "topology": _dumbbell(aqm="red"),
        "flows": "2xreno,1xvoip:delay=3ms",
        "stack": "linux-2.6",
    },
    "routers that answer": {
        "topology": _dumbbell(quick_start={}),
        "flows": "2xcubic+quick-start:initial_rate=2Mbit/s:size=300kB,1xcubic",
        "start_spread": "1 s",
        "warmup": "400 ms",
    },
    "a chain that reorders and duplicates": {
        "topology": {"kind": "chain", "hops": [_HOP, _HOP]},
        "flows": "1xcubic,1xreno:from_hop=1,1xvoip:to_hop=1",
    },
    "first flights": {
        "topology": _dumbbell(quick_start={}),
        "flows": "2xcubic+mega-start:initial_rate=50Mbit/s,1xcubic+quick-start",
    },
    "transfers that arrive": {
        "topology": _dumbbell(loss="0.2%"),
        "flows": "2xcubic:load=0.2:sizes=pareto/20kB/1.2/1MB,"
        "1xreno:think=100ms:size=5kB:name=users,1xcubic",
        "warmup": "1 s",
    },
    "a time without a packet": {"topology": _dumbbell(), "flows": "1xcubic:start=9 s"},
    "connections one after the other": {
        "topology": _dumbbell(),
        "flows": [
            {
                "control": "cubic",
                "app": {
                    "kind": "vectors",
                    "epochs": [["300 B", "90 kB", "20 ms"]] * 6,
                    "connections": [2, 1, 3],
                },
            },
            {"app": {"kind": "requests", "codes": [3], "mean_interval": "30 ms"}},
        ],
    },
}


@pytest.mark.parametrize("name", EXPERIMENTS)
def test_the_engine_sums_up_what_a_trace_would_say(name: str) -> None:
    experiment = Experiment.model_validate({"duration": "8 s", **EXPERIMENTS[name]})
    backend = SimBackend()
    summed_up, traced = backend.digest(experiment), digest_of(backend.run(experiment))
    for path, of_trace, of_engine in beside(traced, summed_up):
        if of_trace is None:
            assert of_engine is None, path
        elif path.endswith((".median", ".p95", ".p99", ".p999")) or ".cdf." in path:
            assert of_engine == pytest.approx(of_trace, rel=QUANTILE_RESOLUTION), path
        elif ".slowdown." in path:  # counted in millionths
            assert of_engine == pytest.approx(of_trace, rel=1e-6), path
        elif isinstance(of_trace, float):
            assert of_engine == pytest.approx(of_trace, rel=1e-12), path
        else:
            assert of_engine == of_trace, path
    # check that the compared values exist, so that the comparison means something
    assert traced["link"]["throughput_bps"] > 0 or "without" in name


def test_links_that_a_backend_does_not_know_are_left_out(
    capsys: pytest.CaptureFixture[str],
) -> None:
    """With a gateway the kernel backend has counters of the second hop only."""
    fast = {"forward": {**_HOP["forward"], "rate": "30Mbit/s"}}
    chain = Experiment.model_validate(
        {
            "topology": {"kind": "chain", "hops": [fast, _HOP]},
            "flows": "1xcubic",
            "duration": "4 s",
        }
    )
    trace = run(chain)
    known = {**trace.tables, "link_counters": trace["link_counters"].filter(pl.col("link") >= 2)}
    digest = digest_of(dataclasses.replace(trace, tables=known))
    assert [link["name"] for link in digest["links"]] == ["forward1", "reverse1"]
    assert digest["links"] == digest_of(trace)["links"][2:]
    assert digest["link"]["utilization"] > 0.5
    print_results(chain, [FinishedTrial(digest, trace.meta)], as_json=False)
    lines = capsys.readouterr().out.splitlines()
    assert [line[:5] for line in lines if "utilization" in line] == ["hop 1"]


class Unasked:
    """Replaces headwayctl where it must not be called."""

    def run(self, *arguments: str) -> Any:
        raise AssertionError(arguments)

    json = run


def test_uncounted_fall_backs_are_not_reported_as_none() -> None:
    path = {"kind": "dumbbell", "rate": "5 Mbit/s", "rtt": "40 ms", "buffer": "1 BDP"}
    alone = Experiment.model_validate(
        {"topology": path, "flows": "1xxcp,1xreno", "duration": "4 s"}
    )
    totals = trace_totals(run(alone))
    assert [flow["fall_backs"] for flow in digest_of_totals(alone, totals)["flows"]] == [1, 0]
    live = routers.on_testbed(Unasked(), alone, {})
    for index, flow in enumerate(totals["flows"]):
        flow["protocols"] = live.of_flow(index)
    assert [flow["fall_backs"] for flow in digest_of_totals(alone, totals)["flows"]] == [None, 0]
