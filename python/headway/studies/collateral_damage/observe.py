"""Run: what paper 001 measured of a trial, the lines of its figures, and how windows grow.

Trials whose flows saw fewer than twenty congestion epochs are run again, longer.
"""

import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, fields

import numpy as np
import polars as pl

from headway import metrics
from headway.claims import Evidence
from headway.experiment import Experiment
from headway.figures.decimate import min_max_indices
from headway.files import save_text
from headway.metrics import GrowthEpoch
from headway.metrics.stats import Array
from headway.report.zoom import MAX_POINTS
from headway.studies.collateral_damage import experiments as setup
from headway.studies.collateral_damage.experiments import CUBIC_GROWTH, FIGURE_2, CellKey, trial_key
from headway.study import StudyContext
from headway.sweep import Observed
from headway.trace import Trace
from headway.units import BITS_PER_BYTE, NS_PER_S

EPOCHS_SHOWN = 3
"""Number of whole congestion epochs that figure 2 shows."""
LOW_SPEED_S = 1.0
"""How long after a congestion event H-TCP grows like NewReno."""
LATE_S = 0.5
"""From this long after a congestion event H-TCP's growth is fitted. Before, the window grows by
only a packet or two.
"""
LONG_S = 3.0
"""Epochs of CUBIC that are shorter do not exceed W_max, so their growth does not show a cubic."""
FEW = 8
"""Epochs with fewer points than this are not fitted."""


@dataclass(frozen=True)
class TrialNumbers:
    """The numbers of one trial. Delays in ms, goodputs in kB/s."""

    owd_median_ms: float
    owd_mean_ms: float
    owd_sd_ms: float
    owd_min_ms: float
    """Smallest and largest delay of the whole trial, also before the first congestion event."""
    owd_max_ms: float
    voip_loss: float
    goodput_kbytes_s: float
    """Sum of the flows' goodputs, each over its own lifetime, as tcptrace reports them."""
    span_goodput_kbytes_s: float
    """The bytes of all flows divided by the time from the first packet of the first flow to the
    last packet of the last flow."""
    queue_full_per_minute: float
    retransmits_pkts: float
    retransmits_per_minute: float
    epochs: float
    """Number of congestion epochs, mean over the flows."""
    length_s: float
    """Time from the first flow's start to the last flow's stop."""


NUMBERS = tuple(field.name for field in fields(TrialNumbers))


@dataclass(frozen=True)
class Lifetime:
    """Numbers of one flow of one trial."""

    first_s: float
    last_s: float
    unique_bytes: int
    goodput_kbytes_s: float


@dataclass(frozen=True)
class Law:
    """A power of the time and the growth that should be proportional to it; both of shape (n,)."""

    power: Array
    growth: Array

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
    """Exponent: H-TCP's growth beyond NewReno's grows like this power of the time after the first
    second."""
    epochs: int
    parabola: Law
    """x², and H-TCP's growth beyond NewReno's."""


@dataclass(frozen=True)
class CubicGrowth:
    """CUBIC's growth as fitted over many epochs."""

    constant: float
    """CUBIC's constant C in packets/s^3, median over the epochs."""
    least_lead_pkts: float
    """Smallest difference between CUBIC's window and that of NewReno."""
    epochs: int
    cubic: Law
    """x³, where x is the time from the inflection, and the distance of CUBIC's target from W_max,
    in the epoch with the median R²."""


@dataclass(frozen=True)
class Line:
    """A value over time; both of shape (n,)."""

    time_s: Array
    value: Array


@dataclass(frozen=True)
class Course:
    """Curves of a figure over a part of a trial."""

    cwnds_pkts: Mapping[int, Line]
    """Lines by number of the flow, counted from 1."""
    owd_ms: Line
    queue_kb: Line


@dataclass(frozen=True)
class Trial:
    """Observations of one trial.

    Fields that only some trials record are None in the other trials.
    """

    numbers: TrialNumbers
    lifetimes: tuple[Lifetime, ...]
    owd_ms: Array
    """The VoIP stream's delays after every flow has had a congestion event, shape (n,), ms."""
    hosts: str
    """The backend whose TCP the trial ran on: the simulator or the kernel."""
    htcp_growth: HtcpGrowth | None = None
    cubic_growth: CubicGrowth | None = None
    figure_2: Course | None = None
    course: Course | None = None
    """Curves over the whole trial, with only as many points as a screen shows."""


@dataclass(frozen=True)
class Cell:
    """All trials of one RTT, control and number of flows."""

    trials: list[Trial]

    def values(self, name: str) -> list[float]:
        """One field of ``TrialNumbers``, with a value per trial."""
        return [float(getattr(trial.numbers, name)) for trial in self.trials]

    def mean(self, name: str) -> float:
        """Mean over the trials without the highest and the lowest, as in the paper."""
        return metrics.trimmed_mean(self.values(name))

    def sd(self, name: str) -> float:
        """Standard deviation over the trials without highest and lowest; 0 for a single trial."""
        values = self.values(name)
        kept = [values[index] for index in metrics.without_extremes(values)]
        return float(np.std(kept, ddof=1)) if len(kept) > 1 else 0.0

    def owd_ms(self) -> Array:
        """The delays of all trials, shape (n,), ms."""
        return np.concatenate([trial.owd_ms for trial in self.trials])


@dataclass(frozen=True)
class Found:
    """The observations of all trials by cell, as statements and page use them."""

    rows: Evidence[Trial]
    trials: int
    """How many trials a cell has."""

    def __getitem__(self, key: CellKey) -> Cell:
        """A cell with all of its trials. Raises MissingTrialError if it lacks one."""
        numbers = range(1, self.trials + 1)
        return Cell([self.rows[trial_key(key, number)] for number in numbers])

    def first(self, key: CellKey) -> Trial:
        """A cell's first trial. Raises MissingTrialError."""
        return self.rows[trial_key(key, 1)]


def gather(ctx: StudyContext, rows: Mapping[str, Trial]) -> Found:
    """The 18 cells."""
    return Found(Evidence(rows), setup.trials_per_cell(ctx))


def collect(ctx: StudyContext) -> Observed[Trial]:
    """Run all trials; in the full form, run trials with too few epochs again, longer."""
    if not ctx.resume:
        (ctx.out_dir / setup.LENGTHENED).unlink(missing_ok=True)
    trials = setup.experiments(ctx)
    return ctx.run_trials(trials, observe) if ctx.quick else run_until_enough(ctx, trials)


def run_until_enough(ctx: StudyContext, trials: Mapping[str, Experiment]) -> Observed[Trial]:
    """Run trials; run those with fewer than twenty epochs per flow on average again, longer.

    A trial becomes at most four times as long each time, up to four times. The factors are saved.
    """
    factors = setup.lengthened_by(ctx.out_dir)
    plan = dict(trials)
    done = ctx.run_trials(plan, observe)
    for _ in range(4):
        short = {}
        for key, row in done.rows.items():
            if row.numbers.epochs < setup.EPOCHS:
                factor = min(setup.MARGIN * setup.EPOCHS / max(row.numbers.epochs, 1.0), 4.0)
                short[key] = plan[key] = setup.lengthened(plan[key], factor)
                factors[key] = [*factors.get(key, []), factor]
        if not short:
            break
        done.rows |= ctx.run_trials(short, observe).rows
        save_text(ctx.out_dir / setup.LENGTHENED, json.dumps(factors, indent=1))
    return done


def observe(key: str, trace: Trace) -> Trial:
    """Observe a trial: delays, goodputs, epochs; of some trials also window growth and curves."""
    cell, experiment, tcp = setup.RECORDED.get(key), trace.experiment, trace.tcp_flows()
    whole = metrics.whole_run(trace)
    backoffs_ns = [metrics.backoff_times_ns(trace, flow, whole) for flow in tcp]
    starts_ns = experiment.start_times_ns()
    stops_ns = [experiment.flows[flow].stop or experiment.duration for flow in tcp]
    first_ns, last_ns = min(starts_ns[flow] for flow in tcp), max(stops_ns)
    # The paper's delays are those "over at least twenty congestion epochs". An epoch lies between
    # two congestion events, so the slow start before the first event belongs to no epoch.
    begin_ns = max((int(times[0]) for times in backoffs_ns if len(times)), default=0)
    owd_ms = metrics.owd_us(trace, window=(begin_ns, min(stops_ns))) * 1e-3
    owd, extremes_us = metrics.distribution(owd_ms), metrics.owd_distribution_us(trace)
    lost = metrics.lost_pkts(trace, window=(begin_ns, min(stops_ns)))
    lives = tuple(_lifetime(trace, flow) for flow in tcp)
    span_s = max(life.last_s for life in lives) - min(life.first_s for life in lives)
    # Queue-full events are counted in the minute in the middle of a trial.
    middle_ns, half_ns = (first_ns + last_ns) // 2, min(60 * NS_PER_S, last_ns - first_ns) // 2
    middle = (middle_ns - half_ns, middle_ns + half_ns)
    length_s = (last_ns - first_ns) / NS_PER_S
    until_end = (0, experiment.duration)
    retransmits = sum(metrics.retransmits_pkts(trace, flow, until_end) for flow in tcp)
    numbers = TrialNumbers(
        owd_median_ms=owd.median or np.nan,
        owd_mean_ms=owd.mean or np.nan,
        owd_sd_ms=owd.sd or np.nan,
        owd_min_ms=(extremes_us.min or np.nan) * 1e-3,
        owd_max_ms=(extremes_us.max or np.nan) * 1e-3,
        voip_loss=lost / max(lost + owd.count, 1),
        goodput_kbytes_s=sum(life.goodput_kbytes_s for life in lives),
        span_goodput_kbytes_s=sum(life.unique_bytes for life in lives) / span_s / 1e3,
        queue_full_per_minute=metrics.queue_full_per_minute(trace, setup.BOTTLENECK, middle),
        retransmits_pkts=float(retransmits),
        retransmits_per_minute=60 * retransmits / length_s,
        epochs=float(np.mean([max(len(times) - 1, 0) for times in backoffs_ns])),
        length_s=length_s,
    )
    hosts = f"stack {experiment.stack}"
    if "kernel" in trace.meta:
        hosts = f"Linux {trace.meta['kernel']['release']} of this machine"
    grown = metrics.growth_epochs(trace, 0) if cell in (FIGURE_2, CUBIC_GROWTH) else []
    return Trial(
        numbers,
        lives,
        owd_ms,
        hosts,
        htcp_growth=htcp_growth(grown) if cell == FIGURE_2 else None,
        cubic_growth=cubic_growth(grown) if cell == CUBIC_GROWTH else None,
        figure_2=_figure_2(trace, backoffs_ns[0]) if cell == FIGURE_2 else None,
        course=_course(trace, whole, MAX_POINTS) if cell else None,
    )


def _lifetime(trace: Trace, flow: int) -> Lifetime:
    summary = trace.flows[flow]
    goodput_bps = metrics.goodput_tcptrace_bps(trace, flow)
    if goodput_bps is None:  # the connection never sent, so it has no goodput
        return Lifetime(0.0, 0.0, 0, 0.0)
    return Lifetime(
        (summary.first_packet_ns or 0) / NS_PER_S,
        (summary.last_packet_ns or 0) / NS_PER_S,
        summary.unique_bytes or 0,
        goodput_bps / BITS_PER_BYTE / 1e3,
    )


def _figure_2(trace: Trace, backoffs_ns: Sequence[int]) -> Course | None:
    """Some whole epochs in the middle of the run; None if there are too few."""
    if len(backoffs_ns) < EPOCHS_SHOWN + 1:
        return None
    first = (len(backoffs_ns) - EPOCHS_SHOWN) // 2
    begin_ns, end_ns = int(backoffs_ns[first]), int(backoffs_ns[first + EPOCHS_SHOWN])
    return _course(trace, (begin_ns - NS_PER_S // 2, end_ns + NS_PER_S // 2))


def _course(trace: Trace, window: metrics.Window, most_points: int | None = None) -> Course:
    """Lines over a part of the trial, each reduced to this number of points."""

    def between(table: str, time: str) -> pl.DataFrame:
        return trace[table].filter(pl.col(time) >= window[0], pl.col(time) < window[1])

    def line(rows: pl.DataFrame, time: str, value: str, unit: float) -> Line:
        values = rows[value].to_numpy().astype(np.float64) / unit
        kept = min_max_indices(values, most_points or max(values.size, 4))
        return Line(rows[time].to_numpy()[kept] / NS_PER_S, values[kept])

    states = between("flow_state", "time_ns")
    queue = between("queue", "time_ns").filter(pl.col("link") == setup.BOTTLENECK)
    datagrams = between("udp", "sent_ns").drop_nulls("owd_ns")
    return Course(
        {
            number: line(own, "time_ns", "cwnd_pkts", 1)
            for number, flow in enumerate(trace.tcp_flows(), start=1)
            if not (own := states.filter(pl.col("flow") == flow)).is_empty()
        },
        line(datagrams, "sent_ns", "owd_ns", 1e6),
        line(queue, "time_ns", "queue_bytes", 1e3),
    )


def htcp_growth(epochs: Sequence[GrowthEpoch]) -> HtcpGrowth | None:
    """Fit H-TCP's growth; None without enough epochs.

    The window's growth is counted in packets per round trip and summed over time, which takes out
    the round-trip time that the flow's own queue adds. What exceeds one packet per round trip
    after the first second should grow like a power of the time since: 2 for a parabola. Time
    counts from the end of recovery, where Linux 2.6.25 restarts H-TCP's clock.
    """
    slopes, log_x, log_y = [], [], []
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
    law = Law(np.exp(2 * x), np.exp(y))
    exponent = float(np.polyfit(x, y, 1)[0])
    return HtcpGrowth(float(np.median(slopes)), exponent, len(slopes), law)


def cubic_growth(epochs: Sequence[GrowthEpoch]) -> CubicGrowth | None:
    """Fit a cubic to each long epoch; None if no epoch is long enough."""
    long = [one for one in epochs if one.time_s.size >= FEW and np.ptp(one.time_s) >= LONG_S]
    if not long:
        return None
    constant = float(np.median([_cubic_constant(epoch) for epoch in long]))
    laws = sorted((_cubic_law(epoch) for epoch in long), key=Law.r_squared)
    # CUBIC's and NewReno's windows are equal at first, so only later values show which one leads.
    leads = [(epoch.cwnd_pkts - _newreno_pkts(epoch))[1:] for epoch in epochs]
    lead = float(np.concatenate(leads).min())
    return CubicGrowth(constant, lead, len(long), laws[(len(laws) - 1) // 2])


def _cubic_constant(epoch: GrowthEpoch) -> float:
    """The leading coefficient of the cubic that the window follows.

    Linux sets the pace so that the window would be at the cubic's value T a round trip later,
    hence r dW/dt = T - W: behind a queue, where r is half a second, the window itself is no cubic.
    The integral of T is that of W plus the sum of r dW, and if T is a cubic with C t^3, the
    integral is a quartic with (C / 4) t^4.
    """
    return 4 * float(np.polyfit(*_integral(epoch), 4)[0])


def _integral(epoch: GrowthEpoch) -> tuple[Array, Array]:
    """Times since the epoch's first state, and the integral of CUBIC's target T up to each time."""
    t = epoch.time_s - epoch.time_s[0]
    held = np.cumsum(epoch.cwnd_pkts[:-1] * np.diff(t))
    return t, np.asarray(epoch.increase_s + np.concatenate([[0.0], held]), dtype=np.float64)


def _cubic_law(epoch: GrowthEpoch) -> Law:
    """(t - K)³ and T - W_max between the epoch's states, with the K and W_max that fit best."""
    t, integral = _integral(epoch)
    aimed_at = np.diff(integral) / np.diff(t)
    middle = (t[:-1] + t[1:]) / 2

    def fitted(inflection_s: float) -> tuple[float, Law]:
        power = (middle - inflection_s) ** 3
        slope, top = np.polyfit(power, aimed_at, 1)
        left = aimed_at - top - slope * power
        return float(left @ left), Law(power, aimed_at - top)

    inflections_s = np.linspace(0, t[-1], 200)
    return min((fitted(float(at)) for at in inflections_s), key=lambda one: one[0])[1]


def _newreno_pkts(epoch: GrowthEpoch) -> Array:
    """A NewReno window: half of that before the loss, or what recovery left; then +1 per round."""
    rounds = np.cumsum(np.diff(epoch.time_s, prepend=epoch.time_s[0]) / epoch.srtt_s)
    left = min(epoch.cwnd_before_pkts / 2, epoch.cwnd_pkts[0])
    return np.asarray(left + rounds, dtype=np.float64)
