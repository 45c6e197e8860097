"""The examples, run as docs/application-interface.md shows them, on the live kernel."""

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

PAGE = ROOT / "docs" / "application-interface.md"


@on_kernel
@pytest.mark.alone
@in_real_time
@pytest.mark.skipif(shutil.which("cc") is None, reason="needs a C compiler")
def test_the_examples_start_faster_with_hints_and_meet_their_deadlines() -> None:
    block = re.search(r"^```sh\n(.*?)^```", PAGE.read_text(), re.MULTILINE | re.DOTALL)
    assert block is not None
    program = Path(Headwayctl().path)
    folders = [program.parent, Path(sys.executable).parent, os.environ["PATH"]]
    environment = os.environ | {
        "HEADWAY_SCOPE": "shown",
        "PATH": ":".join(map(str, folders)),
        "PYTHONPATH": str(ROOT / "python"),
    }
    # who tests the whole machine's names, of sockets or of cgroups, does so alone
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
            for command in (["testbed", "down", "shown"], ["detach", "--all"]):
                subprocess.run([program, *command], env=environment, check=False)
    note_late([*done.stdout.splitlines(), *done.stderr.splitlines()])
    assert done.returncode == 0, done.stderr
    took_ms = [int(n) for n in re.findall(r"bytes in (\d+) ms", done.stdout)]
    assert len(took_ms) == 8, done.stdout
    for quiet_ms, hinted_ms in (took_ms[0:2], took_ms[2:4]):
        # two round trips of slow start are saved: 45 packets at first, not 10
        assert hinted_ms < quiet_ms - 300, done.stdout
    started = re.findall(r"granted (\d+) bit/s, started at (\d+) bit/s", done.stdout)
    assert started == [("0", "0"), ("0", "10000000")] * 2, done.stdout
    slow_ms, *in_time_ms = took_ms[4:]
    assert slow_ms > 1100, done.stdout
    for response_ms, deadline_ms in zip(in_time_ms, (300, 500, 800), strict=True):
        assert response_ms <= deadline_ms + 15, done.stdout
