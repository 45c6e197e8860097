"""The reverse proxy: what passes is the same on both sides, and what is wrong ends in one line."""

from __future__ import annotations

import logging
import socket
import threading
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from dataclasses import dataclass, field
from typing import Any

import pytest
from served import ANSWER_S, client, exchange, server, until_closed

from headway.errors import HeadwayError
from headway.web import serve, target
from headway.web.headers import HEAD_BYTES, ForwardedFor, end_to_end, for_client
from headway.web.proxy import Patience
from headway.web.serve import Settings, configuration, listening

Answers = Callable[[socket.socket, bytes], None]
MB = 1_000_000


@dataclass
class Upstream:
    """A server of a few lines, which sends what it is told to and remembers what it got."""

    answer: Answers
    address: tuple[str, int] = ("", 0)
    heads: list[bytes] = field(default_factory=list)
    connections: int = 0

    def serve(self, listening: socket.socket) -> None:
        while True:
            with suppress(OSError):
                connection, _ = listening.accept()
                threading.Thread(target=self._talk, args=(connection,), daemon=True).start()
                self.connections += 1
                continue
            return

    def _talk(self, connection: socket.socket) -> None:
        with connection, suppress(OSError):
            while head := read_head(connection):
                self.heads.append(head)
                self.answer(connection, head)


def read_head(connection: socket.socket) -> bytes:
    head = b""
    while not head.endswith(b"\r\n\r\n"):
        byte = connection.recv(1)
        if not byte:
            return b""
        head += byte
    return head


def fixed(response: bytes) -> Answers:
    return lambda connection, _head: connection.sendall(response)


def whole(body: bytes, *headers: str, status: str = "200 OK") -> bytes:
    lines = [f"HTTP/1.1 {status}", f"Content-Length: {len(body)}", *headers]
    return "\r\n".join(lines).encode() + b"\r\n\r\n" + body


@contextmanager
def proxied(answer: Answers, **settings: Any) -> Iterator[tuple[Upstream, tuple[str, int]]]:
    """An upstream, and the proxy before it."""
    behind = Upstream(answer)
    with socket.create_server(("127.0.0.1", 0)) as at:
        behind.address = at.getsockname()
        threading.Thread(target=behind.serve, args=(at,), daemon=True).start()
        with proxy_before(behind.address, **settings) as address:
            yield behind, address
        at.shutdown(socket.SHUT_RDWR)


@contextmanager
def proxy_before(upstream: tuple[str, int], **settings: Any) -> Iterator[tuple[str, int]]:
    asked = Settings(
        listen="127.0.0.1:0", upstream=f"http://{upstream[0]}:{upstream[1]}", **settings
    )
    with server(configuration(asked)) as address:
        yield address


def request(path: str = "/", *headers: str, method: str = "GET", body: bytes = b"") -> bytes:
    lines = [f"{method} {path} HTTP/1.1", "Host: site.example", "Connection: close", *headers]
    return "\r\n".join(lines).encode() + b"\r\n\r\n" + body


def lines_of(caplog: pytest.LogCaptureFixture) -> list[str]:
    said = [r for r in caplog.records if r.levelno >= logging.WARNING]
    return [record.getMessage() for record in said]


def headers_of(head: bytes) -> list[tuple[bytes, bytes]]:
    lines = head.split(b"\r\n\r\n")[0].split(b"\r\n")[1:]
    return [(k.lower(), v) for k, _, v in (line.partition(b": ") for line in lines)]


def test_a_response_passes_as_it_is() -> None:
    body = bytes(range(256)) * 4000
    answer = whole(body, "Set-Cookie: a=1", "Set-Cookie: b=2", "Server: them", 'ETag: W/"x"')
    with proxied(fixed(answer)) as (behind, address):
        head, _, got = exchange(address, request("/a%2Fb/../c?q=%20&r=%C3%A4")).partition(
            b"\r\n\r\n"
        )
    assert got == body
    assert head.startswith(b"HTTP/1.1 200 OK")
    there = headers_of(head)
    assert [v for k, v in there if k == b"set-cookie"] == [b"a=1", b"b=2"]
    assert (b"server", b"them") in there
    assert (b"content-length", b"%d" % len(body)) in there
    assert (b"via", b"1.1 headway") in there
    # the target is what the client wrote, and so is the host
    (asked,) = behind.heads
    assert asked.startswith(b"GET /a%2Fb/../c?q=%20&r=%C3%A4 HTTP/1.1\r\n")
    assert (b"host", b"site.example") in headers_of(asked)


def test_one_connection_carries_many_requests_on_both_sides() -> None:
    with proxied(fixed(whole(b"four"))) as (behind, address), client(address) as connection:
        for number in range(5):
            connection.sendall(f"GET /{number} HTTP/1.1\r\nHost: here\r\n\r\n".encode())
            assert b"\r\n\r\n" in read_head(connection)
            assert connection.recv(4, socket.MSG_WAITALL) == b"four"
        assert behind.connections == 1
        assert [head.split()[1] for head in behind.heads] == [b"/%d" % n for n in range(5)]


def test_pipelined_requests_are_answered_in_their_order() -> None:
    def says_its_path(connection: socket.socket, head: bytes) -> None:
        connection.sendall(whole(head.split()[1]))

    three = b"".join(b"GET /%d HTTP/1.1\r\nHost: here\r\n\r\n" % n for n in range(2))
    with proxied(says_its_path) as (_, address):
        answers = exchange(address, three + request("/2"))
    assert [one.split(b"\r\n\r\n")[1][:2] for one in answers.split(b"HTTP/1.1 200")[1:]] == [
        b"/0", b"/1", b"/2",
    ]  # fmt: skip


def test_a_head_request_has_the_length_and_no_body() -> None:
    answer = b"HTTP/1.1 200 OK\r\nContent-Length: 5000\r\n\r\n"
    with proxied(fixed(answer)) as (behind, address):
        head, _, body = exchange(address, request(method="HEAD")).partition(b"\r\n\r\n")
    assert behind.heads[0].startswith(b"HEAD / ")
    assert (b"content-length", b"5000") in headers_of(head)
    assert body == b""


@pytest.mark.parametrize("status", ["304 Not Modified", "204 No Content"])
def test_a_status_without_a_body_has_none(status: str) -> None:
    answer = f'HTTP/1.1 {status}\r\nETag: "x"\r\n\r\n'.encode()
    with proxied(fixed(answer)) as (_, address):
        head, _, body = exchange(address, request("/", 'If-None-Match: "x"')).partition(b"\r\n\r\n")
    assert head.startswith(f"HTTP/1.1 {status}".encode())
    assert (b"etag", b'"x"') in headers_of(head)
    assert body == b""


def test_a_range_passes_with_its_status_and_length() -> None:
    partial = whole(b"cde", "Content-Range: bytes 2-4/10", status="206 Partial Content")
    with proxied(fixed(partial)) as (behind, address):
        head, _, body = exchange(address, request("/", "Range: bytes=2-4")).partition(b"\r\n\r\n")
    assert head.startswith(b"HTTP/1.1 206")
    assert (b"content-range", b"bytes 2-4/10") in headers_of(head)
    assert (b"range", b"bytes=2-4") in headers_of(behind.heads[0])
    assert body == b"cde"


def test_an_early_hint_is_not_taken_for_the_response() -> None:
    answer = b"HTTP/1.1 103 Early Hints\r\nLink: </a.css>\r\n\r\n" + whole(b"page")
    with proxied(fixed(answer)) as (_, address):
        got = exchange(address, request())
    assert got.startswith(b"HTTP/1.1 200")
    assert got.endswith(b"\r\n\r\npage")


@pytest.mark.parametrize(
    "answer",
    [
        b"HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n3\r\nabc\r\n2\r\nde\r\n0\r\n\r\n",
        # of two lengths the chunks' counts, and the other is not passed on
        b"HTTP/1.1 200 OK\r\nContent-Length: 3\r\nTransfer-Encoding: chunked\r\n\r\n"
        b"5\r\nabcde\r\n0\r\n\r\n",
    ],
)
def test_chunks_arrive_whole_in_either_version(answer: bytes) -> None:
    with proxied(fixed(answer)) as (_, address):
        head, _, body = exchange(address, request()).partition(b"\r\n\r\n")
        assert (b"transfer-encoding", b"chunked") in headers_of(head)
        assert b"content-length" not in dict(headers_of(head))
        assert b"".join(body.split(b"\r\n")[1:-3:2]) == b"abcde"
        old = exchange(address, b"GET / HTTP/1.0\r\n\r\n")
    assert old.endswith(b"\r\n\r\nabcde")
    assert b"chunked" not in old


def test_a_body_that_ends_with_the_connection_arrives_whole() -> None:
    def until_closed_(connection: socket.socket, _head: bytes) -> None:
        connection.sendall(b"HTTP/1.0 200 OK\r\n\r\nall of it")
        connection.close()

    with proxied(until_closed_) as (_, address):
        old = exchange(address, b"GET / HTTP/1.0\r\n\r\n")
    assert old.endswith(b"\r\n\r\nall of it")


@pytest.mark.parametrize("length", ["Content-Length: 11", "Transfer-Encoding: chunked"])
def test_an_upload_passes_and_expect_is_answered(length: str) -> None:
    got: list[bytes] = []

    def takes(connection: socket.socket, head: bytes) -> None:
        end = b"0\r\n\r\n" if b"chunked" in head else b"hello world"
        body = b""
        while not body.endswith(end):
            body += connection.recv(1000)
        got.append(body)
        connection.sendall(whole(b"thanks", status="201 Created"))

    with proxied(takes) as (behind, address), client(address) as connection:
        connection.sendall(request("/", length, "Expect: 100-continue", method="PUT"))
        assert read_head(connection).startswith(b"HTTP/1.1 100")
        sent = b"hello world" if "Length" in length else b"5\r\nhello\r\n6\r\n world\r\n0\r\n\r\n"
        connection.sendall(sent)
        assert until_closed(connection).startswith(b"HTTP/1.1 201")
    assert b"expect" not in dict(headers_of(behind.heads[0]))
    assert b"hello" in got[0]
    assert b" world" in got[0]


SMUGGLED = b"0\r\n\r\nGET /admin HTTP/1.1\r\nHost: here\r\n\r\n"


@pytest.mark.parametrize(
    "bad",
    [
        request(
            "/", "Content-Length: 4", "Transfer-Encoding: chunked", method="POST", body=SMUGGLED
        ),
        request("/", "Content-Length: 4", "Content-Length: 50", method="POST", body=SMUGGLED),
        request("/", "Content-Length: 4, 50", method="POST", body=SMUGGLED),
        request("/", "Content-Length: +4", method="POST", body=SMUGGLED),
        request("/", "Transfer-Encoding: chunked, identity", method="POST", body=SMUGGLED),
        request("/", "Transfer-Encoding: xchunked", method="POST", body=SMUGGLED),
        request("/", "Transfer-Encoding : chunked", method="POST", body=SMUGGLED),
        b"POST / HTTP/1.0\r\nTransfer-Encoding: chunked\r\n\r\n" + SMUGGLED,
        request("/", "Host: other.example"),
        b"GET / HTTP/1.1\r\n\r\n",
        request("http://other.example/"),
        request("other.example:443", method="CONNECT"),
        request("*"),
        request("/a b"),
        b"\x16\x03\x01\x02\x00\x01\x00\x01\xfc\x03\x03 a hello of TLS\r\n\r\n",
    ],
)
def test_what_could_be_read_in_two_ways_is_refused(bad: bytes) -> None:
    with proxied(fixed(whole(b"never"))) as (behind, address):
        answer = exchange(address, bad)
        assert answer[:10] in (b"HTTP/1.1 4", b"HTTP/1.1 5")
        assert answer.count(b"HTTP/1.1") == 1  # and nothing of what follows is read as a request
        assert behind.heads == []


def test_a_bare_end_of_line_is_one_on_both_sides() -> None:
    bare = request("/", "X: y\nTransfer-Encoding: chunked", method="POST", body=SMUGGLED)
    with proxied(fixed(whole(b"once"))) as (behind, address):
        assert exchange(address, bare).endswith(b"once")
    asked, *end_of_body = behind.heads
    assert end_of_body == [b"0\r\n\r\n"]
    assert asked.count(b"\n") == asked.count(b"\r\n")
    assert (b"transfer-encoding", b"chunked") in headers_of(asked)


@pytest.mark.parametrize("pieces", [1, 100])
def test_a_head_that_is_too_long_is_refused(pieces: int) -> None:
    long = request("/", *(["X: " + "y" * (HEAD_BYTES // pieces)] * pieces))
    with proxied(fixed(whole(b"never"))) as (behind, address):
        assert exchange(address, long).startswith(b"HTTP/1.1 431")
        with client(address) as connection:  # and one that comes slowly is not collected
            connection.sendall(long[:-4])
            with suppress(ConnectionResetError, BrokenPipeError):
                for _ in range(5000):
                    connection.sendall(b"y" * 1000)
                    time.sleep(0.001)
                pytest.fail("5 MB of a head were taken")
        assert behind.heads == []


def test_headers_of_one_hop_stay_there() -> None:
    hop = ["Connection: close, X-Secret", "X-Secret: 1", "Keep-Alive: timeout=9", "TE: trailers"]
    hop += ["Proxy-Authorization: Basic YQ==", "Proxy-Connection: keep-alive", "Upgrade: h2c"]
    answer = whole(b"", "Connection: X-Inner", "X-Inner: 2", "Keep-Alive: max=5", "X-Kept: 3")
    with proxied(fixed(answer)) as (behind, address):
        head = exchange(address, request("/", *hop, "X-Other: 4"))
    asked, answered = dict(headers_of(behind.heads[0])), dict(headers_of(head))
    assert asked[b"x-other"] == b"4"
    assert answered[b"x-kept"] == b"3"
    for name in ("x-secret", "keep-alive", "te", "proxy-authorization", "proxy-connection"):
        assert name.encode() not in asked
    assert b"upgrade" not in asked
    assert {b"x-inner", b"keep-alive"}.isdisjoint(answered)


def test_connection_cannot_take_away_a_length_or_a_host() -> None:
    kept = [(b"Content-Length", b"3"), (b"Host", b"a")]
    taken = [(b"Connection", b"content-length, HOST, x"), (b"X", b"y")]
    assert end_to_end([*taken, *kept]) == [(k.lower(), v) for k, v in kept]
    assert for_client([(b"A", b"1"), (b"Connection", b"a")], "") == []


@pytest.mark.parametrize(
    ("how", "expected"),
    [
        (ForwardedFor.SET, b"127.0.0.1"),
        (ForwardedFor.APPEND, b"192.0.2.7, 127.0.0.1"),
        (ForwardedFor.OFF, None),
    ],
)
def test_who_asks_is_said_as_told(how: ForwardedFor, expected: bytes | None) -> None:
    with proxied(fixed(whole(b"")), forwarded_for=how, via="") as (behind, address):
        answer = exchange(
            address, request("/", "X-Forwarded-For: 192.0.2.7", "Forwarded: for=192.0.2.7")
        )
    asked = dict(headers_of(behind.heads[0]))
    assert asked.get(b"x-forwarded-for") == expected
    assert b"forwarded" not in asked
    assert b"via" not in asked
    assert b"\r\nvia" not in answer


def test_without_an_upstream_there_is_a_502_and_one_line(caplog: pytest.LogCaptureFixture) -> None:
    with socket.create_server(("127.0.0.1", 0)) as nobody:
        free = nobody.getsockname()
    with proxy_before(free) as address:
        answer = exchange(address, request("/x"))
    assert answer.startswith(b"HTTP/1.1 502 Bad Gateway")
    assert lines_of(caplog) == [f"GET /x: upstream http://127.0.0.1:{free[1]}: no connection: 502"]


def test_an_upstream_that_says_nothing_is_given_up_in_time(
    caplog: pytest.LogCaptureFixture,
) -> None:
    patience = Patience(upstream_s=0.2)
    silent = fixed(b"")
    with proxied(silent, patience=patience) as (behind, address):
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


def test_a_client_that_leaves_ends_the_upstreams_work() -> None:
    ended = threading.Event()

    def endless(connection: socket.socket, _head: bytes) -> None:
        connection.sendall(b"HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n")
        try:
            while True:
                connection.sendall(b"4\r\nmore\r\n")
                time.sleep(0.001)
        except OSError:
            ended.set()

    with proxied(endless) as (_, address):
        with client(address) as connection:
            connection.sendall(request())
            read_head(connection)
        assert ended.wait(ANSWER_S)


def test_a_client_that_leaves_in_its_upload_leaves_no_whole_request() -> None:
    got: list[bytes] = []
    ended = threading.Event()

    def takes(connection: socket.socket, _head: bytes) -> None:
        got.append(until_closed(connection))
        ended.set()

    with proxied(takes) as (_, address):
        with client(address) as connection:
            connection.sendall(request("/", "Transfer-Encoding: chunked", method="POST"))
            connection.sendall(b"5\r\nhello\r\n")
            connection.shutdown(socket.SHUT_WR)
        assert ended.wait(ANSWER_S)
    assert not got[0].endswith(b"0\r\n\r\n")


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
        while sent != before:  # until nothing moves any more
            assert time.monotonic() < until
            before = sent
            time.sleep(0.3)
        # what sockets take, and no more: the proxy itself holds a few pieces
        assert 0 < sent < 40 * MB
        read = len(connection.recv(1 << 20, socket.MSG_WAITALL))
        while sent == before:
            read += len(connection.recv(1 << 20))
            assert read < 200 * MB


def test_a_client_that_takes_nothing_is_given_up(caplog: pytest.LogCaptureFixture) -> None:
    big = whole(bytes(50 * MB))
    patience = Patience(client_s=0.3)
    with proxied(fixed(big), patience=patience) as (_, address), client(address) as connection:
        connection.sendall(request())
        until = time.monotonic() + ANSWER_S
        while (connection.getsockopt(socket.IPPROTO_TCP, socket.TCP_INFO, 1))[0] == 1:
            assert time.monotonic() < until, "still established"
            time.sleep(0.05)
        with pytest.raises(ConnectionResetError):
            until_closed(connection)
    assert lines_of(caplog) == []  # it is the client's affair


def test_a_head_that_never_ends_is_given_up(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(serve.PatientProtocol, "head_s", 0.3)
    with proxied(fixed(whole(b"ok"))) as (_, address):
        with client(address) as connection:
            connection.sendall(b"GET / HT")
            assert until_closed(connection) == b""
        with client(address) as connection:  # nor is the second one's
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


def test_the_clients_socket_hears_the_deadline(monkeypatch: pytest.MonkeyPatch) -> None:
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


@pytest.mark.parametrize(
    ("settings", "says"),
    [
        ({"upstream": "https://127.0.0.1:1"}, "upstream = https://127.0.0.1:1: must be http://"),
        ({"upstream": "127.0.0.1:80"}, "must be http://HOST:PORT"),
        ({"upstream": "http://a:b"}, "must be http://HOST:PORT"),
        ({"upstream": "http://a/b"}, "must be http://HOST:PORT"),
        ({"via": "a\r\nb"}, "via = a b: must be"),
    ],
)
def test_what_cannot_be_is_one_line(settings: dict[str, str], says: str) -> None:
    with pytest.raises(HeadwayError, match=f"^.*{says}"):
        configuration(Settings(**{"listen": "127.0.0.1:0", "upstream": "http://a", **settings}))


def test_where_it_cannot_listen_is_one_line() -> None:
    for where in ("here", "127.0.0.1:70000", ":80", "192.0.2.1:80"):
        with pytest.raises(HeadwayError, match=f"^listen = {where}: "):
            listening(where)
    with pytest.raises(HeadwayError, match=r"^control = none_such: .*headwayctl attach"):
        listening("127.0.0.1:0", "none_such")
