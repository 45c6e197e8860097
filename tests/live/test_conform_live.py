"""``headway conform --backend kernel``: scripts against this machine's kernel."""

from __future__ import annotations

import os
import subprocess
from pathlib import Path

import pytest
from real_time import in_real_time
from support import headway

SCRIPT = """\
`sysctl -q net.ipv4.tcp_timestamps=1 net.ipv4.tcp_rmem="4096 131072 6291456"`
0    socket(..., SOCK_STREAM, IPPROTO_TCP) = 3
+0   setsockopt(3, SOL_SOCKET, SO_REUSEADDR, [1], 4) = 0
+0   bind(3, ..., ...) = 0
+0   listen(3, 1) = 0
+.1  < S 0:0(0) win 65535 <mss 1000,sackOK,nop,wscale 7>
+0   > S. 0:0(0) ack 1 <mss 1460,nop,nop,sackOK,nop,wscale 7>
+.1  < . 1:1(0) ack 1 win 1000
+0   accept(3, ..., ...) = 4
+0   write(4, ..., 10000) = 10000
+0   > P. 1:10001(10000) ack 1
+.1  < . 1:1(0) ack 10001 win 1000
+.01 %{ assert tcpi_snd_cwnd == 20, tcpi_snd_cwnd }%
"""
needs_root = pytest.mark.skipif(os.geteuid() != 0, reason="a network namespace needs root")


@needs_root
@in_real_time
def test_a_script_passes_on_both(tmp_path: Path) -> None:
    script = tmp_path / "slow_start.pkt"
    script.write_text(SCRIPT, encoding="utf-8")
    for backend in ("sim", "kernel"):
        done = headway("conform", str(script), "--backend", backend)
        assert done.returncode == 0, done.stdout + done.stderr


@needs_root
def test_a_script_leaves_nothing_behind(tmp_path: Path) -> None:
    def devices() -> bytes:
        return subprocess.run(["ip", "-brief", "link"], check=True, capture_output=True).stdout

    before = devices()
    script = tmp_path / "fails.pkt"
    script.write_text(f"{SCRIPT}+0...1 read(4, ..., 9) = 9\n", encoding="utf-8")
    done = headway("conform", str(script), "--backend", "kernel")
    assert done.returncode == 1
    assert "read does not return" in done.stdout
    assert devices() == before
