"""Serves a site at loopback with nginx, which reports when it is ready, or why it is not.

Measures no time: waits for up to 20 s until nginx has started or ended.
"""

from __future__ import annotations

import os
import shutil
import signal
import socket
import subprocess
import sys
import time
import urllib.request
from pathlib import Path

import pytest

from headway.errors import HeadwayError
from headway.web import origin
from headway.web.parent import end

needs_nginx = pytest.mark.skipif(
    shutil.which("nginx", path="/usr/sbin:/usr/bin") is None, reason="nginx is not installed"
)


def server(root: Path, port: int, *more: str) -> subprocess.Popen[str]:
    command = [
        sys.executable, "-m", "headway.browser.serve", "--address", f"127.0.0.1:{port}",
        "--root", str(root), "--control", "reno", "--until", str(root / "over"),
        "--end", str(time.monotonic_ns() + 20 * 10**9), *more,
    ]  # fmt: skip
    return subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)


def free_port() -> int:
    with socket.socket() as free:
        free.bind(("127.0.0.1", 0))
        return int(free.getsockname()[1])


@needs_nginx
def test_a_folder_may_have_a_name_that_nginx_would_read_otherwise(tmp_path: Path) -> None:
    root = tmp_path / 'a "site"; { \\ }'
    root.mkdir()
    (root / "index.html").write_text("here")
    port = free_port()
    with server(root, port) as process:
        assert process.stdout is not None
        assert process.stdout.readline() == "ready\n"
        with urllib.request.urlopen(f"http://127.0.0.1:{port}/index.html", timeout=5) as answer:
            assert answer.read() == b"here"
        (root / "over").touch()
        assert process.wait(20) == 0


@needs_nginx
@pytest.mark.parametrize("name", ["a $site", "a\nsite"])
def test_a_folder_that_nginx_cannot_have_is_one_line(name: str, tmp_path: Path) -> None:
    (tmp_path / name).mkdir()
    with server(tmp_path / name, free_port()) as process:
        said, error = process.communicate(timeout=20)
    assert said == ""
    assert error.startswith("error: folder = ")
    assert error.count("\n") == 1
    assert process.returncode == 1


@needs_nginx
def test_an_nginx_that_does_not_start_says_why_and_nobody_is_told_that_it_is_ready(
    tmp_path: Path,
) -> None:
    with socket.socket() as taken:
        taken.bind(("127.0.0.1", 0))
        taken.listen()
        at = f"127.0.0.1:{taken.getsockname()[1]}"
        origin.write_files([300], tmp_path / "own" / "files")
        with (
            pytest.raises(
                HeadwayError, match=r"nginx does not start: .*bind\(\) to .* failed"
            ) as no,
            origin.nginx(at, tmp_path / "own"),
        ):
            pass
    assert "\n" not in str(no.value)


@needs_nginx
def test_an_nginx_that_ended_before_its_time_is_an_error(tmp_path: Path) -> None:
    origin.write_files([300], tmp_path / "own" / "files")

    def gone() -> None:
        with origin.nginx(f"127.0.0.1:{free_port()}", tmp_path / "own"):
            os.kill(int((tmp_path / "own" / "nginx.pid").read_text()), signal.SIGTERM)
            time.sleep(0.5)

    with pytest.raises(HeadwayError, match="nginx ended with status 0"):
        gone()


DEAF = """
import os, signal, time
signal.signal(signal.SIGTERM, signal.SIG_IGN)
child = os.fork()
print(child, flush=True) if child else None
time.sleep(60)
"""


def test_a_program_that_does_not_end_is_killed_with_its_children() -> None:
    process = subprocess.Popen(
        [sys.executable, "-c", DEAF], stdout=subprocess.PIPE, process_group=0
    )
    assert process.stdout is not None
    with process.stdout as said:
        child = int(said.readline())
        end(process, within_s=0.2)
        assert process.returncode == -signal.SIGKILL
        assert said.read() == b"", f"nobody holds the pipe, {child} neither"
