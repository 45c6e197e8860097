"""Run: how windows grow after a congestion event, fitted over many epochs of one flow."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

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


@dataclass(frozen=True)
class HtcpGrowth:
    """H-TCP's growth as fitted over many epochs."""

    first_pkts_per_rtt: float
    """Packets per round trip in the first second, median of the epochs."""
    exponent: float
    """Power of the time beyond the first second with which it outgrows NewReno."""
    epochs: int


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
    exponent = np.polyfit(np.concatenate(log_x), np.concatenate(log_y), 1)[0]
    return HtcpGrowth(float(np.median(slopes)), float(exponent), len(slopes))


@dataclass(frozen=True)
class CubicGrowth:
    """CUBIC's growth as fitted over many epochs."""

    constant: float
    """C, packets/s^3, median over the epochs."""
    least_lead_pkts: float
    """Least that its window is ahead of one that grows by a packet per round trip."""
    epochs: int


def fit_cubic_growth(trace: Trace, flow: int) -> CubicGrowth | None:
    """Fit a cubic to each long epoch of a CUBIC flow; None without any."""
    return cubic_growth(metrics.growth_epochs(trace, flow))


def cubic_growth(epochs: Sequence[GrowthEpoch]) -> CubicGrowth | None:
    """Fit a cubic to each long epoch; None without any."""
    constants = [
        _cubic_constant(epoch)
        for epoch in epochs
        if epoch.time_s.size >= FEW and epoch.time_s[-1] - epoch.time_s[0] >= LONG_S
    ]
    if not constants:
        return None
    lead = min(float((epoch.cwnd_pkts - _newreno_pkts(epoch)).min()) for epoch in epochs)
    return CubicGrowth(float(np.median(constants)), lead, len(constants))


def _cubic_constant(epoch: GrowthEpoch) -> float:
    """The leading coefficient of the cubic that the window follows.

    Linux sets the pace so that the window would be at the cubic's value T a round trip later,
    hence r dW/dt = T - W: behind a queue, where r is half a second, the window itself is no cubic.
    The integral of T is that of W plus the sum of r dW, and if T is a cubic with C t^3, the
    integral is a quartic with (C / 4) t^4.
    """
    t = epoch.time_s - epoch.time_s[0]
    held = np.cumsum(epoch.cwnd_pkts[:-1] * np.diff(t))
    integral = epoch.increase_s + np.concatenate([[0.0], held])
    return 4 * float(np.polyfit(t, integral, 4)[0])


def _newreno_pkts(epoch: GrowthEpoch) -> Array:
    """A NewReno flow's window: half of that before, or what recovery left, and one per round."""
    rounds = np.cumsum(np.diff(epoch.time_s, prepend=epoch.time_s[0]) / epoch.srtt_s)
    left = min(epoch.cwnd_before_pkts / 2, epoch.cwnd_pkts[0])
    return np.asarray(left + rounds, dtype=np.float64)
