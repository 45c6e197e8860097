"""A small reverse proxy for a Web server without support for deadlines: an ASGI application.

It has one upstream and passes bodies on in pieces, so it buffers no more than the slower side can
take. An error gives one line of the log and a status. If the head was already sent, the connection
is reset instead, so that the client does not mistake a partial response for a complete one.
headway.web.serve runs it.
"""

from __future__ import annotations

import asyncio
import math
from collections.abc import AsyncIterator
from dataclasses import dataclass
from urllib.parse import urlsplit

import h11
import httpcore

from headway.web.headers import ForwardedFor, for_client, for_upstream, refusal
from headway.web.middleware import Message, Receive, Send, reset, transport_of, unsent_bytes
from headway.web.protocol import TARGET
from headway.web.target import LOG
from headway.web.upstream import Upstream, load

_REASONS: dict[type[Exception], tuple[int, str]] = {
    httpcore.ConnectTimeout: (504, "no connection in time"),
    httpcore.TimeoutException: (504, "no answer in time"),
    httpcore.ConnectError: (502, "no connection"),
    httpcore.RemoteProtocolError: (502, "the response is not HTTP, or was cut"),
    httpcore.NetworkError: (502, "the connection broke"),
    # raised if the client or the upstream sent something that h11 cannot encode as HTTP
    httpcore.LocalProtocolError: (502, "the request cannot be passed on"),
    h11.LocalProtocolError: (502, "its response cannot be passed on"),
}


class _ClientError(Exception):
    """The client has closed the connection, or neither reads nor sends: no response is possible."""


@dataclass(frozen=True, kw_only=True)
class Timeouts:
    """Timeouts in seconds."""

    connect_s: float = 5.0
    """Longest time in which the upstream must accept a connection."""
    upstream_s: float = 60.0
    """Longest time in which the upstream must send or read the next piece of a body."""
    client_s: float = 60.0
    """Longest time in which the client must send the next piece of a body, or read any data."""


class Proxy:
    """Passes every request on to one upstream, for example ``http://127.0.0.1:8080``."""

    def __init__(
        self,
        upstream: str,
        *,
        forwarded_for: ForwardedFor = ForwardedFor.SET,
        via: str = "headway",
        timeouts: Timeouts | None = None,
    ) -> None:
        at = urlsplit(upstream)
        self._upstream_text = upstream.rstrip("/")
        self._host = at.netloc.encode()
        self._upstream = Upstream(at.hostname or "", at.port or 80)
        self._forwarded_for = forwarded_for
        self._via = via
        self._timeouts = timeouts or Timeouts()

    async def __call__(self, scope: Message, receive: Receive, send: Send) -> None:
        """Handle one request, or ASGI's messages on the server's start and end."""
        if scope["type"] == "lifespan":
            await self._lifespan(receive, send)
            return
        body = _Body(scope, receive, self._timeouts.client_s)
        answer = _Answer(send, self._timeouts.client_s)
        work = asyncio.create_task(self._exchange(scope, body, answer))
        watch = asyncio.create_task(body.disconnected_after_body())
        try:
            await asyncio.wait({work, watch}, return_when=asyncio.FIRST_COMPLETED)
        except asyncio.CancelledError:  # the server ends, and its event loop will cancel both tasks
            LOG.warning("%s: this server ends: cut", _log_text(scope))
        else:
            work.cancel()
            watch.cancel()
            await asyncio.gather(work, watch, return_exceptions=True)
        if not answer.is_complete and answer.cut():
            await body.disconnected()
        if work.done() and not work.cancelled():
            work.result()

    async def _exchange(self, scope: Message, body: _Body, answer: _Answer) -> None:
        try:
            if refused := refusal(scope):
                await answer.send_error(*refused)
            else:
                await self._answer(scope, body, answer)
        except _ClientError as gone:
            LOG.info("%s: %s", _log_text(scope), gone)

    async def _answer(self, scope: Message, body: _Body, answer: _Answer) -> None:
        try:
            await self._pass_on(scope, body, answer)
        except tuple(_REASONS) as error:
            status, reason = next(
                _REASONS[kind] for kind in type(error).__mro__ if kind in _REASONS
            )
            outcome = "cut" if answer.has_begun else str(status)
            LOG.error(
                "%s: upstream %s: %s: %s", _log_text(scope), self._upstream_text, reason, outcome
            )
            if not answer.has_begun:
                await answer.send_error(status, "the server behind this one does not answer")

    async def _pass_on(self, scope: Message, body: _Body, answer: _Answer) -> None:
        headers = for_upstream(scope, self._forwarded_for, self._via)
        if all(name != b"host" for name, _ in headers):  # HTTP/1.0
            headers.append((b"host", self._host))
        timeouts = self._timeouts
        request = httpcore.Request(
            scope["method"],
            self._upstream.url(_target(scope)),
            headers=headers,
            content=body.pieces() if body.is_there else None,
            extensions={"timeout": {"read": timeouts.upstream_s, "write": timeouts.upstream_s}},
        )
        async with self._upstream.answer(
            request, connect_s=timeouts.connect_s, has_body=body.is_there
        ) as response:
            body.stop_reading()
            await answer.begin(response.status, for_client(response.headers, self._via))
            async for piece in response.aiter_stream():
                await answer.piece(piece)
        await answer.end()

    async def _lifespan(self, receive: Receive, send: Send) -> None:
        while True:
            message = await receive()
            if message["type"] == "lifespan.shutdown":
                self._upstream.close()
            else:
                await load()
            await send({"type": f"{message['type']}.complete"})
            if message["type"] == "lifespan.shutdown":
                return


class _Body:
    """The body of a client's request."""

    def __init__(self, scope: Message, receive: Receive, timeout_s: float) -> None:
        lengths = dict(scope["headers"])
        self.is_there = (
            b"transfer-encoding" in lengths or lengths.get(b"content-length", b"0") != b"0"
        )
        self._receive = receive
        self._timeout_s = timeout_s
        self._is_over = asyncio.Event()
        if not self.is_there:
            self._is_over.set()

    async def pieces(self) -> AsyncIterator[bytes]:
        """The pieces of the body as they arrive.

        A piece is read after the consumer took the previous one.
        """
        more = True
        while more:
            try:
                async with asyncio.timeout(self._timeout_s):
                    message = await self._receive()
            except TimeoutError:
                raise _ClientError("the client stopped sending its request") from None
            if message["type"] == "http.disconnect":
                raise _ClientError("the client left before its request was complete")
            more = message.get("more_body", False)
            if message["body"]:
                yield message["body"]
        self._is_over.set()

    def stop_reading(self) -> None:
        """Stop reading the request's body: the upstream has answered and reads no more of it."""
        self._is_over.set()

    async def disconnected_after_body(self) -> None:
        """Return when the client has closed the connection.

        This waits first until no task reads the body, since only one task may wait for messages.
        """
        await self._is_over.wait()
        await self.disconnected()

    async def disconnected(self) -> None:
        """Return when the client has left."""
        while (await self._receive())["type"] != "http.disconnect":
            pass


class _Answer:
    """The response to the client."""

    def __init__(self, send: Send, timeout_s: float) -> None:
        self._send = send
        self._transport = transport_of(send)
        self._timeout_s = timeout_s
        self.has_begun = self.is_complete = False

    async def begin(self, status: int, headers: list[tuple[bytes, bytes]]) -> None:
        """Send the head."""
        if not 200 <= status <= 599:
            raise httpcore.RemoteProtocolError(f"status {status}")
        self._expect_client()
        self.has_begun = True
        await self._send_message(
            {"type": "http.response.start", "status": status, "headers": headers}
        )

    async def piece(self, piece: bytes) -> None:
        """Send a piece of the body; waits until the client has read enough."""
        await self._send_message({"type": "http.response.body", "body": piece, "more_body": True})

    async def end(self) -> None:
        """End the body."""
        await self._send_message({"type": "http.response.body", "body": b""})
        self.is_complete = True

    async def send_error(self, status: int, explanation: str) -> None:
        """Send an error response of the proxy, then close the connection.

        The connection cannot be used again, since the request's framing may be wrong.
        """
        text = f"{explanation}\n".encode()
        headers = [
            (b"content-type", b"text/plain; charset=utf-8"),
            (b"content-length", b"%d" % len(text)),
            (b"connection", b"close"),
        ]
        await self.begin(status, headers)
        await self.piece(text)
        await self.end()

    def cut(self) -> bool:
        """Reset the connection, so that the client notices that the response is incomplete."""
        if self._transport is not None and (self.has_begun or not self._transport.is_closing()):
            reset(self._transport)
        return self._transport is not None

    async def _send_message(self, message: Message) -> None:
        """Send an ASGI message. Raises _ClientError if the client reads nothing for too long."""
        self._expect_client()
        try:
            async with asyncio.timeout(None) as limit:
                self._check_progress(limit, math.inf)
                try:
                    await self._send(message)
                finally:
                    self._next_check.cancel()
        except TimeoutError:
            raise _ClientError("the client reads nothing") from None

    def _expect_client(self) -> None:
        if self._transport is not None and self._transport.is_closing():
            raise _ClientError("the client has left, or its request was not HTTP")

    def _check_progress(self, limit: asyncio.Timeout, before_bytes: float) -> None:
        loop = asyncio.get_running_loop()
        left_bytes = self._unsent_bytes()
        if left_bytes < before_bytes:
            self._next_check = loop.call_later(
                self._timeout_s, self._check_progress, limit, left_bytes
            )
        else:
            limit.reschedule(loop.time())

    def _unsent_bytes(self) -> int:
        return 0 if self._transport is None else unsent_bytes(self._transport)


def _target(scope: Message) -> bytes:
    """The request's target exactly as the client sent it."""
    if (target := scope.get("state", {}).get(TARGET)) is not None:
        return bytes(target)
    query = scope["query_string"]
    return bytes(scope["raw_path"] + (b"?" + query if query else b""))


def _log_text(scope: Message) -> str:
    """A request as safe text for one line of the log."""
    return f"{scope['method']} {ascii(scope['path'])[1:-1][:100]}"
