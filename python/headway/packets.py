"""Decodes the packets of a capture at hosts, by flow, host and direction.

Reads the pcapng file of ``Capture(link="hosts")`` of either backend. It has one interface for the
hosts on the left, which open the flows, and one for those on the right.
"""

from __future__ import annotations

import struct
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field, replace
from typing import NamedTuple

from headway.errors import HeadwayError
from headway.trace import Trace

LEFT, RIGHT = 0, 1
"""Sides, which are the capture's interfaces. Hosts on the left open the flows."""

_BLOCK_PACKET = 6
_TCP, _UDP = 6, 17
_SYN, _ACK = 0x02, 0x10
_FLAGS = "FSRPAUEC"
"""Letters for the TCP flags FIN, SYN, RST, PSH, ACK, URG, ECE and CWR, from bit 0 on."""
_MASK = 2**32 - 1
_OPTION_END, _OPTION_NOP, _OPTION_MSS, _OPTION_SCALE = 0, 1, 2, 3
_OPTION_SACK_PERMITTED, _OPTION_SACK, _OPTION_TIMESTAMPS = 4, 5, 8


@dataclass(frozen=True, slots=True)
class Packet:
    """A packet that a host sent or received. Sequence numbers count from the SYN, which is 0.

    UDP datagrams have only time, length and ECN.
    """

    time_ns: int
    length: int
    """Payload bytes."""
    ecn: int = 0
    """The two ECN bits of the IP header."""
    sequence: int | None = None
    ack: int | None = None
    window: int | None = None
    """Receive window in bytes, after scaling; a SYN's window is not scaled."""
    flags: str = ""
    mss: int | None = None
    window_scale: int | None = None
    sack_permitted: bool = False
    timestamp: int | None = None
    """TCP timestamp, counted from the sender's first one, in units of its clock (1 ms)."""
    echo: int | None = None
    """The timestamp that the packet echoes, counted from the peer's first one; None without ACK."""
    sack: tuple[tuple[int, int], ...] = ()
    other_options: tuple[int, ...] = ()
    """Kinds of the TCP options that have no field of their own here."""


class Stream(NamedTuple):
    """Names the packets of one flow, in one direction, at one host."""

    flow: int
    side: int
    sent: bool


@dataclass(slots=True)
class _End:
    """What the decoder remembers of one end of a TCP connection."""

    first: int | None = None
    last: int = 0
    scale: int = 0
    first_timestamp: int | None = None

    def relative(self, number: int) -> int:
        """A sequence number of this end, counted from its SYN."""
        if self.first is None:
            self.first = number
        near = (number - self.first - self.last) & _MASK
        at = self.last + near - (near >> 31 << 32)
        self.last = max(self.last, at)
        return at


@dataclass(slots=True)
class _Connection:
    opener: bytes
    ends: tuple[_End, _End] = field(default_factory=lambda: (_End(), _End()))
    packets: list[tuple[int, bool, Packet]] = field(default_factory=list)


def streams(trace: Trace) -> dict[Stream, list[Packet]]:
    """The packets of every stream, in order of time.

    Connections are assigned to flows in the order of the responder's port and address, since both
    backends number flows in this order. Raises HeadwayError if the trace has no capture, or if
    flows and connections do not match one to one.
    """
    if trace.capture is None:
        raise HeadwayError("packets: the trace has no capture")
    connections: dict[bytes, _Connection] = {}
    for time_ns, side, data in sorted(blocks(trace.capture), key=lambda block: block[0]):
        if data[9] in (_TCP, _UDP):
            _add_packet(connections, time_ns, side, data)
    flows = [index for index, flow in enumerate(trace.flows) if flow.first_packet_ns is not None]
    if len(flows) != len(connections):
        raise HeadwayError(
            f"packets: the capture has {len(connections)} connections, and {len(flows)} flows "
            "sent packets; each flow must be one connection"
        )
    found: dict[Stream, list[Packet]] = {}
    for flow, key in zip(flows, sorted(connections), strict=True):
        for side, sent, packet in connections[key].packets:
            found.setdefault(Stream(flow, side, sent), []).append(packet)
    return found


def _add_packet(
    connections: dict[bytes, _Connection], time_ns: int, side: int, packet: bytes
) -> None:
    """Add a packet to its connection."""
    ports_at = (packet[0] & 0x0F) * 4
    ports = packet[ports_at : ports_at + 4]
    source, destination = packet[12:16] + ports[:2], packet[16:20] + ports[2:]
    protocol = packet[9:10]
    # streams() sorts connections by key, so a key begins with the responder's port and address
    back = source[4:] + source[:4] + destination + protocol
    if back in connections:
        connection, sent_by = connections[back], RIGHT
    else:
        key = destination[4:] + destination[:4] + source + protocol
        connection = connections.setdefault(key, _Connection(source))
        sent_by = LEFT
    decoded = _decoded(time_ns, packet, connection.ends[sent_by], connection.ends[1 - sent_by])
    connection.packets.append((side, side == sent_by, decoded))


def blocks(capture: bytes) -> Iterator[tuple[int, int, bytes]]:
    """Time, interface and bytes of every packet."""
    at = 0
    while at + 12 <= len(capture):
        kind, length = struct.unpack_from("<II", capture, at)
        if kind == _BLOCK_PACKET:
            interface, high, low, kept = struct.unpack_from("<IIII", capture, at + 8)
            yield high << 32 | low, interface, capture[at + 28 : at + 28 + kept]
        at += max(length, 12)


def _decoded(time_ns: int, packet: bytes, sender: _End, peer: _End) -> Packet:
    tcp_at = (packet[0] & 0x0F) * 4
    ip_bytes = int.from_bytes(packet[2:4], "big")
    ecn = packet[1] & 3
    if packet[9] == _UDP:
        return Packet(time_ns, ip_bytes - tcp_at - 8, ecn)
    raw_sequence, raw_ack, offset, flags, window = struct.unpack_from(">IIBBH", packet, tcp_at + 4)
    header_bytes = (offset >> 4) * 4
    options = dict(_options(packet[tcp_at + 20 : tcp_at + header_bytes]))
    is_syn, is_ack = bool(flags & _SYN), bool(flags & _ACK)
    scale = options.pop(_OPTION_SCALE, None)
    if is_syn:
        sender.scale = scale[0] if scale else 0
    mss = options.pop(_OPTION_MSS, None)
    stamps = options.pop(_OPTION_TIMESTAMPS, None)
    timestamp = echo = None
    if stamps:
        value, echoed = struct.unpack(">II", stamps)
        if sender.first_timestamp is None:
            sender.first_timestamp = value
        timestamp = (value - sender.first_timestamp) & _MASK
        if is_ack and peer.first_timestamp is not None:
            echo = (echoed - peer.first_timestamp) & _MASK
    blocks = options.pop(_OPTION_SACK, b"")
    edges = [peer.relative(edge) for (edge,) in struct.iter_unpack(">I", blocks)]
    return Packet(
        time_ns=time_ns,
        length=ip_bytes - tcp_at - header_bytes,
        ecn=ecn,
        sequence=sender.relative(raw_sequence),
        ack=peer.relative(raw_ack) if is_ack else None,
        window=window if is_syn else window << sender.scale,
        flags="".join(name for bit, name in enumerate(_FLAGS) if flags >> bit & 1),
        mss=int.from_bytes(mss, "big") if mss else None,
        window_scale=scale[0] if scale else None,
        sack_permitted=options.pop(_OPTION_SACK_PERMITTED, None) is not None,
        timestamp=timestamp,
        echo=echo,
        sack=tuple(zip(edges[::2], edges[1::2], strict=True)),
        other_options=tuple(options),
    )


def _options(area: bytes) -> Iterator[tuple[int, bytes]]:
    """Kind and value of every option."""
    at = 0
    while at < len(area) and area[at] != _OPTION_END:
        if area[at] == _OPTION_NOP:
            at += 1
            continue
        length = area[at + 1] if at + 1 < len(area) else 0
        if length < 2:
            return
        yield area[at], area[at + 2 : at + length]
        at += length


def first_ns(packets: dict[Stream, list[Packet]], flow: int, side: int) -> int | None:
    """Time in ns of a flow's first packet at a host, sent or received; None without packets."""
    times = [
        of[0].time_ns
        for sent in (True, False)
        if (of := packets.get(Stream(flow, side, sent))) is not None
    ]
    return min(times, default=None)


def merged(
    packets: dict[Stream, list[Packet]], flow: int, side: int
) -> Sequence[tuple[bool, Packet]]:
    """A flow's packets at one host in order of time, each with whether the host sent it."""
    both = [
        (sent, packet)
        for sent in (True, False)
        for packet in packets.get(Stream(flow, side, sent), ())
    ]
    # at equal times, a received packet comes before the packet sent in response
    return sorted(both, key=lambda entry: (entry[1].time_ns, entry[0]))


def without_closing(packets: dict[Stream, list[Packet]]) -> dict[Stream, list[Packet]]:
    """Remove FINs, packets that only acknowledge a FIN, and FINs in ACKs and SACK blocks.

    The backends close connections at different times: the kernel's traffic programs when all data
    is acknowledged, the simulator's applications right after their last write.
    """
    fins: dict[tuple[int, bool], int] = {}
    for key, of in packets.items():
        for packet in of:
            if "F" in packet.flags and packet.sequence is not None:
                fins[key.flow, _from_left(key)] = packet.sequence + packet.length
    return {
        key: list(_without_fin(of, fins.get((key.flow, not _from_left(key)))))
        for key, of in packets.items()
    }


def _from_left(key: Stream) -> bool:
    return key.sent == (key.side == LEFT)


def _without_fin(packets: Sequence[Packet], peers_fin: int | None) -> Iterator[Packet]:
    """A stream's packets without the FIN, and without acknowledgements of the peer's FIN."""
    before: Packet | None = None
    for packet in packets:
        kept = replace(packet, flags=packet.flags.replace("F", ""))
        if peers_fin is not None and packet.ack is not None:
            blocks = [(left, min(right, peers_fin)) for left, right in packet.sack]
            kept = replace(
                kept,
                ack=min(packet.ack, peers_fin),
                sack=tuple(block for block in blocks if block[0] < block[1]),
            )
        is_news = before is None or (kept.ack, kept.sack) != (before.ack, before.sack)
        is_closing = (kept.flags, kept.ack, kept.sack) != (packet.flags, packet.ack, packet.sack)
        if packet.length or is_news or not is_closing:
            before = kept
            yield kept
