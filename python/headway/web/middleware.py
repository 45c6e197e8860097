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
    """Passes the deadline in a request's Response-Deadline to TCP. It changes no ASGI message."""

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
        """The client's connection, which `transport_of` finds through this object's `send`."""
        self._scope = scope
        self._send = send
        self._due = due
        self._connection: socket.socket | None = transport.get_extra_info("socket")

    async def send(self, message: Message) -> None:
        """Send a message of the application; before a response's head, set the hints."""
        if message["type"] == "http.response.start" and self._connection is not None:
            headers = [(bytes(k), bytes(v)) for k, v in message.get("headers", ())]
            volume_bytes = _volume_bytes(self._scope["method"], message["status"], headers)
            target.set_hints(self._connection, volume_bytes, self._due)
        await self._send(message)
        if message["type"] == "http.response.body" and not message.get("more_body"):
            self._log_start()

    def _log_start(self) -> None:
        """Log the target and the rate at which the response started (level INFO)."""
        if self._due is None or self._connection is None or not LOG.isEnabledFor(logging.INFO):
            return
        try:
            info = sockets.startup_info(self._connection)
        except OSError:  # the client has closed the connection
            info = None
        LOG.info(
            "%s %s: target %g ms, started at %s", self._scope["method"],
            ascii(self._scope["path"])[1:-1][:100], self._due.target_ms,
            f"{info.started_bps} bit/s" if info and info.started_bps else "no rate",
        )  # fmt: skip


def transport_of(send: Send) -> asyncio.Transport | None:
    """The client's connection, if `send` is uvicorn's or this middleware's; otherwise None."""
    transport = getattr(getattr(send, "__self__", None), "transport", None)
    return transport if hasattr(transport, "get_extra_info") else None


def reset(transport: asyncio.Transport) -> None:
    """Reset a client's connection, so that the client notices that the response is incomplete."""
    now = struct.pack("ii", 1, 0)  # SO_LINGER 0: reset the connection and discard unsent data
    with contextlib.suppress(OSError):  # the connection may have ended
        transport.get_extra_info("socket").setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, now)
    transport.abort()


def unsent_bytes(transport: asyncio.Transport) -> int:
    """Bytes written to the client's connection that the client's host has not acknowledged."""
    waiting_bytes = transport.get_write_buffer_size()
    with contextlib.suppress(OSError, ValueError):  # the socket may be closed already
        queued = fcntl.ioctl(transport.get_extra_info("socket"), termios.TIOCOUTQ, bytes(4))
        waiting_bytes += int.from_bytes(queued, sys.byteorder)
    return waiting_bytes


def _volume_bytes(method: str, status: int, headers: Iterable[tuple[bytes, bytes]]) -> int | None:
    """Bytes of a response with its head; None if unknown, or if the response has no body."""
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
