"""Tests that tcptrace and tshark read simulated captures and agree with Headway's numbers.

Measures no time.
"""

from __future__ import annotations

from pathlib import Path

import pytest
from other_programs import output_of, program
from support import experiment

from headway import Trace, metrics, run
from headway.experiment import Capture

LOSSY = {"rate": "10Mbit/s", "rtt": "50 ms", "buffer": "2 BDP", "loss": "1%"}
QUEUE_LIMITED = {"rate": "1Mbit/s", "rtt": "50 ms", "buffer": "60000 B"}
PATHS = {"lossy": LOSSY, "queue-limited": QUEUE_LIMITED}
FLOWS = "1xcubic,1xreno,1xreno:sack=off"


def captured(folder: Path, path: str, stack: str) -> tuple[Trace, Path]:
    """A run of 30 s, and its capture of the bottleneck as a file."""
    trace = run(
        experiment(
            topology={"kind": "dumbbell", **PATHS[path]},
            flows=FLOWS,
            stack=stack,
            duration="30 s",
            warmup="0 s",
            capture=Capture(),
        )
    )
    assert trace.capture is not None
    file = folder / "bottleneck.pcapng"
    file.write_bytes(trace.capture)
    return trace, file


def tcptrace_numbers(printed: str, name: str) -> list[float]:
    """Values that tcptrace prints for the host that opened each connection, in tcptrace's order."""
    lines = (line.split(f"{name}:", 1)[1] for line in printed.splitlines() if f"{name}:" in line)
    return [float(line.split()[0]) for line in lines]


@pytest.mark.parametrize("stack", ["linux-2.6", "linux-6"])
@pytest.mark.parametrize("path", PATHS)
def test_tcptrace_agrees_on_goodput_bytes_and_retransmissions(
    path: str, stack: str, tmp_path: Path
) -> None:
    tcptrace = program("tcptrace", "tcptrace")
    trace, file = captured(tmp_path, path, stack)
    # Debian's tcptrace reads pcapng and raw IP through libpcap: no conversion is needed.
    printed = output_of(tcptrace, "-l", "-r", "-n", file)
    again = tcptrace_numbers(printed, "rexmt data pkts")
    assert len(again) == 3
    for flow in trace.tcp_flows():
        expected = metrics.retransmits_pkts(trace, flow, metrics.whole_run(trace))
        assert expected > 0, "the path loses packets of every flow"
        assert again[flow] == expected
        unique_bytes = tcptrace_numbers(printed, "unique bytes sent")[flow]
        assert unique_bytes == trace.flows[flow].unique_bytes
        goodput_bps = tcptrace_numbers(printed, "throughput")[flow] * 8
        assert goodput_bps == pytest.approx(metrics.goodput_tcptrace_bps(trace, flow), rel=0.005)
        # Fewer bytes are delivered in order than sent, because some are in flight at the end.
        delivered_bps = metrics.goodput_bps(trace, flow, metrics.whole_run(trace))
        assert delivered_bps == pytest.approx(goodput_bps, rel=0.1)
    zero = tcptrace_numbers(printed, "zero win adv")
    assert zero == [0, 0, 0]


@pytest.mark.parametrize("path", PATHS)
def test_the_capture_converts_to_pcap_and_tcptrace_says_the_same(path: str, tmp_path: Path) -> None:
    tcptrace = program("tcptrace", "tcptrace")
    editcap = program("editcap", "wireshark-common")
    _, file = captured(tmp_path, path, "linux-2.6")
    converted = tmp_path / "bottleneck.pcap"
    output_of(editcap, "-F", "pcap", file, converted)
    both = [output_of(tcptrace, "-l", "-n", name) for name in (file, converted)]
    for name in ("rexmt data pkts", "unique bytes sent", "total packets"):
        numbers = [tcptrace_numbers(printed, name) for printed in both]
        assert numbers[0] == numbers[1] != []


@pytest.mark.parametrize("stack", ["linux-2.6", "linux-6"])
def test_wireshark_finds_no_fault_in_any_packet(stack: str, tmp_path: Path) -> None:
    tshark = program("tshark", "tshark")
    trace, file = captured(tmp_path, "lossy", stack)
    checked = ["-o", "ip.check_checksum:TRUE", "-o", "tcp.check_checksum:TRUE"]
    fields = ["-T", "fields", "-e", "ip.checksum.status", "-e", "tcp.checksum.status"]
    rows = output_of(tshark, "-n", "-r", file, *checked, *fields).splitlines()
    assert len(rows) > 1000
    # 1 is "good" in Wireshark's table of checksum states.
    assert set(rows) == {"1\t1"}
    malformed = output_of(tshark, "-n", "-r", file, "-Y", "_ws.malformed or tcp.options.unknown")
    assert malformed == ""
    # Wireshark guesses whether a segment was retransmitted or reordered. The sum of both equals
    # Headway's number of retransmissions, except for a few that are near the limits of Wireshark's
    # timing rules.
    analysis = " or ".join(
        f"tcp.analysis.{kind}" for kind in ("retransmission", "fast_retransmission", "out_of_order")
    )
    seen = output_of(tshark, "-n", "-r", file, "-Y", f"({analysis}) and tcp.len > 0").splitlines()
    again = sum(
        metrics.retransmits_pkts(trace, flow, metrics.whole_run(trace))
        for flow in trace.tcp_flows()
    )
    assert len(seen) == pytest.approx(again, rel=0.03)
