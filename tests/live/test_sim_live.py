"""Tests that tcptrace reads captures of the simulator. Measures no time."""

import shutil
import subprocess
from pathlib import Path

import pytest
from support import experiment

from headway import metrics, run
from headway.experiment import Capture


@pytest.mark.slow
@pytest.mark.parametrize("stack", ["linux-2.6", "linux-6"])
def test_tcptrace_agrees_with_our_goodput_and_retransmissions(stack: str, tmp_path: Path) -> None:
    tcptrace = shutil.which("tcptrace")
    editcap = shutil.which("editcap")
    if tcptrace is None or editcap is None:
        pytest.skip("needs tcptrace and editcap: apt-get install tcptrace wireshark-common")
    trace = run(
        experiment(
            flows="2xcubic,1xreno", stack=stack, duration="60 s", warmup="0 s", capture=Capture()
        )
    )
    (tmp_path / "a.pcapng").write_bytes(trace.capture)
    subprocess.run([editcap, "-F", "pcap", tmp_path / "a.pcapng", tmp_path / "a.pcap"], check=True)
    printed = subprocess.run(
        [tcptrace, "-l", "-r", "-n", tmp_path / "a.pcap"],
        capture_output=True,
        text=True,
        check=True,
    ).stdout
    seen = {
        name: [
            float(line.split(f"{name}:")[1].split()[0])
            for line in printed.splitlines()
            if f"{name}:" in line
        ]
        for name in ("unique bytes sent", "rexmt data pkts", "throughput")
    }
    for index, flow in enumerate(trace.tcp_flows()):
        again = metrics.retransmits_pkts(trace, flow, metrics.whole_run(trace))
        assert seen["rexmt data pkts"][index] == again
        assert again > 0
        assert seen["throughput"][index] * 8 == pytest.approx(
            metrics.goodput_tcptrace_bps(trace, flow), rel=0.005
        )
