"""Tests routers and the headers that they write, in experiments on this machine's kernel.

Every protocol whose control and router have the same name is compared with the simulator. With four
flows of one control the link must be used to 90 %, Jain's index must be at least 0.95, and nothing
may be dropped after the start. Goodput must be within 5 % of the simulator's and the mean queue
within 10 %, or a packet. With HEADWAY_LONG=1 each protocol runs until it has settled, at 10 and 100
Mbit/s, and the tests print the numbers. crates/kernel/tests/hostile_headers.rs runs the protocols
live for a short time. A run on a late machine is repeated (real_time.py).
"""

import os

import polars as pl
import pytest
from real_time import in_real_time, live
from support import on_kernel

from headway import Experiment, metrics
from headway.backends import run
from headway.backends.kernel import headwayctl
from headway.registry import registry
from headway.trace import Trace

LONG = "HEADWAY_LONG" in os.environ
FLOWS = 4
PACKET_BYTES = 1500
PROTOCOLS = [
    router.name
    for router in registry().routers
    if router.header and any(c.name == router.name and c.header for c in registry().controls)
]


def dumbbell(protocol: str, rate: str, **fields: object) -> dict[str, object]:
    return {
        "kind": "dumbbell",
        "rate": rate,
        "rtt": "40 ms",
        "buffer": "2 BDP",
        "routers": [protocol],
        **fields,
    }


def experiment(protocol: str, rate: str = "10Mbit/s", **fields: object) -> Experiment:
    times = ("60 s", "30 s") if LONG else ("2500 ms", "1 s")
    return Experiment.model_validate(
        {
            "topology": dumbbell(protocol, rate),
            "flows": f"{FLOWS}x{protocol}",
            "duration": times[0],
            "warmup": times[1],
            **fields,
        }
    )


def told(trace: Trace) -> dict[str, float]:
    """The values that the tests check, measured after the warm-up."""
    queue = metrics.queue_bytes(trace)
    return {
        "utilization": metrics.utilization(trace),
        "jain": metrics.flow_jain_index(trace) or 0.0,
        "drops": metrics.drops_pkts(trace),
        "goodput_bps": sum(metrics.goodput_bps(trace, flow) for flow in range(FLOWS)),
        "queue_bytes": queue.mean or 0.0,
    }


def led_by_routers(trace: Trace, protocol: str) -> None:
    """Check that the router changed headers of the protocol, and that senders got answers."""
    [link] = [one for one in trace.meta["mechanisms"]["routers"]["links"] if one["link"] == 0]
    assert link["name"] == protocol
    assert link["traffic"]["changed"] > 100
    own = f"hw{os.getpid():x}n"
    headers = trace.meta["mechanisms"]["routers"]["headers"]
    [header] = [one for one in headers if one["control"].startswith(own)]
    assert header["counters"]["fed_back"] > 100
    assert header["counters"]["not_begun"] == 0
    counters = metrics.router_counters(trace, protocol)
    assert counters.height > 0


if LONG:

    @on_kernel
    @in_real_time
    @pytest.mark.parametrize("rate", ["10Mbit/s", "100Mbit/s"])
    @pytest.mark.parametrize("protocol", PROTOCOLS)
    def test_a_protocol_does_on_the_kernel_what_it_does_in_the_simulator(
        protocol: str, rate: str
    ) -> None:
        asked = experiment(protocol, rate)
        trace = live(asked)
        led_by_routers(trace, protocol)
        kernel, sim = told(trace), told(run(asked))
        print(f"\n{protocol} at {rate}:\n  kernel    {kernel}\n  simulator {sim}")
        assert kernel["utilization"] >= 0.9
        assert kernel["jain"] >= 0.95
        assert kernel["drops"] == 0
        assert kernel["goodput_bps"] == pytest.approx(sim["goodput_bps"], rel=0.05)
        least = max(0.1 * sim["queue_bytes"], PACKET_BYTES)
        assert abs(kernel["queue_bytes"] - sim["queue_bytes"]) <= least


@on_kernel
@in_real_time
def test_one_router_stands_before_a_link_that_several_hosts_send_into() -> None:
    protocol = PROTOCOLS[0]
    flows = [{"control": protocol, "delay": f"{delay} ms"} for delay in (0, 10)]
    asked = experiment(protocol, flows=flows, duration="3 s", warmup="1 s")
    trace = live(asked)
    led_by_routers(trace, protocol)
    [link] = [one for one in trace.meta["mechanisms"]["routers"]["links"] if one["link"] == 0]
    assert len(link["also_at"]) == 1
    assert trace.tables["flow_counters"].height > 0
    # the backend reads the router's counters at every checkpoint, as in the simulator, and at the
    # end of the run
    counters = metrics.router_counters(trace, protocol).filter(pl.col("link") == 0)
    late_ns = counters["time_ns"].to_numpy() - [*asked.checkpoints_ns(), asked.duration]
    assert ((late_ns >= 0) & (late_ns < 100_000_000)).all()
    headers = counters["headers"].to_list()
    assert headers == sorted(headers)
    assert headers[-1] > headers[1] > 0
    assert min(metrics.goodput_bps(trace, flow) for flow in (0, 1)) > 1e6
    left = headwayctl.Headwayctl().json("status", "--json")
    assert not [one for one in left["routers"] if f"hw{os.getpid():x}n" in one["place"]]
