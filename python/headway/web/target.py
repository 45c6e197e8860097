"""The header Response-Deadline, and what a socket is told of it: both only here.

Its value is a time in ms, from when the request leaves to when the last byte of the response is
there. The rate that this needs is the stack's affair (algorithms/port/initial_rate.h): it is told
the volume, and what is left.
"""

from __future__ import annotations

import logging
import re
import socket
import sys
import time
from collections.abc import Iterable
from dataclasses import dataclass

from headway import sockets

HEADER = "Response-Deadline"
MOST_MS = 3_600_000
"""An hour; who waits longer needs no fast start."""
LOG = logging.getLogger("headway.web")

_TIME = re.compile(rb"[0-9]{1,7}(\.[0-9]{1,3})?")
_SHOWN_BYTES = 40
# struct tcp_info of linux/tcp.h: tcpi_rtt, us
_RTT_AT_BYTES = 68


def parse(values: Iterable[bytes]) -> float | None:
    """The target in ms of a request with these values of the header; None: none.

    A target that cannot be meant is none, and one line of the log says so: it is advice, so the
    response is what it would have been without.
    """
    match list(values):
        case []:
            return None
        case [value]:
            target_ms = float(value) if _TIME.fullmatch(value) else 0.0
            if 0 < target_ms <= MOST_MS:
                return target_ms
            said = f"{value[:_SHOWN_BYTES]!r}{'...' if len(value) > _SHOWN_BYTES else ''}"
        case several:
            said = f"{len(several)} times"
    LOG.warning("%s: %s: ignored: must be one time in ms, up to %d", HEADER, said, MOST_MS)
    return None


def of_headers(headers: Iterable[tuple[bytes, bytes]]) -> float | None:
    """The target of a request with these headers; as `parse`."""
    name = HEADER.lower().encode()
    return parse(value for key, value in headers if key.lower() == name)


def round_trip_ms(connection: socket.socket) -> float:
    """What TCP measured of a connection so far, smoothed. Raises OSError where it is not TCP."""
    info = connection.getsockopt(socket.IPPROTO_TCP, socket.TCP_INFO, _RTT_AT_BYTES + 4)
    return int.from_bytes(info[_RTT_AT_BYTES:], sys.byteorder) / 1e3


@dataclass(frozen=True)
class Target:
    """When a response is wanted, and when its request was here (time.monotonic())."""

    target_ms: float
    arrived_s: float

    def left_ms(self, rtt_ms: float, now_s: float) -> int:
        """What is left for the response; at least 1, which nothing can meet.

        Half a round trip had passed when the request was here. So a target below the round trip
        leaves less than the half that the last byte needs, and the stack starts as ever.
        """
        passed_ms = (now_s - self.arrived_s) * 1e3 + rtt_ms / 2
        return max(1, round(self.target_ms - passed_ms))


def say(connection: socket.socket, volume_bytes: int | None, target: Target | None) -> bool:
    """Tell a server's socket how much it is about to send, and by when that should be there.

    What is not known takes back what was said for the response before. Returns whether anybody
    takes hints; nothing that fails here may fail the response.
    """
    try:
        left_ms = 0
        if target is not None and volume_bytes:
            left_ms = target.left_ms(round_trip_ms(connection), time.monotonic())
        return sockets.hint(connection, data_volume_bytes=volume_bytes or 0, deadline_ms=left_ms)
    except OSError as error:  # it is closed by now, or not TCP
        LOG.debug("no hint: %s", error.strerror)
        return False
