"""An ASGI application on loopback for a test, and a client that sends given bytes."""

from __future__ import annotations

import socket
import threading
import time
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

import uvicorn

ANSWER_S = 300.0
"""A server that takes longer than this to answer has hung. No result depends on this limit."""


@contextmanager
def server(config: uvicorn.Config) -> Iterator[tuple[str, int]]:
    """Run the application of a configuration in a thread; yields its address."""
    config.log_config = None
    runs = uvicorn.Server(config)
    with socket.create_server(("127.0.0.1", 0)) as listening:
        thread = threading.Thread(target=runs.run, kwargs={"sockets": [listening]})
        thread.start()
        try:
            until = time.monotonic() + ANSWER_S
            while not runs.started:
                assert thread.is_alive(), "the server ended"
                assert time.monotonic() < until, "the server does not start"
                time.sleep(0.005)
            yield listening.getsockname()
        finally:
            runs.should_exit = True
            thread.join(ANSWER_S)
        assert not thread.is_alive(), "the server does not end"


@contextmanager
def client(address: tuple[str, int], **options: Any) -> Iterator[socket.socket]:
    """A connection."""
    with socket.create_connection(address, ANSWER_S, **options) as connection:
        yield connection


def exchange(address: tuple[str, int], request: bytes) -> bytes:
    """Send a request; returns everything received until the server closes the connection."""
    with client(address) as connection:
        connection.sendall(request)
        return until_closed(connection)


def until_closed(connection: socket.socket) -> bytes:
    """The unread rest."""
    received = bytearray()
    while piece := connection.recv(1 << 16):
        received += piece
    return bytes(received)
