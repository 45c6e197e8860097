"""Deadlines for Python's Web servers: an ASGI middleware.

    app = DeadlineMiddleware(app)

Before each response, it sets the volume and the remaining time as hints of the client's socket. It
supports HTTP/1 only, because with HTTP/2 several responses share a connection. It must be the
outermost middleware, because it finds the socket through uvicorn's own `send`.
"""

from __future__ import annotations

import asyncio
import contextlib
import fcntl
import functools
import logging
import socket
import struct
import sys
import termios
import time
from collections.abc import Awaitable, Callable, Iterable, MutableMapping
from typing import Any

from headway import sockets
from headway.web import target
from headway.web.target import LOG, Target

Message = MutableMapping[str, Any]
Receive = Callable[[], Awaitable[Message]]
Send = Callable[[Message], Awaitable[None]]
App = Callable[[Message, Receive, Send], Awaitable[None]]

_STATUS_LINE_BYTES = 40
_NO_BODY = (204, 304)


class DeadlineMiddleware:
    """Passes a client's Response-Deadline to TCP, and all messages on unchanged."""

    def __init__(self, app: App) -> None:
        self._app = app

    async def __call__(self, scope: Message, receive: Receive, send: Send) -> None:
        """Handle one request, or any other ASGI scope."""
        if scope["type"] != "http" or not scope.get("http_version", "").startswith("1"):
            await self._app(scope, receive, send)
            return
        wanted_ms = target.of_headers(scope["headers"])
        due = None if wanted_ms is None else Target(wanted_ms, time.monotonic())
        transport = transport_of(send)
        if transport is None:
            if due is not None:
                _warn_once()
            await self._app(scope, receive, send)
            return
        await self._app(scope, receive, _Response(scope, send, transport, due).send)


class _Response:
    """One response to a client, which sets the hints of the client's socket."""

    def __init__(
        self, scope: Message, send: Send, transport: asyncio.Transport, due: Target | None
    ) -> None:
        self.transport = transport
        """The server's `send`, in which `transport_of` finds the connection."""
        self._scope = scope
        self._send = send
        self._due = due
        self._connection: socket.socket | None = transport.get_extra_info("socket")

    async def send(self, message: Message) -> None:
        """Send a message of the application."""
        if message["type"] == "http.response.start" and self._connection is not None:
            headers = [(bytes(k), bytes(v)) for k, v in message.get("headers", ())]
            volume_bytes = _volume_bytes(self._scope["method"], message["status"], headers)
            target.set_hints(self._connection, volume_bytes, self._due)
        await self._send(message)
        if message["type"] == "http.response.body" and not message.get("more_body"):
            self._log_start()

    def _log_start(self) -> None:
        """Log the result (level INFO)."""
        if self._due is None or self._connection is None or not LOG.isEnabledFor(logging.INFO):
            return
        try:
            info = sockets.startup_info(self._connection)
        except OSError:  # the client has left
            info = None
        LOG.info(
            "%s %s: target %g ms, started at %s", self._scope["method"],
            ascii(self._scope["path"])[1:-1][:100], self._due.target_ms,
            f"{info.started_bps} bit/s" if info and info.started_bps else "no rate",
        )  # fmt: skip


def transport_of(send: Send) -> asyncio.Transport | None:
    """The client's connection behind uvicorn's or this middleware's `send`; otherwise None."""
    transport = getattr(getattr(send, "__self__", None), "transport", None)
    return transport if hasattr(transport, "get_extra_info") else None


def reset(transport: asyncio.Transport) -> None:
    """Reset a client's connection, so that the client does not take a part for the whole."""
    now = struct.pack("ii", 1, 0)  # this also discards data for a client that reads nothing
    with contextlib.suppress(OSError):  # the client has left, and its socket is closed
        transport.get_extra_info("socket").setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, now)
    transport.abort()


def unsent_bytes(transport: asyncio.Transport) -> int:
    """Bytes given to the client's connection that its host has not acknowledged."""
    waiting_bytes = transport.get_write_buffer_size()
    with contextlib.suppress(OSError, ValueError):  # the socket is closed by now
        queued = fcntl.ioctl(transport.get_extra_info("socket"), termios.TIOCOUTQ, bytes(4))
        waiting_bytes += int.from_bytes(queued, sys.byteorder)
    return waiting_bytes


def _volume_bytes(method: str, status: int, headers: Iterable[tuple[bytes, bytes]]) -> int | None:
    """Bytes of a response on the connection; None if unknown or without a body."""
    if method == "HEAD" or status in _NO_BODY:
        return None
    head_bytes, body_bytes = _STATUS_LINE_BYTES, None
    for name, value in headers:
        head_bytes += len(name) + len(value) + 4
        if name.lower() == b"content-length" and value.isdigit() and len(value) < 19:
            body_bytes = int(value)
    return head_bytes + body_bytes if body_bytes else None


@functools.cache
def _warn_once() -> None:
    LOG.warning(
        "deadlines have no effect: the client's socket was not found; DeadlineMiddleware must be "
        "the outermost middleware, on uvicorn"
    )
