"""Tests that tcptrace and tshark agree with imported captures, and that `fit` finds their paths.

The captures are tcpdump's, at the sender of iperf3 over random paths of the testbed. What is
measured depends on the emulator's timing, so these tests run beside few others.
"""

from __future__ import annotations

import os
import random
import signal
import subprocess
import time
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from statistics import fmean
from typing import Any

import pytest
from other_programs import output_of, program
from support import HANGS_S, on_kernel

from headway import Trace
from headway.backends.kernel.headwayctl import Headwayctl
from headway.imports import fit, import_file
from headway.imports.fit import FIT_INTERVAL_NS

COUNT = 20
COMPARED = 10
"""The captures that tcptrace and tshark read, too."""
AT_ONCE = 2
TRANSFER_S = 6
_FEW = 0.008
"""Retransmissions per RTT sample, up to which tshark's mean RTT is comparable within 1 %."""


@dataclass(frozen=True)
class Line:
    """A random link of the testbed, and the kernel's control."""

    rate_kbps: int
    rtt_us: int
    pkts: int
    control: str

    @classmethod
    def drawn(cls, seed: int) -> Line:
        numbers = random.Random(seed)
        rate_kbps = round(10 ** numbers.uniform(3.3, 4.6))
        rtt_us = numbers.randrange(10_000, 100_000)
        bdp_pkts = rate_kbps * rtt_us / 8 / 1500 / 1000
        pkts = max(round(numbers.uniform(0.5, 2) * bdp_pkts), 8)
        return cls(rate_kbps, rtt_us, pkts, ("cubic", "reno")[seed % 2])


@contextmanager
def emulated(ctl: Headwayctl, name: str, line: Line) -> Iterator[None]:
    ctl.run("testbed", "up", "--name", name, "--rate", f"{line.rate_kbps}kbit",
            "--rtt", f"{line.rtt_us}us", "--buffer", f"{line.pkts}pkts",
            "--control", line.control)  # fmt: skip
    try:
        yield
    finally:
        ctl.run("testbed", "down", name)


def captured(folder: Path, seed: int) -> Path:
    """The capture of an iperf3 transfer over a random path."""
    ctl, name, file = Headwayctl(), f"cap{os.getpid():x}-{seed}", folder / f"{seed}.pcap"
    inside = [ctl.path, "testbed", "exec", "--name", name]
    with emulated(ctl, name, Line.drawn(seed)):
        ctl.run("testbed", "exec", "--name", name, "right1", "--", "iperf3", "--server",
                "--one-off", "--daemon")  # fmt: skip
        dump = subprocess.Popen(
            [*inside, "left1", "--", "tcpdump", "--interface", "hw0", "--snapshot-length", "120",
             "--packet-buffered", "--relinquish-privileges", "root", "-w", file, "tcp"],
            stderr=subprocess.DEVNULL,
        )  # fmt: skip
        try:
            while not file.exists():  # tcpdump captures once it has opened the file
                assert dump.poll() is None
                time.sleep(0.01)
            client = ["iperf3", "--client", "10.78.0.1", "--time", str(TRANSFER_S)]
            subprocess.run(
                [*inside, "left1", "--", *client],
                check=True,
                timeout=HANGS_S,
                stdout=subprocess.DEVNULL,
            )
        finally:
            dump.send_signal(signal.SIGINT)
            dump.wait()
    return file


@pytest.fixture(scope="module")
def captures(tmp_path_factory: pytest.TempPathFactory) -> dict[int, Path]:
    """Captures by seed, some made at the same time."""
    from concurrent.futures import ThreadPoolExecutor

    for name, package in (("tcpdump", "tcpdump"), ("iperf3", "iperf3")):
        program(name, package)
    folder = tmp_path_factory.mktemp("captures")
    with ThreadPoolExecutor(AT_ONCE) as pool:
        files = pool.map(lambda seed: captured(folder, seed), range(COUNT))
        return dict(enumerate(files))


def the_transfer(trace: Trace) -> dict[str, Any]:
    """What was measured of iperf3's connection with the data."""
    found = [(flow.model_extra or {})["capture"] for flow in trace.flows]
    return max(found, key=lambda own: int(own["unique_bytes"]))


@pytest.mark.measures
@on_kernel
@pytest.mark.parametrize("seed", range(COMPARED))
def test_tcptrace_agrees_on_goodput_retransmissions_and_rtts(
    captures: dict[int, Path], seed: int
) -> None:
    printed = output_of(program("tcptrace", "tcptrace"), "-l", "-r", "-n", captures[seed])
    # two connections, the one with the data last; a column for each direction
    last = printed[printed.rindex("host c:") :]

    def number(name: str) -> float:
        row = next(row for row in last.splitlines() if f"{name}:" in row)
        return float(row.split(f"{name}:", 1)[1].split()[0])

    own = the_transfer(import_file(captures[seed]))
    assert own["unique_bytes"] == number("unique bytes sent")
    assert own["sent_pkts"] == number("actual data pkts")
    assert own["retransmits_pkts"] == number("rexmt data pkts")
    assert own["out_of_order_pkts"] == number("outoforder pkts")
    assert own["goodput_bps"] == pytest.approx(8 * number("throughput"), rel=0.01)
    for name, key in (("min", "min_ns"), ("avg", "mean_ns"), ("max", "max_ns")):
        assert own["rtt"][key] / 1e6 == pytest.approx(number(f"RTT {name}"), rel=0.01, abs=0.06)


@pytest.mark.measures
@on_kernel
@pytest.mark.parametrize("seed", range(COMPARED))
def test_tshark_agrees_on_retransmissions_and_rtts(captures: dict[int, Path], seed: int) -> None:
    tshark, path = program("tshark", "tshark"), captures[seed]

    def fields(chosen: str, field: str) -> list[str]:
        command: list[str | Path] = [tshark, "-r", path, "-n", "-Y", chosen, "-T", "fields"]
        return output_of(*command, "-e", field).split()

    own = the_transfer(import_file(path))
    # tshark calls a retransmission out of order if it comes soon after
    again = fields("tcp.analysis.retransmission || tcp.analysis.out_of_order", "frame.number")
    assert own["retransmits_pkts"] == pytest.approx(len(again), rel=0.01)
    of_data = "tcp.analysis.ack_rtt && tcp.stream==1 && tcp.srcport==5201"
    rtts_ms = [1e3 * float(rtt) for rtt in fields(of_data, "tcp.analysis.ack_rtt")]
    assert own["rtt"]["min_ns"] / 1e6 == pytest.approx(min(rtts_ms), rel=0.01)
    if own["retransmits_pkts"] < _FEW * own["rtt"]["samples"]:
        # tshark's samples include those of ACKs that waited for a retransmission, about two RTTs
        assert own["rtt"]["mean_ns"] / 1e6 == pytest.approx(fmean(rtts_ms), rel=0.01)


@pytest.mark.measures
@on_kernel
@pytest.mark.parametrize("seed", range(COUNT))
def test_fit_finds_the_path_of_the_testbed(captures: dict[int, Path], seed: int) -> None:
    true = Line.drawn(seed)
    trace = import_file(captures[seed], interval_ns=FIT_INTERVAL_NS, control=true.control)
    found = fit(trace)
    assert found.path.rate_bps == pytest.approx(1000 * true.rate_kbps, rel=0.02)
    assert found.path.rtt_ns == pytest.approx(1000 * true.rtt_us, abs=1e6)
    assert found.path.loss == 0
    assert found.path.is_queue_full
    assert found.path.buffer_pkts == pytest.approx(true.pkts, rel=0.15)
    assert found.runs == 1
    assert found.errors["goodput"] == pytest.approx(0, abs=0.05)
