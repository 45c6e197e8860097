"""One Reno flow behind a drop-tail queue: the sawtooth in closed form.

While the queue is never empty the flow gets the whole remaining rate C, so its round-trip time r
is its window in packets times the time S/C of one packet. Reno adds one packet per b round trips
(b = 2 with delayed ACKs and a sender that counts ACKs), hence r dr = (S / (b C)) dt: the *square*
of the round-trip time grows linearly in time. Over one cycle r^2 is therefore uniform between
r0^2 and r1^2: a density in r proportional to r, so that
    median^2 = (r0^2 + r1^2) / 2,   mean = 2/3 (r1^3 - r0^3) / (r1^2 - r0^2).
r1 is the base round-trip time plus a full queue, r0 = kept * r1. If r0 would be less than the base
round-trip time, the queue runs empty and the flow first climbs back at that constant time; the
distribution then has an atom at zero queueing delay.

Derived here; same geometry as Mathis et al. (1997), who use a constant round-trip time. It leaves
out slow start, the round trip that passes until the loss is noticed, and packet granularity.
"""

from __future__ import annotations

import math
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from headway.models._checks import Floats, fraction, not_negative, positive


@dataclass(frozen=True)
class Sawtooth:
    """A cycle between two losses, as returned by ``sawtooth``. Times in seconds."""

    base_rtt_s: float
    """Round-trip time with an empty queue."""
    low_rtt_s: float
    """Round-trip time just after the back-off (at least ``base_rtt_s``)."""
    high_rtt_s: float
    """Round-trip time with a full queue."""
    idle_s: float
    """Time per cycle with an empty queue."""
    cycle_s: float
    """Time from one loss to the next."""
    cycle_pkts: float
    """Packets the flow sends in a cycle."""
    window_before_pkts: float
    """Window at the loss, packets."""
    window_after_pkts: float
    """Window after the back-off, packets."""

    @property
    def idle_fraction(self) -> float:
        """Share of the time with an empty queue, in [0, 1)."""
        return self.idle_s / self.cycle_s

    def queueing_delay_cdf(self, delay_s: npt.ArrayLike) -> Floats:
        """Share of the time during which the queueing delay is at most ``delay_s``.

        Args:
            delay_s: seconds, any shape.

        Returns:
            values in [0, 1], shape of ``delay_s``.
        """
        r = np.asarray(delay_s, dtype=np.float64) + self.base_rtt_s
        low2, high2 = self.low_rtt_s**2, self.high_rtt_s**2
        busy = np.clip((np.clip(r, 0, None) ** 2 - low2) / (high2 - low2), 0, 1)
        cdf = self.idle_fraction + (1 - self.idle_fraction) * busy
        return np.asarray(np.where(r < self.low_rtt_s, 0.0, cdf), dtype=np.float64)

    def queueing_delay_quantile_s(self, q: float) -> float:
        """The ``q`` quantile of the queueing delay over time, seconds.

        Raises:
            ValueError: if ``q`` is not in [0, 1].
        """
        if not 0 <= q <= 1:
            raise ValueError(f"q must lie in [0, 1], got {q!r}")
        busy = max(q - self.idle_fraction, 0.0) / (1 - self.idle_fraction)
        low2, high2 = self.low_rtt_s**2, self.high_rtt_s**2
        return math.sqrt(low2 + busy * (high2 - low2)) - self.base_rtt_s

    @property
    def median_queueing_delay_s(self) -> float:
        """Median over time, seconds."""
        return self.queueing_delay_quantile_s(0.5)

    @property
    def mean_queueing_delay_s(self) -> float:
        """Mean over time, seconds."""
        return (1 - self.idle_fraction) * (self._busy_moments()[0] - self.base_rtt_s)

    @property
    def sd_queueing_delay_s(self) -> float:
        """Standard deviation over time, seconds."""
        first, second = self._busy_moments()
        base = self.base_rtt_s
        square = (1 - self.idle_fraction) * (second - 2 * base * first + base**2)
        return math.sqrt(max(square - self.mean_queueing_delay_s**2, 0.0))

    def _busy_moments(self) -> tuple[float, float]:
        """First and second moment of the round-trip time while the queue is not empty."""
        low, high = self.low_rtt_s, self.high_rtt_s
        mean = 2 / 3 * (high**3 - low**3) / (high**2 - low**2)
        return mean, (high**2 + low**2) / 2


def sawtooth(
    *,
    rate_bps: float,
    base_rtt_s: float,
    buffer_bytes: float,
    packet_bytes: float,
    cross_traffic_bps: float = 0.0,
    segments_per_ack: float = 1.0,
    kept: float = 0.5,
) -> Sawtooth:
    """The cycle of one Reno-like flow on a drop-tail link.

    Args:
        rate_bps: the link's rate, bit/s, > 0.
        base_rtt_s: round-trip time with an empty queue, seconds, > 0.
        buffer_bytes: bytes that the queue holds when it drops, > 0 (a queue that admits a packet
            as long as it is not yet over its limit holds one packet more than the limit).
        packet_bytes: IP bytes of one packet of the flow, > 0.
        cross_traffic_bps: constant-rate traffic in the same queue, bit/s, >= 0, < ``rate_bps``.
        segments_per_ack: round trips per added packet, b, >= 1.
        kept: part of the window kept at a loss, in (0, 1).

    Returns:
        the cycle.

    Raises:
        ValueError: if an argument is outside its range.
    """
    rate = positive("rate_bps", rate_bps)
    share = rate - not_negative("cross_traffic_bps", cross_traffic_bps)
    if share <= 0:
        raise ValueError(
            f"cross_traffic_bps must be below rate_bps, got {cross_traffic_bps!r} of {rate_bps!r}"
        )
    if not segments_per_ack >= 1:
        raise ValueError(f"segments_per_ack must be >= 1, got {segments_per_ack!r}")
    base = positive("base_rtt_s", base_rtt_s)
    packet_s = positive("packet_bytes", packet_bytes) * 8 / share
    high = base + positive("buffer_bytes", buffer_bytes) * 8 / rate
    after = fraction("kept", kept) * high
    low = max(after, base)
    b = segments_per_ack
    idle_s = b * base * (low - after) / packet_s
    busy_s = b * (high**2 - low**2) / (2 * packet_s)
    before_pkts, after_pkts = high / packet_s, after / packet_s
    return Sawtooth(
        base_rtt_s=base,
        low_rtt_s=low,
        high_rtt_s=high,
        idle_s=idle_s,
        cycle_s=idle_s + busy_s,
        cycle_pkts=b * (before_pkts**2 - after_pkts**2) / 2,
        window_before_pkts=before_pkts,
        window_after_pkts=after_pkts,
    )
