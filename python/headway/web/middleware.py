"""Deadlines for Python's Web servers: an ASGI middleware.

    app = DeadlineMiddleware(app)

Before each response it tells the client's socket the volume, and what is left of the target.
HTTP/1 only: on a connection that several responses share there is no volume of one. It must be the
outermost middleware, for it finds the socket where uvicorn hands over its own `send`.
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
    """Tells TCP what a client's Response-Deadline asks for; passes everything on as it is."""

    def __init__(self, app: App) -> None:
        self._app = app

    async def __call__(self, scope: Message, receive: Receive, send: Send) -> None:
        """One request, or whatever else the server speaks of."""
        if scope["type"] != "http" or not scope.get("http_version", "").startswith("1"):
            await self._app(scope, receive, send)
            return
        wanted_ms = target.of_headers(scope["headers"])
        due = None if wanted_ms is None else Target(wanted_ms, time.monotonic())
        transport = transport_of(send)
        if transport is None:
            if due is not None:
                _say_once()
            await self._app(scope, receive, send)
            return
        await self._app(scope, receive, _Response(scope, send, transport, due).send)


class _Response:
    """One response on its way to the client, whose socket it tells."""

    def __init__(
        self, scope: Message, send: Send, transport: asyncio.Transport, due: Target | None
    ) -> None:
        self.transport = transport
        """As the server has it: where `transport_of` looks."""
        self._scope = scope
        self._send = send
        self._due = due
        self._connection: socket.socket | None = transport.get_extra_info("socket")

    async def send(self, message: Message) -> None:
        """A message of the application."""
        if message["type"] == "http.response.start" and self._connection is not None:
            headers = [(bytes(k), bytes(v)) for k, v in message.get("headers", ())]
            volume_bytes = _volume_bytes(self._scope["method"], message["status"], headers)
            target.say(self._connection, volume_bytes, self._due)
        await self._send(message)
        if message["type"] == "http.response.body" and not message.get("more_body"):
            self._tell()

    def _tell(self) -> None:
        """What became of it, for who looks (log level INFO)."""
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
    """The client's connection of a server's `send`, or of this middleware's; None: another's."""
    transport = getattr(getattr(send, "__self__", None), "transport", None)
    return transport if hasattr(transport, "get_extra_info") else None


def reset(transport: asyncio.Transport) -> None:
    """End a client's connection at once: nobody may take what was sent for all."""
    now = struct.pack("ii", 1, 0)  # also what waits for a client that takes nothing
    with contextlib.suppress(OSError):  # the client has left, and its socket is closed
        transport.get_extra_info("socket").setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, now)
    transport.abort()


def unsent_bytes(transport: asyncio.Transport) -> int:
    """What the client's host has not acknowledged of what was given to its connection."""
    waiting_bytes = transport.get_write_buffer_size()
    with contextlib.suppress(OSError, ValueError):  # it is closed by now
        queued = fcntl.ioctl(transport.get_extra_info("socket"), termios.TIOCOUTQ, bytes(4))
        waiting_bytes += int.from_bytes(queued, sys.byteorder)
    return waiting_bytes


def _volume_bytes(method: str, status: int, headers: Iterable[tuple[bytes, bytes]]) -> int | None:
    """What a response will put on the connection; None if it does not say, or has no body."""
    if method == "HEAD" or status in _NO_BODY:
        return None
    head_bytes, body_bytes = _STATUS_LINE_BYTES, None
    for name, value in headers:
        head_bytes += len(name) + len(value) + 4
        if name.lower() == b"content-length" and value.isdigit() and len(value) < 19:
            body_bytes = int(value)
    return head_bytes + body_bytes if body_bytes else None


@functools.cache
def _say_once() -> None:
    LOG.warning(
        "deadlines are not heard: the client's socket is not to be found; DeadlineMiddleware must "
        "be the outermost, on uvicorn"
    )
