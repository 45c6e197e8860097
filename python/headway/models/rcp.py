"""RCP with a wrong value for its link's capacity, eq. 6.13 to 6.15.

Scharf (2011), section 6.5.3.3. Eq. 6.13 sets RCP's feedback to zero: alpha (theta c - r) =
beta b / d, with b the queue and d the mean round-trip time, which the queue increases to
tau + b / r. Solving for b gives eq. 6.14, which is finite only under eq. 6.15. The thesis' text
states that the traffic is x = c, but eq. 6.13 uses x = r, the rate that leaves the link.
"""

from __future__ import annotations

import math

from headway.models._checks import positive


def largest_capacity_ratio(*, alpha: float, beta: float) -> float:
    """The ratio c / r below which the queue stays finite, eq. 6.15: 1 + beta / alpha.

    alpha = beta = 0.1 gives 2; the thesis' text says "about factor three".

    Args:
        alpha: weight of the spare rate, > 0.
        beta: weight of the queue, > 0.

    Returns:
        ratio, > 1.

    Raises:
        ValueError: if an argument is not > 0.
    """
    return 1 + positive("beta", beta) / positive("alpha", alpha)


def standing_queue_bits(
    *, rate_bps: float, assumed_bps: float, rtt_s: float, alpha: float, beta: float
) -> float:
    """RCP's queue in equilibrium, eq. 6.14 with theta = 1.

    Args:
        rate_bps: r, the link's rate, bit/s, > 0.
        assumed_bps: c, the rate that the router assumes, bit/s, > 0.
        rtt_s: tau, round-trip time without the queue, seconds, > 0.
        alpha: RCP's weight of the spare capacity, > 0.
        beta: RCP's weight of the queue, > 0.

    Returns:
        bits; 0 if c <= r, infinite if c / r reaches ``largest_capacity_ratio``.

    Raises:
        ValueError: if an argument is outside its range.
    """
    r, c = positive("rate_bps", rate_bps), positive("assumed_bps", assumed_bps)
    room = largest_capacity_ratio(alpha=alpha, beta=beta) - c / r
    if c <= r:
        return 0.0
    return (c - r) * positive("rtt_s", rtt_s) / room if room > 0 else math.inf
