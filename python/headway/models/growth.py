"""Window growth between two losses: CUBIC and H-TCP as functions of the time since the loss.

The laws assume a constant round-trip time and a sender that always fills its window. Behind a
queue that the flow itself fills, the round-trip time grows with the window and H-TCP and Reno
grow more slowly in time; per round trip the laws still hold.
"""

from __future__ import annotations

import numpy as np
import numpy.typing as npt

from headway.models._checks import Floats, fraction, positive, times_s

#: Time after a loss during which H-TCP grows like Reno, seconds (draft-leith-tcp-htcp-06).
HTCP_LOW_SPEED_S = 1.0
#: Round-trip time at which H-TCP's RTT scaling is neutral, seconds.
HTCP_REFERENCE_RTT_S = 0.1
#: Range of H-TCP's RTT scaling in Linux (net/ipv4/tcp_htcp.c clamps 1/scale to 0.5..10).
HTCP_SCALING_RANGE = (0.1, 2.0)


def cubic_k_s(
    window_before_pkts: float, window_after_pkts: float, *, cubic_constant: float = 0.4
) -> float:
    """K, the time CUBIC needs back to the window it had before the loss (RFC 9438, eq. 2).

    Args:
        window_before_pkts: window at the loss, packets, > 0.
        window_after_pkts: window at the start of the epoch, packets, > 0.
        cubic_constant: C, packets/s^3, > 0.

    Returns:
        seconds; 0 if the epoch starts at or above the old window.

    Raises:
        ValueError: if an argument is outside its range.
    """
    before = positive("window_before_pkts", window_before_pkts)
    after = positive("window_after_pkts", window_after_pkts)
    return float(np.cbrt(max(before - after, 0.0) / positive("cubic_constant", cubic_constant)))


def cubic_window_pkts(
    time_s: npt.ArrayLike,
    *,
    window_before_pkts: float,
    window_after_pkts: float,
    cubic_constant: float = 0.4,
) -> Floats:
    """CUBIC's window, without its Reno-friendly lower limit (RFC 9438, eq. 1).

    Args:
        time_s: time since the epoch began, seconds, any shape, each >= 0.
        window_before_pkts: window at the loss, packets, > 0.
        window_after_pkts: window at the start of the epoch, packets, > 0.
        cubic_constant: C, packets/s^3, > 0.

    Returns:
        packets, shape of ``time_s``.

    Raises:
        ValueError: if an argument is outside its range.
    """
    t = times_s(time_s)
    k_s = cubic_k_s(window_before_pkts, window_after_pkts, cubic_constant=cubic_constant)
    origin = max(window_before_pkts, window_after_pkts)
    return np.asarray(origin + cubic_constant * (t - k_s) ** 3, dtype=np.float64)


def reno_friendly_window_pkts(
    time_s: npt.ArrayLike,
    *,
    window_after_pkts: float,
    rtt_s: float,
    kept: float,
    segments_per_ack: float = 1.0,
) -> Floats:
    """Window of a flow that is as fast as Reno but keeps ``kept`` of its window at a loss.

    CUBIC uses this window as its lower limit.

    It grows by 3 (1 - kept) / (1 + kept) packets per round trip (RFC 9438, section 4.3);
    ``kept`` = 0.5 is Reno. With delayed ACKs a sender that counts ACKs grows
    ``segments_per_ack`` times more slowly.

    Args:
        time_s: time since the epoch began, seconds, any shape, each >= 0.
        window_after_pkts: window at the start of the epoch, packets, > 0.
        rtt_s: round-trip time, seconds, > 0.
        kept: part of the window kept at a loss, in (0, 1).
        segments_per_ack: segments that one ACK acknowledges, >= 1.

    Returns:
        packets, shape of ``time_s``.

    Raises:
        ValueError: if an argument is outside its range.
    """
    t = times_s(time_s)
    k = fraction("kept", kept)
    if not segments_per_ack >= 1:
        raise ValueError(f"segments_per_ack must be >= 1, got {segments_per_ack!r}")
    per_rtt = 3 * (1 - k) / (1 + k) / segments_per_ack
    start = positive("window_after_pkts", window_after_pkts)
    return np.asarray(start + per_rtt * t / positive("rtt_s", rtt_s), dtype=np.float64)


def htcp_alpha(
    time_s: npt.ArrayLike,
    *,
    kept: float = 0.5,
    rtt_s: float | None = None,
    quadratic: float = 0.25,
) -> Floats:
    """H-TCP's increase per round trip, packets, as a function of the time since the last loss.

    1 during the first second, then 1 + 10 x + q x^2 with x the time beyond it, times 2 (1 - kept)
    so that fairness does not depend on the back-off (draft-leith-tcp-htcp-06, section 3).

    Args:
        time_s: time since the last loss, seconds, any shape, each >= 0.
        kept: part of the window kept at a loss, in (0, 1).
        rtt_s: smallest round-trip time, seconds, > 0, switches RTT scaling on as Linux does it
            (range 0.1 to 2, never less than 1 before the factor of ``kept``); None: no scaling.
        quadratic: q, 1/s^2: 0.25 in the PFLDnet paper and Linux, 0.5 in the draft.

    Returns:
        packets per round trip, shape of ``time_s``.

    Raises:
        ValueError: if an argument is outside its range.
    """
    x = np.maximum(times_s(time_s) - HTCP_LOW_SPEED_S, 0.0)
    factor = 1 + 10 * x + quadratic * x**2
    if rtt_s is not None:
        scale = positive("rtt_s", rtt_s) / HTCP_REFERENCE_RTT_S
        factor = np.maximum(factor * np.clip(scale, *HTCP_SCALING_RANGE), 1.0)
    return np.asarray(2 * (1 - fraction("kept", kept)) * factor, dtype=np.float64)


def htcp_window_pkts(
    time_s: npt.ArrayLike,
    *,
    window_after_pkts: float,
    rtt_s: float,
    kept: float = 0.5,
    quadratic: float = 0.25,
) -> Floats:
    """H-TCP's window at a constant round-trip time, without RTT scaling.

    The integral of ``htcp_alpha`` over time, divided by the round-trip time:
    t + 5 x^2 + q x^3 / 3 with x the time beyond the first second.

    Args:
        time_s: time since the last loss, seconds, any shape, each >= 0.
        window_after_pkts: window just after the loss, packets, > 0.
        rtt_s: round-trip time, seconds, > 0.
        kept: part of the window kept at a loss, in (0, 1).
        quadratic: q, 1/s^2, as in ``htcp_alpha``.

    Returns:
        packets, shape of ``time_s``.

    Raises:
        ValueError: if an argument is outside its range.
    """
    t = times_s(time_s)
    x = np.maximum(t - HTCP_LOW_SPEED_S, 0.0)
    grown = 2 * (1 - fraction("kept", kept)) * (t + 5 * x**2 + quadratic * x**3 / 3)
    start = positive("window_after_pkts", window_after_pkts)
    return np.asarray(start + grown / positive("rtt_s", rtt_s), dtype=np.float64)
