"""A web server that is told by when its answer should be there (thesis, section 7.1).

python examples/deadline_http.py serve 192.0.2.1 8000
python examples/deadline_http.py get 192.0.2.1 8000 BYTES DEADLINE_MS

The client sends its deadline in a header, Response-Deadline, in ms from when the request leaves to
the last byte. The server knows size and round-trip time and tells its socket what is left; the
stack makes a rate of it, s/(T - d), or starts as ever where that is fast enough or the deadline
cannot be met. DEADLINE_MS 0 sends no header.
"""

import contextlib
import http.client
import socket
import sys
import time
from http.server import BaseHTTPRequestHandler, HTTPServer

from headway import sockets
from headway.sockets import ApplicationType

HEADER = "Response-Deadline"
# struct tcp_info of linux/tcp.h: tcpi_rtt, us
RTT_AT_BYTES = 68


def round_trip_ms(connection: socket.socket) -> float:
    """What TCP measured of this connection so far."""
    info = connection.getsockopt(socket.IPPROTO_TCP, socket.TCP_INFO, RTT_AT_BYTES + 4)
    return int.from_bytes(info[RTT_AT_BYTES:], sys.byteorder) / 1e3


def say_deadline(connection: socket.socket, size_bytes: int, deadline_ms: float) -> None:
    """Half a round trip has passed when the request is here."""
    left_ms = round(deadline_ms - round_trip_ms(connection) / 2)
    if left_ms > 0:
        sockets.hint(connection, data_volume_bytes=size_bytes, deadline_ms=left_ms)
    else:
        sockets.hint(connection, application_type=ApplicationType.STANDARD)


class Handler(BaseHTTPRequestHandler):
    """GET /N answers with N bytes."""

    def do_GET(self) -> None:
        """Answers in time, if it can."""
        size = self.path.removeprefix("/")
        if not size.isdecimal() or int(size) > 1 << 30:
            self.send_error(404, "ask for /N, N bytes up to 2**30")
            return
        with contextlib.suppress(ValueError):  # a header that is no number says nothing
            if HEADER in self.headers:
                say_deadline(self.connection, int(size), float(self.headers[HEADER]))
        self.send_response(200)
        self.send_header("Content-Length", size)
        self.end_headers()
        self.wfile.write(bytes(int(size)))
        info = sockets.startup_info(self.connection)
        print(f"{size} bytes, started at {(info and info.started_bps) or 0} bit/s", flush=True)

    def log_message(self, format: str, *args: object) -> None:
        """The line above is enough."""


def get(address: str, port: int, size: str, deadline_ms: str) -> None:
    """Asks once and says how long it took from the request."""
    connection = http.client.HTTPConnection(address, port)
    connection.connect()
    start_s = time.monotonic()
    headers = {HEADER: deadline_ms} if float(deadline_ms) else {}
    connection.request("GET", f"/{size}", headers=headers)
    received = len(connection.getresponse().read())
    print(f"{received} bytes in {(time.monotonic() - start_s) * 1e3:.0f} ms")


def main() -> int:
    """Serves until it is stopped, or asks."""
    match sys.argv[1:]:
        case ["serve", address, port]:
            with contextlib.suppress(KeyboardInterrupt):
                HTTPServer((address, int(port)), Handler).serve_forever()
        case ["get", address, port, size, deadline_ms]:
            get(address, int(port), size, deadline_ms)
        case _:
            print(__doc__, file=sys.stderr)
            return 2
    return 0


if __name__ == "__main__":
    sys.exit(main())
