"""Tests the reverse proxy with refused, cut and late uploads, and with repeated requests.

The proxy's own time limits are tenths of seconds here. A client waits for up to 300 s for them.
"""

from __future__ import annotations

import socket
import struct
import threading
import time
from collections.abc import Callable
from contextlib import suppress

import pytest
from proxied import fixed, lines_of, pours, proxied, proxy_before, read_head, request, whole
from served import ANSWER_S, client, exchange, until_closed

from headway.web.protocol import LingeringTransport


@pytest.mark.parametrize("goes_on", [True, False])
def test_an_upload_that_is_refused_early_ends_and_so_does_the_refusal_with_its_client(
    goes_on: bool, caplog: pytest.LogCaptureFixture
) -> None:
    ended = threading.Event()
    refusing = "413 Content Too Large"
    with proxied(lambda connection, _head: pours(connection, refusing, ended)) as (_, address):
        with client(address) as connection:
            upload(connection, request("/", "Content-Length: 999999999", method="POST"), 20)
            assert read_head(connection).startswith(b"HTTP/1.1 413")
            assert connection.recv(3) == b"4\r\n"
            if goes_on:
                connection.sendall(bytes(100_000))
        assert ended.wait(ANSWER_S)
    assert lines_of(caplog) == []


def upload(
    connection: socket.socket, head: bytes, pieces: int, piece: bytes = bytes(50_000)
) -> None:
    """Send a request as a client that reads no response before it has sent the whole request."""
    connection.sendall(head)
    for _ in range(pieces):
        connection.sendall(piece)
        time.sleep(0.01)


class Upload:
    """A server that reads one request until the connection closes, and never answers."""

    def __init__(self) -> None:
        self.got = b""
        self.ended = threading.Event()

    def __call__(self, connection: socket.socket, _head: bytes) -> None:
        self.got = until_closed(connection)
        self.ended.set()


def test_a_client_that_leaves_in_its_upload_leaves_no_whole_request(
    caplog: pytest.LogCaptureFixture,
) -> None:
    server = Upload()
    with proxied(server) as (_, address):
        with client(address) as connection:
            connection.sendall(request("/", "Transfer-Encoding: chunked", method="POST"))
            connection.sendall(b"5\r\nhello\r\n")
            connection.shutdown(socket.SHUT_WR)
        assert server.ended.wait(ANSWER_S)
    assert not server.got.endswith(b"0\r\n\r\n")
    assert lines_of(caplog) == []


def test_an_upload_whose_framing_breaks_leaves_no_whole_request(
    caplog: pytest.LogCaptureFixture,
) -> None:
    server = Upload()
    with proxied(server) as (_, address), client(address) as connection:
        connection.sendall(request("/", "Transfer-Encoding: chunked", method="POST"))
        connection.sendall(b"5\r\nhello\r\nno length\r\n")
        assert read_head(connection).startswith(b"HTTP/1.1 400")
        assert server.ended.wait(ANSWER_S)  # ends when the proxy closes the connection
    assert not server.got.endswith(b"0\r\n\r\n")
    assert lines_of(caplog) == ["Invalid HTTP request received."]


def test_an_upload_whose_framing_breaks_after_its_answer_began_is_cut(
    caplog: pytest.LogCaptureFixture,
) -> None:
    ended = threading.Event()
    with (
        proxied(lambda connection, _head: pours(connection, "403 Forbidden", ended)) as (_, at),
        client(at) as connection,
    ):
        head = request("/", "Transfer-Encoding: chunked", method="POST")
        upload(connection, head, 20, b"5\r\nhello\r\n")
        assert read_head(connection).startswith(b"HTTP/1.1 403")
        connection.sendall(b"no length\r\n")
        with pytest.raises(ConnectionResetError):
            until_closed(connection)
        assert ended.wait(ANSWER_S)
    assert lines_of(caplog) == ["Invalid HTTP request received."]


LONG = request("/", "Content-Length: 3000000", method="POST")


def test_an_upload_gets_a_response_without_an_upstream() -> None:
    with socket.create_server(("127.0.0.1", 0)) as nobody:
        free = nobody.getsockname()
    with proxy_before(free) as address, client(address) as connection:
        upload(connection, LONG, 60)
        assert until_closed(connection).endswith(
            b"\r\n\r\nthe server behind this one does not answer\n"
        )


@pytest.mark.parametrize(
    ("head", "status"),
    [
        (LONG.replace(b"POST", b"TRACE"), b"405"),
        (LONG.replace(b"Content-Length", b"Content-Length: 1\r\nContent-Length"), b"400"),
        (LONG.replace(b"Content-Length", b"Transfer-Encoding: chunked\r\nContent-Length"), b"400"),
        (LONG, b"413"),
    ],
    ids=["not served", "two lengths", "two framings", "by the upstream"],
)
def test_an_upload_gets_its_refusal(head: bytes, status: bytes) -> None:
    refuses = fixed(whole(b"no", status="413 Content Too Large"))
    with proxied(refuses) as (_, address), client(address) as connection:
        upload(connection, head, 60)
        answer = until_closed(connection)
    assert answer.startswith(b"HTTP/1.1 " + status)
    assert answer.count(b"HTTP/1.1") == 1


def test_an_upload_gets_a_503_with_too_many_clients() -> None:
    with (
        proxied(fixed(whole(b"ok")), connections=1) as (_, address),
        client(address),
        client(address) as connection,
    ):
        upload(connection, LONG, 60)
        assert until_closed(connection).startswith(b"HTTP/1.1 503")


def test_an_upload_that_goes_on_after_its_refusal_is_cut() -> None:
    with (
        proxied(fixed(whole(b"never"))) as (_, address),
        client(address) as connection,
        pytest.raises((ConnectionResetError, BrokenPipeError)),
    ):
        upload(connection, LONG.replace(b"POST", b"TRACE"), 1000)


@pytest.mark.parametrize(("limit", "pause_s"), [("idle_s", 0.5), ("linger_s", 0.05)])
def test_a_client_that_stays_after_its_refusal_is_not_waited_for(
    limit: str, pause_s: float, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(LingeringTransport, limit, 0.3)
    with proxied(fixed(whole(b"never"))) as (_, address), client(address) as connection:
        connection.sendall(LONG.replace(b"POST", b"TRACE"))
        assert until_closed(connection).startswith(b"HTTP/1.1 405")
        with suppress(ConnectionResetError, BrokenPipeError):
            for _ in range(100):
                time.sleep(pause_s)
                connection.sendall(b"x")
            pytest.fail("it was waited for")


def closes_on_the_second(
    last: bytes = b"", *, by_reset: bool = False
) -> Callable[[socket.socket, bytes], None]:
    """A server that ends a connection at its second request, after sending ``last``."""
    used: set[socket.socket] = set()

    def answer(connection: socket.socket, head: bytes) -> None:
        if connection not in used:
            used.add(connection)
            connection.sendall(whole(b"ok"))
            return
        if b"Content-Length" in head:
            connection.recv(4, socket.MSG_WAITALL)
        connection.sendall(last)
        if by_reset:
            connection.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, struct.pack("ii", 1, 0))
        connection.close()

    return answer


@pytest.mark.parametrize("by_reset", [False, True])
@pytest.mark.parametrize("method", ["GET", "HEAD", "OPTIONS", "DELETE"])
def test_what_meets_the_end_of_an_idle_connection_is_asked_again(
    method: str, by_reset: bool, caplog: pytest.LogCaptureFixture
) -> None:
    with proxied(closes_on_the_second(by_reset=by_reset)) as (behind, address):
        for _ in range(2):
            assert exchange(address, request(method=method)).startswith(b"HTTP/1.1 200")
        assert (len(behind.heads), behind.connections) == (3, 2)
    assert lines_of(caplog) == []


@pytest.mark.parametrize(
    ("second", "last"),
    [
        (request(method="POST"), b""),
        (request("/", "Content-Length: 4", method="PUT", body=b"four"), b""),
        (request(), b"HTTP/1.1 2"),
        (request(), b"HTTP/1.1 103 Early Hints\r\n\r\n"),
    ],
    ids=["POST", "a body", "some of a head", "a hint"],
)
def test_what_may_have_had_an_effect_is_not_asked_again(
    second: bytes, last: bytes, caplog: pytest.LogCaptureFixture
) -> None:
    with proxied(closes_on_the_second(last)) as (behind, address):
        exchange(address, request())
        assert exchange(address, second).startswith(b"HTTP/1.1 502")
        assert len(behind.heads) == 2
    assert len(lines_of(caplog)) == 1


def test_a_new_connection_that_ends_is_not_tried_again() -> None:
    with proxied(lambda connection, _head: connection.close()) as (behind, address):
        assert exchange(address, request()).startswith(b"HTTP/1.1 502")
        assert len(behind.heads) == 1
