"""Duration of a transfer with each startup: slow start in rounds, or a paced first round trip.

Equations 6.2 to 6.10 and table 6.1 of Scharf (2011), section 6.4.1. One transfer alone on a path
without loss; ssthresh and the receive window never limit it, requests take no time. Data counts
as application bytes, so the path's rate is L / MTU of its rate in IP bits. A response time runs
from the end of the handshake to the last byte at the client.
"""

from __future__ import annotations

import math
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from headway.models._checks import Floats, positive

#: Most data that the modified Jump-Start sends in its first round trip, bytes (4.4.3.2).
JUMP_START_DATA_BYTES = 65_535
#: Fastest first round trip of the modified Jump-Start, bit/s (section 4.4.3.2).
JUMP_START_RATE_BPS = 10e6

_BITS_PER_BYTE = 8
#: Tolerance for rounding errors near whole numbers.
_LOG_SLACK = 1e-9


@dataclass(frozen=True)
class StartupPath:
    """The path of a transfer.

    Args:
        rate_bps: r, the bottleneck's rate, IP bits/s, > 0.
        rtt_s: tau, round-trip time without queueing and serialization, seconds, > 0.
        mss_bytes: L, payload of a full packet, bytes, > 0.
        mtu_bytes: IP size of a full packet, bytes, >= ``mss_bytes``.
        segments_per_ack: eta, >= 1; 1 as long as Linux sends quick ACKs, or counts segments.

    Raises:
        ValueError: if an argument is outside its range.
    """

    rate_bps: float
    rtt_s: float
    mss_bytes: float = 1448
    mtu_bytes: float = 1500
    segments_per_ack: float = 1.0

    def __post_init__(self) -> None:
        """Check the ranges."""
        positive("rate_bps", self.rate_bps)
        positive("rtt_s", self.rtt_s)
        positive("mss_bytes", self.mss_bytes)
        if not self.mtu_bytes >= self.mss_bytes:
            raise ValueError(
                f"mtu_bytes must be >= mss_bytes ({self.mss_bytes!r}), got {self.mtu_bytes!r}"
            )
        if not self.segments_per_ack >= 1:
            raise ValueError(f"segments_per_ack must be >= 1, got {self.segments_per_ack!r}")

    def payload_rate(self, ip_rate_bps: float) -> float:
        """Q = L / MTU * q as application bytes per second, of a rate q in IP bits/s, > 0."""
        share = self.mss_bytes / self.mtu_bytes
        return share * positive("ip_rate_bps", ip_rate_bps) / _BITS_PER_BYTE

    @property
    def capacity(self) -> float:
        """R, the path's rate in application bytes per second."""
        return self.payload_rate(self.rate_bps)

    @property
    def growth(self) -> float:
        """gamma, factor of the window per round."""
        return 1 + 1 / self.segments_per_ack

    @property
    def round_s(self) -> float:
        """Duration of a round: the round-trip time and one packet's serialization, seconds."""
        return self.rtt_s + self.mss_bytes / self.capacity


def data_in_rounds(rounds: npt.ArrayLike, first: npt.ArrayLike, growth: float) -> Floats:
    """M(i, w): total data of the first ``rounds`` rounds, eq. 6.2.

    Args:
        rounds: i, >= 0, any shape.
        first: w, data of the first round (any unit), shapes broadcast.
        growth: gamma, factor from round to round, > 1.

    Returns:
        the unit of ``first``.

    Raises:
        ValueError: if ``growth`` is not > 1.
    """
    if not growth > 1:
        raise ValueError(f"growth must be > 1, got {growth!r}")
    i, w = np.asarray(rounds, dtype=np.float64), np.asarray(first, dtype=np.float64)
    return np.asarray(w * (growth**i - 1) / (growth - 1), dtype=np.float64)


def slow_start_transfer_s(
    size_bytes: npt.ArrayLike, *, path: StartupPath, window_pkts: float
) -> Floats:
    """Gamma_SS: duration of a transfer that begins with a window, eq. 6.3 to 6.6.

    Args:
        size_bytes: s, any shape, each > 0.
        path: the path.
        window_pkts: w, packets, > 0.

    Returns:
        seconds, shape of ``size_bytes``.

    Raises:
        ValueError: if an argument is outside its range.
    """
    s, w = _sizes(size_bytes), positive("window_pkts", window_pkts)
    gamma, mss, capacity = path.growth, path.mss_bytes, path.capacity
    fill = _ceil_log(capacity * path.round_s / (w * mss), gamma) + 1  # kappa, eq. 6.4
    whole = _ceil_log(np.ceil(s / mss) * (gamma - 1) / w + 1, gamma)  # nu, eq. 6.5
    used = np.maximum(np.minimum(fill, whole) - 1, 0)  # psi, eq. 6.6
    rest = s - mss * data_in_rounds(used, w, gamma)
    return np.asarray(path.round_s * used + rest / capacity, dtype=np.float64)


def paced_transfer_s(
    size_bytes: npt.ArrayLike, *, path: StartupPath, rate: npt.ArrayLike
) -> Floats:
    """Gamma_PA: duration of a transfer whose first round is paced, eq. 6.7 to 6.10.

    Args:
        size_bytes: s, any shape, each > 0.
        path: the path.
        rate: Q, application bytes per second, each > 0; shapes broadcast.

    Returns:
        seconds.

    Raises:
        ValueError: if an argument is outside its range.
    """
    s, q = _sizes(size_bytes), np.asarray(rate, dtype=np.float64)
    if not bool(np.all(np.isfinite(q) & (q > 0))):
        raise ValueError(f"rate must be finite and > 0 bytes/s, got {rate!r}")
    gamma, capacity = path.growth, path.capacity
    first = q * path.round_s
    fill = _ceil_log(capacity / q, gamma) + 1  # kappa, eq. 6.9
    whole = _ceil_log(s * (gamma - 1) / first + 1, gamma)  # nu, eq. 6.10
    used = np.maximum(np.minimum(fill, whole) - 1, 0)  # psi, eq. 6.8
    rest = s - data_in_rounds(used, first, gamma)
    last_rate = np.minimum(capacity, q * gamma**used)
    return np.asarray(path.round_s * used + rest / last_rate, dtype=np.float64)


def slow_start_response_s(
    size_bytes: npt.ArrayLike, *, path: StartupPath, window_pkts: float = 2
) -> Floats:
    """Table 6.1, slow start and Initial-Start: only ``window_pkts`` differs.

    Args:
        size_bytes: response, any shape, each > 0.
        path: the path.
        window_pkts: initial window, packets, > 0: 2 on a new connection and 3 after idle in
            Linux 2.6.18, 10 for Initial-Start and today's Linux.

    Returns:
        seconds, shape of ``size_bytes``.

    Raises:
        ValueError: if an argument is outside its range.
    """
    transfer_s = slow_start_transfer_s(size_bytes, path=path, window_pkts=window_pkts)
    return np.asarray(path.rtt_s + transfer_s, dtype=np.float64)


def jump_start_rate(
    size_bytes: npt.ArrayLike,
    *,
    rtt_s: float,
    data_bytes: float = JUMP_START_DATA_BYTES,
    rate_bps: float = JUMP_START_RATE_BPS,
) -> Floats:
    """Q of the modified Jump-Start, eq. 4.12: all queued data in one round trip, within limits.

    Args:
        size_bytes: s, data queued at the start, any shape, each > 0.
        rtt_s: round-trip time, seconds, > 0.
        data_bytes: K_data, > 0.
        rate_bps: K_rate, bit/s, > 0.

    Returns:
        application bytes per second, shape of ``size_bytes``.

    Raises:
        ValueError: if an argument is outside its range.
    """
    data = np.minimum(_sizes(size_bytes), positive("data_bytes", data_bytes))
    most = positive("rate_bps", rate_bps) / _BITS_PER_BYTE
    return np.asarray(np.minimum(data / positive("rtt_s", rtt_s), most), dtype=np.float64)


def jump_start_response_s(
    size_bytes: npt.ArrayLike,
    *,
    path: StartupPath,
    data_bytes: float = JUMP_START_DATA_BYTES,
    rate_bps: float = JUMP_START_RATE_BPS,
    window_pkts: float = 2,
) -> Floats:
    """Table 6.1, modified Jump-Start.

    Args:
        size_bytes: response, any shape, each > 0; all of it is queued at the start.
        path: the path.
        data_bytes: K_data, > 0.
        rate_bps: K_rate, bit/s, > 0.
        window_pkts: initial window of slow start, which is used unless Jump-Start sends more.

    Returns:
        seconds, shape of ``size_bytes``.

    Raises:
        ValueError: if an argument is outside its range.
    """
    limits = {"data_bytes": data_bytes, "rate_bps": rate_bps}
    q = jump_start_rate(size_bytes, rtt_s=path.rtt_s, **limits)
    paced_s = path.rtt_s + paced_transfer_s(size_bytes, path=path, rate=q)
    worth_it = q * path.rtt_s > window_pkts * path.mss_bytes
    slow_s = slow_start_response_s(size_bytes, path=path, window_pkts=window_pkts)
    return np.asarray(np.where(worth_it, paced_s, slow_s), dtype=np.float64)


def timed_jump_start_response_s(
    size_bytes: npt.ArrayLike,
    *,
    path: StartupPath,
    data_bytes: float = JUMP_START_DATA_BYTES,
    rate_bps: float = JUMP_START_RATE_BPS,
    window_pkts: float = 2,
    chunk_pkts: int = 3,
    hz: float = 1000,
) -> Floats:
    """``jump_start_response_s`` with the timers of eq. 5.1 instead of an even flow.

    A transfer that fits into the first round trip is complete with the last of N_timer bursts,
    which leaves one timer period before the round trip ends. Other transfers are as in table 6.1.
    The thesis gives this as the reason why small Jump-Starts are faster than its equation
    (6.4.2.1).

    Args:
        size_bytes: response, any shape, each > 0; all of it is queued at the start.
        path: the path.
        data_bytes: K_data, > 0.
        rate_bps: K_rate, bit/s, > 0.
        window_pkts: initial window of slow start, which is used unless Jump-Start sends more.
        chunk_pkts: N_chunk, >= 1.
        hz: timer ticks per second, > 0.

    Returns:
        seconds, shape of ``size_bytes``.

    Raises:
        ValueError: if an argument is outside its range.
    """
    s = _sizes(size_bytes)
    limits = {"data_bytes": data_bytes, "rate_bps": rate_bps}
    even_s = jump_start_response_s(s, path=path, window_pkts=window_pkts, **limits)
    pkts = np.ceil(s / path.mss_bytes).astype(np.int64)
    timers = np.array(
        [
            pacing_timers(int(n), rtt_s=path.rtt_s, chunk_pkts=chunk_pkts, hz=hz)
            for n in np.ravel(pkts)
        ]
    ).reshape(pkts.shape)
    last_burst_s = pkts / timers * path.mss_bytes / path.capacity
    timed_s = path.rtt_s * (2 - 1 / timers) + last_burst_s
    first = np.minimum(data_bytes, rate_bps / _BITS_PER_BYTE * path.rtt_s)
    paced = (pkts > window_pkts) & (s <= first)
    return np.asarray(np.where(paced, np.minimum(timed_s, even_s), even_s), dtype=np.float64)


def paced_response_s(
    size_bytes: npt.ArrayLike, *, path: StartupPath, rate_bps: float, window_pkts: float = 2
) -> Floats:
    """Table 6.1, Mega-Start and Quick-Start with early activation.

    Args:
        size_bytes: response, any shape, each > 0.
        path: the path.
        rate_bps: q, the initial rate, IP bits/s, > 0.
        window_pkts: initial window of slow start, which is used unless the rate fills more.

    Returns:
        seconds, shape of ``size_bytes``.

    Raises:
        ValueError: if an argument is outside its range.
    """
    q = path.payload_rate(rate_bps)
    if q * path.rtt_s <= window_pkts * path.mss_bytes:
        return slow_start_response_s(size_bytes, path=path, window_pkts=window_pkts)
    return np.asarray(
        path.rtt_s + paced_transfer_s(size_bytes, path=path, rate=q), dtype=np.float64
    )


def late_quick_start_response_s(
    size_bytes: npt.ArrayLike, *, path: StartupPath, rate_bps: float, window_pkts: float = 2
) -> Floats:
    """Table 6.1, Quick-Start with late activation: a window first, one round trip later the rate.

    The thesis prints Gamma_PA(s - w, Q); the units, and what is sent, need s - w L.

    Args:
        size_bytes: response, any shape, each > 0.
        path: the path.
        rate_bps: q, the approved rate, IP bits/s, > 0.
        window_pkts: initial window, packets, > 0; what fits into it needs no rate.

    Returns:
        seconds, shape of ``size_bytes``.

    Raises:
        ValueError: if an argument is outside its range.
    """
    s = _sizes(size_bytes)
    sent = positive("window_pkts", window_pkts) * path.mss_bytes
    slow_s = slow_start_response_s(s, path=path, window_pkts=window_pkts)
    q = path.payload_rate(rate_bps)
    if q * path.rtt_s <= path.growth * sent:
        return slow_s
    rest = np.where(s > sent, s - sent, path.mss_bytes)
    late_s = 2 * path.rtt_s + paced_transfer_s(rest, path=path, rate=q)
    return np.asarray(np.where(s > sent, late_s, slow_s), dtype=np.float64)


def standard_initial_window_bytes(mss_bytes: float) -> float:
    """Initial window of RFC 3390, eq. 4.5: min(4 L, max(2 L, 4380 bytes)).

    Args:
        mss_bytes: L, > 0.

    Returns:
        bytes; 3 segments of 1460.

    Raises:
        ValueError: if ``mss_bytes`` is not > 0.
    """
    mss = positive("mss_bytes", mss_bytes)
    return min(4 * mss, max(2 * mss, 4380.0))


def jump_start_window_after_loss_pkts(paced_pkts: int, retransmitted_pkts: int) -> int:
    """W_recov: window after the recovery of a loss in the first round trip, eq. 4.11.

    Args:
        paced_pkts: packets sent in the paced round trip, >= 0.
        retransmitted_pkts: how many of them were retransmitted, >= 0.

    Returns:
        packets, >= 1.

    Raises:
        ValueError: if an argument is negative.
    """
    for name, value in (("paced_pkts", paced_pkts), ("retransmitted_pkts", retransmitted_pkts)):
        if value < 0:
            raise ValueError(f"{name} must be >= 0, got {value!r}")
    return max((paced_pkts - retransmitted_pkts) // 2, 1)


def pacing_timers(window_pkts: int, *, rtt_s: float, chunk_pkts: int = 3, hz: float = 1000) -> int:
    """N_timer: how often a paced window's timer fires in one round trip, eq. 5.1.

    The equation gives 0 for a window smaller than a chunk; such a window still needs one timer.

    Args:
        window_pkts: W_playout, >= 1.
        rtt_s: round-trip time, seconds, > 0.
        chunk_pkts: N_chunk, fewest packets per timer, >= 1.
        hz: timer ticks per second, > 0.

    Returns:
        timers, >= 1.

    Raises:
        ValueError: if an argument is outside its range.
    """
    if window_pkts < 1 or chunk_pkts < 1:
        raise ValueError(
            f"window_pkts and chunk_pkts must be >= 1, got {window_pkts!r}, {chunk_pkts!r}"
        )
    ticks = math.floor(positive("rtt_s", rtt_s) * positive("hz", hz) + _LOG_SLACK)
    return max(min(window_pkts // chunk_pkts, ticks), 1)


def _sizes(value: npt.ArrayLike) -> Floats:
    sizes = np.asarray(value, dtype=np.float64)
    if not bool(np.all(np.isfinite(sizes) & (sizes > 0))):
        raise ValueError(f"size_bytes must be finite and > 0, got {value!r}")
    return sizes


def _ceil_log(value: npt.ArrayLike, base: float) -> Floats:
    """The smallest integer k with base^k >= value, without the error of rounding."""
    log = np.log(np.asarray(value, dtype=np.float64)) / math.log(base)
    return np.asarray(np.ceil(log - _LOG_SLACK), dtype=np.float64)
