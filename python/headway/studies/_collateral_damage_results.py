"""What paper 001 measured, taken from traces: one record per trial, one per cell.

"Discarded the highest and lowest results and took the average of the remaining three" is applied
to each quantity on its own.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, fields

import numpy as np

from headway import metrics
from headway.metrics.stats import Array
from headway.studies._collateral_damage_data import CellKey
from headway.trace import Trace
from headway.units import BITS_PER_BYTE, NS_PER_S

MIDDLE_NS = 60 * NS_PER_S
"""Queue-full events are counted in the minute in the middle of a trial."""

BOTTLENECK = 0
"""The number of the forward link."""

_MS_PER_US = 1e-3
_KB = 1000.0


@dataclass(frozen=True)
class TrialNumbers:
    """The numbers of one trial. Delays in ms, goodputs in kB/s."""

    owd_median_ms: float
    owd_mean_ms: float
    owd_sd_ms: float
    owd_min_ms: float
    """Smallest and largest of the whole trial, also before the first congestion event."""
    owd_max_ms: float
    voip_loss: float
    goodput_kbytes_s: float
    """Sum over the flows, each over its own lifetime: what tcptrace's numbers add up to."""
    span_goodput_kbytes_s: float
    """The same bytes over the time from the first flow's first to the last one's last packet."""
    queue_full_per_minute: float
    retransmits_pkts: float
    retransmits_per_minute: float
    epochs: float
    """Congestion epochs, mean over the flows."""
    length_s: float
    """From the first flow's start to the last flow's stop."""


@dataclass(frozen=True)
class Lifetime:
    """One flow of one trial."""

    first_s: float
    last_s: float
    unique_bytes: int
    goodput_kbytes_s: float


@dataclass(frozen=True)
class Trial:
    """One trial: its numbers, its flows, and all delays (ms, shape (n,)) for the CDFs."""

    numbers: TrialNumbers
    lifetimes: Sequence[Lifetime]
    owd_ms: Array


@dataclass(frozen=True)
class Cell:
    """All trials of one RTT, control and number of flows."""

    key: CellKey
    trials: Sequence[Trial]

    def values(self, name: str) -> list[float]:
        """One quantity of :class:`TrialNumbers`, one value per trial."""
        return [float(getattr(trial.numbers, name)) for trial in self.trials]

    def mean(self, name: str) -> float:
        """Mean over the trials without the highest and the lowest."""
        return metrics.trimmed_mean(self.values(name))

    def sd(self, name: str) -> float:
        """Standard deviation over the same trials; 0 for a single one."""
        values = self.values(name)
        kept = [values[index] for index in metrics.without_extremes(values)]
        return float(np.std(kept, ddof=1)) if len(kept) > 1 else 0.0

    def owd_ms(self) -> Array:
        """All delays of all trials, shape (n,), ms."""
        return np.concatenate([trial.owd_ms for trial in self.trials])


Results = Mapping[CellKey, Cell]

NUMBERS = tuple(field.name for field in fields(TrialNumbers))


def epochs_per_flow(trace: Trace) -> float:
    """Congestion epochs in the whole run, mean over the TCP flows."""
    window = metrics.whole_run(trace)
    counts = [
        max(len(metrics.backoff_times_ns(trace, flow, window)) - 1, 0) for flow in trace.tcp_flows()
    ]
    return float(np.mean(counts))


def _epochs_begin_ns(trace: Trace) -> int:
    """When every TCP flow has had its first congestion event.

    The paper's delays are those "over at least twenty congestion epochs", and an epoch lies
    between two congestion events: the slow start before the first belongs to none.
    """
    window = metrics.whole_run(trace)
    first = [metrics.backoff_times_ns(trace, flow, window)[:1] for flow in trace.tcp_flows()]
    return max((int(times[0]) for times in first if len(times)), default=0)


def trial_of(trace: Trace) -> Trial:
    """The numbers of one trial's trace."""
    experiment = trace.experiment
    end_ns = experiment.duration
    tcp = trace.tcp_flows()
    starts_ns = experiment.start_times_ns()
    stops_ns = [experiment.flows[flow].stop or end_ns for flow in tcp]
    first_ns, last_ns = min(starts_ns[flow] for flow in tcp), max(stops_ns)
    owd_window = (_epochs_begin_ns(trace), min(stops_ns))
    owd_ms = metrics.owd_us(trace, window=owd_window) * _MS_PER_US
    owd = metrics.distribution(owd_ms)
    extremes = metrics.owd_distribution_us(trace)
    lost = metrics.lost_pkts(trace, window=owd_window)
    lifetimes = [_lifetime(trace, flow) for flow in tcp]
    span_s = max(life.last_s for life in lifetimes) - min(life.first_s for life in lifetimes)
    middle_ns = (first_ns + last_ns) // 2
    half_ns = min(MIDDLE_NS, last_ns - first_ns) // 2
    retransmits = sum(metrics.retransmits_pkts(trace, flow, (0, end_ns)) for flow in tcp)
    length_s = (last_ns - first_ns) / NS_PER_S
    numbers = TrialNumbers(
        owd_median_ms=owd.median or np.nan,
        owd_mean_ms=owd.mean or np.nan,
        owd_sd_ms=owd.sd or np.nan,
        owd_min_ms=(extremes.min or np.nan) * _MS_PER_US,
        owd_max_ms=(extremes.max or np.nan) * _MS_PER_US,
        voip_loss=lost / max(lost + owd.count, 1),
        goodput_kbytes_s=sum(life.goodput_kbytes_s for life in lifetimes),
        span_goodput_kbytes_s=sum(life.unique_bytes for life in lifetimes) / span_s / _KB,
        queue_full_per_minute=metrics.queue_full_per_minute(
            trace, BOTTLENECK, (middle_ns - half_ns, middle_ns + half_ns)
        ),
        retransmits_pkts=retransmits,
        retransmits_per_minute=60 * retransmits / length_s,
        epochs=epochs_per_flow(trace),
        length_s=length_s,
    )
    return Trial(numbers, lifetimes, owd_ms)


def _lifetime(trace: Trace, flow: int) -> Lifetime:
    summary = trace.flows[flow]
    goodput_bps = metrics.goodput_tcptrace_bps(trace, flow)
    if goodput_bps is None:  # a connection that never sent: nothing to divide
        return Lifetime(0.0, 0.0, 0, 0.0)
    return Lifetime(
        (summary.first_packet_ns or 0) / NS_PER_S,
        (summary.last_packet_ns or 0) / NS_PER_S,
        summary.unique_bytes or 0,
        goodput_bps / BITS_PER_BYTE / _KB,
    )


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
