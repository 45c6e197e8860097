"""Run: how windows grow after a congestion event, fitted over many epochs of one flow."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field

import numpy as np

from headway import metrics
from headway.metrics import GrowthEpoch
from headway.metrics.stats import Array
from headway.trace import Trace

LOW_SPEED_S = 1.0
"""How long after a congestion event H-TCP grows like NewReno."""
LATE_S = 0.5
"""From so long after that its growth is fitted: before, it is a packet or two."""
LONG_S = 3.0
"""CUBIC's epochs that end earlier do not pass the old maximum: they show no cubic."""
FEW = 8
"""Too few points for a fit."""
INFLECTIONS = 200
"""How many times of the inflection are tried per epoch."""


def _nothing() -> Array:
    return np.array([], dtype=np.float64)


@dataclass(frozen=True)
class Law:
    """A power of the time and the growth that should be proportional to it; both of shape (n,)."""

    power: Array = field(default_factory=_nothing)
    growth: Array = field(default_factory=_nothing)

    def r_squared(self) -> float:
        """R² of a straight line through 0."""
        spread = float(((self.growth - self.growth.mean()) ** 2).sum())
        slope = float(self.power @ self.growth) / float(self.power @ self.power)
        left = self.growth - slope * self.power
        return 1 - float(left @ left) / spread if spread else 0.0


@dataclass(frozen=True)
class HtcpGrowth:
    """H-TCP's growth as fitted over many epochs."""

    first_pkts_per_rtt: float
    """Packets per round trip in the first second, median of the epochs."""
    exponent: float
    """Power of the time beyond the first second with which it outgrows NewReno."""
    epochs: int
    parabola: Law = field(default_factory=Law)
    """x² and what exceeds NewReno's growth."""


def fit_htcp_growth(trace: Trace, flow: int) -> HtcpGrowth | None:
    """Fit the growth of an H-TCP flow; None without enough recorded epochs."""
    return htcp_growth(metrics.growth_epochs(trace, flow))


def htcp_growth(epochs: Sequence[GrowthEpoch]) -> HtcpGrowth | None:
    """Fit H-TCP's growth; None without enough epochs.

    The window's growth is counted in packets per round trip and summed over time, which takes out
    the round-trip time that the flow's own queue adds. What exceeds one packet per round trip
    after the first second should grow like a power of the time since: 2 for a parabola. Time
    counts from the end of recovery, where Linux 2.6.25 restarts H-TCP's clock.
    """
    slopes: list[float] = []
    log_x: list[Array] = []
    log_y: list[Array] = []
    for epoch in epochs:
        t, grown = epoch.time_s - epoch.time_s[0], epoch.increase_s
        if t[-1] < LOW_SPEED_S + 2 * LATE_S:
            continue
        at_one_s = float(np.interp(LOW_SPEED_S, t, grown))
        slopes.append(at_one_s / LOW_SPEED_S)
        x = t - LOW_SPEED_S
        y = grown - at_one_s - x
        late = (x >= LATE_S) & (y > 0)
        log_x.append(np.log(x[late]))
        log_y.append(np.log(y[late]))
    if sum(part.size for part in log_x) < FEW:
        return None
    x, y = np.concatenate(log_x), np.concatenate(log_y)
    exponent = np.polyfit(x, y, 1)[0]
    law = Law(np.exp(2 * x), np.exp(y))
    return HtcpGrowth(float(np.median(slopes)), float(exponent), len(slopes), law)


@dataclass(frozen=True)
class CubicGrowth:
    """CUBIC's growth as fitted over many epochs."""

    constant: float
    """C, packets/s^3, median over the epochs."""
    least_lead_pkts: float
    """Least that its window is ahead of one that grows by a packet per round trip."""
    epochs: int
    cubic: Law = field(default_factory=Law)
    """x³, which counts from the inflection, and how far what the window follows is from W_max, in
    the epoch with the median R²."""


def fit_cubic_growth(trace: Trace, flow: int) -> CubicGrowth | None:
    """Fit a cubic to each long epoch of a CUBIC flow; None without any."""
    return cubic_growth(metrics.growth_epochs(trace, flow))


def cubic_growth(epochs: Sequence[GrowthEpoch]) -> CubicGrowth | None:
    """Fit a cubic to each long epoch; None without any."""
    long = [
        epoch
        for epoch in epochs
        if epoch.time_s.size >= FEW and epoch.time_s[-1] - epoch.time_s[0] >= LONG_S
    ]
    if not long:
        return None
    constants = [_cubic_constant(epoch) for epoch in long]
    laws = sorted((_cubic_law(epoch) for epoch in long), key=Law.r_squared)
    cubic = laws[(len(laws) - 1) // 2]
    # Both start with the same window: only what follows tells them apart.
    leads = [(epoch.cwnd_pkts - _newreno_pkts(epoch))[1:] for epoch in epochs]
    lead = float(np.concatenate(leads).min())
    return CubicGrowth(float(np.median(constants)), lead, len(constants), cubic)


def _cubic_constant(epoch: GrowthEpoch) -> float:
    """The leading coefficient of the cubic that the window follows.

    Linux sets the pace so that the window would be at the cubic's value T a round trip later,
    hence r dW/dt = T - W: behind a queue, where r is half a second, the window itself is no cubic.
    The integral of T is that of W plus the sum of r dW, and if T is a cubic with C t^3, the
    integral is a quartic with (C / 4) t^4.
    """
    return 4 * float(np.polyfit(*_integral(epoch), 4)[0])


def _integral(epoch: GrowthEpoch) -> tuple[Array, Array]:
    """Times since the epoch's first state, and the integral of T until then."""
    t = epoch.time_s - epoch.time_s[0]
    held = np.cumsum(epoch.cwnd_pkts[:-1] * np.diff(t))
    return t, np.asarray(epoch.increase_s + np.concatenate([[0.0], held]), dtype=np.float64)


def _cubic_law(epoch: GrowthEpoch) -> Law:
    """(t - K)³ and T - W_max between the epoch's states, by the K and W_max that fit best."""
    t, integral = _integral(epoch)
    aimed_at = np.diff(integral) / np.diff(t)
    middle = (t[:-1] + t[1:]) / 2

    def fitted(inflection_s: float) -> tuple[float, Law]:
        power = (middle - inflection_s) ** 3
        slope, top = np.polyfit(power, aimed_at, 1)
        left = aimed_at - top - slope * power
        return float(left @ left), Law(power, aimed_at - top)

    times_s = np.linspace(0, t[-1], INFLECTIONS)
    return min((fitted(float(at)) for at in times_s), key=lambda one: one[0])[1]


def _newreno_pkts(epoch: GrowthEpoch) -> Array:
    """A NewReno flow's window: half of that before, or what recovery left, and one per round."""
    rounds = np.cumsum(np.diff(epoch.time_s, prepend=epoch.time_s[0]) / epoch.srtt_s)
    left = min(epoch.cwnd_before_pkts / 2, epoch.cwnd_pkts[0])
    return np.asarray(left + rounds, dtype=np.float64)
