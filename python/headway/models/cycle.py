"""A congestion window's cycle between evenly spaced losses, for any law of growth.

Response functions assume this cycle (Mathis et al. 1997): one packet in 1/p is lost, so a sender
sends 1/p packets from one loss to the next, and the window is the same at every loss. Growth is
taken as continuous and the round-trip time as constant; slow start is left out.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass

import numpy as np

from headway.models._checks import Floats, fraction, not_negative, positive

_STEPS = 4000
"""Steps of the numeric integral; for a law with corners the error is then below 1e-3."""
_LARGEST_PKTS = 1e12
_BIC_STEPS, _BIC_MAX_PKTS, _BIC_SMOOTH_PKTS = 4, 16, 0.2

Growth = Callable[[Floats, float], Floats]
"""A law of growth: called with windows (n,) and the window at the last loss, it returns the growth
in packets per round trip at each window."""


@dataclass(frozen=True)
class Cycle:
    """One cycle from loss to loss, as returned by ``cycle``."""

    before_pkts: float
    """Window at the loss."""
    mean_pkts: float
    """Packets sent per round trip, over the whole cycle."""
    rounds: float
    """Round trips from loss to loss."""


def cycle(
    loss: float,
    growth: Growth,
    *,
    kept: float | Callable[[float], float],
    pause_rounds: float = 0.0,
) -> Cycle:
    """The cycle in which 1/``loss`` packets are sent.

    Args:
        loss: loss ratio, in (0, 1).
        growth: packets per round trip, > 0, at windows (n,); its second argument is the window at
            the last loss.
        kept: share of the window kept at a loss, in (0, 1), or a function of the window.
        pause_rounds: round trips after each loss without growth, >= 0: 1 for fast recovery.

    Returns:
        the cycle.

    Raises:
        ValueError: if an argument is outside its range, or no window sends 1/``loss`` packets.
    """
    wanted_pkts = 1 / fraction("loss", loss)
    pause = not_negative("pause_rounds", pause_rounds)

    def sent_and_rounds(before: float) -> tuple[float, float]:
        left = before * fraction("kept", kept(before) if callable(kept) else kept)
        edges = np.linspace(left, before, _STEPS + 1)
        windows = (edges[:-1] + edges[1:]) / 2
        rounds = np.diff(edges) / growth(windows, before)
        # use fsum: the last digit of NumPy's sums differs between types of processors
        return math.fsum(windows * rounds) + pause * left, math.fsum(rounds) + pause

    low, high = 1.0, _LARGEST_PKTS
    if not sent_and_rounds(low)[0] <= wanted_pkts <= sent_and_rounds(high)[0]:
        raise ValueError(f"loss: no window sends {wanted_pkts:g} packets per cycle, got {loss!r}")
    while high / low > 1 + 1e-9:
        middle = float(np.sqrt(low * high))
        low, high = (middle, high) if sent_and_rounds(middle)[0] < wanted_pkts else (low, middle)
    sent, rounds = sent_and_rounds(high)
    return Cycle(before_pkts=high, mean_pkts=sent / rounds, rounds=rounds)


def bic_growth(windows_pkts: Floats, last_max_pkts: float) -> Floats:
    """BIC's growth per round trip below the window of the last loss, as in Linux.

    It is a quarter of the gap in whole packets, at most 16. If that is one packet or none, it is
    0.2: four packets in 20 round trips (Xu, Harfoush, Rhee 2004, with the constants of Linux's
    tcp_bic.c).

    Args:
        windows_pkts: windows, shape (n,), each at most ``last_max_pkts``.
        last_max_pkts: W_max, packets, > 0.

    Returns:
        packets per round trip, shape (n,).

    Raises:
        ValueError: if an argument is outside its range.
    """
    gap = positive("last_max_pkts", last_max_pkts) - np.asarray(windows_pkts, dtype=np.float64)
    if not bool(np.all(gap >= 0)):
        raise ValueError(f"windows_pkts must be at most last_max_pkts, got {windows_pkts!r}")
    step = np.minimum(np.floor(np.ceil(gap) / _BIC_STEPS), _BIC_MAX_PKTS)
    return np.asarray(np.where(step <= 1, _BIC_SMOOTH_PKTS, step))
