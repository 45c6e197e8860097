"""Matching packets on both sides of a queue, and the guest's files, without starting a guest."""

from __future__ import annotations

import struct

import debian_queues
import pytest
from debian_kernel import BenchError
from debian_queues import Seen, Way

START_NS = 10**18
WARM_NS = debian_queues.WARMUP_S * 10**9


def ip(sequence: int, *, stamp: int = 0, ecn: int = 0, length: int = 1500) -> bytes:
    head = struct.pack(">BBH8xII", 0x45, ecn, length, 0x0A000102, 0x0A000202)
    return head + struct.pack(">HHI12x4xI4x", 40000, 5201, sequence, stamp)


def captured(*rows: tuple[int, bool, bytes]) -> bytes:
    """A guest's capture of packets, with times since the start."""
    out = struct.pack("<I16xI", 0xA1B23C4D, 113)
    for at_ns, leaves, data in rows:
        seconds, ns = divmod(START_NS + at_ns, 10**9)
        cooked = struct.pack(">H14x", 4 if leaves else 0) + data
        out += struct.pack("<IIII", seconds, ns, len(cooked), 2000) + cooked
    return out


def seen(*rows: tuple[int, bool, bytes], length_s: int = 10) -> Seen:
    return debian_queues.seen(debian_queues.guest_packets(captured(*rows)), length_s)


def through(at_ns: int, took_ns: int, data: bytes) -> tuple[tuple[int, bool, bytes], ...]:
    return (at_ns, False, data), (at_ns + took_ns, True, data[:1] + b"\0" + data[2:])


def test_a_packet_waits_for_as_long_as_it_takes_longer_than_the_fastest():
    rows = [*through(0, 500, ip(1))]
    for number, wait_ms in enumerate((1, 2, 3, 4, 9)):
        rows += through(WARM_NS + number, 500 + wait_ms * 10**6, ip(2 + number))
    found = seen(*rows)
    assert found.median_ms == pytest.approx(3)
    assert found.p95_ms == pytest.approx(8)
    assert found.signals == 0


def test_drops_and_marks_count_from_the_warm_up_to_the_end():
    marked = ip(5, ecn=2)
    rows = [
        *through(0, 500, ip(1)),
        (1, False, ip(2)),
        (WARM_NS, False, ip(3)),
        *through(WARM_NS + 1, 500, ip(4)),
        (WARM_NS + 2, False, marked),
        (WARM_NS + 900, True, marked[:1] + b"\3" + marked[2:]),
        *through(WARM_NS + 3, 500, ip(6)),
        (WARM_NS + 10**9, False, ip(7)),
    ]
    found = seen(*rows, length_s=1)
    assert (found.dropped, found.marked) == (0.25, 0.25)
    assert found.signals == 0.5


def test_a_segment_sent_again_is_another_packet_and_short_packets_are_left_out():
    rows = [
        *through(0, 500, ip(1)),
        (WARM_NS, False, ip(2, stamp=1)),
        *through(WARM_NS + 1000, 700, ip(2, stamp=2)),
        (WARM_NS + 2000, False, ip(3, length=60)),
    ]
    found = seen(*rows)
    assert (found.dropped, found.median_ms) == (0.5, pytest.approx(200 / 1e6))


def test_an_empty_capture_and_one_of_another_format_are_errors():
    with pytest.raises(BenchError, match="no full packet"):
        seen()
    with pytest.raises(BenchError, match="cooked"):
        list(debian_queues.guest_packets(struct.pack("<I20x", 0xA1B2C3D4)))


def test_captures_are_cut_by_their_sizes():
    console = "MISSED a 0\nCAPTURE a 2\nMISSED b 0\nCAPTURE b 3\n"
    assert debian_queues.captures(console, b"aabbb") == {"a": b"aa", "b": b"bbb"}
    with pytest.raises(BenchError, match="b: the capture is not complete"):
        debian_queues.captures(console, b"aabb")
    with pytest.raises(BenchError, match="a: the capture is not complete"):
        debian_queues.captures("MISSED a 7\nCAPTURE a 2\n", b"aa")


def test_the_guests_rate_counts_ethernet_and_its_delay_a_packet():
    text = debian_queues.settings("pie", {"x": Way(10, 20, "reno", 3, 30, ecn=True)})
    seconds = 30 + debian_queues.WARMUP_S
    assert text == f"RUNS='x 10093333 21200 reno 3 0.333 1 {seconds} pie limit 1000 ecn'\n"


def test_bounds_are_a_millisecond_or_a_tenth_and_a_seventh_of_the_signals():
    linux = Seen(5, 20, 0.01, 0)
    assert debian_queues.misses(linux, Seen(5.9, 21.9, 0.005, 0.006)) == []
    assert debian_queues.misses(linux, Seen(3.9, 22.1, 0.012, 0)) == ["median", "p95", "signals"]


def test_a_simulated_capture_has_the_links_drops_and_marks():
    way = Way(10, 20, "reno", 2, 5, ecn=True)
    found = debian_queues.simulated("codel", way, 1, delayed_ack=True)
    assert 0 < found.median_ms < found.p95_ms < 30
    assert found.marked > 0
