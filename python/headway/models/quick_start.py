"""Quick-Start in closed form: the rates of the header field, and what a router may grant.

RFC 4782, section 3.1, and Scharf (2011), sections 4.5.1, 4.5.2 and 6.3.3.3. These are the equations
in real numbers, to test the integer code of ``algorithms``. Rates are in IP bits/s. The approval
functions return the rate before it is rounded down to a rate code.
"""

from __future__ import annotations

import math

from headway.models._checks import not_negative, positive

#: Rates of codes 0 to 15, bit/s (RFC 4782, section 3.1).
RATES_BPS: tuple[int, ...] = (0, *(40_000 * 2**code for code in range(1, 16)))


def rate_code(rate_bps: float) -> int:
    """The largest code whose rate is at most ``rate_bps``; 0 below 80 kbit/s.

    Args:
        rate_bps: >= 0.

    Returns:
        0 to 15.

    Raises:
        ValueError: if the rate is negative or not finite.
    """
    rate = not_negative("rate_bps", rate_bps)
    return max(code for code, known in enumerate(RATES_BPS) if known <= rate)


def window_pkts(rate_bps: float, *, rtt_s: float, mtu_bytes: float = 1500) -> float:
    """W_qs, the window of an approved rate (section 4.5.1.1; the factor 8 is not printed).

    Args:
        rate_bps: q, > 0.
        rtt_s: d, seconds, > 0.
        mtu_bytes: IP bytes per packet, > 0.

    Returns:
        packets, not rounded.

    Raises:
        ValueError: if an argument is not > 0.
    """
    bits = positive("rate_bps", rate_bps) * positive("rtt_s", rtt_s)
    return bits / (8 * positive("mtu_bytes", mtu_bytes))


def slots_needed(longest_delay_s: float, *, interval_s: float) -> int:
    """Omega_opt: slots needed to remember grants until their data arrives, eq. 4.16.

    Args:
        longest_delay_s: d_max, from a request to its data, seconds, > 0.
        interval_s: Delta, length of a slot, seconds, > 0.

    Returns:
        slots, >= 3.

    Raises:
        ValueError: if an argument is not > 0.
    """
    slots = positive("longest_delay_s", longest_delay_s) / positive("interval_s", interval_s) + 2
    return math.ceil(slots - 1e-9)


def target_grant_bps(request_bps: float, *, spare_bps: float, outstanding_bps: float) -> float:
    """The target algorithm, eq. 4.17: grants the spare rate that is not granted already.

    Args:
        request_bps: q, >= 0.
        spare_bps: a = theta c - u, >= 0.
        outstanding_bps: H, grants in all slots, >= 0.

    Returns:
        bit/s, >= 0.

    Raises:
        ValueError: if an argument is negative.
    """
    free = not_negative("spare_bps", spare_bps) - not_negative("outstanding_bps", outstanding_bps)
    return max(min(not_negative("request_bps", request_bps), free), 0.0)


def optimistic_grant_bps(request_bps: float, *, spare_bps: float) -> float:
    """The optimistic algorithm, eq. 4.18: ignores earlier grants.

    Args:
        request_bps: q, >= 0.
        spare_bps: a, >= 0.

    Returns:
        bit/s, >= 0.

    Raises:
        ValueError: if an argument is negative.
    """
    return target_grant_bps(request_bps, spare_bps=spare_bps, outstanding_bps=0.0)


def fair_grant_bps(
    request_bps: float,
    *,
    spare_bps: float,
    granted_now_bps: float,
    outstanding_bps: float,
    elapsed: float,
    slots: int = 2,
    head_start: float = 0.125,
) -> float:
    """The fair algorithm, eq. 4.19: a slot's share becomes available over its time.

    Args:
        request_bps: q, >= 0.
        spare_bps: a, >= 0.
        granted_now_bps: H(0), grants in this slot, >= 0.
        outstanding_bps: H, grants in all slots, this one included, >= 0.
        elapsed: (t - t0) / Delta, share of the slot that has passed, in [0, 1].
        slots: Omega, >= 1.
        head_start: Theta, part of the slot's share that is available at its start, in [0, 1].

    Returns:
        bit/s, >= 0, at most spare / slots per slot.

    Raises:
        ValueError: if an argument is outside its range.
    """
    for name, value in (("elapsed", elapsed), ("head_start", head_start)):
        if not 0 <= value <= 1:
            raise ValueError(f"{name} must lie in [0, 1], got {value!r}")
    if slots < 1:
        raise ValueError(f"slots must be >= 1, got {slots!r}")
    a = not_negative("spare_bps", spare_bps)
    opened = (head_start * a + (1 - head_start) * a * elapsed) / slots
    own = opened - not_negative("granted_now_bps", granted_now_bps)
    target = target_grant_bps(request_bps, spare_bps=a, outstanding_bps=outstanding_bps)
    return max(min(own, target), 0.0)


def most_granted_bps_per_s(*, spare_bps: float, interval_s: float, slots: int) -> float:
    """Xi: the rate that the target algorithm can grant per second in the long run, eq. 6.1.

    Args:
        spare_bps: theta c - u, bit/s, >= 0.
        interval_s: Delta, seconds, > 0.
        slots: Omega, >= 1.

    Returns:
        bit/s per second.

    Raises:
        ValueError: if an argument is outside its range.
    """
    if slots < 1:
        raise ValueError(f"slots must be >= 1, got {slots!r}")
    return not_negative("spare_bps", spare_bps) / (positive("interval_s", interval_s) * slots)


def approval_probability(
    *,
    spare_bps: float,
    request_bps: float,
    interval_s: float,
    slots: int,
    mean_arrival_s: float,
) -> float:
    """Approximate share of requests that the target algorithm approves (section 6.4.3.3).

    The number of requests that fit into a link's spare rate, divided by the number that arrive
    while grants are remembered. If the requests' transfers cause the load rho, it is proportional
    to (1/rho - 1)/(Omega Delta).

    Args:
        spare_bps: theta c - u, bit/s, >= 0.
        request_bps: q, bit/s, > 0.
        interval_s: Delta, seconds, > 0.
        slots: Omega, >= 1.
        mean_arrival_s: delta, mean time between requests, seconds, > 0.

    Returns:
        0 to 1.

    Raises:
        ValueError: if an argument is outside its range.
    """
    per_second = most_granted_bps_per_s(spare_bps=spare_bps, interval_s=interval_s, slots=slots)
    approved_per_s = per_second / positive("request_bps", request_bps)
    return min(1.0, approved_per_s * positive("mean_arrival_s", mean_arrival_s))
