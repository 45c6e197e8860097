"""Connections of a measuring client: they send requests and return the objects that arrived.

HTTP/1 uses h11, which handles one request at a time. A pipeline is therefore a queue of requests,
each with a separate reader that begins where the previous one ended. HTTP/2 uses h2, over cleartext
with prior knowledge.
"""

from __future__ import annotations

import contextlib
import os
import socket
import time
from abc import ABC, abstractmethod
from array import array
from collections import deque
from collections.abc import Sequence
from dataclasses import dataclass

import h2.config
import h2.connection
import h2.errors
import h2.events
import h2.settings
import h11
from hpack import HeaderTuple, NeverIndexedHeaderTuple

from headway.errors import HeadwayError
from headway.web.target import HEADER
from headway.web.visit import PendingObject

_READ_BYTES = 1 << 18
_WINDOW_BYTES = 2**31 - 1
"""Large enough that HTTP/2's flow control never limits a transfer."""
_FRAME_HEAD_BYTES = 9
_GOAWAY = 7
_HTTP2_HEAD_BYTES = 40
"""Approximate size of the HTTP/2 frame of a request whose header fields HPACK has indexed."""

_DEFAULT_STREAMS = 1024
"""Maximum number of concurrent streams until the server announces its limit. headway.web.origin has
the same limit."""
_NO_LIMIT = 1 << 32


@dataclass(frozen=True)
class Server:
    """The server's address, and the headers of all requests."""

    to: str
    """ADDRESS:PORT."""
    http: str
    control: str | None = None
    deadline_ms: int | None = None


class Received:
    """The data that a user has read over all connections: (time, bytes so far) for every read."""

    def __init__(self) -> None:
        self.rows = array("q")
        self._bytes = 0

    def add(self, count: int) -> None:
        """Record that this many bytes were read now."""
        self._bytes += count
        self.rows.extend((time.monotonic_ns(), self._bytes))


def open_connection(server: Server, received: Received, now_ns: int) -> HttpConnection:
    """Open a connection, without waiting for its handshake. Raises OSError."""
    kind = Http2Connection if server.http == "2" else Http1Connection
    return kind(server, received, now_ns)


class HttpConnection(ABC):
    """A connection to the server; sends requests once it is open. Methods raise HeadwayError."""

    def __init__(self, server: Server, received: Received, now_ns: int) -> None:
        self._server = server
        self._received = received
        self._out = bytearray()
        self.requests = 0
        """Number of requests on the connection so far."""
        self.waiting = 0
        """Number of requests without a response so far."""
        self.used_ns = now_ns
        """Time of the last use."""
        self.is_ending = False
        """Whether the server accepts no more requests on the connection."""
        self.is_closed = False
        """Whether the connection is closed."""
        self.opened_ns = now_ns
        self.connected_ns: int | None = None
        self._arrived: list[PendingObject] = []
        self._answered = 0
        host, _, port = server.to.rpartition(":")
        self.socket = socket.socket(socket.AF_INET, socket.SOCK_STREAM)
        self.socket.setblocking(False)
        self.socket.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
        if server.control is not None:
            control = server.control.encode()
            self.socket.setsockopt(socket.IPPROTO_TCP, socket.TCP_CONGESTION, control)
        with contextlib.suppress(BlockingIOError):
            self.socket.connect((host, int(port)))

    @property
    def most_waiting(self) -> int:
        """Maximum number of unanswered requests that the server accepts."""
        return _NO_LIMIT

    @property
    def wants_to_write(self) -> bool:
        """Whether to wait until the socket can be written to."""
        return self.connected_ns is None or bool(self._out)

    def fileno(self) -> int:
        """The socket's file descriptor, for select()."""
        return self.socket.fileno()

    def request(self, pending: PendingObject, request_bytes: int, now_ns: int) -> bool:
        """Queue a request for ``write``; return whether its size is at most ``request_bytes``."""
        self.requests += 1
        self.waiting += 1
        self.used_ns = now_ns
        if pending.requested_ns is None:
            pending = pending._replace(requested_ns=now_ns)
        return self._send_request(pending, request_bytes)

    def write(self) -> None:
        """Send the queued data; requests queued at the same time are sent together."""
        if self.connected_ns is None:
            if error := self.socket.getsockopt(socket.SOL_SOCKET, socket.SO_ERROR):
                raise OSError(error, os.strerror(error))
            try:
                self.socket.getpeername()
            except OSError:  # not yet
                return
            self.connected_ns = time.monotonic_ns()
        while self._out:
            try:
                sent = self.socket.send(self._out)
            except BlockingIOError:
                return
            except (BrokenPipeError, ConnectionResetError):
                return  # the next read() gets the same error and handles it
            del self._out[:sent]

    def read(self) -> Sequence[PendingObject]:
        """Read the available data; return the objects that are now complete."""
        try:
            piece = self.socket.recv(_READ_BYTES)
        except BlockingIOError:
            return ()
        except ConnectionResetError:
            piece = b""
        if not piece:
            self.is_ending = self.is_closed = True
        else:
            self._received.add(len(piece))
        self._receive(piece)
        arrived, self._arrived = self._arrived, []
        return arrived

    def take_unanswered(self) -> Sequence[PendingObject]:
        """Remove and return the requests that must be repeated on another connection, in order."""
        unanswered = self._take_unanswered()
        if unanswered and self.is_closed and not self._answered:
            raise HeadwayError(
                f"{self._server.to}: the server closed the connection without any response"
            )
        self.waiting -= len(unanswered)
        return unanswered

    def close(self) -> None:
        """Close the connection."""
        self.is_ending = self.is_closed = True
        self.socket.close()

    @abstractmethod
    def _send_request(self, pending: PendingObject, request_bytes: int) -> bool:
        """Append a request to ``_out``; return whether its size is at most ``request_bytes``."""

    @abstractmethod
    def _receive(self, piece: bytes) -> None:
        """Handle received data; empty data means that the connection has ended."""

    @abstractmethod
    def _take_unanswered(self) -> Sequence[PendingObject]:
        """Remove and return the requests that will not be answered any more."""

    def _complete(self, pending: PendingObject) -> None:
        self._arrived.append(pending)
        self._answered += 1
        self.waiting -= 1
        self.used_ns = time.monotonic_ns()

    def _check_status(self, pending: PendingObject, status: int) -> None:
        if status != 200:
            raise HeadwayError(f"{self._server.to}: /{pending.object}: status {status}, not 200")


class Http1Connection(HttpConnection):
    """HTTP/1: responses arrive in the order of the requests."""

    def __init__(self, server: Server, received: Received, now_ns: int) -> None:
        super().__init__(server, received, now_ns)
        self._headers = [("Host", server.to)]
        if server.http == "1.0":
            self._headers.append(("Connection", "close"))
        if server.deadline_ms is not None:
            self._headers.append((HEADER, str(server.deadline_ms)))
        self._queue: deque[tuple[PendingObject, h11.Connection]] = deque()
        self._has_begun = False

    def _send_request(self, pending: PendingObject, request_bytes: int) -> bool:
        least_bytes = len(self._head(pending, self._headers)[1])
        pad = request_bytes - least_bytes - len("X: \r\n")
        padding = [("X", "x" * pad)] if pad > 0 else []
        reader, head = self._head(pending, [*self._headers, *padding])
        self._out += head
        self._queue.append((pending, reader))
        return request_bytes >= least_bytes

    @staticmethod
    def _head(
        pending: PendingObject, headers: Sequence[tuple[str, str]]
    ) -> tuple[h11.Connection, bytes]:
        reader = h11.Connection(h11.CLIENT)
        head = reader.send(
            h11.Request(method="GET", target=f"/{pending.object}", headers=list(headers))
        )
        reader.send(h11.EndOfMessage())
        return reader, head or b""

    def _receive(self, piece: bytes) -> None:
        if not self._queue:
            if piece:
                raise HeadwayError(f"{self._server.to}: a response without a request")
            return
        if not piece and not self._has_begun:
            return
        self._queue[0][1].receive_data(piece)
        while self._queue:
            pending, reader = self._queue[0]
            event = reader.next_event()
            if event in (h11.NEED_DATA, h11.PAUSED):
                return
            self._has_begun = True
            if isinstance(event, h11.Response):
                self._check_status(pending, event.status_code)
                values = {value.lower() for name, value in event.headers if name == b"connection"}
                self.is_ending |= b"close" in values
            elif isinstance(event, h11.EndOfMessage):
                self._queue.popleft()
                self._has_begun = False
                self._complete(pending)
                rest = reader.trailing_data[0]
                if not rest:
                    return
                if not self._queue:
                    raise HeadwayError(f"{self._server.to}: a response without a request")
                self._queue[0][1].receive_data(rest)

    def _take_unanswered(self) -> Sequence[PendingObject]:
        unanswered = [pending for pending, _ in self._queue] if self.is_closed else []
        if unanswered:
            self._queue.clear()
        return unanswered


class Http2Connection(HttpConnection):
    """HTTP/2: responses are multiplexed."""

    def __init__(self, server: Server, received: Received, now_ns: int) -> None:
        super().__init__(server, received, now_ns)
        config = h2.config.H2Configuration(client_side=True, header_encoding=None)
        self._http = h2.connection.H2Connection(config)
        codes = h2.settings.SettingCodes
        self._http.local_settings = h2.settings.Settings(
            client=True,
            initial_values={codes.INITIAL_WINDOW_SIZE: _WINDOW_BYTES, codes.ENABLE_PUSH: 0},
        )
        self._http.initiate_connection()
        self._http.increment_flow_control_window(_WINDOW_BYTES - 65_535)
        self._out += self._http.data_to_send()
        self._streams: dict[int, PendingObject] = {}
        self._refused: list[PendingObject] = []
        self._frames = bytearray()
        self._has_settings = False

    @property
    def most_waiting(self) -> int:
        """Number of concurrent streams that the server allows."""
        limit: int = self._http.remote_settings.max_concurrent_streams
        return limit if self._has_settings else min(limit, _DEFAULT_STREAMS)

    def _send_request(self, pending: PendingObject, request_bytes: int) -> bool:
        head = [
            HeaderTuple(":method", "GET"),
            HeaderTuple(":scheme", "http"),
            HeaderTuple(":authority", self._server.to),
            HeaderTuple(":path", f"/{pending.object}"),
        ]
        if (pad := request_bytes - _HTTP2_HEAD_BYTES) > 0:
            # a header of X's pads the request to its size: HPACK does not index it, and encodes an
            # X in a byte
            head.append(NeverIndexedHeaderTuple("x", "X" * pad))
        stream = self._http.get_next_available_stream_id()
        self._streams[stream] = pending
        self._http.send_headers(stream, head, end_stream=True)
        self._out += self._http.data_to_send()
        return request_bytes >= _HTTP2_HEAD_BYTES

    def _receive(self, piece: bytes) -> None:
        for event in self._http.receive_data(self._without_goaway(piece)):
            if isinstance(event, h2.events.ResponseReceived):
                pending = self._streams[event.stream_id]
                self._check_status(pending, int(dict(event.headers)[b":status"]))
            elif isinstance(event, h2.events.DataReceived):
                self._http.acknowledge_received_data(event.flow_controlled_length, event.stream_id)
            elif isinstance(event, h2.events.StreamEnded):
                self._complete(self._streams.pop(event.stream_id))
            elif isinstance(event, h2.events.StreamReset):
                self._was_reset(event)
            elif isinstance(event, h2.events.RemoteSettingsChanged):
                self._has_settings = True
        self._out += self._http.data_to_send()

    def _without_goaway(self, piece: bytes) -> bytes:
        """The complete frames received, without GOAWAY frames.

        h2 would end all streams at a GOAWAY, also those that the server still answers.
        """
        self._frames += piece
        whole = bytearray()
        while len(self._frames) >= _FRAME_HEAD_BYTES:
            end = _FRAME_HEAD_BYTES + int.from_bytes(self._frames[:3], "big")
            if len(self._frames) < end:
                break
            if self._frames[3] == _GOAWAY:
                self.is_ending = True
            else:
                whole += self._frames[:end]
            del self._frames[:end]
        return bytes(whole)

    def _was_reset(self, event: h2.events.StreamReset) -> None:
        pending = self._streams.pop(event.stream_id)
        if event.error_code != h2.errors.ErrorCodes.REFUSED_STREAM:
            raise HeadwayError(f"{self._server.to}: /{pending.object}: reset, {event.error_code}")
        self._refused.append(pending)

    def _take_unanswered(self) -> Sequence[PendingObject]:
        unanswered, self._refused = self._refused, []
        if self.is_closed:
            unanswered += self._streams.values()
            self._streams.clear()
        return unanswered
