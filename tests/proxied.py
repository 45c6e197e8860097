"""A small upstream server with the proxy before it, and a client, for tests."""

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
from served import server

from headway.web.serve import Settings, configuration

Answers = Callable[[socket.socket, bytes], None]
MB = 1_000_000


@dataclass
class Upstream:
    """A small upstream server that sends given bytes and records the requests it received."""

    answer: Answers
    address: tuple[str, int] = ("", 0)
    heads: list[bytes] = field(default_factory=list)
    connections: int = 0

    def serve(self, listening: socket.socket) -> None:
        while True:
            with suppress(OSError):
                connection, _ = listening.accept()
                # count before responding, since the client reads this count when it has the
                # response
                self.connections += 1
                threading.Thread(target=self._talk, args=(connection,), daemon=True).start()
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
    """Run an upstream server and the proxy before it; yields the server and the proxy's address."""
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


def pours(connection: socket.socket, status: str, ended: threading.Event) -> None:
    """Send a response that does not end until the connection is closed."""
    connection.sendall(f"HTTP/1.1 {status}\r\nTransfer-Encoding: chunked\r\n\r\n".encode())
    try:
        while True:
            connection.sendall(b"4\r\nmore\r\n")
            time.sleep(0.001)
    except OSError:
        ended.set()
