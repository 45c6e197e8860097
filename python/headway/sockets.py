"""Hints that an application can give about a TCP connection: include/headway.h in Python.

The socket options are those of table 5.1 of M. Scharf's thesis. They need `headwayctl hints attach`
on this machine; without it `hint` returns False, and the connection continues unchanged. All hints
are advice and cannot make a connection fail.
"""

import enum
import errno
import socket
import struct
from dataclasses import dataclass

from headway.errors import HeadwayError

TCP_APPLICATION_TYPE = 0x48570001
TCP_INITIAL_RATE = 0x48570002
TCP_STABILIZE_THROUGHPUT = 0x48570003
TCP_DATA_VOLUME = 0x48570004
TCP_DEADLINE = 0x48570005
TCP_STARTUP_INFO = 0x48570006

# the same layout as struct tcp_startup_info in include/headway.h
_INFO = struct.Struct("@QQQI4BQ")
_MAX = {TCP_DEADLINE: 2**32 - 1}


class ApplicationType(enum.IntEnum):
    """How fast an application needs its connections to start."""

    STANDARD = 0
    """No special requirement."""
    RESPONSIVE = 1
    """Start fast, at the default rate of the peer's prefix if no initial rate is set."""
    LOWPRIORITY = 2
    """Never start fast."""


class Grant(enum.IntEnum):
    """The outcome of a request for the initial rate."""

    NONE = 0
    """No rate was requested, or the stack has not decided yet whether to request one."""
    REQUESTED = 1
    """The stack has sent a request to the path's routers, and no answer has arrived."""
    GRANTED = 2
    DENIED = 3


@dataclass(frozen=True, kw_only=True)
class StartupInfo:
    """What the stack knows about a connection; None for values that were not set."""

    asked_bps: int | None
    """Initial rate in bit/s: the one that the application set, or the default for the peer."""
    from_application: bool
    """Whether the application set the initial rate ``asked_bps``."""
    granted_bps: int | None
    """Rate that was granted, bit/s."""
    grant: Grant
    data_volume_bytes: int | None
    """Announced volume, bytes."""
    deadline_ms: int | None
    """Time left until the deadline, ms."""
    application_type: ApplicationType
    stabilize_throughput: bool
    started_bps: int | None
    """Rate in bit/s at which the connection actually started, or restarted after an idle time; None
    without a paced start."""


def hint(
    connection: socket.socket,
    *,
    application_type: ApplicationType | None = None,
    initial_rate_bps: int | None = None,
    stabilize_throughput: bool | None = None,
    data_volume_bytes: int | None = None,
    deadline_ms: int | None = None,
) -> bool:
    """Set hints for a connection; values that are not given stay unchanged.

    Hints set before ``connect`` apply from the first packet; hints of a listening socket apply to
    the connections that it accepts. Rates are in bit/s, headers included, from 8 bit/s to
    2**64 - 1; 0 removes rate, volume or deadline. Returns whether hints are accepted on this
    machine.

    Raises `HeadwayError` for a value out of range, and `OSError` if the kernel refuses for another
    reason than that the options are unknown. Source: table 5.1 of the thesis.
    """
    values = {
        TCP_APPLICATION_TYPE: application_type,
        TCP_INITIAL_RATE: initial_rate_bps,
        TCP_STABILIZE_THROUGHPUT: stabilize_throughput,
        TCP_DATA_VOLUME: data_volume_bytes,
        TCP_DEADLINE: deadline_ms,
    }
    names = (
        "application_type",
        "initial_rate_bps",
        "stabilize_throughput",
        "data_volume_bytes",
        "deadline_ms",
    )
    for (option, value), name in zip(values.items(), names, strict=True):
        most = _MAX.get(option, 2**64 - 1)
        if value is not None and not 0 <= value <= most:
            raise HeadwayError(f"{name} = {value}: must be 0 to {most}")
    for option, value in values.items():
        if value is None:
            continue
        try:
            connection.setsockopt(socket.IPPROTO_TCP, option, struct.pack("@Q", value))
        except OSError as error:
            if error.errno == errno.ENOPROTOOPT:
                return False
            raise
    return True


def startup_info(connection: socket.socket) -> StartupInfo | None:
    """What the stack knows about a connection; None if hints are not accepted on this machine.

    Raises `OSError` if the kernel refuses for another reason than that the option is unknown.
    """
    try:
        raw = connection.getsockopt(socket.IPPROTO_TCP, TCP_STARTUP_INFO, _INFO.size)
    except OSError as error:
        if error.errno == errno.ENOPROTOOPT:
            return None
        raise
    # eBPF programs that an older headwayctl attached return fewer fields
    raw = raw.ljust(_INFO.size, b"\0")
    asked, granted, volume, deadline, kind, stabilize, grant, own, started = _INFO.unpack(raw)
    return StartupInfo(
        asked_bps=asked or None,
        from_application=bool(own),
        granted_bps=granted if grant == Grant.GRANTED else None,
        grant=Grant(grant),
        data_volume_bytes=volume or None,
        deadline_ms=deadline or None,
        application_type=ApplicationType(kind),
        stabilize_throughput=bool(stabilize),
        started_bps=started or None,
    )
