"""``headway conform``: verdicts, JSON, exit status and errors."""

from __future__ import annotations

import json
from pathlib import Path

import pytest
from support import headway

PASSES = """\
0    socket(..., SOCK_STREAM, IPPROTO_TCP) = 3
+0   bind(3, ..., ...) = 0
+0   listen(3, 1) = 0
+.1  < S 0:0(0) win 65535 <mss 1000,sackOK,nop,wscale 7>
+0   > S. 0:0(0) ack 1 <mss 1460,nop,nop,sackOK,nop,wscale 7>
+.05 < . 1:1(0) ack 1 win 1000
+0   accept(3, ..., ...) = 4
+0   write(4, ..., 3000) = 3000
+0   > P. 1:3001(3000) ack 1
"""
FAILS = f"{PASSES}+.05 %{{ assert tcpi_unacked == 4 }}%\n"
OTHER = f"{PASSES}+0 epoll_create(1) = 5\n"


@pytest.fixture
def scripts(tmp_path: Path) -> Path:
    for name, text in (("a", PASSES), ("b", FAILS), ("c", OTHER)):
        (tmp_path / f"{name}.pkt").write_text(text, encoding="utf-8")
    return tmp_path


def test_a_script_that_passes_ends_with_status_0(scripts: Path) -> None:
    done = headway("conform", str(scripts / "a.pkt"))
    assert (done.returncode, done.stderr) == (0, "")
    assert done.stdout.split() == ["pass", str(scripts / "a.pkt"), "1", "script:", "1", "pass"]


def test_a_folder_has_a_line_for_every_script_and_a_summary(scripts: Path) -> None:
    done = headway("conform", str(scripts))
    assert done.returncode == 1
    lines = done.stdout.splitlines()
    assert lines[1].startswith(f"fail            {scripts}/b.pkt, line 10: tcpi_unacked == 4")
    assert lines[2].endswith("c.pkt, line 10: the call epoll_create(1)")
    assert lines[3] == "3 scripts: 1 pass, 1 fail, 1 not applicable"


def test_files_of_commands_are_read_and_not_run(tmp_path: Path) -> None:
    commands = 'sysctl -q net.ipv4.tcp_rmem="4096 131072 $((16*1024*1024))" > /dev/null 2>&1\n'
    (tmp_path / "defaults.sh").write_text(f"#!/bin/bash\n# windows\n{commands}", encoding="utf-8")
    script = tmp_path / "scale.pkt"
    scaled = PASSES.replace("sackOK,nop,wscale 7>\n+.05", "sackOK,nop,wscale 9>\n+.05")
    script.write_text(f"`./defaults.sh`\n{scaled}", encoding="utf-8")
    done = headway("conform", str(script))
    assert done.returncode == 0, done.stdout


def test_json_has_the_same_verdicts(scripts: Path) -> None:
    said = json.loads(headway("conform", str(scripts), "--json").stdout)
    assert [one["verdict"] for one in said["scripts"]] == ["pass", "fail", "not applicable"]
    assert (said["pass"], said["fail"], said["unreadable"]) == (1, 1, 0)


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("0 < Q 0:0(0) win 1\n", 'a.pkt: line 1: flags: "Q" is not allowed; S, F, R'),
        ("", "a.pkt: line 1: script: no event is not allowed; at least one event"),
    ],
)
def test_a_file_that_is_no_script_ends_with_status_2(
    scripts: Path, text: str, message: str
) -> None:
    (scripts / "a.pkt").write_text(text, encoding="utf-8")
    for path in (scripts, scripts / "a.pkt"):
        done = headway("conform", str(path))
        assert done.returncode == 2
        assert message in done.stderr
        assert len(done.stderr.splitlines()) == 1


def test_paths_and_backends_that_are_missing_are_refused(tmp_path: Path) -> None:
    for arguments, message in (
        ((str(tmp_path / "none.pkt"),), "no such file or folder"),
        ((str(tmp_path),), "the folder has no script (*.pkt)"),
        ((str(tmp_path), "--backend", "ns3"), "--backend: 'ns3' is not allowed; sim or kernel"),
    ):
        done = headway("conform", *arguments)
        assert done.returncode == 2
        assert message in done.stderr
