"""Runs the tutorial's control and router, and other users' files, on the kernel.

Measures goodput and counters. The tolerances at the assertions allow for a busy machine. A late run
is repeated.
"""

from __future__ import annotations

import json
import os
import re
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from real_time import in_real_time, note_late
from support import ROOT, headway, on_kernel
from test_user_file import FILES, folder  # noqa: F401 - a fixture

from headway.backends.kernel import headwayctl

NAMESPACE = "headway-user-file"
DEVICE = "mine0"


def ctl(*arguments: str, status: int = 0) -> str:
    """Run headwayctl, which must end with ``status``. Returns its output or its error line."""
    program = os.environ[headwayctl.VARIABLE]
    done = subprocess.run([program, *arguments], capture_output=True, text=True, check=False)
    assert done.returncode == status, (done.stdout, done.stderr)
    if status:
        [line] = done.stderr.splitlines()
        return line.removeprefix("headwayctl: ")
    return done.stdout


def at_status(kind: str) -> list[dict[str, Any]]:
    found: list[dict[str, Any]] = json.loads(ctl("status", "--json"))[kind]
    return found


@pytest.fixture
def device() -> Iterator[list[str]]:
    """Make a device in a new namespace. Yields the options of headwayctl that name the device."""
    subprocess.run(["ip", "netns", "add", NAMESPACE], check=True)
    try:
        link = ["link", "add", DEVICE, "type", "veth", "peer", "name", "far0"]
        subprocess.run(["ip", "-n", NAMESPACE, *link], check=True)
        for name in (DEVICE, "far0"):
            subprocess.run(["ip", "-n", NAMESPACE, "link", "set", name, "up"], check=True)
        yield ["--netns", NAMESPACE, "--dev", DEVICE]
    finally:
        subprocess.run(["ip", "netns", "del", NAMESPACE], check=False)


@on_kernel
@in_real_time
def test_the_tutorials_control_carries_a_flow_as_in_the_simulator(folder: Path) -> None:
    options = ["--flows", "1x./my_control.c", "--rate", "10Mbit/s", "--rtt", "50 ms"]
    options += ["--buffer", "2 BDP", "--duration", "3s", "--warmup", "1s", "--json"]
    found = []
    for backend in ("kernel", "sim"):
        done = headway("try", *options, "--backend", backend)
        assert done.returncode == 0, done.stderr
        mean = json.loads(done.stdout)
        note_late(mean["warnings"])
        found.append((mean["flows"][0]["goodput_bps"], mean["links"][0]["queue_bytes"]["mean"]))
    (live_bps, live_bytes), (sim_bps, sim_bytes) = found
    assert live_bps == pytest.approx(sim_bps, rel=0.1)
    assert live_bytes == pytest.approx(sim_bytes, rel=0.5)
    assert [one for one in at_status("attached") if one["control"] == "my_control"] == []


@on_kernel
def test_status_tells_a_files_control_by_its_own_names(folder: Path) -> None:
    try:
        said = ctl("attach", "./my_control.c+hystart", "--name", "own_mine", "--set", "target_ms=7")
        assert "attached own_mine" in said
        [mine] = [one for one in at_status("attached") if one["name"] == "own_mine"]
        assert (mine["control"], mine["startup"]) == ("my_control", "hystart")
        assert mine["tunables"]["target_ms"] == 7
        assert "replaced own_mine" in ctl("attach", "./my_control.c", "--name", "own_mine")
    finally:
        ctl("detach", "./my_control.c")


@on_kernel
@in_real_time
def test_the_tutorials_router_counts_at_a_device(
    folder: Path,
    device: list[str],
) -> None:
    ctl("router", "attach", "./my_router.c", *device, "--rate", "10mbit", "--set",
        "threshold_bytes=30000")  # fmt: skip
    for command in (
        f"address add 192.0.2.1/24 dev {DEVICE}",
        f"neighbour add 192.0.2.2 lladdr 02:00:00:00:00:02 dev {DEVICE}",
    ):
        subprocess.run(["ip", "-n", NAMESPACE, *command.split()], check=True)
    sends = "import socket; s = socket.socket(socket.AF_INET, socket.SOCK_DGRAM)"
    sends += "; [s.sendto(bytes(1000), ('192.0.2.2', 9)) for _ in range(5)]"
    python = ["ip", "netns", "exec", NAMESPACE, sys.executable, "-c", sends]
    subprocess.run(python, check=True)
    [mine] = [one for one in at_status("routers") if one["name"] == "my_router"]
    assert mine["tunables"] == {"threshold_bytes": "30000"}
    assert set(mine["counters"]) == {"packets", "marked", "longest_bytes"}
    assert mine["counters"]["packets"] == mine["traffic"]["packets"] >= 5
    assert mine["counters"]["longest_bytes"] >= 2 * 1028  # senders are faster than 10 Mbit/s
    ctl("detach", *device)


@on_kernel
@pytest.mark.parametrize(
    ("old", "new", "says"),
    [
        ("/ 2, 2);", "/ 2, ((u32 *)state)[c->cwnd_pkts]);", "the kernel refuses `"),
        ("(void)ack;", "while (c->now_us != s->again_us) s->backoffs++;", "the kernel refuses `"),
        ("(void)ack;", "undeclared();", "implicit declaration of function 'undeclared'"),
    ],
)
def test_a_refusal_is_a_line_with_the_files_own_line(
    folder: Path,
    old: str,
    new: str,
    says: str,
) -> None:
    text = FILES["my_control.c"]
    assert old in text
    Path("my_control.c").write_text(text.replace(old, new))
    line = text[: text.index(old)].count("\n") + 1
    told = ctl("attach", "./my_control.c", "--name", "own_mine", status=2)
    at = re.match(r"\./my_control\.c:(\d+): ", told)
    assert at is not None, told
    assert abs(int(at[1]) - line) <= 1, told
    assert says in told
    assert [one for one in at_status("attached") if one["name"] == "own_mine"] == []


@on_kernel
def test_without_clang_a_file_is_refused_with_what_to_install(
    folder: Path,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setenv("HEADWAY_CLANG", "no-such-clang")
    at_device = ["--dev", "lo", "--rate", "1mbit"]
    for kind, file, options in (
        (["attach"], "./my_control.c", []),
        (["router", "attach"], "./my_router.c", at_device),
    ):
        told = ctl(*kind, file, *options, status=2)
        assert told.startswith(f"cannot compile {file}: no clang of version 16 or newer")
        assert told.endswith("install clang-19 (Debian: apt-get install clang-19) or name one in "
                             "HEADWAY_CLANG")  # fmt: skip


@on_kernel
@in_real_time
def test_a_protocol_of_three_files_obeys_its_router(folder: Path) -> None:
    at = ROOT / "tests" / "protocol"
    options = ["--flows", f"1x{at}/cc/explicit.c", "--router"]
    options += [f"{at}/router/explicit_rate.c:rate_kbps=3000", "--rate", "10Mbit/s"]
    done = headway("try", *options, "--duration", "3s", "--warmup", "1s", "--backend", "kernel",
                   "--json")  # fmt: skip
    assert done.returncode == 0, done.stderr
    found = json.loads(done.stdout)
    note_late(found["warnings"])
    assert found["flows"][0]["goodput_bps"] == pytest.approx(3e6 * 1436 / 1500, rel=0.03)
    assert found["links"][0]["routers"]["explicit-rate"]["lowered"] > 300
    try:
        ctl("attach", f"{at}/cc/explicit.c", "--name", "own_sent")
        [sent] = [one for one in at_status("endpoints") if one["control"] == "own_sent"]
        assert sent["header"] == "explicit-rate"
        told = ctl("attach", f"{at}/cc/explicit.c", "--name", "own_other", status=2)
        assert "own_sent already sends the header explicit-rate" in told
    finally:
        ctl("detach", "own_sent")


ENDS_PACING = """// SPDX-License-Identifier: (BSD-2-Clause OR GPL-2.0-only)
/* A window of twelve; every other ACK begins gaps of 20 ms, and the next one ends them. A round
 * trip shorter than the path's 50 ms leaves one packet of the window. */
#include "port/cc.h"

struct my_state {
	u32 acks;
	u32 was_short;
};

static void my_pkts_acked(void *state, const u32 *tun, struct hw_conn *c, const struct hw_ack *ack)
{
	struct my_state *s = state;

	(void)tun;
	s->acks++;
	s->was_short |= ack->rtt_us > 0 && ack->rtt_us < 49000;
	c->pacing_rate_Bps = s->acks > 10 && s->acks % 2 ? 75000 : 0;
	c->pacing_chunk_pkts = 1;
	c->cwnd_pkts = s->was_short ? 1 : 12;
	c->ssthresh_pkts = 1;
}

static void my_cong_avoid(void *state, const u32 *tun, struct hw_conn *c, u32 acked_pkts)
{
	(void)state;
	(void)tun;
	(void)c;
	(void)acked_pkts;
}

static u32 my_ssthresh(void *state, const u32 *tun, struct hw_conn *c)
{
	(void)state;
	(void)tun;
	return c->cwnd_pkts;
}

HW_TABLE struct hw_cc_ops hw_cc_ends_pacing = {
	.name = "ends_pacing",
	.title = "Ends its pacing again and again",
	.source = "a test",
	.startup = "slow-start",
	.state_bytes = sizeof(struct my_state),
	.flags = HW_CC_PACES,
	.pkts_acked = my_pkts_acked,
	.cong_avoid = my_cong_avoid,
	.ssthresh = my_ssthresh,
};
"""


@on_kernel
@in_real_time
def test_no_round_trip_is_shorter_than_the_path_where_pacing_ends(
    folder: Path,
) -> None:
    Path("ends_pacing.c").write_text(ENDS_PACING)
    options = ["--flows", "1x./ends_pacing.c:start=0s", "--rate", "10Mbit/s", "--rtt", "50 ms"]
    options += ["--duration", "1500 ms", "--warmup", "500 ms", "--json"]
    done = headway("try", *options, "--backend", "kernel")
    assert done.returncode == 0, done.stderr
    mean = json.loads(done.stdout)
    note_late(mean["warnings"])
    [flow] = mean["flows"]
    assert flow["cwnd_pkts"] == 12
    # a window of 12 packets per RTT of 50 ms would give 2.8 Mbit/s; the pacing gaps allow only 0.6
    # Mbit/s
    assert 0.7e6 < flow["goodput_bps"] < 2.5e6
