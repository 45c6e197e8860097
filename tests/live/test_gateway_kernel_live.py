"""Runs a relay between two hops on the kernel, and compares it with the simulator.

The relative tolerances at the assertions allow for a busy machine. A late run is repeated.
"""

from __future__ import annotations

import statistics
from pathlib import Path
from typing import Any

import polars as pl
import pytest
from real_time import in_real_time, live
from support import on_kernel
from test_gateway_kernel import RTT_MS, experiment, link
from test_relay import BESIDE_THE_KERNEL

from headway import Experiment, metrics, packets, run
from headway.backends.kernel.headwayctl import Headwayctl
from headway.digest import digest_of
from headway.trace import Trace

SYN_ACK = 0x12


def mean_completion_s(trace: Trace, asked: Experiment) -> float:
    starts_ns = asked.start_times_ns()
    done_ns = [flow.done_ns for flow in trace.flows]
    assert None not in done_ns
    pairs = zip(done_ns, starts_ns, strict=True)
    return statistics.mean((done - start) / 1e9 for done, start in pairs)


@on_kernel
@in_real_time
@pytest.mark.parametrize("control", ["xcp_pep", "mpcp_pep"])
def test_a_relay_does_on_the_kernel_what_it_does_in_the_simulator(control: str) -> None:
    asked = experiment(control)
    trace, simulated = live(asked), run(asked)
    completion_s = mean_completion_s(trace, asked)
    assert completion_s == pytest.approx(mean_completion_s(simulated, asked), rel=0.12)
    assert trace.links == simulated.links
    # the gateway receives all files long before the satellite link has sent them; no packet is
    # dropped
    assert metrics.drops_pkts(trace, link=2) == 0
    counters = metrics.router_counters(trace, "pep-monitor")
    assert counters["link"].unique().to_list() == [2]
    assert counters["intervals"][-1] >= 5
    ctl = Headwayctl()
    names = {one["name"] for one in ctl.json("testbed", "status", "--json")["testbeds"]}
    left = ctl.json("pep", "status", "--json")
    assert not names & {proxy["name"] for proxy in left["proxies"]}
    assert not [name for name in left["killed"] if name not in names]


@on_kernel
@in_real_time
@pytest.mark.parametrize("name", BESIDE_THE_KERNEL)
def test_a_relay_moves_data_as_in_the_simulator(name: str) -> None:
    asked, _, kernel_ms = BESIDE_THE_KERNEL[name]
    done_ns = live(asked).flows[0].done_ns
    assert done_ns is not None
    assert done_ns / 1e6 == pytest.approx(kernel_ms, rel=0.02)


@on_kernel
@in_real_time
@pytest.mark.parametrize("relay", [{"at_hop": 1}, None])
def test_a_transfer_begins_with_the_first_leg(relay: dict[str, Any] | None) -> None:
    """Test a flow whose SYN takes 400 ms to the gateway.

    The testbed logs packets at the link after the gateway.
    """
    hops = [{"forward": link("10 Mbit/s", delay)} for delay in ("400 ms", "50 ms")]
    flow = {"control": "cubic", "app": {"kind": "bulk", "size": "20 kB"}, "relay": relay}
    asked = Experiment.model_validate(
        {"topology": {"kind": "chain", "hops": hops}, "flows": [flow], "duration": "4 s"}
    )
    kernel, sim = (digest_of(trace) for trace in (live(asked), run(asked)))
    assert kernel["flows"][0]["fct_us"] == pytest.approx(sim["flows"][0]["fct_us"], rel=0.02)
    assert [one["name"] for one in kernel["links"]] == ["forward1", "reverse1"]


def asking(folder: Path, relay: dict[str, Any] | None) -> Experiment:
    """Three clients behind the satellite, which request 300 kB each on two connections."""
    asked = folder / "asked.csv"
    asked.write_text(
        "connection,request_bytes,response_bytes,after\n0,300,100000,\n1,300,200000,0\n"
    )
    monitor = {"routers": [f"pep-monitor:rtt_ms={RTT_MS}"]} if relay else {}
    up, down = (
        link("2 Mbit/s", f"{RTT_MS // 2} ms"),
        link("8 Mbit/s", f"{RTT_MS // 2} ms", **monitor),
    )
    flow = {"control": "cubic", "app": {"kind": "exchanges", "file": str(asked)}, "relay": relay}
    hops = [{"forward": up, "reverse": down}, {"forward": link("100 Mbit/s", "1 ms")}]
    return Experiment.model_validate(
        {
            "topology": {"kind": "chain", "hops": hops},
            "flows": [{**flow, "start": f"{start} ms"} for start in (0, 200, 400)],
            "duration": "10 s",
        }
    )


def answered_s(trace: Trace) -> float:
    """The mean over the clients of the time from a client's start to its last byte, in s."""
    last = trace["responses"].group_by("flow").agg(pl.col("end_ns").max()).sort("flow")
    starts_ns = trace.experiment.start_times_ns()
    assert trace["responses"].height == 2 * len(starts_ns)
    return float(statistics.mean((last["end_ns"] - pl.Series(starts_ns)).to_list())) / 1e9


@on_kernel
@in_real_time
@pytest.mark.parametrize("relay", [{"at_hop": 1, "control": "xcp_pep"}, None])
def test_clients_behind_the_satellite_are_answered_as_in_the_simulator(
    relay: dict[str, Any] | None, tmp_path: Path
) -> None:
    asked = asking(tmp_path, relay)
    trace, simulated = live(asked), run(asked)
    assert answered_s(trace) == pytest.approx(answered_s(simulated), rel=0.12)
    assert trace.links == simulated.links
    # responses cross the first hop's reverse link (1); its forward link (0) carries little data
    down, up = (metrics.throughput_bps(trace, number) for number in (1, 0))
    assert down > 5 * up > 0
    if relay:
        counters = metrics.router_counters(trace, "pep-monitor")
        assert counters["link"].unique().to_list() == [1]
        assert counters["intervals"][-1] >= 2


@on_kernel
@in_real_time
def test_a_relay_has_the_socket_options_of_the_flow() -> None:
    """Test the relay's first receive window, which limits what a server sends first."""
    hops = [{"forward": link("10 Mbit/s", "5 ms")} for _ in range(2)]
    flow = {
        "control": "cubic",
        "app": {"kind": "vectors", "epochs": [["500 B", "28 kB", "0 s"]]},
        "initial_rwnd": "9400 B",
        "relay": {"at_hop": 1},
    }
    asked = Experiment.model_validate(
        {
            "topology": {"kind": "chain", "hops": hops},
            "flows": [flow],
            "duration": "2 s",
            "capture": {"link": "reverse0", "snaplen": "128 B"},
        }
    )
    windows = [first_window_bytes(trace) for trace in (live(asked), run(asked))]
    assert windows == [10_136, 10_136]  # seven packets


def first_window_bytes(trace: Trace) -> int:
    """The receive window of the first SYN-ACK in a capture, in bytes."""
    assert trace.capture is not None
    for _, _, data in packets.blocks(trace.capture):
        tcp = data[(data[0] & 0x0F) * 4 :]
        if tcp[13] & SYN_ACK == SYN_ACK:
            return int.from_bytes(tcp[14:16], "big")
    raise AssertionError("the capture has no SYN-ACK")
