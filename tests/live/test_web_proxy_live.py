"""Tests the reverse proxy before nginx: a slow sender, and the time left until a deadline.

Three seconds pass between request and response, so that a busy machine matters little.
"""

from __future__ import annotations

import re
import shutil
import socket
import time
from contextlib import suppress
from pathlib import Path
from typing import Any

import pytest
from proxied import (
    fixed,
    lines_of,
    proxied,
    proxy_before,
    request,
    whole,
)
from served import client, exchange

from headway.web import target
from headway.web.headers import HEAD_BYTES
from headway.web.origin import HEAD_BYTES as NGINX_HEAD
from headway.web.origin import nginx, write_files


@pytest.mark.parametrize("pieces", [1, 100])
def test_a_head_that_is_too_long_is_refused(pieces: int) -> None:
    long = request("/", *(["X: " + "y" * (HEAD_BYTES // pieces)] * pieces))
    with proxied(fixed(whole(b"never"))) as (behind, address):
        assert exchange(address, long).startswith(b"HTTP/1.1 431")
        with client(address) as connection:  # the proxy does not buffer an endless head
            connection.sendall(long[:-4])
            with suppress(ConnectionResetError, BrokenPipeError):
                for _ in range(5000):
                    connection.sendall(b"y" * 1000)
                    time.sleep(0.001)
                pytest.fail("5 MB of a head were taken")
        assert behind.heads == []


def test_the_clients_socket_gets_the_deadline(monkeypatch: pytest.MonkeyPatch) -> None:
    told: list[tuple[Any, dict[str, int]]] = []

    def hint(connection: socket.socket, **values: int) -> bool:
        told.append((connection.getsockname(), values))
        return True

    monkeypatch.setattr(target.sockets, "hint", hint)
    with proxied(fixed(whole(b"x" * 100_000))) as (_, address):
        exchange(address, request("/", "Response-Deadline: 3000"))
        ((where, said),) = told
        assert where == address
    assert 0 < said["deadline_ms"] <= 3000
    assert 100_000 < said["data_volume_bytes"] < 101_000


NONSENSE = ["-5", "0", "soon", "", "1e3", "nan", "3600001", "9" * 5000, "300, 400", "+7"]


@pytest.mark.skipif(
    shutil.which("nginx", path="/usr/sbin:/usr/bin") is None, reason="nginx is not installed"
)
def test_nonsense_as_a_deadline_changes_no_response_of_nginx(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    told: list[int] = []

    def hint(_connection: socket.socket, *, deadline_ms: int, **_values: int) -> bool:
        told.append(deadline_ms)
        return True

    monkeypatch.setattr(target.sockets, "hint", hint)
    with socket.create_server(("127.0.0.1", 0)) as free:
        at = free.getsockname()
    write_files([100_000 + NGINX_HEAD], tmp_path / "files")
    with nginx(f"127.0.0.1:{at[1]}", tmp_path), proxy_before(at) as address:
        right = exchange(address, request("/0"))
        assert right.startswith(b"HTTP/1.1 200 OK\r\n")
        assert right.endswith(b"\r\n\r\n" + bytes(100_000))
        missing = exchange(address, request("/none"))
        assert missing.startswith(b"HTTP/1.1 404")
        told.clear()
        for value in NONSENSE:
            for path, expected in (("/0", right), ("/none", missing)):
                caplog.clear()
                answer = exchange(address, request(path, f"Response-Deadline: {value}"))
                assert without_date(answer) == without_date(expected)
                (line,) = lines_of(caplog)
                assert line.startswith("Response-Deadline: ")
                assert "ignored" in line
                assert len(line) < 200
        assert told == [0] * 2 * len(NONSENSE)
        caplog.clear()
        exchange(address, request("/0", "Response-Deadline: 3000"))
        assert 0 < told[-1] <= 3000
        assert lines_of(caplog) == []


def without_date(answer: bytes) -> bytes:
    return re.sub(rb"\r\ndate: [^\r]*", b"", answer)
