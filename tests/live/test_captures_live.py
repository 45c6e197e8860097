"""Tests that tcptrace and tshark agree with imported captures. Measures no time."""

from __future__ import annotations

import random
from pathlib import Path
from statistics import fmean

import pytest
from other_programs import output_of, program

from headway import Trace
from headway.backends.sim import SimBackend
from headway.experiment import Capture, Dumbbell, Experiment
from headway.imports import import_file

_FEW = 30


@pytest.fixture(params=range(10))
def capture(request: pytest.FixtureRequest, tmp_path: Path) -> tuple[Path, Trace]:
    """A capture at the sender of one flow over a random path, and the imported trace."""
    numbers = random.Random(request.param)
    experiment = Experiment(
        topology=Dumbbell(
            rate=f"{numbers.uniform(2, 30):.3f} Mbit/s",
            rtt=f"{numbers.uniform(10, 100):.3f} ms",
            buffer=f"{numbers.uniform(0.5, 2):.2f} BDP",
            loss=numbers.choice([0.0, 0.001]),
        ),
        flows=f"1x{numbers.choice(['cubic', 'reno', 'bbr'])}",
        duration="10 s",
        seed=request.param,
        capture=Capture(),
        record=(),
    )
    path = tmp_path / "a.pcapng"
    path.write_bytes(SimBackend().run(experiment).capture or b"")
    return path, import_file(path)


def test_tcptrace_agrees_on_goodput_retransmissions_and_rtts(capture: tuple[Path, Trace]) -> None:
    path, trace = capture
    printed = output_of(program("tcptrace", "tcptrace"), "-l", "-r", "-n", path)

    def number(name: str) -> float:
        line = next(line for line in printed.splitlines() if f"{name}:" in line)
        return float(line.split(f"{name}:", 1)[1].split()[0])

    own = (trace.flows[0].model_extra or {})["capture"]
    assert own["unique_bytes"] == number("unique bytes sent")
    assert own["sent_pkts"] == number("actual data pkts")
    assert own["retransmits_pkts"] == number("rexmt data pkts")
    assert own["out_of_order_pkts"] == number("outoforder pkts")
    assert own["goodput_bps"] == pytest.approx(8 * number("throughput"), rel=0.01)
    for name, key in (("min", "min_ns"), ("avg", "mean_ns"), ("max", "max_ns")):
        assert own["rtt"][key] / 1e6 == pytest.approx(number(f"RTT {name}"), rel=0.01, abs=0.06)


def test_tshark_agrees_on_retransmissions_and_rtts(capture: tuple[Path, Trace]) -> None:
    path, trace = capture
    tshark = program("tshark", "tshark")

    def fields(chosen: str, field: str) -> list[str]:
        command: list[str | Path] = [
            tshark,
            "-r",
            path,
            "-n",
            "-Y",
            chosen,
            "-T",
            "fields",
            "-e",
            field,
        ]
        return output_of(*command).split()

    own = (trace.flows[0].model_extra or {})["capture"]
    # tshark calls a retransmission out of order if it comes soon after
    again = fields("tcp.analysis.retransmission || tcp.analysis.out_of_order", "frame.number")
    assert own["retransmits_pkts"] == pytest.approx(len(again), rel=0.01)
    rtts_ms = [1e3 * float(rtt) for rtt in fields("tcp.analysis.ack_rtt && tcp.srcport==5001",
                                                  "tcp.analysis.ack_rtt")]  # fmt: skip
    assert own["rtt"]["min_ns"] / 1e6 == pytest.approx(min(rtts_ms), rel=0.01)
    if own["retransmits_pkts"] < _FEW:
        # tshark's samples include those of ACKs that waited for a retransmission
        assert own["rtt"]["mean_ns"] / 1e6 == pytest.approx(fmean(rtts_ms), rel=0.01)
