"""Connections from the proxy to its upstream server, and requests on them.

Each connection uses httpcore for HTTP. httpcore's pool is not used for two reasons. It examines all
pairs of idle connections for every request, which takes 0.1 s with a thousand of them. And it does
not tell whether a connection had been used before, which decides whether a request may be repeated.
httpcore's streams are not used either, because a task that is cancelled twice leaves them open.
"""

from __future__ import annotations

import asyncio
from collections import deque
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from typing import Any

import anyio
import httpcore

_IDLE_LIMIT_S = 30.0
"""An idle connection is closed after this time."""
_READ_AHEAD_BYTES = 1 << 16
_IDEMPOTENT = {b"GET", b"HEAD", b"OPTIONS", b"PUT", b"DELETE"}
"""Idempotent methods, RFC 9110 section 9.2.2."""


async def load() -> None:
    """Make anyio load the modules of its locks, which httpcore uses.

    Loading takes 50 to 100 ms and would otherwise delay the first response.
    """
    async with anyio.Lock():
        pass


class Upstream:
    """Sends requests to one server, and keeps all idle connections: at most one per client."""

    def __init__(self, host: str, port: int) -> None:
        self._origin = httpcore.Origin(b"http", host.encode(), port)
        # idle connections; a request uses the one that was idle for the shortest time
        self._idle: deque[_Connection] = deque()

    def url(self, target: bytes) -> httpcore.URL:
        """The URL of a request with this target; httpcore sends the target unchanged."""
        at = self._origin
        return httpcore.URL(scheme=at.scheme, host=at.host, port=at.port, target=target)

    @asynccontextmanager
    async def answer(
        self, request: httpcore.Request, *, connect_s: float, has_body: bool
    ) -> AsyncIterator[httpcore.Response]:
        """The response to a request, with its body not read yet. Raises httpcore's exceptions."""
        connection, response = await self._ask(request, connect_s, may_repeat=not has_body)
        try:
            yield response
        finally:
            try:
                await response.aclose()
            finally:
                if connection.http.is_idle():
                    self._idle.append(connection)
                else:
                    connection.stream.abort()
                self._end_expired()

    def close(self) -> None:
        """Close the idle connections."""
        while self._idle:
            self._idle.pop().stream.abort()

    async def _ask(
        self, request: httpcore.Request, connect_s: float, *, may_repeat: bool
    ) -> tuple[_Connection, httpcore.Response]:
        used = self._last_used()
        if used is not None:
            before_bytes = used.stream.received_bytes
            try:
                return used, await used.send(request)
            except (httpcore.ReadError, httpcore.RemoteProtocolError):
                # the server may have closed the idle connection while the request was on its way
                answered = used.stream.received_bytes - before_bytes
                if answered or not may_repeat or request.method not in _IDEMPOTENT:
                    raise
        new = _Connection(self._origin, await _connected(self._origin, connect_s))
        return new, await new.send(request)

    def _last_used(self) -> _Connection | None:
        while self._idle:
            connection = self._idle.pop()
            if not connection.http.has_expired():
                return connection
            connection.stream.abort()
        return None

    def _end_expired(self) -> None:
        while self._idle and self._idle[0].http.has_expired():
            self._idle.popleft().stream.abort()


class _Connection:
    """One HTTP connection to the server."""

    def __init__(self, origin: httpcore.Origin, stream: _Stream) -> None:
        self.stream = stream
        self.http = httpcore.AsyncHTTP11Connection(origin, stream, _IDLE_LIMIT_S)

    async def send(self, request: httpcore.Request) -> httpcore.Response:
        try:
            return await self.http.handle_async_request(request)
        except BaseException:
            self.stream.abort()
            raise


async def _connected(to: httpcore.Origin, timeout_s: float) -> _Stream:
    loop = asyncio.get_running_loop()
    try:
        async with asyncio.timeout(timeout_s):
            _, stream = await loop.create_connection(
                _Stream, to.host.decode(), to.port, happy_eyeballs_delay=0.25
            )
    except TimeoutError:
        raise httpcore.ConnectTimeout from None
    except OSError as error:
        raise httpcore.ConnectError(str(error)) from None
    return stream


class _Stream(httpcore.AsyncNetworkStream, asyncio.Protocol):
    """A TCP connection that counts received bytes, and stops sending after an error response."""

    def __init__(self) -> None:
        self.received_bytes = 0
        self._unread = bytearray()
        self._event = asyncio.Event()
        self._has_room = asyncio.Event()
        self._has_room.set()
        self._has_ended = False
        self._error: Exception | None = None

    # for httpcore

    async def read(self, max_bytes: int, timeout: float | None = None) -> bytes:
        try:
            async with asyncio.timeout(timeout):
                while not self._unread and not self._has_ended:
                    self._event.clear()
                    await self._event.wait()
        except TimeoutError:
            raise httpcore.ReadTimeout from None
        if not self._unread and self._error is not None:
            raise httpcore.ReadError(str(self._error))
        data = bytes(self._unread[:max_bytes])
        del self._unread[:max_bytes]
        if len(self._unread) < _READ_AHEAD_BYTES:
            self._transport.resume_reading()
        return data

    async def write(self, buffer: bytes, timeout: float | None = None) -> None:
        # stop sending a request once an error response arrives (RFC 9112 section 9.5); after the
        # failed write httpcore reads the response
        began = bytes(self._unread[:10])
        if (began[:5] == b"HTTP/" and began[9:] in (b"4", b"5")) or self._transport.is_closing():
            raise httpcore.WriteError
        self._transport.write(buffer)
        try:
            async with asyncio.timeout(timeout):
                await self._has_room.wait()
        except TimeoutError:
            raise httpcore.WriteTimeout from None

    async def aclose(self) -> None:
        self.abort()

    def get_extra_info(self, info: str) -> Any:
        return bool(self._unread) or self._has_ended if info == "is_readable" else None

    def abort(self) -> None:
        """Close the connection at once; a second call does nothing."""
        self._transport.abort()

    # for asyncio

    def connection_made(self, transport: asyncio.Transport) -> None:  # type: ignore[override]
        self._transport = transport

    def data_received(self, data: bytes) -> None:
        self.received_bytes += len(data)
        self._unread += data
        if len(self._unread) >= _READ_AHEAD_BYTES:
            self._transport.pause_reading()
        self._event.set()

    def eof_received(self) -> bool:
        self._has_ended = True
        self._event.set()
        return True  # do not close our side: a server that closed its own side may still read

    def connection_lost(self, exc: Exception | None) -> None:
        self._has_ended, self._error = True, exc
        self._event.set()
        self._has_room.set()

    def pause_writing(self) -> None:
        self._has_room.clear()

    def resume_writing(self) -> None:
        self._has_room.set()
