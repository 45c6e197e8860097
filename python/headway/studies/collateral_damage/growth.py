"""Run: how windows grow after a congestion event, fitted over many epochs of one flow."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from headway import metrics
from headway.metrics.stats import Array
from headway.trace import Trace


@dataclass(frozen=True)
class HtcpGrowth:
    """H-TCP's growth as fitted over many epochs."""

    low_speed_pkts_per_rtt: float
    """Packets per round trip in the first second."""
    exponent: float
    """Power of the time beyond the first second with which it outgrows NewReno."""
    epochs: int


def fit_htcp_growth(trace: Trace, flow: int) -> HtcpGrowth | None:
    """Fit the growth of an H-TCP flow; None without enough recorded epochs.

    The window's growth is counted in packets per round trip and summed over time, which takes out
    the round-trip time that the flow's own queue adds. What exceeds one packet per round trip
    after the first second should grow like a power of the time since: 2 for a parabola. Time
    counts from the end of recovery, where Linux 2.6.25 restarts H-TCP's clock.
    """
    low_speed_s, fit_from_s = 1.0, 0.5
    slopes: list[float] = []
    log_x: list[Array] = []
    log_y: list[Array] = []
    for epoch in metrics.growth_epochs(trace, flow):
        t, grown = epoch.time_s - epoch.time_s[0], epoch.increase_s
        if t[-1] < low_speed_s + 2 * fit_from_s:
            continue
        at_one_s = float(np.interp(low_speed_s, t, grown))
        slopes.append(at_one_s / low_speed_s)
        x = t - low_speed_s
        y = grown - at_one_s - x
        late = (x >= fit_from_s) & (y > 0)
        log_x.append(np.log(x[late]))
        log_y.append(np.log(y[late]))
    if not slopes or sum(part.size for part in log_x) < 10:
        return None
    exponent = np.polyfit(np.concatenate(log_x), np.concatenate(log_y), 1)[0]
    return HtcpGrowth(float(np.median(slopes)), float(exponent), len(slopes))


@dataclass(frozen=True)
class CubicGrowth:
    """CUBIC's growth as fitted over many epochs."""

    constant: float
    """C, packets/s^3: median over the epochs of a cubic polynomial's leading coefficient."""
    epochs: int


def fit_cubic_growth(trace: Trace, flow: int) -> CubicGrowth | None:
    """Fit a cubic to each long epoch of a CUBIC flow; None without any.

    Epochs that end before the window has passed its old maximum show no cubic, only the part
    where it slows down: they, and slow start's, are shorter than three seconds of growth.
    """
    long_s, smallest_points = 3.0, 8
    leading = [
        float(np.polyfit(epoch.time_s, epoch.cwnd_pkts, 3)[0])
        for epoch in metrics.growth_epochs(trace, flow)
        if epoch.time_s.size >= smallest_points and epoch.time_s[-1] - epoch.time_s[0] >= long_s
    ]
    return CubicGrowth(float(np.median(leading)), len(leading)) if leading else None
