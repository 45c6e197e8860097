"""Response functions: the throughput of a greedy flow on a path with random loss.

Equation numbers are those of Scharf, "Fast Startup Internet Congestion Control Mechanisms for
Broadband Interactive Applications" (2011), section 4.2. All of them leave out slow start and the
link's rate: they are valid if loss, not the link, limits the flow.
"""

from __future__ import annotations

import numpy as np
import numpy.typing as npt

from headway.models._checks import Floats, fraction, loss_ratios, positive


def reno_sqrt_bps(
    loss: npt.ArrayLike, *, mss_bytes: float, rtt_s: float, segments_per_ack: float = 1.0
) -> Floats:
    """Reno's throughput by the square-root model of Mathis et al., eq. 4.6.

    Valid for small loss only: it assumes that fast retransmit repairs every loss.

    Args:
        loss: segment loss ratios, any shape, each in (0, 1].
        mss_bytes: payload of a full segment, bytes, > 0.
        rtt_s: round-trip time without queueing, seconds, > 0.
        segments_per_ack: segments that one ACK acknowledges, >= 1 (2 with delayed ACKs if the
            sender counts ACKs, 1 if it counts the segments acknowledged).

    Returns:
        bit/s of payload, shape of ``loss``.

    Raises:
        ValueError: if an argument is outside its range.
    """
    p = loss_ratios(loss)
    eta = _segments_per_ack(segments_per_ack)
    return np.asarray(
        np.sqrt(3 / (2 * eta)) * _segment_bps(mss_bytes, rtt_s) / np.sqrt(p), dtype=np.float64
    )


def reno_pftk_bps(
    loss: npt.ArrayLike,
    *,
    mss_bytes: float,
    rtt_s: float,
    rto_s: float,
    segments_per_ack: float = 1.0,
    max_window_pkts: float | None = None,
) -> Floats:
    """Reno's throughput by the model of Padhye, Firoiu, Towsley and Kurose, eq. 4.7.

    The thesis prints the time-out term f(p) under the square root; the original, and this
    function, add it outside, where it has the unit of a time. (At 200 ms the two differ little.)

    Args:
        loss: segment loss ratios, any shape, each in (0, 1].
        mss_bytes: payload of a full segment, bytes, > 0.
        rtt_s: round-trip time without queueing, seconds, > 0.
        rto_s: T0, the first retransmission time-out, seconds, > 0. Linux on a steady path:
            the round-trip time plus 200 ms.
        segments_per_ack: segments that one ACK acknowledges, >= 1.
        max_window_pkts: largest window, packets, > 0, or None for no limit.

    Returns:
        bit/s of payload, shape of ``loss``.

    Raises:
        ValueError: if an argument is outside its range.
    """
    p = loss_ratios(loss)
    eta = _segments_per_ack(segments_per_ack)
    positive("rto_s", rto_s)
    timeouts_s = rto_s * np.minimum(1.0, 3 * np.sqrt(3 * eta * p / 8)) * p * (1 + 32 * p**2)
    bps = mss_bytes * 8 / (_rtt(rtt_s) * np.sqrt(2 * eta * p / 3) + timeouts_s)
    if max_window_pkts is not None:
        window_bps = positive("max_window_pkts", max_window_pkts) * _segment_bps(mss_bytes, rtt_s)
        bps = np.minimum(window_bps, bps)
    positive("mss_bytes", mss_bytes)
    return np.asarray(bps, dtype=np.float64)


def cubic_response_bps(
    loss: npt.ArrayLike,
    *,
    mss_bytes: float,
    rtt_s: float,
    reduction: float = 0.2,
    cubic_constant: float = 0.4,
) -> Floats:
    """CUBIC's throughput in its cubic region, eq. 4.9.

    Eq. 4.9 prints the constant 1.17, which is (C (4 - b) / (4 b))^(1/4) for C = 0.4 packets/s^3
    and b = 0.2 (draft-rhee-tcpm-cubic-02, section 3). If Reno's function is larger, CUBIC follows
    Reno instead.

    Args:
        loss: segment loss ratios, any shape, each in (0, 1].
        mss_bytes: payload of a full segment, bytes, > 0.
        rtt_s: round-trip time without queueing, seconds, > 0.
        reduction: part of the window given up at a loss, in (0, 1): 0.2 up to Linux 2.6.28,
            0.3 in RFC 9438.
        cubic_constant: C, packets/s^3, > 0.

    Returns:
        bit/s of payload, shape of ``loss``.

    Raises:
        ValueError: if an argument is outside its range.
    """
    p = loss_ratios(loss)
    b = fraction("reduction", reduction)
    constant = (positive("cubic_constant", cubic_constant) * (4 - b) / (4 * b)) ** 0.25
    return np.asarray(
        constant * _segment_bps(mss_bytes, rtt_s) * (_rtt(rtt_s) / p) ** 0.75, dtype=np.float64
    )


def compound_response_bps(
    loss: npt.ArrayLike,
    *,
    mss_bytes: float,
    rtt_s: float,
    growth: float = 1 / 8,
    reduction: float = 0.5,
    power: float = 0.75,
) -> Floats:
    """Compound TCP's throughput while its delay window is active, eq. 4.10.

    The window W grows by a W^k per round trip and is reduced by the share b at a loss, one every
    1/p packets. So 1/p = W^(2-k) (1 - (1-b)^(2-k)) / (a (2-k)) are sent between losses, in
    W^(1-k) (1 - (1-b)^(1-k)) / (a (1-k)) round trips (draft-sridharan-tcpm-ctcp-02, section 3).
    With its a = 1/8, b = 1/2, k = 3/4 the constant before p^-0.8 is 0.255, which also is the
    draft's 64 packets at a loss of 1e-3; the thesis prints 0.225.

    Args:
        loss: segment loss ratios, any shape, each in (0, 1].
        mss_bytes: payload of a full segment, bytes, > 0.
        rtt_s: round-trip time without queueing, seconds, > 0.
        growth: a, > 0.
        reduction: b, in (0, 1).
        power: k, in (0, 1).

    Returns:
        bit/s of payload, shape of ``loss``.

    Raises:
        ValueError: if an argument is outside its range.
    """
    p = loss_ratios(loss)
    a, kept, k = positive("growth", growth), 1 - fraction("reduction", reduction), power
    fraction("power", k)
    sent, rounds = (1 - kept ** (2 - k)) / (2 - k), (1 - kept ** (1 - k)) / (1 - k)
    constant = sent / rounds * (a / sent) ** (1 / (2 - k))
    return np.asarray(
        constant * _segment_bps(mss_bytes, rtt_s) * p ** (-1 / (2 - k)), dtype=np.float64
    )


def _segment_bps(mss_bytes: float, rtt_s: float) -> float:
    """One segment per round trip, bit/s."""
    return positive("mss_bytes", mss_bytes) * 8 / _rtt(rtt_s)


def _rtt(rtt_s: float) -> float:
    return positive("rtt_s", rtt_s)


def _segments_per_ack(value: float) -> float:
    if not value >= 1:
        raise ValueError(f"segments_per_ack must be >= 1, got {value!r}")
    return float(value)
