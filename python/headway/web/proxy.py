"""A small reverse proxy before a Web server that knows nothing of deadlines: an ASGI application.

One upstream, and bodies in pieces: no more of one is here than the slower side has room for. What
goes wrong is one line of the log and a status, or a connection that is cut where the head had left,
so that nobody takes a part for the whole. headway.web.serve runs it.
"""

from __future__ import annotations

import asyncio
import socket
import struct
from collections.abc import AsyncIterator
from dataclasses import dataclass

import httpx

from headway.web.headers import ForwardedFor, for_client, for_upstream, refusal
from headway.web.middleware import Message, Receive, Send, transport_of
from headway.web.target import LOG

_REASONS = {
    httpx.ConnectTimeout: (504, "no connection in time"),
    httpx.TimeoutException: (504, "no answer in time"),
    httpx.ConnectError: (502, "no connection"),
    httpx.RemoteProtocolError: (502, "the answer is no HTTP, or was cut"),
    httpx.TransportError: (502, "the connection broke"),
}


class _ClientError(Exception):
    """The client has left, or takes or sends nothing: nobody is there to be told."""


@dataclass(frozen=True, kw_only=True)
class Patience:
    """How long others may take before they are given up, in seconds."""

    connect_s: float = 5.0
    """The upstream to take a connection."""
    upstream_s: float = 60.0
    """The upstream to send or take the next piece."""
    client_s: float = 60.0
    """The client to send or take the next piece."""


class Proxy:
    """Passes every request on to one upstream, such as ``http://127.0.0.1:8080``."""

    def __init__(
        self,
        upstream: str,
        *,
        forwarded_for: ForwardedFor = ForwardedFor.SET,
        via: str = "headway",
        patience: Patience | None = None,
    ) -> None:
        self._upstream = upstream.rstrip("/")
        self._forwarded_for = forwarded_for
        self._via = via
        self._patience = patience or Patience()
        # the transport alone: a client would keep cookies, follow redirects, read the environment
        limits = httpx.Limits(max_keepalive_connections=64, keepalive_expiry=30.0)
        self._transport = httpx.AsyncHTTPTransport(limits=limits, trust_env=False)

    async def __call__(self, scope: Message, receive: Receive, send: Send) -> None:
        """One request; or the server's start and end."""
        if scope["type"] == "lifespan":
            await self._live(receive, send)
            return
        body = _Body(scope, receive, self._patience.client_s)
        answer = _Answer(send, self._patience.client_s)
        work = asyncio.create_task(self._exchange(scope, body, answer))
        watch = asyncio.create_task(body.client_leaves_after())
        try:
            await asyncio.wait({work, watch}, return_when=asyncio.FIRST_COMPLETED)
        finally:
            work.cancel()
            watch.cancel()
            await asyncio.gather(work, watch, return_exceptions=True)
        if not answer.is_complete and answer.cut():
            await body.client_leaves()
        if not work.cancelled():
            work.result()

    async def _exchange(self, scope: Message, body: _Body, answer: _Answer) -> None:
        if refused := refusal(scope):
            await answer.say(*refused)
            return
        try:
            await self._pass_on(scope, body, answer)
        except _ClientError as gone:
            LOG.info("%s: %s", _shown(scope), gone)
        except httpx.TransportError as error:
            status, reason = next(
                _REASONS[kind] for kind in type(error).__mro__ if kind in _REASONS
            )
            outcome = "cut" if answer.has_begun else str(status)
            LOG.error("%s: upstream %s: %s: %s", _shown(scope), self._upstream, reason, outcome)
            if not answer.has_begun:
                await answer.say(status, "the server behind this one does not answer")

    async def _pass_on(self, scope: Message, body: _Body, answer: _Answer) -> None:
        target = scope["raw_path"] + (
            b"?" + scope["query_string"] if scope["query_string"] else b""
        )
        asked = httpx.Request(
            scope["method"],
            self._upstream,
            headers=for_upstream(scope, self._forwarded_for, self._via),
            content=body.pieces() if body.is_there else None,
            extensions={
                "target": target,  # as it came: nothing is decoded and encoded again
                "timeout": {
                    "connect": self._patience.connect_s,
                    "pool": self._patience.connect_s,
                    "read": self._patience.upstream_s,
                    "write": self._patience.upstream_s,
                },
            },
        )
        response = await self._transport.handle_async_request(asked)
        try:
            await answer.begin(response.status_code, for_client(response.headers.raw, self._via))
            assert isinstance(response.stream, httpx.AsyncByteStream)
            async for piece in response.stream:
                await answer.piece(piece)
        finally:
            await response.aclose()
        await answer.end()

    async def _live(self, receive: Receive, send: Send) -> None:
        while True:
            message = await receive()
            if message["type"] == "lifespan.shutdown":
                await self._transport.aclose()
            await send({"type": f"{message['type']}.complete"})
            if message["type"] == "lifespan.shutdown":
                return


class _Body:
    """What the client sends after the head."""

    def __init__(self, scope: Message, receive: Receive, patience_s: float) -> None:
        lengths = dict(scope["headers"])
        self.is_there = (
            b"transfer-encoding" in lengths or lengths.get(b"content-length", b"0") != b"0"
        )
        self._receive = receive
        self._patience_s = patience_s
        self._read = asyncio.Event()
        if not self.is_there:
            self._read.set()

    async def pieces(self) -> AsyncIterator[bytes]:
        """As they come; the next is read when this one was taken."""
        more = True
        while more:
            try:
                async with asyncio.timeout(self._patience_s):
                    message = await self._receive()
            except TimeoutError:
                raise _ClientError("the client sends no more of its request") from None
            if message["type"] == "http.disconnect":
                raise _ClientError("the client left before its request was whole")
            more = message.get("more_body", False)
            if message["body"]:
                yield message["body"]
        self._read.set()

    async def client_leaves_after(self) -> None:
        """Returns when it has, once all of the body was read: only one may wait at a time."""
        await self._read.wait()
        await self.client_leaves()

    async def client_leaves(self) -> None:
        """Returns when it has."""
        while (await self._receive())["type"] != "http.disconnect":
            pass


class _Answer:
    """What the client is sent."""

    def __init__(self, send: Send, patience_s: float) -> None:
        self._send = send
        self._patience_s = patience_s
        self.has_begun = self.is_complete = False

    async def begin(self, status: int, headers: list[tuple[bytes, bytes]]) -> None:
        """The head."""
        if not 200 <= status <= 599:
            raise httpx.RemoteProtocolError(f"status {status}")
        self.has_begun = True
        await self._say({"type": "http.response.start", "status": status, "headers": headers})

    async def piece(self, piece: bytes) -> None:
        """Some of the body; waits while the client takes nothing."""
        await self._say({"type": "http.response.body", "body": piece, "more_body": True})

    async def end(self) -> None:
        """That was all."""
        await self._say({"type": "http.response.body", "body": b""})
        self.is_complete = True

    async def say(self, status: int, words: str) -> None:
        """A whole answer of our own, after which the connection ends: its framing may be bad."""
        text = f"{words}\n".encode()
        headers = [
            (b"content-type", b"text/plain; charset=utf-8"),
            (b"content-length", b"%d" % len(text)),
            (b"connection", b"close"),
        ]
        await self.begin(status, headers)
        await self.piece(text)
        await self.end()

    def cut(self) -> bool:
        """End the connection in the middle: nobody may take what was sent for all."""
        transport = transport_of(self._send)
        if transport is not None:
            reset = struct.pack("ii", 1, 0)  # also what waits for a client that takes nothing
            transport.get_extra_info("socket").setsockopt(
                socket.SOL_SOCKET, socket.SO_LINGER, reset
            )
            transport.abort()
        return transport is not None

    async def _say(self, message: Message) -> None:
        try:
            async with asyncio.timeout(self._patience_s):
                await self._send(message)
        except TimeoutError:
            raise _ClientError("the client takes nothing") from None


def _shown(scope: Message) -> str:
    """A request in a line of the log, whatever it contains."""
    return f"{scope['method']} {ascii(scope['path'])[1:-1][:100]}"
