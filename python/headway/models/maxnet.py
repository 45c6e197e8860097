"""MaxNet's equilibrium, and the stability margins of its control loop.

Suchara, Witt, Wydrowski 2005, equations 1 and 2 and figure 2, linear about the equilibrium of N
flows with one RTT at one router. A window's rate x follows the price P one delay later:

    P' = x/C - mu,  eta' = r/w (p1/w - p2 s P interval/T),  w = p3 exp(eta - p4 s P/T)

with s the share of the price that the law uses, T the base RTT and r the rate of ACKs.
"""

from __future__ import annotations

import numpy as np

from headway.models._checks import positive
from headway.units import BITS_PER_BYTE

MU = 983 / 1024
"""The target utilization 0.96 as the router represents it."""
PACKET_BYTES = 1500
P1, P2, P4 = 6.0, 1.0, 15.0


def equilibrium_price_s(
    *,
    rate_bps: float,
    flows: int = 1,
    price_scale: float = 1 / 32,
    interval_s: float = 2.0,
    mu: float = MU,
) -> float:
    """The price at which N flows with any RTTs share mu C equally.

    Args:
        rate_bps: the link's IP rate, > 0.
        flows: N, >= 1.
        price_scale: share of a price that the law uses, > 0.
        interval_s: the law's interval, seconds, > 0.
        mu: target utilization, > 0.

    Returns:
        N p1/(p2 s interval mu C) with C in packets per second, in seconds.

    Raises:
        ValueError: if an argument is outside its range.
    """
    packets_per_s = positive("rate_bps", rate_bps) / (PACKET_BYTES * BITS_PER_BYTE)
    per_flow = P1 / (P2 * positive("price_scale", price_scale) * positive("interval_s", interval_s))
    return positive("flows", flows) * per_flow / (positive("mu", mu) * packets_per_s)


def margins(
    *,
    rate_bps: float,
    rtt_s: float,
    flows: int = 1,
    price_scale: float = 1 / 32,
    interval_s: float = 2.0,
    mu: float = MU,
    frequency_s: float = 0.01,
    pkts_per_ack: float = 2.0,
) -> tuple[float, float]:
    """Phase margin in degrees and gain margin of the loop.

    The delay is the RTT and ``frequency_s``: half of it for holding a price, half for its age. The
    loop is stable if the gain margin is above 1 (both margins are then positive).

    Args:
        rate_bps: as in ``equilibrium_price_s``.
        flows: as in ``equilibrium_price_s``.
        price_scale: as in ``equilibrium_price_s``.
        interval_s: as in ``equilibrium_price_s``.
        mu: as in ``equilibrium_price_s``.
        rtt_s: base RTT of all flows, seconds, > 0.
        frequency_s: time between computations of the price, seconds, > 0.
        pkts_per_ack: packets per ACK, > 0.

    Returns:
        phase margin at the first frequency where the gain falls to 1, gain margin at the first
        where the phase falls to -180 degrees.

    Raises:
        ValueError: if an argument is outside its range.
    """
    price_s = equilibrium_price_s(
        rate_bps=rate_bps, flows=flows, price_scale=price_scale, interval_s=interval_s, mu=mu
    )
    at_once = P4 * price_scale / positive("rtt_s", rtt_s)
    pole = P1 / rtt_s / positive("pkts_per_ack", pkts_per_ack)
    delay_s = rtt_s + positive("frequency_s", frequency_s)
    omega = np.geomspace(1e-3 / rtt_s, 1e3 / rtt_s, 200_000)
    s = 1j * omega
    loop = mu / s * (at_once * s + pole / price_s) / (s + pole)
    gain = np.abs(loop)
    phase = np.angle(loop) - omega * delay_s
    crosses = int(np.argmax(gain < 1))
    turns = int(np.argmax(phase < -np.pi))
    return float(180 + np.degrees(phase[crosses])), float(1 / gain[turns])
