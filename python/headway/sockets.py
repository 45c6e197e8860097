"""What an application may tell Headway about a TCP connection: include/headway.h in Python.

The socket options are those of table 5.1 of M. Scharf's thesis. They are taken wherever
`headwayctl hints attach` was run on this machine; elsewhere `hint` returns False and the
connection goes on as it would have. Everything is advice: nothing here can fail a connection.
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

# struct tcp_startup_info
_INFO = struct.Struct("@QQQI4BQ")
_MAX = {TCP_DEADLINE: 2**32 - 1}


class ApplicationType(enum.IntEnum):
    """What the application wants of the network."""

    STANDARD = 0
    """As ever."""
    RESPONSIVE = 1
    """Start fast, at the default rate of the peer's prefix if none is named."""
    LOWPRIORITY = 2
    """Never start fast."""


class Grant(enum.IntEnum):
    """What became of the initial rate."""

    NONE = 0
    """Nobody has decided yet, or nobody was asked."""
    REQUESTED = 1
    """The path was asked."""
    GRANTED = 2
    DENIED = 3


@dataclass(frozen=True, kw_only=True)
class StartupInfo:
    """What the stack knows of a connection; null is what nobody said."""

    asked_bps: int | None
    """Initial rate in bit/s: the application's, or the default for its peer."""
    from_application: bool
    """Whether the rate is the application's own."""
    granted_bps: int | None
    """Rate that was granted, bit/s."""
    grant: Grant
    data_volume_bytes: int | None
    """Announced volume, bytes."""
    deadline_ms: int | None
    """Time that is left for it, ms."""
    application_type: ApplicationType
    stabilize_throughput: bool
    started_bps: int | None
    """Rate in bit/s at which it really started, or started again after an idle time; None if
    nothing was paced."""


def hint(
    connection: socket.socket,
    *,
    application_type: ApplicationType | None = None,
    initial_rate_bps: int | None = None,
    stabilize_throughput: bool | None = None,
    data_volume_bytes: int | None = None,
    deadline_ms: int | None = None,
) -> bool:
    """Tells what is known of a connection; what is not given stays as it is.

    Set before ``connect`` it holds from the first packet; set on a listening socket it holds
    for the connections which that accepts. Rates are bit/s with headers, from 8 bit/s to
    2**64 - 1; 0 takes rate, volume or deadline back. Returns whether anybody takes hints here.

    Raises `HeadwayError` for a value out of range and `OSError` where the kernel refuses for
    another reason than not knowing the options. Source: table 5.1 of the thesis.
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
    """What the stack knows of a connection, or None where nobody takes hints.

    Raises `OSError` where the kernel refuses for another reason than not knowing the option.
    """
    try:
        raw = connection.getsockopt(socket.IPPROTO_TCP, TCP_STARTUP_INFO, _INFO.size)
    except OSError as error:
        if error.errno == errno.ENOPROTOOPT:
            return None
        raise
    # programs of an older headwayctl tell less
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
