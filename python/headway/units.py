"""Quantities as people write them: "1Mbit/s", "50 ms", "60000 B", "40 pkts", "1 BDP".

Inside Headway a rate is an integer of bits per second, a time an integer of nanoseconds and a
size an integer of bytes. Everything people type passes through here; a number without a unit
is refused, because 50 could be milliseconds or seconds and 1000 bits or bytes.
"""

from __future__ import annotations

import functools
import re
from decimal import ROUND_HALF_EVEN, Decimal
from typing import Literal, NamedTuple

BITS_PER_BYTE = 8
NS_PER_S = 1_000_000_000

RATES_BPS: dict[str, Decimal] = {
    name: Decimal(factor)
    for factor, names in {
        10**9: ("Gbit/s", "Gbps", "Gbit", "gbit"),
        10**6: ("Mbit/s", "Mbps", "Mbit", "mbit"),
        10**3: ("kbit/s", "kbps", "kbit", "Kbit/s", "Kbps"),
        1: ("bit/s", "bps", "bit"),
    }.items()
    for name in names
}
TIMES_NS: dict[str, Decimal] = {
    "h": Decimal(3600 * NS_PER_S),
    "min": Decimal(60 * NS_PER_S),
    "s": Decimal(NS_PER_S),
    "sec": Decimal(NS_PER_S),
    "ms": Decimal(10**6),
    "us": Decimal(10**3),
    "µs": Decimal(10**3),
    "μs": Decimal(10**3),
    "ns": Decimal(1),
}
SIZES_BYTES: dict[str, Decimal] = {
    "GB": Decimal(10**9),
    "MB": Decimal(10**6),
    "kB": Decimal(10**3),
    "KB": Decimal(10**3),
    "GiB": Decimal(2**30),
    "MiB": Decimal(2**20),
    "KiB": Decimal(2**10),
    "B": Decimal(1),
    "byte": Decimal(1),
    "bytes": Decimal(1),
}
PACKET_UNITS = ("pkts", "pkt", "packets", "packet")
BDP_UNITS = ("BDP", "bdp")

_RATES_SHOWN = "bit/s, kbit/s, Mbit/s, Gbit/s"
_TIMES_SHOWN = "ns, us, ms, s, min, h"
_SIZES_SHOWN = "B, kB, MB, GB, KiB, MiB, GiB"
_BUFFERS_SHOWN = f"{_SIZES_SHOWN}, pkts, BDP"

_QUANTITY = re.compile(r"\s*([+-]?(?:\d+\.?\d*|\.\d+)(?:[eE][+-]?\d+(?![A-Za-z]))?)\s*(\S*)\s*")
_LARGEST = Decimal(2**63 - 1)
_DIGITS = 30
"""More, before or after the point, is no quantity of ours, and arithmetic with it has no end."""


class Buffer(NamedTuple):
    """A queue's limit: ``amount`` in bytes, whole packets, or bandwidth-delay products."""

    amount: Decimal
    unit: Literal["B", "pkts", "BDP"]

    def __str__(self) -> str:
        return f"{_plain(self.amount)} {self.unit}"


def _split(text: object, kind: str, shown: str) -> tuple[Decimal, str]:
    match = _QUANTITY.fullmatch(text) if isinstance(text, str) else None
    if match is None:
        if isinstance(text, int | float) and not isinstance(text, bool):
            raise ValueError(f"{text} has no unit; write it as text, {kind} in {shown}")
        raise ValueError(f"{text!r} is no {kind}; write a number and one of: {shown}")
    if not match[2]:
        raise ValueError(f"{match[1]!r} has no unit; allowed: {shown}")
    number = Decimal(match[1])
    if number and not -_DIGITS <= number.adjusted() <= _DIGITS:
        size = "large" if number.adjusted() > 0 else "small"
        raise ValueError(f"{str(text)[:40]!r} is too {size}")
    return number, match[2]


def _whole(value: Decimal, text: object) -> int:
    if abs(value) > _LARGEST:
        raise ValueError(f"{text!r} is too large")
    return int(value.to_integral_value(ROUND_HALF_EVEN))


def _scaled(
    text: object, kind: str, units: dict[str, Decimal], shown: str, *, positive: bool
) -> int:
    number, unit = _split(text, kind, shown)
    if unit not in units:
        raise ValueError(f"unknown unit {unit!r} in {text!r}; allowed: {shown}")
    value = _whole(number * units[unit], text)
    if number < 0 or (positive and value == 0):
        raise ValueError(f"{text!r} must be {'more than' if positive else 'at least'} 0")
    return value


def parse_rate(text: object) -> int:
    """Bits per second, more than 0. Raises ValueError with the allowed units."""
    return _scaled(text, "rate", RATES_BPS, _RATES_SHOWN, positive=True)


def parse_time(text: object) -> int:
    """Nanoseconds, 0 or more. Raises ValueError with the allowed units."""
    return _scaled(text, "time", TIMES_NS, _TIMES_SHOWN, positive=False)


def parse_positive_time(text: object) -> int:
    """Nanoseconds, more than 0. Raises ValueError with the allowed units."""
    return _scaled(text, "time", TIMES_NS, _TIMES_SHOWN, positive=True)


def parse_size(text: object) -> int:
    """Bytes, 0 or more. Raises ValueError with the allowed units."""
    return _scaled(text, "size", SIZES_BYTES, _SIZES_SHOWN, positive=False)


def parse_positive_size(text: object) -> int:
    """Bytes, more than 0. Raises ValueError with the allowed units."""
    return _scaled(text, "size", SIZES_BYTES, _SIZES_SHOWN, positive=True)


def parse_buffer(text: object) -> Buffer:
    """A queue limit in bytes, whole packets or BDP, more than 0: "60000 B", "40 pkts", "1.5 BDP".

    Raises ValueError with the allowed units.
    """
    if isinstance(text, Buffer):
        return text
    number, unit = _split(text, "queue limit", _BUFFERS_SHOWN)
    if number <= 0:
        raise ValueError(f"{text!r} must be more than 0")
    if unit in BDP_UNITS:
        return Buffer(number, "BDP")
    if unit in PACKET_UNITS:
        if number != number.to_integral_value():
            raise ValueError(f"{text!r} must be a whole number of packets")
        return Buffer(Decimal(_whole(number, text)), "pkts")
    if unit not in SIZES_BYTES:
        raise ValueError(f"unknown unit {unit!r} in {text!r}; allowed: {_BUFFERS_SHOWN}")
    return Buffer(Decimal(_scaled(text, "size", SIZES_BYTES, _SIZES_SHOWN, positive=True)), "B")


def parse_probability(value: object) -> float:
    """A probability from 0 up to, not including, 1: a number, or text such as "0.01" or "1%".

    Raises ValueError for anything else.
    """
    percent = isinstance(value, str) and value.strip().endswith("%")
    try:
        number = float(str(value).strip().removesuffix("%")) / (100 if percent else 1)
    except ValueError:
        raise ValueError(f"{value!r} is no probability; write 0.01 or 1%") from None
    if not 0 <= number < 1:
        raise ValueError(f"{value!r} must be at least 0 and less than 1 (or 100%)")
    return number


def bdp_bytes(rate_bps: int, rtt_ns: int) -> int:
    """Bandwidth-delay product: rate (bit/s) × base RTT (ns), in whole bytes, rounded down."""
    return rate_bps * rtt_ns // (BITS_PER_BYTE * NS_PER_S)


def _plain(value: Decimal) -> str:
    text = format(value, "f")
    return text.rstrip("0").rstrip(".") if "." in text else text


def _format(value: int, units: list[tuple[str, Decimal]]) -> str:
    for name, factor in units:
        scaled = Decimal(value) / factor
        # A unit is fit to print if three decimals say all of the value.
        if abs(scaled) >= 1 and scaled == round(scaled, 3):
            return f"{_plain(scaled)} {name}"
    return f"{value} {units[-1][0]}"


@functools.lru_cache(maxsize=1024)
def format_rate(rate_bps: int) -> str:
    """Bits per second as the shortest exact text; ``parse_rate`` gives the same number back."""
    return _format(
        rate_bps, [(unit, RATES_BPS[unit]) for unit in ("Gbit/s", "Mbit/s", "kbit/s", "bit/s")]
    )


@functools.lru_cache(maxsize=1024)
def format_time(time_ns: int) -> str:
    """Nanoseconds as the shortest exact text; ``parse_time`` gives the same number back."""
    return _format(time_ns, [(unit, TIMES_NS[unit]) for unit in ("s", "ms", "us", "ns")])


def format_size(size_bytes: int) -> str:
    """Bytes as exact text in B; ``parse_size`` gives the same number back."""
    return f"{size_bytes} B"
