"""Tests local router assistance on this machine's kernel.

A monitor at the host's device publishes the device's state, and congestion controls read the state
on each ACK.

Flows of one host over 10 Mbit/s: the link is used to 90 %, each flow has its share, nothing is
dropped, and goodput is the simulator's. Then a device whose own queue is the link's, with a
capacity that is told wrong or measured. With HEADWAY_LONG=1 the capacity changes, and the test
prints what was measured. A run on a late machine is repeated (real_time.py).
"""

import json
import os
import statistics
import subprocess
import time
from collections.abc import Iterator
from contextlib import contextmanager

import polars as pl
import pytest
from real_time import in_real_time, live
from support import on_kernel

from headway import Experiment, metrics, run
from headway.backends.kernel.headwayctl import Headwayctl
from headway.errors import HeadwayError

LONG = "HEADWAY_LONG" in os.environ
FLOWS = 5
PACKET_BYTES = 1500
CONTROLS = ("xcp_pep", "mpcp_pep")


@on_kernel
@in_real_time
@pytest.mark.parametrize("control", CONTROLS)
def test_flows_of_a_host_with_a_monitor_share_its_link_without_a_drop(control: str) -> None:
    asked = Experiment.model_validate(
        {
            "topology": {
                "kind": "dumbbell",
                "rate": "10Mbit/s",
                "rtt": "100 ms",
                "buffer": "1 BDP",
                "routers": ["pep-monitor:rtt_ms=100"],
            },
            "flows": f"{FLOWS}x{control}",
            "duration": "6 s",
            "warmup": "3 s",
        }
    )
    trace, simulated = live(asked), run(asked)
    counters = metrics.router_counters(trace, "pep-monitor").filter(pl.col("link") == 0)
    assert counters["flows"][-1] == FLOWS
    assert metrics.utilization(trace) >= 0.9
    assert (metrics.flow_jain_index(trace) or 0) >= 0.95
    assert metrics.drops_pkts(trace) == 0
    goodput, expected = (
        sum(metrics.goodput_bps(one, flow) for flow in range(FLOWS)) for one in (trace, simulated)
    )
    assert goodput == pytest.approx(expected, rel=0.05)


class Shaped:
    """A sender whose network device limits the rate. The queue is that of the device's qdisc."""

    def __init__(self, ctl: Headwayctl, name: str) -> None:
        self._ctl = ctl
        self._name = name
        self._netns, self.far = (f"headway-{name}-{host}" for host in ("left1", "right1"))
        self._tc = ["ip", "netns", "exec", self._netns, "tc"]

    def monitor(self, *settings: str, netns: str | None = None) -> None:
        """Attach a monitor to the device, and to the device in ``netns`` if that is given."""
        words = [word for setting in settings for word in ("--set", setting)]
        words += ["--netns", netns] if netns else []
        self._ctl.run(
            "router", "pep-monitor", "--netns", self._netns, "--dev", "hw0", "--backlog",
            "--capacity", "10mbit", "--set", "rtt_ms=200", *words,
        )  # fmt: skip

    def detach(self) -> None:
        """Detach it."""
        self._ctl.run("detach", "--netns", self._netns, "--dev", "hw0")

    def shape(self, rate: str) -> None:
        """Set the device's capacity, and a queue limit of two round trips at 10 Mbit/s."""
        shaper = ["qdisc", "replace", "dev", "hw0", "root", "tbf", "rate", rate]
        subprocess.run([*self._tc, *shaper, "burst", "3100", "limit", "500000"], check=True)

    def look(self) -> dict[str, int]:
        """How much the device has sent, dropped and queued, and the time of this reading."""
        shown = subprocess.run(
            [*self._tc, "-s", "-j", "qdisc", "show", "dev", "hw0"],
            check=True,
            capture_output=True,
            text=True,
        )
        [of_device] = [one for one in json.loads(shown.stdout) if one["kind"] == "tbf"]
        return {**of_device, "at_ns": time.monotonic_ns()}

    def status(self) -> dict[str, int]:
        """The counters of the congestion control's connections."""
        listed = self._ctl.json("status", "--json")["attached"]
        [counters] = [one["counters"] for one in listed if self._name in one["name"]]
        return counters

    def watch(self, seconds: float) -> list[dict[str, int]]:
        """Take four samples of the device per second."""
        looks = [self.look()]
        for _ in range(int(4 * seconds)):
            time.sleep(0.25)
            looks.append(self.look())
        return looks


@contextmanager
def shaped(control: str, seconds: int) -> Iterator[Shaped]:
    """Run five transfers over a rate-limited device for this many seconds. Yields the device."""
    ctl = Headwayctl()
    name = f"mon{os.getpid():x}"[:11]
    attached = f"{name}_pep"
    try:
        ctl.run("attach", control, "--name", attached)
        ctl.run("testbed", "up", "--name", name, "--rate", "100mbit", "--rtt", "200ms",
                "--control", attached)  # fmt: skip
        ctl.run("testbed", "exec", "--name", name, "right1", "--",
                "iperf3", "--server", "--one-off", "--daemon")  # fmt: skip
        path = Shaped(ctl, name)
        path.shape("10mbit")
        client = subprocess.Popen(
            [ctl.path, "testbed", "exec", "--name", name, "left1", "--", "iperf3", "--client",
             "10.78.0.1", "--time", str(seconds), "--parallel", str(FLOWS)],
            stdout=subprocess.DEVNULL,
        )  # fmt: skip
        try:
            yield path
        finally:
            client.terminate()
            client.wait()
    finally:
        ctl.run("testbed", "down", name)
        ctl.run("detach", attached)


def used(looks: list[dict[str, int]], rate_bps: float) -> float:
    """The fraction of a capacity that the device used between the first and the last sample."""
    seconds = (looks[-1]["at_ns"] - looks[0]["at_ns"]) / 1e9
    return (looks[-1]["bytes"] - looks[0]["bytes"]) * 8 / (rate_bps * seconds)


def queues(looks: list[dict[str, int]]) -> tuple[float, int]:
    """Median and maximum of the sampled queue lengths, in bytes."""
    backlogs = [look["backlog"] for look in looks]
    return statistics.median(backlogs), max(backlogs)


@on_kernel
@in_real_time
def test_a_monitor_measures_the_capacity_of_its_device() -> None:
    with shaped("xcp_pep", 12) as path:
        path.monitor("capacity=measured")
        path.watch(4)
        looks = path.watch(4)
        assert used(looks, 10e6) >= 0.9
        assert queues(looks)[0] <= 30 * PACKET_BYTES
        assert looks[-1]["drops"] == 0
        heard = path.status()
        assert heard["unmonitored"] < 0.1 * heard["acks"]


@on_kernel
@in_real_time
def test_a_capacity_that_is_told_too_small_is_all_that_is_used() -> None:
    with shaped("xcp_pep", 12) as path:
        path.monitor("capacity_kbps=5000")
        path.watch(4)
        assert 0.42 <= used(path.watch(4), 10e6) <= 0.55


@on_kernel
@in_real_time
def test_where_a_monitor_has_gone_the_law_is_renos() -> None:
    with shaped("xcp_pep", 12) as path:
        path.monitor()
        path.watch(3)
        path.detach()
        before = path.status()
        path.watch(2)
        after = path.status()
        acks = after["acks"] - before["acks"]
        assert after["unmonitored"] - before["unmonitored"] >= 0.9 * acks > 100
        with pytest.raises(HeadwayError, match="pep-monitor works at one device only"):
            path.monitor("rtt_ms=100", netns=path.far)


@on_kernel
def test_what_a_monitor_cannot_know_is_refused_in_one_line() -> None:
    ctl = Headwayctl()
    words = ["router", "pep-monitor", "--dev", "lo", "--capacity", "1mbit", "--dry-run"]
    with pytest.raises(HeadwayError, match=r"capacity=measured: .* only with --backlog"):
        ctl.run(*words, "--set", "capacity=measured")


if LONG:

    @on_kernel
    @in_real_time
    @pytest.mark.parametrize(
        ("told", "most_queue"),
        [
            ("capacity_kbps=5000", None),
            ("capacity_kbps=10000", None),
            ("capacity_kbps=20000", None),
            ("capacity=measured", 60_000),
        ],
    )
    @pytest.mark.parametrize("control", CONTROLS)
    def test_a_capacity_that_is_wrong_or_changes(
        control: str, told: str, most_queue: int | None
    ) -> None:
        with shaped(control, 100) as path:
            path.monitor(told)
            path.watch(5)
            before = path.watch(10)
            print(f"\n{control} {told}: {used(before, 10e6):.1%} of 10 Mbit/s, {queues(before)}")
            shares = []
            for rate in (5, 20, 10):
                path.shape(f"{rate}mbit")
                looks = path.watch(20)
                shares.append(used(looks, rate * 1e6))
                settled = looks[40:]
                print(f"  {rate} Mbit/s: {shares[-1]:.1%}, {queues(settled)} B, "
                      f"{looks[-1]['drops'] - looks[0]['drops']} drops")  # fmt: skip
                if most_queue is not None:
                    assert queues(settled)[0] <= most_queue
            if most_queue is not None:
                assert min(shares) >= 0.85
