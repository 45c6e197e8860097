"""A measuring client: loads the pages of a file as a client of each HTTP version would.

    python -m headway.web.client --to ADDRESS:PORT --pages FILE --start NS --end NS --out FILE

Times are of CLOCK_MONOTONIC. The file of --out gets (object, request time, time of the last byte)
for every response as 64-bit numbers; the file of --received gets (time, bytes so far) for every
read.
"""

from __future__ import annotations

import argparse
import json
import select
import sys
import time
from array import array
from collections.abc import Sequence
from pathlib import Path
from typing import NamedTuple

import h2.exceptions
import h11

from headway.errors import HeadwayError
from headway.web.connections import HttpConnection, Received, Server, open_connection
from headway.web.parent import end_with_parent
from headway.web.visit import PendingObject, Visit, choose_connection
from headway.workloads.pages import PageTable, read_pages

NS = 1_000_000_000
_EXACT_S = 0.05
"""A select() with a timeout shorter than this ends at most 50 us late, like any timer."""


class Limits(NamedTuple):
    """The maximum numbers of parallel connections, and of requests on each connection."""

    connections: int = 1
    requests: int = 1 << 32


class Client:
    """A user with the connections to one server, and the data received over them."""

    def __init__(self, server: Server, limits: Limits, pages: PageTable, start_ns: int) -> None:
        self._server = server
        self._limits = limits._replace(requests=1) if server.http == "1.0" else limits
        self._request_bytes = pages.request_bytes.tolist()
        self._visit = Visit(pages, start_ns)
        self._open: list[HttpConnection] = []
        """Connections that accept requests or wait for responses, in the order of opening."""
        self._all_connections: list[HttpConnection] = []
        """All connections with a socket."""
        self._has_stopped = False
        self.received = Received()
        self.responses = array("q")
        self.larger: set[int] = set()
        """Objects whose requests had to be larger than the file says."""
        self.first: HttpConnection | None = None
        """The connection that was opened first."""

    @property
    def late_max_ns(self) -> int:
        """The largest delay between an event's due time and its handling, in ns."""
        return self._visit.late_max_ns

    def load(self, stop_ns: int, end_ns: int) -> None:
        """Load all pages; send no more requests from ``stop_ns`` on. Raises OSError, HeadwayError.

        A request that is not answered at ``end_ns`` has no response, as in the simulator.
        """
        while not self._visit.is_over and (now_ns := time.monotonic_ns()) < end_ns:
            if now_ns >= stop_ns:
                self._has_stopped = True
                if not any(connection.waiting for connection in self._open):
                    break
            else:
                self._send_requests(now_ns)
            self._wait(min(end_ns, self._next_ns(stop_ns)))

    def close(self) -> None:
        """Close all connections."""
        for connection in self._all_connections:
            connection.close()

    def _next_ns(self, stop_ns: int) -> int:
        """Time at which the next request is due or requests stop, if no data arrives before."""
        if self._has_stopped:
            return sys.maxsize
        return min(stop_ns, self._visit.next_ns() or sys.maxsize)

    def _send_requests(self, now_ns: int) -> None:
        """Send requests for known objects that are due, as long as connections are free."""
        self._visit.advance(now_ns)
        known = self._visit.known
        while known and (connection := self._connection_for(now_ns)):
            pending = known.popleft()
            if not connection.request(pending, self._request_bytes[pending.object], now_ns):
                self.larger.add(pending.object)
        for connection in self._open:
            connection.write()

    def _connection_for(self, now_ns: int) -> HttpConnection | None:
        found = choose_connection(
            self._open, most=self._limits.connections, requests=self._limits.requests,
            shares=self._server.http in ("1.1-pipelined", "2"),
        )  # fmt: skip
        if isinstance(found, bool):
            return self._new(now_ns) if found else None
        return found

    def _new(self, now_ns: int) -> HttpConnection:
        connection = open_connection(self._server, self.received, now_ns)
        self.first = self.first or connection
        self._open.append(connection)
        self._all_connections.append(connection)
        return connection

    def _wait(self, until_ns: int) -> None:
        """Wait until a socket can be read or written, and read or write it."""
        writing = [connection for connection in self._all_connections if connection.wants_to_write]
        left_s = max(until_ns - time.monotonic_ns(), 0) / NS
        # The timeouts of select are exact; those of poll and epoll in Python are in whole ms. The
        # kernel may end a timeout late by a thousandth of it (select_estimate_accuracy), so a long
        # wait is divided into parts.
        wait_s = left_s if left_s < _EXACT_S else min(0.9 * left_s, 3600)
        readable, writable, _ = select.select(self._all_connections, writing, [], wait_s)
        for connection in writable:
            connection.write()
        for connection in readable:
            for pending in connection.read():
                self._arrived(pending)
            self._close_or_requeue(connection)

    def _arrived(self, pending: PendingObject) -> None:
        now_ns = time.monotonic_ns()
        assert pending.requested_ns is not None
        self.responses.extend((pending.object, pending.requested_ns, now_ns))
        self._visit.arrived(pending.object, now_ns)

    def _close_or_requeue(self, connection: HttpConnection) -> None:
        """Requeue requests that a closed connection did not answer; remove finished connections."""
        if unanswered := connection.take_unanswered():
            self._visit.requeue(unanswered)
        is_full = connection.is_ending or connection.requests >= self._limits.requests
        if connection in self._open and (
            connection.is_closed or (is_full and not connection.waiting)
        ):
            self._open.remove(connection)
        if connection.is_closed:
            self._all_connections.remove(connection)
            connection.close()


def main(arguments: Sequence[str] | None = None) -> int:
    """Load the pages and print a summary; return the exit status."""
    parser = argparse.ArgumentParser(prog="headway.web.client")
    parser.add_argument("--to", required=True, metavar="ADDRESS:PORT")
    parser.add_argument("--pages", required=True, type=Path, metavar="FILE")
    parser.add_argument("--http", choices=("1.0", "1.1", "1.1-pipelined", "2"), default="1.1")
    parser.add_argument("--connections", type=int, default=1)
    parser.add_argument(
        "--requests", type=int, default=Limits().requests, help="most requests per connection"
    )
    parser.add_argument("--control")
    parser.add_argument("--deadline-ms", type=int)
    for name in ("start", "stop", "end"):
        parser.add_argument(f"--{name}", required=True, type=int, metavar="NS")
    parser.add_argument("--out", required=True, type=Path, metavar="FILE")
    parser.add_argument("--received", required=True, type=Path, metavar="FILE")
    options = parser.parse_args(arguments)
    end_with_parent()
    server = Server(options.to, options.http, options.control, options.deadline_ms)
    limits = Limits(options.connections, options.requests)
    client = None
    try:
        client = Client(server, limits, read_pages(options.pages), options.start)
        client.load(options.stop, options.end)
    except (HeadwayError, OSError, ValueError) as error:
        print(f"headway.web.client: {options.to}: {error}", file=sys.stderr)
        return 2
    except (h11.ProtocolError, h2.exceptions.H2Error) as error:
        print(f"headway.web.client: {options.to}: not HTTP: {error}", file=sys.stderr)
        return 2
    finally:
        if client is not None:
            options.out.write_bytes(client.responses.tobytes())
            options.received.write_bytes(client.received.rows.tobytes())
            client.close()
    first = client.first
    summary = {
        "started_ns": first and first.opened_ns,
        "connected_ns": first and first.connected_ns,
        "late_max_ns": client.late_max_ns,
        "larger_requests": len(client.larger),
    }
    print(json.dumps(summary), flush=True)
    return 0


if __name__ == "__main__":
    sys.exit(main())
