"""Quantities as users write them: "1Mbit/s", "50 ms", "60000 B", "40 pkts", "1 BDP".

Internally a rate is an integer in bits per second, a time an integer in nanoseconds, and a size an
integer in bytes. This module parses all user input. A number without a unit is an error, because 50
could be milliseconds or seconds, and 1000 bits or bytes. crates/experiment implements parsing and
rounding, also for headwayctl.
"""

from __future__ import annotations

import functools
from collections.abc import Callable
from decimal import Decimal
from typing import Literal, NamedTuple, TypeVar, cast

from headway.engine import engine

BITS_PER_BYTE = 8
NS_PER_S = 1_000_000_000

_RATES_SHOWN = "bit/s, kbit/s, Mbit/s, Gbit/s"
_TIMES_SHOWN = "ns, us, ms, s, min, h"
_SIZES_SHOWN = "B, kB, MB, GB, KiB, MiB, GiB"

Read = TypeVar("Read")


class Buffer(NamedTuple):
    """A queue's limit: ``amount`` in bytes, whole packets, or bandwidth-delay products."""

    amount: Decimal
    unit: Literal["B", "pkts", "BDP"]

    def __str__(self) -> str:
        return f"{_plain(self.amount)} {self.unit}"


def _read(parse: Callable[[str], Read], text: object, kind: str, shown: str) -> Read:
    if isinstance(text, str):
        return parse(text)
    if isinstance(text, int | float) and not isinstance(text, bool):
        raise ValueError(f"{text} has no unit; write it as text, {kind} in {shown}")
    raise ValueError(f"{text!r} is not a {kind}; write a number and one of: {shown}")


def parse_rate(text: object) -> int:
    """Bits per second, more than 0. Raises ValueError with the allowed units."""
    return _read(engine.parse_rate, text, "rate", _RATES_SHOWN)


def parse_time(text: object) -> int:
    """Nanoseconds, 0 or more. Raises ValueError with the allowed units."""
    return _read(engine.parse_time, text, "time", _TIMES_SHOWN)


def parse_positive_time(text: object) -> int:
    """Nanoseconds, more than 0. Raises ValueError with the allowed units."""
    return _read(engine.parse_positive_time, text, "time", _TIMES_SHOWN)


def parse_size(text: object) -> int:
    """Bytes, 0 or more. Raises ValueError with the allowed units."""
    return _read(engine.parse_size, text, "size", _SIZES_SHOWN)


def parse_positive_size(text: object) -> int:
    """Bytes, more than 0. Raises ValueError with the allowed units."""
    return _read(engine.parse_positive_size, text, "size", _SIZES_SHOWN)


Memory = tuple[int, int, int]
"""Minimum, default and maximum of a socket's memory in bytes, as in Linux's tcp_rmem."""


def parse_memory(text: object) -> Memory:
    """Three sizes, 4096 B to 1 GiB, in increasing order: "4KiB/128KiB/6MiB", or a list of sizes.

    Raises ValueError with what is allowed.
    """
    if isinstance(text, list | tuple):
        text = "/".join(str(part) if isinstance(part, str) else f"{part} B" for part in text)
    return _read(engine.parse_memory, text, "list of three sizes", _SIZES_SHOWN)


def parse_buffer(text: object) -> Buffer:
    """A queue limit in bytes, whole packets or BDP, more than 0: "60000 B", "40 pkts", "1.5 BDP".

    Raises ValueError with the allowed units.
    """
    if isinstance(text, Buffer):
        return text
    shown = f"{_SIZES_SHOWN}, pkts, BDP"
    amount, unit = _read(engine.parse_buffer, text, "queue limit", shown)
    return Buffer(Decimal(amount), cast(Literal["B", "pkts", "BDP"], unit))


def parse_probability(value: object, *, with_one: bool = False) -> float:
    """A probability from 0 to less than 1: a number, or text such as "0.01" or "1%".

    ``with_one`` also allows 1. Raises ValueError for anything else.
    """
    return engine.parse_probability(str(value), repr(value), with_one)


def bdp_bytes(rate_bps: int, rtt_ns: int) -> int:
    """Bandwidth-delay product: rate (bit/s) × base RTT (ns), in whole bytes, rounded down."""
    return engine.bdp_bytes(rate_bps, rtt_ns)


def _plain(value: Decimal) -> str:
    text = format(value, "f")
    return text.rstrip("0").rstrip(".") if "." in text else text


@functools.lru_cache(maxsize=1024)
def format_rate(rate_bps: int) -> str:
    """Bits per second as the shortest exact text, which ``parse_rate`` reads back exactly."""
    return engine.format_rate(rate_bps)


@functools.lru_cache(maxsize=1024)
def format_time(time_ns: int) -> str:
    """Nanoseconds as the shortest exact text, which ``parse_time`` reads back exactly."""
    return engine.format_time(time_ns)


def fixed_memory(size: str) -> str:
    """The memory of a buffer that begins with this size and does not grow."""
    return f"4096 B/{size}/{size}"


def growing_memory(first_bytes: int, most_bytes: int) -> str:
    """The memory of a buffer that begins with ``first_bytes`` and grows up to ``most_bytes``.

    It does not grow if ``first_bytes`` is larger.
    """
    return f"4096 B/{first_bytes} B/{max(first_bytes, most_bytes)} B"


def format_memory(sizes: Memory) -> str:
    """The three sizes as ``parse_memory`` reads them."""
    return engine.format_memory(sizes)


def format_size(size_bytes: int) -> str:
    """Bytes as exact text in B, which ``parse_size`` reads back exactly."""
    return f"{size_bytes} B"
