"""The reverse proxy over loopback; a client waits long and no test asserts a duration."""

from __future__ import annotations

import asyncio
import os
import socket
import subprocess
import sys
from contextlib import suppress
from pathlib import Path
from types import SimpleNamespace
from typing import Any, cast

import pytest
from proxied import (
    fixed,
    headers_of,
    lines_of,
    proxied,
    proxy_before,
    read_head,
    request,
    whole,
)
from served import client, exchange, until_closed

from headway.errors import HeadwayError
from headway.web import proxy
from headway.web.headers import ForwardedFor, end_to_end, for_client
from headway.web.protocol import LingeringTransport
from headway.web.serve import Settings, configuration, listening


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
    # the proxy passes the request target and Host on exactly as the client wrote them
    (asked,) = behind.heads
    assert asked.startswith(b"GET /a%2Fb/../c?q=%20&r=%C3%A4 HTTP/1.1\r\n")
    assert (b"host", b"site.example") in headers_of(asked)


class _Wire:
    """A transport that records the data written to it."""

    def __init__(self) -> None:
        self.written: list[bytes] = []
        self.closed = False

    def write(self, data: bytes) -> None:
        self.written.append(data)

    def get_write_buffer_size(self) -> int:
        return 0

    def is_closing(self) -> bool:
        return self.closed

    def close(self) -> None:
        self.closed = True


def test_a_head_leaves_together_with_what_follows_it_in_the_same_turn() -> None:
    async def turns() -> list[list[bytes]]:
        wire = _Wire()
        loop = asyncio.get_running_loop()
        protocol = SimpleNamespace(loop=loop)
        ours = LingeringTransport(cast(Any, protocol), cast(Any, wire))
        seen = []
        ours.write(b"head")
        assert ours.get_write_buffer_size() == 4
        ours.write(b"body")
        ours.write(b"")
        seen.append(list(wire.written))
        ours.write(b"alone")  # this short write is delayed until the event loop runs again
        seen.append(list(wire.written))
        over = loop.create_future()
        loop.call_soon(over.set_result, None)
        await over
        seen.append(list(wire.written))
        ours.write(b"x" * 65_536)
        ours.write(b"last")
        ours.end()
        seen.append([piece[:4] for piece in wire.written[2:] if piece])
        assert wire.closed
        return seen

    joined, held, later, closed = asyncio.run(turns())
    assert b"".join(joined) == b"headbody"
    assert joined[0] == b"headbody"
    assert held == joined
    assert later == [*joined, b"alone"]
    assert closed[-2:] == [b"xxxx", b"last"]


def test_the_first_request_loads_nothing_of_the_proxys() -> None:
    code = (
        "import sys\n"
        "from proxied import fixed, proxied, request, whole\n"
        "from served import exchange\n"
        "with proxied(fixed(whole(b'x'))) as (_, address):\n"
        "    before = set(sys.modules)\n"
        "    exchange(address, request())\n"
        "    print(sorted(m for m in set(sys.modules) - before if m.startswith('anyio')))\n"
    )
    run = subprocess.run(
        [sys.executable, "-c", code],
        cwd=Path(__file__).parent,
        env={**os.environ, "PYTHONPATH": str(Path(__file__).parent)},
        capture_output=True,
        text=True,
        check=True,
    )
    assert run.stdout == "[]\n"


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


@pytest.mark.parametrize("path", ["/x?", "/?", "/x??", "/x?#", "/x%3F"])
def test_a_target_is_passed_on_unchanged(path: str) -> None:
    with proxied(fixed(whole(b""))) as (behind, address), client(address) as connection:
        for _ in range(2):
            connection.sendall(f"GET {path} HTTP/1.1\r\nHost: here\r\n\r\n".encode())
            read_head(connection)
    assert [head.split()[1].decode() for head in behind.heads] == [path, path]


@pytest.mark.parametrize("method", ["trace", "head", "get", "Get", "connect"])
def test_a_method_in_small_letters_is_not_taken_for_one_in_capitals(
    method: str, caplog: pytest.LogCaptureFixture
) -> None:
    with proxied(fixed(whole(b"never"))) as (behind, address):
        answer = exchange(address, request("/", method=method))
        assert answer.startswith(b"HTTP/1.1 501")
        assert answer.endswith(f"{method} is not served here\n".encode())
        assert behind.heads == []
    assert lines_of(caplog) == []


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
        # if a response has both Content-Length and chunks, the chunks determine its length, and the
        # proxy does not pass Content-Length on
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


@pytest.mark.slow
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
        # data after the request is not read as another request
        assert answer.count(b"HTTP/1.1") == 1
        assert behind.heads == []


def test_a_bare_end_of_line_is_one_on_both_sides() -> None:
    bare = request("/", "X: y\nTransfer-Encoding: chunked", method="POST", body=SMUGGLED)
    with proxied(fixed(whole(b"once"))) as (behind, address):
        assert exchange(address, bare).endswith(b"once")
    asked, *end_of_body = behind.heads
    assert end_of_body == [b"0\r\n\r\n"]
    assert asked.count(b"\n") == asked.count(b"\r\n")
    assert (b"transfer-encoding", b"chunked") in headers_of(asked)


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


def test_an_upgrade_is_not_passed_on(caplog: pytest.LogCaptureFixture) -> None:
    asks = request("/", "Upgrade: websocket", "Sec-WebSocket-Key: eA==").replace(
        b"Connection: close", b"Connection: upgrade, close"
    )
    with proxied(fixed(whole(b"no", status="426 Upgrade Required"))) as (behind, address):
        assert exchange(address, asks).startswith(b"HTTP/1.1 426")
    assert b"upgrade" not in behind.heads[0].lower()
    assert lines_of(caplog) == []


def test_connection_cannot_remove_a_length_or_a_host() -> None:
    kept = [(b"Content-Length", b"3"), (b"Host", b"a")]
    taken = [(b"Connection", b"content-length, HOST, x"), (b"X", b"y")]
    assert end_to_end([*taken, *kept]) == [(k.lower(), v) for k, v in kept]
    assert for_client([(b"A", b"1"), (b"Connection", b"a")], "") == []


CLAIMED = {
    "x-forwarded-for": "192.0.2.7",
    "x-forwarded-proto": "https",
    "x-forwarded-host": "site.example",
    "x-forwarded-port": "443",
    "x-forwarded-prefix": "/app",
    "x-forwarded-server": "edge",
    "x-forwarded-ssl": "on",
    "x-real-ip": "192.0.2.7",
    "forwarded": "for=192.0.2.7;proto=https",
}
"""Headers in which a client may claim to forward a request of another client."""
UNDERSCORED = {name.replace("-", "_"): "192.0.2.9" for name in CLAIMED if "-" in name}


@pytest.mark.parametrize(
    ("how", "expected"),
    [
        (ForwardedFor.SET, {"x-forwarded-for": "127.0.0.1", "x-forwarded-proto": "http"}),
        (ForwardedFor.APPEND, CLAIMED | {"x-forwarded-for": "192.0.2.7, 127.0.0.1"}),
        (ForwardedFor.OFF, {}),
    ],
)
def test_the_client_is_named_as_configured(how: ForwardedFor, expected: dict[str, str]) -> None:
    claims = [f"{name}: {value}" for name, value in (CLAIMED | UNDERSCORED).items()]
    with proxied(fixed(whole(b"")), forwarded_for=how, via="") as (behind, address):
        answer = exchange(address, request("/", *claims, "X-Other: 1"))
    asked = {name.decode(): value.decode() for name, value in headers_of(behind.heads[0])}
    assert asked == {"host": "site.example", "x-other": "1", **expected}
    assert b"\r\nvia" not in answer


def test_what_a_trusted_proxy_says_of_several_is_one_list() -> None:
    several = ["X-Forwarded-For: 192.0.2.7", "X-Forwarded-For: 192.0.2.8, 192.0.2.9"]
    with proxied(fixed(whole(b"")), forwarded_for=ForwardedFor.APPEND) as (behind, address):
        exchange(address, request("/", *several))
    told = [v for k, v in headers_of(behind.heads[0]) if k == b"x-forwarded-for"]
    assert told == [b"192.0.2.7, 192.0.2.8, 192.0.2.9, 127.0.0.1"]


def test_the_deadline_header_is_not_passed_on(caplog: pytest.LogCaptureFixture) -> None:
    with proxied(fixed(whole(b"x"))) as (behind, inner), proxy_before(inner) as outer:
        assert exchange(outer, request("/", "Response-Deadline: soon")).endswith(b"x")
        assert exchange(outer, request("/", "Response-Deadline: 300")).endswith(b"x")
    assert [b"deadline" in head.lower() for head in behind.heads] == [False, False]
    assert len(lines_of(caplog)) == 1


def test_what_is_no_http_after_all_is_one_line(
    monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    monkeypatch.setattr(proxy, "for_client", lambda *_: [(b"no name", b"x")])
    with proxied(fixed(whole(b"ok"))) as (behind, address), client(address) as connection:
        connection.sendall(request("/x"))
        with suppress(ConnectionResetError):
            assert until_closed(connection) == b""
        at = "{}:{}".format(*behind.address)
    assert lines_of(caplog) == [
        f"GET /x: upstream http://{at}: its response cannot be passed on: cut"
    ]


@pytest.mark.parametrize(
    ("settings", "says"),
    [
        ({"upstream": "https://127.0.0.1:1"}, "upstream = https://127.0.0.1:1: must be http://"),
        ({"upstream": "127.0.0.1:80"}, "must be http://HOST:PORT"),
        ({"upstream": "http://a:b"}, "must be http://HOST:PORT"),
        ({"upstream": "http://a/b"}, "must be http://HOST:PORT"),
        ({"via": "a\r\nb"}, "via = a b: must contain"),
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
