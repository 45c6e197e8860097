"""Two flows that share one bottleneck and detect congestion at the same time (Chiu, Jain 1989).

Rounds in which both grow alternate with rounds in which both shrink, whenever their sum exceeds
the capacity. Additive increase with multiplicative decrease makes shares equal; multiplicative
increase keeps their ratio (Scharf 2011, section 4.1.3, figure 4.5).
"""

from __future__ import annotations

import numpy as np

from headway.models._checks import Floats, fraction, positive


def shares_over_rounds(
    first: tuple[float, float],
    *,
    capacity: float,
    added: float = 0.0,
    grown: float = 1.0,
    kept: float = 0.5,
    rounds: int = 1000,
) -> Floats:
    """Rates of two flows, round by round.

    Args:
        first: their rates at the start, any unit, each > 0.
        capacity: the sum above which both shrink, > 0.
        added: increase of each flow in a round without congestion, >= 0.
        grown: factor of each flow in a round without congestion, >= 1.
        kept: factor of each flow in a round with congestion, in (0, 1).
        rounds: number of rounds, >= 1.

    Returns:
        shape (rounds + 1, 2), unit of ``first``.

    Raises:
        ValueError: if an argument is outside its range, or nothing grows.
    """
    positive("capacity", capacity)
    fraction("kept", kept)
    if added < 0 or grown < 1 or (added == 0 and grown == 1):
        raise ValueError(
            f"added must be >= 0 and grown >= 1, one of them larger, got {added!r}, {grown!r}"
        )
    if rounds < 1:
        raise ValueError(f"rounds must be >= 1, got {rounds!r}")
    rates = np.empty((rounds + 1, 2))
    rates[0] = [positive("first", value) for value in first]
    for number in range(rounds):
        now = rates[number]
        congested = now.sum() > capacity
        rates[number + 1] = now * kept if congested else now * grown + added
    return rates
