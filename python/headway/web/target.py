"""The header Response-Deadline, and the hints that it sets on a socket.

Its value is a time in ms, from when the client sends the request until the last byte of the
response arrives. The hints are the volume and the remaining time; the stack computes the rate from
them (algorithms/port/initial_rate.h).
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
"""The longest target time that counts: one hour. A longer target needs no fast start."""
LOG = logging.getLogger("headway.web")

_TIME = re.compile(rb"[0-9]{1,7}(\.[0-9]{1,3})?")
_SHOWN_BYTES = 40
# offset of tcpi_rtt (in us) in struct tcp_info of linux/tcp.h
_RTT_AT_BYTES = 68


def parse(values: Iterable[bytes]) -> float | None:
    """The target in ms of a request with these values of the header; None without a target.

    An invalid target is ignored, with one line in the log. The target is only advice, so the
    request is then answered as without one.
    """
    match list(values):
        case []:
            return None
        case [value]:
            target_ms = float(value) if _TIME.fullmatch(value) else 0.0
            if 0 < target_ms <= MOST_MS:
                return target_ms
            shown = f"{value[:_SHOWN_BYTES]!r}{'...' if len(value) > _SHOWN_BYTES else ''}"
        case several:
            shown = f"{len(several)} times"
    LOG.warning("%s: %s: ignored: must be one time in ms, up to %d", HEADER, shown, MOST_MS)
    return None


def of_headers(headers: Iterable[tuple[bytes, bytes]]) -> float | None:
    """The target of a request with these headers; see `parse`."""
    name = HEADER.lower().encode()
    return parse(value for key, value in headers if key.lower() == name)


def round_trip_ms(connection: socket.socket) -> float:
    """The smoothed RTT of a TCP connection in ms. Raises OSError for a socket that is not TCP."""
    info = connection.getsockopt(socket.IPPROTO_TCP, socket.TCP_INFO, _RTT_AT_BYTES + 4)
    return int.from_bytes(info[_RTT_AT_BYTES:], sys.byteorder) / 1e3


@dataclass(frozen=True)
class Target:
    """A response's target, and the time at which its request arrived (time.monotonic())."""

    target_ms: float
    arrived_s: float

    def left_ms(self, rtt_ms: float, now_s: float) -> int:
        """Remaining ms for the response; at least 1, which no response can meet.

        Half an RTT had passed when the request arrived. A target below the RTT therefore leaves
        less than the half RTT that the last byte needs, and the stack starts as without a target.
        """
        passed_ms = (now_s - self.arrived_s) * 1e3 + rtt_ms / 2
        return max(1, round(self.target_ms - passed_ms))


def set_hints(connection: socket.socket, volume_bytes: int | None, target: Target | None) -> bool:
    """Set a server's socket hints: the volume it will send, and the deadline.

    A value of None deletes the hint of the previous response. Returns whether a program receives
    hints. An error here never affects the response.
    """
    try:
        left_ms = 0
        if target is not None and volume_bytes:
            left_ms = target.left_ms(round_trip_ms(connection), time.monotonic())
        return sockets.hint(connection, data_volume_bytes=volume_bytes or 0, deadline_ms=left_ms)
    except OSError as error:  # the socket is closed, or not TCP
        LOG.debug("no hint: %s", error.strerror)
        return False
