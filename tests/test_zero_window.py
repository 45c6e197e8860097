"""A receiver that stops reading for twelve seconds: the window closes and is probed, on this
machine's kernel and in the simulator, probe by probe."""

from __future__ import annotations

import struct
from typing import NamedTuple

import pytest

from headway import Dumbbell, Experiment
from headway.backends import run
from headway.trace import Trace

PAUSE_S = 12.0


class Segment(NamedTuple):
    """A TCP segment of a capture; sequence numbers count from the SYN."""

    time_s: float
    outbound: bool
    seq: int
    ack: int
    window: int
    payload: int


def _packets(capture: bytes) -> list[tuple[int, bytes]]:
    """Time in ns and bytes of every enhanced packet block (pcapng, section 4.3)."""
    at, found = 0, []
    while at < len(capture):
        kind, length = struct.unpack_from("<II", capture, at)
        if kind == 6:
            _, high, low, size = struct.unpack_from("<IIII", capture, at + 8)
            found.append((high << 32 | low, capture[at + 28 : at + 28 + size]))
        at += length
    return found


def _segments(capture: bytes) -> list[Segment]:
    found: list[Segment] = []
    first: dict[bytes, int] = {}
    opener, began_ns = b"", 0
    for time_ns, packet in _packets(capture):
        ip = packet if packet[0] >> 4 == 4 else packet[14:]
        header, length, source = (ip[0] & 15) * 4, struct.unpack_from(">H", ip, 2)[0], ip[12:16]
        tcp = ip[header:]
        seq, ack = struct.unpack_from(">II", tcp, 4)
        if not opener:
            opener, began_ns = source, time_ns
        first.setdefault(source, seq)
        other = next((n for who, n in first.items() if who != source), ack)
        found.append(
            Segment(
                (time_ns - began_ns) / 1e9, source == opener,
                (seq - first[source]) % 2**32, (ack - other) % 2**32,
                struct.unpack_from(">H", tcp, 14)[0], length - header - (tcp[12] >> 4) * 4,
            )
        )  # fmt: skip
    return found


def _asked() -> Experiment:
    flow = {
        "control": "reno",
        "app": {"kind": "bulk", "size": "300 kB"},
        "read_size": "1 GB",
        "read_interval": f"{PAUSE_S} s",
        "start": "0 s",
    }
    return Experiment.model_validate(
        {
            "topology": Dumbbell.model_validate(
                {"rate": "100 Mbit/s", "rtt": "60 ms", "buffer": "1 MB"}
            ),
            "flows": [flow],
            "duration": "14 s",
            "capture": {"link": "bottleneck"},
        }
    )


def _stalled(trace: Trace) -> list[Segment]:
    assert trace.capture is not None
    return _segments(trace.capture)


def _stall(segments: list[Segment]) -> tuple[float, list[Segment], list[Segment], Segment]:
    """The time at which the window closed, its probes, their ACKs, and the ACK that opened it."""
    closed = next(s for s in segments if not s.outbound and s.window == 0)
    later = [s for s in segments if s.time_s > closed.time_s]
    opened = next(s for s in later if not s.outbound and s.window > 0)
    during = [s for s in later if s.time_s < opened.time_s]
    probes = [s for s in during if s.outbound and s.payload == 0]
    since = probes[0].time_s if probes else closed.time_s
    answers = [s for s in during if not s.outbound and s.time_s > since]
    assert not [s for s in during if s.outbound and s.payload and s.time_s > since]
    return closed.time_s, probes, answers, opened


def _checked(segments: list[Segment]) -> list[float]:
    """Check the probes and their ACKs; returns the times from each ACK to the next probe."""
    _, probes, answers, opened = _stall(segments)
    last = max(s.seq + s.payload for s in segments if s.outbound and s.time_s < probes[0].time_s)
    # probes are empty; their sequence number is one below the next expected byte
    # (tcp_xmit_probe_skb)
    assert {p.seq for p in probes} == {last - 1}
    assert {(a.ack, a.window, a.payload) for a in answers} == {(last, 0, 0)}
    assert len(answers) == len(probes)
    for probe, answer in zip(probes, answers, strict=True):
        assert answer.time_s - probe.time_s == pytest.approx(0.06, abs=0.004)
    # the receiving application accepts the connection, pauses and then reads; half a round trip
    # later the ACK that opens the window reaches the sender
    assert opened.time_s == pytest.approx(PAUSE_S + 0.06 + 0.03 + 0.03, abs=0.05)
    after = [s for s in segments if s.outbound and s.time_s > opened.time_s]
    assert after[0].seq == last
    assert after[0].payload == 1448
    return [p.time_s - a.time_s for a, p in zip(answers, probes[1:], strict=False)]


def test_the_simulators_probes_double_from_the_timeout() -> None:
    gaps = _checked(_stalled(run(_asked())))
    assert len(gaps) >= 4
    # Linux's timer wheel rounds long timers up: key: gap between probes in s; value: how late (s) a
    # timer for this gap or a longer one may fire
    late = {0.252: 0.036, 2.016: 0.26, 16.128: 2.052}
    least, most = 2 * 0.26, 2 * 0.3  # the RTO (SRTT + 200 ms), doubled once
    for number, gap in enumerate(gaps):
        late_s = max(late_s for from_s, late_s in late.items() if gap >= from_s)
        least = max(least, (gap - late_s) / 2**number)
        most = min(most, gap / 2**number)
    assert least <= most  # all gaps are doublings of one RTO
