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
from headway.web.lanes import Lane, Received, Server, open_lane
from headway.web.parent import end_with_parent
from headway.web.visit import Visit, Wanted, place
from headway.workloads.pages import PageTable, read_pages

NS = 1_000_000_000
_EXACT_S = 0.05
"""A shorter timeout is late by no more than any timer is (50 us)."""


class Limits(NamedTuple):
    """Limits: number of parallel connections, and number of requests on each."""

    connections: int = 1
    requests: int = 1 << 32


class Client:
    """A user with the connections to one server, and the data received over them."""

    def __init__(self, server: Server, limits: Limits, pages: PageTable, start_ns: int) -> None:
        self._server = server
        self._limits = limits._replace(requests=1) if server.http == "1.0" else limits
        self._request_bytes = pages.request_bytes.tolist()
        self._visit = Visit(pages, start_ns)
        self._open: list[Lane] = []
        """Connections that accept requests or wait for responses, in the order of opening."""
        self._lanes: list[Lane] = []
        """All connections with a socket."""
        self._has_stopped = False
        self.received = Received()
        self.responses = array("q")
        self.larger: set[int] = set()
        """Objects whose requests are larger than their size in the file."""
        self.first: Lane | None = None
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
                if not any(lane.waiting for lane in self._open):
                    break
            else:
                self._ask(now_ns)
            self._wait(min(end_ns, self._next_ns(stop_ns)))

    def close(self) -> None:
        """Close all connections."""
        for lane in self._lanes:
            lane.close()

    def _next_ns(self, stop_ns: int) -> int:
        """The next time at which there is work even if no data arrives."""
        if self._has_stopped:
            return sys.maxsize
        return min(stop_ns, self._visit.next_ns() or sys.maxsize)

    def _ask(self, now_ns: int) -> None:
        """Send requests for known objects that are due, as long as connections are free."""
        self._visit.look(now_ns)
        known = self._visit.known
        while known and (lane := self._lane(now_ns)):
            wanted = known.popleft()
            if not lane.ask(wanted, self._request_bytes[wanted.object], now_ns):
                self.larger.add(wanted.object)
        for lane in self._open:
            lane.write()

    def _lane(self, now_ns: int) -> Lane | None:
        found = place(
            self._open, most=self._limits.connections, requests=self._limits.requests,
            shares=self._server.http in ("1.1-pipelined", "2"),
        )  # fmt: skip
        if isinstance(found, bool):
            return self._new(now_ns) if found else None
        return found

    def _new(self, now_ns: int) -> Lane:
        lane = open_lane(self._server, self.received, now_ns)
        self.first = self.first or lane
        self._open.append(lane)
        self._lanes.append(lane)
        return lane

    def _wait(self, until_ns: int) -> None:
        """Wait until a socket can be read or written, and read or write it."""
        writing = [lane for lane in self._lanes if lane.wants_to_write]
        left_s = max(until_ns - time.monotonic_ns(), 0) / NS
        # select's timeouts are exact; those of poll and epoll in Python are in whole ms. The kernel
        # may end long timeouts late by a thousandth (select_estimate_accuracy), so wait in parts.
        wait_s = left_s if left_s < _EXACT_S else min(0.9 * left_s, 3600)
        readable, writable, _ = select.select(self._lanes, writing, [], wait_s)
        for lane in writable:
            lane.write()
        for lane in readable:
            for wanted in lane.read():
                self._arrived(wanted)
            self._tidy(lane)

    def _arrived(self, wanted: Wanted) -> None:
        now_ns = time.monotonic_ns()
        assert wanted.asked_ns is not None
        self.responses.extend((wanted.object, wanted.asked_ns, now_ns))
        self._visit.arrived(wanted.object, now_ns)

    def _tidy(self, lane: Lane) -> None:
        """Repeat requests that met a closed connection, and drop connections that are done."""
        if lost := lane.lost():
            self._visit.again(lost)
        takes_no_more = lane.is_ending or lane.requests >= self._limits.requests
        if lane in self._open and (lane.is_closed or (takes_no_more and not lane.waiting)):
            self._open.remove(lane)
        if lane.is_closed:
            self._lanes.remove(lane)
            lane.close()


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
    asked = parser.parse_args(arguments)
    end_with_parent()
    server = Server(asked.to, asked.http, asked.control, asked.deadline_ms)
    limits = Limits(asked.connections, asked.requests)
    client = None
    try:
        client = Client(server, limits, read_pages(asked.pages), asked.start)
        client.load(asked.stop, asked.end)
    except (HeadwayError, OSError, ValueError) as error:
        print(f"headway.web.client: {asked.to}: {error}", file=sys.stderr)
        return 2
    except (h11.ProtocolError, h2.exceptions.H2Error) as error:
        print(f"headway.web.client: {asked.to}: not HTTP: {error}", file=sys.stderr)
        return 2
    finally:
        if client is not None:
            asked.out.write_bytes(client.responses.tobytes())
            asked.received.write_bytes(client.received.rows.tobytes())
            client.close()
    first = client.first
    said = {
        "started_ns": first and first.opened_ns,
        "connected_ns": first and first.connected_ns,
        "late_max_ns": client.late_max_ns,
        "larger_requests": len(client.larger),
    }
    print(json.dumps(said), flush=True)
    return 0


if __name__ == "__main__":
    sys.exit(main())
