"""Runs the examples of docs/ on the kernel, as the pages show them.

Measures whether downloads meet deadlines of seconds. A late run is repeated.
"""

import fcntl
import os
import re
import shutil
import socket
import subprocess
import sys
from pathlib import Path

import pytest
from real_time import in_real_time, note_late
from support import ROOT, on_kernel

from headway import sockets
from headway.backends.kernel.headwayctl import Headwayctl

ASKED = re.compile(r"requested after ([0-9.]+), complete after ([0-9.]+) s")


def followed(page: str, heading: str, control: str) -> subprocess.CompletedProcess[str]:
    """Run the first script below a heading of a page. Then remove its testbed and its control."""
    text = (ROOT / page).read_text().split(f"\n## {heading}\n")[1]
    block = re.search(r"^```sh\n(.*?)^```", text, re.MULTILINE | re.DOTALL)
    assert block is not None
    testbed = control.removesuffix("_ms")
    program = Path(Headwayctl().path)
    folders = [program.parent, Path(sys.executable).parent, os.environ["PATH"]]
    environment = os.environ | {
        "HEADWAY_SCOPE": testbed,
        "PATH": ":".join(map(str, folders)),
        "PYTHONPATH": str(ROOT / "python"),
    }
    # tests that use machine-wide names, such as sockets or cgroups, hold this lock
    with Path("/run/lock/headway-tests").open("w") as lock:
        fcntl.flock(lock, fcntl.LOCK_EX)
        with socket.socket() as probe:
            if sockets.startup_info(probe) is not None:
                pytest.skip("another session takes hints at the root cgroup")
        try:
            done = subprocess.run(
                ["bash", "-e", "-c", block[1]], cwd=ROOT, env=environment, timeout=60,
                capture_output=True, text=True, check=False,
            )  # fmt: skip
        finally:
            for command in (["testbed", "down", testbed], ["detach", "--all"]):
                subprocess.run(
                    [program, *command], env=environment, check=False, capture_output=True
                )
    note_late([*done.stdout.splitlines(), *done.stderr.splitlines()])
    assert done.returncode == 0, done.stderr
    return done


def responses_ms(printed: str) -> list[float]:
    """Times in s from curl's request to the last byte of the response."""
    return [(float(there) - float(asked)) * 1e3 for asked, there in ASKED.findall(printed)]


@on_kernel
@pytest.mark.alone
@in_real_time
@pytest.mark.skipif(shutil.which("cc") is None, reason="needs a C compiler")
def test_the_examples_start_faster_with_hints_and_meet_their_deadlines() -> None:
    done = followed("docs/application-interface.md", "In C and in Python", "shown_ms")
    took_ms = [int(n) for n in re.findall(r"bytes in (\d+) ms", done.stdout)]
    assert len(took_ms) == 4, done.stdout
    for quiet_ms, hinted_ms in (took_ms[0:2], took_ms[2:4]):
        # with hints the first flight has 45 packets and not 10, which saves two round trips of slow
        # start
        assert hinted_ms < quiet_ms - 300, done.stdout
    started = re.findall(r"granted (\d+) bit/s, started at (\d+) bit/s", done.stdout)
    assert started == [("0", "0"), ("0", "10000000")] * 2, done.stdout
    slow_ms, *in_time_ms = responses_ms(done.stdout)
    assert slow_ms > 1100, done.stdout
    for response_ms, deadline_ms in zip(in_time_ms, (300, 500, 800), strict=True):
        assert response_ms <= deadline_ms + 15, done.stdout


@on_kernel
@pytest.mark.alone
@in_real_time
@pytest.mark.skipif(
    not all(map(shutil.which, ("curl", "nginx"))),
    reason="needs curl and nginx: `make test` has them",
)
def test_servers_meet_a_deadline_and_ignore_one_that_cannot_be_meant() -> None:
    done = followed("docs/deadlines-over-http.md", "On a testbed", "web_ms")
    took_ms = responses_ms(done.stdout)
    assert len(took_ms) == 6, done.stdout
    for plain_ms, in_time_ms, not_meant_ms in (took_ms[:3], took_ms[3:]):
        assert in_time_ms <= 500 + 15, done.stdout
        # without a valid deadline the server uses slow start, which needs at least three round
        # trips
        assert min(plain_ms, not_meant_ms) > 580, done.stdout
    ignored = "Response-Deadline: b'soon': ignored: must be one time in ms"
    assert done.stderr.count(ignored) == 2, done.stderr
