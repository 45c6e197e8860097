"""uvicorn's HTTP/1.1 on a client's connection, with time limits and a lingering close."""

from __future__ import annotations

import asyncio
import contextlib
import math
from typing import Any

import h11
from uvicorn.protocols.http.h11_impl import H11Protocol

from headway.web.middleware import reset, unsent_bytes

TARGET = "target"
"""Key in a scope's state for the request target as the client sent it. ASGI's fields do not
distinguish /x and /x?."""


class HeadTimeoutProtocol(H11Protocol):
    """uvicorn's protocol with a time limit for a request's head.

    Without the limit, a client could keep a connection by sending a few bytes.
    """

    head_s = 30.0

    def __init__(self, *given: Any, **named: Any) -> None:
        super().__init__(*given, **named)
        self.app_state = dict(self.app_state)
        self.conn = _Reader(self.app_state, self.config.h11_max_incomplete_event_size)

    def connection_made(self, transport: asyncio.Transport) -> None:  # type: ignore[override]
        """Called when a client has connected; the time limit for the request's head begins."""
        self._closing = LingeringTransport(self, transport)
        super().connection_made(self._closing)  # type: ignore[arg-type]
        self._head_due = self.loop.call_later(self.head_s, self._give_up)
        self._awaits_head = True

    def data_received(self, data: bytes) -> None:
        """Called with a part of a request's head or body."""
        if self._closing.lingers:
            self._closing.drop(len(data))
            return
        super().data_received(data)
        was, self._awaits_head = (
            self._awaits_head,
            self.cycle is None or (self.cycle.response_complete),
        )
        if not self._awaits_head:
            self._head_due.cancel()
        elif not was:  # the first byte of the next request has arrived
            self._head_due = self.loop.call_later(self.head_s, self._give_up)

    def eof_received(self) -> None:
        """Called when the client has closed its side of the connection."""
        self._closing.end()

    def connection_lost(self, exc: Exception | None) -> None:
        """Called when the connection has ended."""
        self._head_due.cancel()
        self._closing.cancel_timer()
        super().connection_lost(exc)

    def send_400_response(self, msg: str) -> None:
        """Answer invalid HTTP with 400; a task that waits for the rest of a body continues.

        If a response's head was already sent, the connection is reset.
        """
        cycle = self.cycle
        if cycle is not None and not cycle.response_complete:
            cycle.disconnected = True
            cycle.message_event.set()
            if cycle.response_started:  # a response's head was already sent
                reset(self.transport)
                return
        super().send_400_response(msg)

    def shutdown(self) -> None:
        """Called when the server shuts down."""
        if self._closing.lingers:
            self._closing.end()
        else:
            super().shutdown()

    def _should_upgrade(self) -> bool:
        """Never upgrade to WebSocket; this also avoids two log lines of uvicorn per request."""
        return False

    def may_send_more(self) -> bool:
        """Whether the client may still send data that the server will not read."""
        theirs = self.conn.their_state
        after_it = theirs in (h11.DONE, h11.MUST_CLOSE) and self.conn.trailing_data[0]
        return theirs in (h11.SEND_BODY, h11.ERROR) or bool(after_it)

    def _give_up(self) -> None:
        self.timeout_keep_alive_handler()


class _Reader(h11.Connection):
    """h11's connection, which also stores each request's target."""

    def __init__(self, state: dict[str, Any], head_bytes: int | None) -> None:
        assert head_bytes is not None
        super().__init__(h11.SERVER, head_bytes)
        self._state = state

    def next_event(self) -> Any:
        event = super().next_event()
        if isinstance(event, h11.Request):
            self._state[TARGET] = event.target
        return event


class LingeringTransport:
    """uvicorn's connection to a client, with a lingering close.

    Closing a socket with unread data resets the connection, and the client loses the response that
    it was about to read. If more data may arrive, we therefore close only our half, and drop
    received data for a while (RFC 9112 section 9.6).
    """

    linger_s = 30.0
    """Longest time of lingering."""
    idle_s = 5.0
    """Lingering ends after this time without data from the client."""
    linger_bytes = 4_000_000
    """Most bytes dropped while lingering: as much as Linux buffers for a sending connection."""
    stuck_s = 60.0
    """The connection is aborted if the client reads none of the unsent data for this time."""
    joined_bytes = 16_384
    """A write of at most this many bytes is delayed, to be sent together with the next write."""

    def __init__(self, protocol: HeadTimeoutProtocol, transport: asyncio.Transport) -> None:
        self._protocol = protocol
        self._transport = transport
        self._timer: asyncio.TimerHandle | None = None
        self._left_bytes = self.linger_bytes
        self._until_s = 0.0
        self._closes = self.lingers = False
        self._delayed = b""

    def __getattr__(self, name: str) -> Any:
        return getattr(self._transport, name)

    def write(self, data: bytes) -> None:
        """Send data; join a short write with the next one of the same turn of the event loop.

        uvicorn writes a head and the first piece of its body one after the other. With TCP_NODELAY
        the head would be a packet by itself, and a startup would see only the head's size.
        """
        if self._delayed:
            delayed, self._delayed = self._delayed, b""
            self._transport.write(delayed + data)
        elif 0 < len(data) <= self.joined_bytes and not self._transport.get_write_buffer_size():
            self._delayed = data
            self._protocol.loop.call_soon(self._write_delayed)
        else:
            self._transport.write(data)

    def get_write_buffer_size(self) -> int:
        """Bytes that were written and that the kernel has not accepted yet."""
        return len(self._delayed) + self._transport.get_write_buffer_size()

    def is_closing(self) -> bool:
        """Whether no more data can be sent."""
        return self._closes or self._transport.is_closing()

    def close(self) -> None:
        """Send the remaining data, then close; the client may still be sending."""
        if self.is_closing():
            return
        self._closes = True
        if not self._protocol.may_send_more():
            self.end()
            return
        self.lingers = True
        self._until_s = self._protocol.loop.time() + self.linger_s
        self._transport.resume_reading()
        self._write_delayed()
        # the client may have reset the connection; the next read will report this
        with contextlib.suppress(OSError):
            self._transport.write_eof()
        self.drop(0)

    def drop(self, more_bytes: int) -> None:
        """Drop data received while lingering."""
        self._left_bytes -= more_bytes
        left_s = self._until_s - self._protocol.loop.time()
        if self._left_bytes < 0 or left_s <= 0:
            self.end()
        else:
            self._call_later(min(self.idle_s, left_s), self.end)

    def end(self) -> None:
        """Close the connection once the remaining data was sent."""
        self._write_delayed()
        self._transport.close()
        self._abort_if_stuck(math.inf)

    def abort(self) -> None:
        """Close the connection at once."""
        self._delayed = b""
        self.cancel_timer()
        self._transport.abort()

    def cancel_timer(self) -> None:
        """Called when the connection was closed."""
        if self._timer is not None:
            self._timer.cancel()

    def _write_delayed(self) -> None:
        delayed, self._delayed = self._delayed, b""
        if delayed and not self._transport.is_closing():
            self._transport.write(delayed)

    def _abort_if_stuck(self, before_bytes: float) -> None:
        """Abort the connection of a client that reads nothing for too long."""
        if self._transport.get_write_buffer_size() == 0:
            self.cancel_timer()
            return
        left_bytes = unsent_bytes(self._transport)
        if left_bytes >= before_bytes:
            reset(self._transport)
        else:
            self._call_later(self.stuck_s, self._abort_if_stuck, left_bytes)

    def _call_later(self, seconds: float, then: Any, *given: Any) -> None:
        self.cancel_timer()
        self._timer = self._protocol.loop.call_later(seconds, then, *given)
