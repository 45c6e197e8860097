"""Run: which TCP options a capture has."""

from __future__ import annotations

import struct
from collections.abc import Iterator
from dataclasses import dataclass

import numpy as np

from headway.metrics.stats import Array
from headway.trace import Trace

MAXNET, SACK, END, NO_OPERATION = 42, 5, 0, 1
_ENHANCED_PACKET = 6
_SACK_HEAD_BYTES, _SACK_BLOCK_BYTES = 2, 8


@dataclass(frozen=True)
class Wire:
    """Options of all packets of a connection."""

    lengths_bytes: Array
    """Of MaxNet's, each with its first two bytes."""
    echoes: Array
    prices: Array
    """The two fields of each, three bytes in network order."""
    sack_blocks: Array
    """In each SACK option."""


def wire(trace: Trace) -> Wire:
    """Reads a trace's capture."""
    maxnet, blocks = [], []
    for packet in _packets(trace.capture or b""):
        for kind, data in _options(packet):
            if kind == MAXNET:
                maxnet.append((len(data) + 2, data[0:3], data[3:6]))
            elif kind == SACK:
                blocks.append(len(data) // _SACK_BLOCK_BYTES)
    columns = [np.array(column, dtype=np.float64) for column in zip(*_numbers(maxnet), strict=True)]
    lengths, echoes, prices = columns or [np.empty(0)] * 3
    return Wire(lengths, echoes, prices, np.array(blocks, dtype=np.float64))


def _numbers(options: list[tuple[int, bytes, bytes]]) -> list[tuple[int, int, int]]:
    return [
        (length, int.from_bytes(echo, "big"), int.from_bytes(price, "big"))
        for length, echo, price in options
    ]


def _packets(capture: bytes) -> Iterator[bytes]:
    """IPv4 packets of a capture in pcapng, as far as they were kept."""
    at = 0
    while at + 12 <= len(capture):
        kind, length = struct.unpack_from("<II", capture, at)
        if kind == _ENHANCED_PACKET:
            kept = struct.unpack_from("<I", capture, at + 20)[0]
            yield capture[at + 28 : at + 28 + kept]
        at += length


def _options(packet: bytes) -> Iterator[tuple[int, bytes]]:
    """Kind and data of each TCP option."""
    tcp = packet[4 * (packet[0] & 15) :]
    options = tcp[20 : 4 * (tcp[12] >> 4)]
    at = 0
    while at < len(options) and options[at] != END:
        if options[at] == NO_OPERATION:
            at += 1
            continue
        length = options[at + 1]
        yield options[at], options[at + 2 : at + length]
        at += length
