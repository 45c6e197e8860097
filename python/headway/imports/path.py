"""Estimates a path's rate, base RTT, queue and loss from the trace of a capture.

- The base RTT is the smallest sample without the times that the bottleneck needs to send the
  segment, of its size, and its ACK. If the capture is not at the sender, the way between the
  capture and the sender is added: the smallest sample of the other direction's timestamps.
- While samples are above the base RTT, the queue is not empty and the bottleneck sends all the
  time. Its rate is what was delivered in these intervals, headers included, over their length.
- A full queue delays packets the longest. Its size is the largest delay above the base RTT, times
  the rate. Without losses the queue may be larger.
- A loss is random if the queue was far from full before the retransmission.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np
import polars as pl

from headway.metrics.stats import Array
from headway.trace import FlowSummary, Trace
from headway.units import BITS_PER_BYTE, NS_PER_S

_SHORT_PACKET_BYTES = 60
"""A SYN with its options, or an ACK with a SACK block."""
_MANY_SAMPLES = 3
_GAP_PKTS = 6
_LEAST_PKTS = 20
"""A queue that was busy for fewer packets does not show the rate."""
_EPISODE_RTTS = 10
"""Packets that are sent again without a pause of two RTTs belong together, for this long."""
_FOREVER = 2**62
_FULL = 0.6
"""A queue above this part of its limit may have dropped a packet within the last RTTs."""


@dataclass(frozen=True)
class PathEstimate:
    """A path. None is unknown."""

    rate_bps: float | None
    """Rate of the bottleneck in bit/s, IP headers included."""
    rtt_ns: float | None
    """Base RTT: propagation only."""
    buffer_pkts: float | None
    """Queue limit in packets of ``packet_bytes``."""
    loss: float
    """Probability of random loss of a data packet."""
    packet_bytes: float
    """Size of a data packet with IP headers."""
    is_queue_full: bool
    """Whether the queue was full at some time; otherwise its limit may be larger."""
    is_busy: bool
    """Whether the queue was busy long enough to show the rate; otherwise the rate may be higher."""


@dataclass(frozen=True)
class _Intervals:
    """What all flows together did in each interval, shape (n,). NaN is no sample."""

    length_ns: int
    wire_bytes: Array
    retransmits: Array
    least_ns: Array
    most_ns: Array
    """Without ACKs that the receiver may have delayed."""
    any_ns: Array
    """With them."""


def estimate(trace: Trace) -> PathEstimate:
    """The path that a trace of a capture suggests."""
    of = _intervals(trace)
    packet_bytes = _packet_bytes(trace)
    base_ns = float(np.nanmin(of.least_ns, initial=np.inf))
    handshakes = [flow.handshake_rtt_us for flow in trace.flows]
    known = [us * 1000.0 for us in handshakes if us is not None]
    away_ns = _sender_side_ns(trace)
    if not np.isfinite(base_ns):
        rate = _highest_rate(of)
        rtt = min(known, default=None)
        return PathEstimate(rate, rtt, None, 0.0, packet_bytes, False, False)
    # first without, then with the time that the bottleneck needs for a packet
    rate_bps, is_busy = _busy_rate(of, base_ns, packet_bytes, _highest_rate(of))
    send_ns = BITS_PER_BYTE * NS_PER_S / rate_bps if rate_bps else 0.0
    candidates = [
        ns + away_ns - of_bytes * send_ns for ns, of_bytes in _least_samples(trace, packet_bytes)
    ]
    candidates += [ns - 2 * _SHORT_PACKET_BYTES * send_ns for ns in known]
    full_ns = (packet_bytes + _SHORT_PACKET_BYTES) * send_ns
    rtt_ns = max(min(candidates, default=base_ns + away_ns - full_ns), 0.0)
    # of a full packet, with an empty queue
    base_ns = max(rtt_ns - away_ns + full_ns, 0.0)
    queue_ns = float(np.nanmax(of.most_ns)) - base_ns
    buffer = None
    if rate_bps:
        # the packet that is sent is in the queue, too
        buffer = max(queue_ns / send_ns / packet_bytes + 1, 1.0)
    dropped, random = _losses(of, base_ns, queue_ns)
    sent = sum(measured_of(flow)["sent_pkts"] for flow in trace.flows)
    return PathEstimate(
        rate_bps=rate_bps and float(rate_bps),
        rtt_ns=float(rtt_ns),
        buffer_pkts=buffer and float(buffer),
        loss=random / sent if sent else 0.0,
        packet_bytes=packet_bytes,
        is_queue_full=dropped > 0,
        is_busy=is_busy,
    )


def measured_of(flow: FlowSummary) -> Mapping[str, Any]:
    """What crates/capture measured of a flow of a capture."""
    found: Mapping[str, Any] = (flow.model_extra or {})["capture"]
    return found


def _packet_bytes(trace: Trace) -> float:
    """Mean size of a full data packet: the largest flow's."""
    largest = max(
        (measured_of(flow) for flow in trace.flows), key=lambda own: int(own["wire_bytes"])
    )
    headers = largest["wire_bytes"] - largest["sent_bytes"]
    mss = max((flow.mss_bytes or 1460 for flow in trace.flows), default=1460)
    per_packet = largest["wire_bytes"] / max(largest["sent_pkts"], 1)
    return float(min(per_packet, mss + 40.0) if headers > 0 else per_packet)


def _least_samples(trace: Trace, packet_bytes: float) -> list[tuple[float, float]]:
    """Small RTT samples, each with the bytes of its segment and ACK, IP headers included."""
    found = []
    for flow in trace.flows:
        own = measured_of(flow)
        headers = (own["wire_bytes"] - own["sent_bytes"]) / max(own["sent_pkts"], 1)
        if own["least_full_rtt_ns"] is not None:
            found.append((own["least_full_rtt_ns"], packet_bytes + _SHORT_PACKET_BYTES))
        if own["least_short_rtt"] is not None:
            sample_ns, data_bytes = own["least_short_rtt"]
            found.append((sample_ns, data_bytes + headers + _SHORT_PACKET_BYTES))
    return found


def _sender_side_ns(trace: Trace) -> float:
    """Time from the capture to the sender and back, 0 at the sender."""
    known = [measured_of(flow)["sender_side_ns"] for flow in trace.flows]
    return float(min((ns for ns in known if ns is not None), default=0.0))


def _intervals(trace: Trace) -> _Intervals:
    length_ns = int(trace.meta["import"]["interval_ns"])
    count = -(-trace.duration_ns // length_ns)
    wire, resent = np.zeros(count), np.zeros(count)
    least, most, every = (np.full(count, np.nan) for _ in range(3))
    edges = np.minimum(np.arange(count + 1) * length_ns, trace.duration_ns)
    for number, flow in enumerate(trace.flows):
        own = measured_of(flow)
        per_byte = own["wire_bytes"] / max(own["sent_bytes"], 1)
        states = trace.rows_of("captured", "flow", number)
        at = np.minimum(states["time_ns"].to_numpy() // length_ns - 1, count - 1)
        delivered = states["sacked_bytes"].cast(pl.Float64).to_numpy()
        wire[at] += np.diff(delivered, prepend=0.0) * per_byte
        rows = trace.rows_of("flow_counters", "flow", number)
        times = np.concatenate([[0.0], rows["time_ns"].to_numpy()])
        totals = np.concatenate([[0.0], rows["retransmits_pkts"].cast(pl.Float64).to_numpy()])
        resent += np.diff(np.interp(edges, times, totals))
        rtts = {
            name: states[name].cast(pl.Float64).to_numpy() * 1000
            for name in ("echo_min_us", "echo_mean_us", "rtt_min_us", "rtt_mean_us",
                         "prompt_mean_us")
        }  # fmt: skip
        least[at] = np.fmin(least[at], np.fmin(rtts["echo_min_us"], rtts["rtt_min_us"]))
        # ACKs that the receiver delayed are left out, if it delays any; it delays none of several
        # ACKs that follow each other
        high = rtts["rtt_mean_us"]
        if np.isfinite(rtts["prompt_mean_us"]).any():
            many = states["rtt_samples"].to_numpy() >= _MANY_SAMPLES
            prompt = rtts["prompt_mean_us"]
            high = np.where(np.isfinite(prompt) | ~many, prompt, high)
        if np.isfinite(rtts["echo_mean_us"]).any():
            # after a loss either may be too long: the ACK waited, or echoes an old timestamp
            high = np.minimum(high, rtts["echo_mean_us"])
        most[at] = np.fmax(most[at], high)
        every[at] = np.fmax(every[at], np.fmin(rtts["rtt_mean_us"], rtts["echo_mean_us"]))
    return _Intervals(length_ns, wire, resent, least, most, every)


def _highest_rate(of: _Intervals) -> float | None:
    """The highest rate over about a second."""
    width = min(max(NS_PER_S // of.length_ns, 1), of.wire_bytes.size)
    sums = np.convolve(of.wire_bytes, np.ones(width), mode="valid")
    best = float(sums.max(initial=0)) * BITS_PER_BYTE * NS_PER_S / (width * of.length_ns)
    return best or None


def _busy_rate(
    of: _Intervals, base_ns: float, packet_bytes: float, highest: float | None
) -> tuple[float | None, bool]:
    """The rate while the queue was busy, and whether it was busy for at least a second."""
    if not highest:
        return None, False
    packet_ns = packet_bytes * BITS_PER_BYTE * NS_PER_S / highest
    # intervals without a sample lie between the ACKs of a slow path
    most_gap = int(np.ceil(_GAP_PKTS * packet_ns / of.length_ns)) + 1
    least_ns = pl.Series(of.least_ns).fill_nan(None).fill_null(strategy="forward", limit=most_gap)
    busy = (least_ns > base_ns + 2 * packet_ns + 1e5).fill_null(False).to_numpy()
    total_bytes, total_ns = 0.0, 0.0
    bounds = np.flatnonzero(np.diff(np.concatenate([[0], busy.astype(np.int8), [0]])))
    for begin, end in zip(bounds[::2], bounds[1::2], strict=True):
        # from the end of an interval with an ACK to the end of another
        acks = np.flatnonzero(of.wire_bytes[begin:end]) + begin
        if acks.size < 2:
            continue
        sent = float(of.wire_bytes[acks[0] + 1 : acks[-1] + 1].sum())
        if sent > _LEAST_PKTS * packet_bytes:
            total_bytes += sent
            total_ns += float(acks[-1] - acks[0]) * of.length_ns
    if total_ns < NS_PER_S:
        return highest, False
    return total_bytes * BITS_PER_BYTE * NS_PER_S / total_ns, True


def _losses(of: _Intervals, base_ns: float, queue_ns: float) -> tuple[float, float]:
    """Retransmissions after a full queue, and others."""
    if queue_ns <= 0:
        return 0.0, float(of.retransmits.sum())
    # a full queue drops a packet about an RTT before it is sent again; recovery takes a few more
    rtt = max(int(np.ceil((base_ns + queue_ns) / of.length_ns)), 1)
    filled = (np.nan_to_num(of.any_ns, nan=0.0) - base_ns) / queue_ns
    last_full, began, after_full = -_FOREVER, -_FOREVER, False
    dropped, random = 0.0, 0.0
    last_resent = -_FOREVER
    for number in range(filled.size):
        if filled[number] > _FULL:
            last_full = number
        if not of.retransmits[number]:
            continue
        is_new = number - last_resent > 2 * rtt or number - began > _EPISODE_RTTS * rtt
        if is_new:
            began, after_full = number, False
        last_resent = number
        after_full = after_full or number - last_full <= 3 * rtt + 1
        if after_full:
            dropped += of.retransmits[number]
        else:
            random += of.retransmits[number]
    return float(dropped), float(random)
