"""Tests the reverse proxy when one side leaves, is slow, is silent, or exceeds a limit.

The proxy's own time limits are tenths of seconds here. A client waits for up to 300 s for them.
"""

from __future__ import annotations

import asyncio
import socket
import threading
import time
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager, suppress

import httpcore
import pytest
from proxied import (
    MB,
    fixed,
    lines_of,
    pours,
    proxied,
    proxy_before,
    read_head,
    request,
    whole,
)
from served import ANSWER_S, client, exchange, server, until_closed

from headway.web.protocol import HeadTimeoutProtocol, LingeringTransport
from headway.web.proxy import Timeouts
from headway.web.serve import Settings, configuration
from headway.web.upstream import Upstream


def test_without_an_upstream_there_is_a_502_and_one_line(caplog: pytest.LogCaptureFixture) -> None:
    with socket.create_server(("127.0.0.1", 0)) as nobody:
        free = nobody.getsockname()
    with proxy_before(free) as address:
        answer = exchange(address, request("/x"))
    assert answer.startswith(b"HTTP/1.1 502 Bad Gateway")
    assert lines_of(caplog) == [f"GET /x: upstream http://127.0.0.1:{free[1]}: no connection: 502"]


def test_a_silent_upstream_times_out(
    caplog: pytest.LogCaptureFixture,
) -> None:
    timeouts = Timeouts(upstream_s=0.2)
    silent = fixed(b"")
    with proxied(silent, timeouts=timeouts) as (behind, address):
        assert exchange(address, request()).startswith(b"HTTP/1.1 504")
        assert len(behind.heads) == 1
    assert [line.split(": ")[-2:] for line in lines_of(caplog)] == [["no answer in time", "504"]]


def test_an_upstream_that_speaks_no_http_is_a_502(caplog: pytest.LogCaptureFixture) -> None:
    with proxied(fixed(b"SSH-2.0-none\r\n\r\n")) as (_, address):
        assert exchange(address, request()).startswith(b"HTTP/1.1 502")
    assert len(lines_of(caplog)) == 1


@pytest.mark.parametrize("begin", [whole(b"x" * 100)[:-50], b"HTTP/1.1 200 OK\r\n"
    b"Transfer-Encoding: chunked\r\n\r\n5\r\nabcde\r\n"])  # fmt: skip
def test_a_body_that_is_cut_does_not_look_whole(
    begin: bytes, caplog: pytest.LogCaptureFixture
) -> None:
    def cuts(connection: socket.socket, _head: bytes) -> None:
        connection.sendall(begin)
        connection.close()

    with proxied(cuts) as (_, address), client(address) as connection:
        connection.sendall(b"GET / HTTP/1.1\r\nHost: here\r\n\r\n")
        head = read_head(connection)
        got = b""
        with suppress(ConnectionResetError):
            got = until_closed(connection)
    assert head.startswith(b"HTTP/1.1 200")
    assert not got.endswith(b"0\r\n\r\n")
    assert len(got) < 100
    assert [line.split(": ")[-1] for line in lines_of(caplog)] == ["cut"]


def test_a_client_that_leaves_ends_the_upstreams_work(caplog: pytest.LogCaptureFixture) -> None:
    ended = threading.Event()
    with proxied(lambda connection, _head: pours(connection, "200 OK", ended)) as (_, address):
        with client(address) as connection:
            connection.sendall(request())
            read_head(connection)
        assert ended.wait(ANSWER_S)
    assert lines_of(caplog) == []


def test_a_slow_client_holds_the_upstream_back() -> None:
    sent = 0

    def pours(connection: socket.socket, _head: bytes) -> None:
        nonlocal sent
        connection.setsockopt(socket.SOL_SOCKET, socket.SO_SNDBUF, 1 << 16)
        connection.sendall(b"HTTP/1.1 200 OK\r\nContent-Length: %d\r\n\r\n" % (200 * MB))
        piece = bytes(1 << 16)
        for _ in range(0, 200 * MB, len(piece)):
            connection.sendall(piece)
            sent += len(piece)

    with proxied(pours) as (_, address), socket.socket() as connection:
        connection.settimeout(ANSWER_S)
        connection.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, 1 << 16)
        connection.connect(address)
        connection.sendall(request())
        read_head(connection)
        before = -1
        until = time.monotonic() + ANSWER_S
        while sent != before:  # wait until the server cannot send more data
            assert time.monotonic() < until
            before = sent
            time.sleep(0.3)
        # nearly all of this data is in socket buffers; the proxy itself buffers only a few pieces
        assert 0 < sent < 40 * MB
        read = len(connection.recv(1 << 20, socket.MSG_WAITALL))
        while sent == before:
            read += len(connection.recv(1 << 20))
            assert read < 200 * MB


def test_a_client_that_reads_nothing_is_closed(caplog: pytest.LogCaptureFixture) -> None:
    big = whole(bytes(50 * MB))
    timeouts = Timeouts(client_s=0.3)
    with proxied(fixed(big), timeouts=timeouts) as (_, address), client(address) as connection:
        connection.sendall(request())
        until = time.monotonic() + ANSWER_S
        while (connection.getsockopt(socket.IPPROTO_TCP, socket.TCP_INFO, 1))[0] == 1:
            assert time.monotonic() < until, "still established"
            time.sleep(0.05)
        with pytest.raises(ConnectionResetError):
            until_closed(connection)
    assert lines_of(caplog) == []  # the proxy logs no error that the client caused


def narrow(monkeypatch: pytest.MonkeyPatch) -> None:
    """Make the server's send buffers small, so that most of a response waits in the server."""
    made = HeadTimeoutProtocol.connection_made

    def narrowly(protocol: HeadTimeoutProtocol, transport: asyncio.Transport) -> None:
        at = transport.get_extra_info("socket")
        at.setsockopt(socket.SOL_SOCKET, socket.SO_SNDBUF, 1 << 14)
        made(protocol, transport)

    monkeypatch.setattr(HeadTimeoutProtocol, "connection_made", narrowly)


@contextmanager
def little_window(address: tuple[str, int]) -> Iterator[socket.socket]:
    with socket.socket() as connection:
        connection.settimeout(ANSWER_S)
        connection.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, 1 << 13)
        connection.connect(address)
        yield connection


@pytest.mark.slow
def test_a_client_that_reads_slowly_is_not_closed(monkeypatch: pytest.MonkeyPatch) -> None:
    narrow(monkeypatch)
    body = bytes(range(256)) * 2000
    timeouts = Timeouts(client_s=0.8)
    with (
        proxied(fixed(whole(body)), timeouts=timeouts) as (_, address),
        little_window(address) as connection,
    ):
        connection.sendall(request())
        read_head(connection)
        got = b""
        for _ in range(30):  # takes much longer in total than the timeout for one piece
            time.sleep(0.1)
            got += connection.recv(2500, socket.MSG_WAITALL)
        assert got + until_closed(connection) == body


def test_a_client_that_does_not_read_the_end_is_closed(monkeypatch: pytest.MonkeyPatch) -> None:
    narrow(monkeypatch)
    monkeypatch.setattr(LingeringTransport, "stuck_s", 0.3)
    with (
        proxied(fixed(whole(bytes(60_000)))) as (_, address),
        little_window(address) as connection,
    ):
        connection.sendall(request())
        until = time.monotonic() + ANSWER_S
        while (connection.getsockopt(socket.IPPROTO_TCP, socket.TCP_INFO, 1))[0] == 1:
            assert time.monotonic() < until, "still established"
            time.sleep(0.05)


def test_a_head_that_never_ends_is_closed(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(HeadTimeoutProtocol, "head_s", 0.3)
    with proxied(fixed(whole(b"ok"))) as (_, address):
        with client(address) as connection:
            connection.sendall(b"GET / HT")
            assert until_closed(connection) == b""
        with client(address) as connection:  # the second request is incomplete
            connection.sendall(b"GET / HTTP/1.1\r\nHost: here\r\n\r\n")
            assert read_head(connection).startswith(b"HTTP/1.1 200")
            connection.sendall(b"GET / HT")
            assert until_closed(connection) == b"ok"


def test_more_clients_than_allowed_get_503() -> None:
    with (
        proxied(fixed(whole(b"ok")), connections=2) as (_, address),
        client(address),
        client(address),
    ):
        assert exchange(address, request()).startswith(b"HTTP/1.1 503")


def test_as_many_clients_as_allowed_are_served() -> None:
    with proxied(fixed(whole(b"ok")), connections=2) as (_, address), client(address) as idle:
        assert exchange(address, request()).endswith(b"ok")
        idle.sendall(request())
        assert until_closed(idle).endswith(b"ok")


def test_connections_are_kept_however_many_are_busy() -> None:
    most, release, waiting = 80, threading.Event(), threading.Semaphore(0)

    def waits(connection: socket.socket, head: bytes) -> None:
        if b"/slow" in head:
            waiting.release()
            release.wait(ANSWER_S)
        connection.sendall(whole(b"ok"))

    with proxied(waits) as (behind, address), ExitStack() as clients:
        for _ in range(most):
            connection = clients.enter_context(client(address))
            connection.sendall(request("/slow"))
            assert waiting.acquire(timeout=ANSWER_S)
        for _ in range(3):
            assert exchange(address, request("/fast")).endswith(b"ok")
        assert behind.connections == most + 1
        release.set()


def test_what_is_under_way_when_the_server_ends_is_cut_with_one_line(
    caplog: pytest.LogCaptureFixture,
) -> None:
    ended = threading.Event()
    with (
        proxied(lambda connection, _head: pours(connection, "200 OK", ended)) as (behind, _),
        socket.socket() as connection,
    ):
        at = "{}:{}".format(*behind.address)
        config = configuration(Settings(listen="127.0.0.1:0", upstream=f"http://{at}"))
        config.timeout_graceful_shutdown = 1
        connection.settimeout(ANSWER_S)
        with server(config) as address:
            connection.connect(address)
            connection.sendall(request("/x"))
            read_head(connection)
        with pytest.raises(ConnectionResetError):
            until_closed(connection)
        assert ended.wait(ANSWER_S)
    uvicorns, ours = lines_of(caplog)
    assert uvicorns.startswith("Cancel 1 running task(s)")
    assert ours == "GET /x: this server ends: cut"


def test_a_connection_ends_although_its_task_is_cancelled_in_ending_it(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    async def is_cancelled(_response: httpcore.Response) -> None:
        raise asyncio.CancelledError

    monkeypatch.setattr(httpcore.Response, "aclose", is_cancelled)
    ended = threading.Event()

    async def asks(upstream: Upstream) -> bool:
        headers = [(b"host", b"here")]
        asked = httpcore.Request("GET", upstream.url(b"/"), headers=headers)
        with suppress(asyncio.CancelledError):
            async with upstream.answer(asked, connect_s=ANSWER_S, has_body=False):
                pass
        return await asyncio.to_thread(ended.wait, ANSWER_S)

    with proxied(lambda connection, _head: pours(connection, "200 OK", ended)) as (behind, _):
        assert asyncio.run(asks(Upstream(*behind.address)))
