"""Compares the numbers of two traces of one experiment."""

from __future__ import annotations

import warnings
from collections.abc import Callable, Sequence
from dataclasses import dataclass

import numpy as np
import polars as pl

from headway import metrics
from headway.metrics.windows import values_with_durations, window_of
from headway.trace import Trace
from headway.units import BITS_PER_BYTE
from headway.validation.matrix import Scenario

GOODPUT_MEDIAN, GOODPUT_P90 = 0.005, 0.04
OWD_MEDIAN, OWD_P90 = 0.01, 0.05
RETRANSMITS_RELATIVE, RETRANSMITS_PKTS, RETRANSMITS_SHARE = 0.25, 10, 0.9
"""Targets of the simulator over all scenarios: relative differences, and packets."""


@dataclass(frozen=True)
class Observed:
    """One backend's numbers over [warmup, end]: ``shares`` are 0 to 1, one per TCP flow."""

    goodput_bps: float
    owd_median_us: float | None
    owd_p95_us: float | None
    retransmits_pkts: int
    rtos: int
    shares: tuple[float, ...]


@dataclass(frozen=True)
class Comparison:
    """One scenario on both backends: the medians of their trials, and the trials.

    With random loss, trials of one seed lose the same packets, by number, on both backends. Such a
    pair of trials gives similar results if the backends behave alike, so the difference is the
    median of the pairs' differences. Without random loss, it is the difference of the medians.

    ``warnings`` come from the kernel's runs. ``repeated`` counts the runs that were discarded
    because they were disturbed.
    """

    scenario: Scenario
    sim: Observed
    kernel: Observed
    warnings: tuple[str, ...] = ()
    repeated: int = 0
    sims: tuple[Observed, ...] = ()
    kernels: tuple[Observed, ...] = ()

    @property
    def goodput_interval(self) -> Interval | None:
        """95 % confidence interval of the relative difference of goodput."""
        return self._interval(lambda trial: trial.goodput_bps)

    @property
    def owd_interval(self) -> Interval | None:
        """95 % confidence interval of the relative difference of the median one-way delay."""
        return self._interval(lambda trial: trial.owd_median_us)

    def _interval(self, of: Callable[[Observed], float | None]) -> Interval | None:
        if self.scenario.loss:
            return mean_interval(self._pairs(of))
        sims = [value for value in map(of, self.sims) if value is not None]
        kernels = [value for value in map(of, self.kernels) if value is not None]
        return interval(sims, kernels)

    def _pairs(self, of: Callable[[Observed], float | None]) -> list[float]:
        """Relative differences of trials with equal seeds: the simulator's first trials."""
        pairs = zip(self.sims, self.kernels, strict=False)
        found = [relative(of(sim), of(kernel)) for sim, kernel in pairs]
        return [difference for difference in found if difference is not None]

    def _difference(self, of: Callable[[Observed], float | None]) -> float | None:
        pairs = self._pairs(of) if self.scenario.loss else []
        return float(np.median(pairs)) if pairs else relative(of(self.sim), of(self.kernel))

    @property
    def goodput(self) -> float | None:
        """Relative difference of all flows' goodput, simulator from kernel."""
        return self._difference(lambda trial: trial.goodput_bps)

    @property
    def owd_median(self) -> float | None:
        """Relative difference of the median one-way delay."""
        return self._difference(lambda trial: trial.owd_median_us)

    @property
    def owd_p95(self) -> float | None:
        """Relative difference of the 95th percentile of one-way delay."""
        return self._difference(lambda trial: trial.owd_p95_us)

    @property
    def retransmits(self) -> float | None:
        """Relative difference of retransmitted packets; None if the kernel retransmitted none."""
        return relative(self.sim.retransmits_pkts, self.kernel.retransmits_pkts)

    @property
    def retransmits_agree(self) -> bool:
        """Whether retransmissions differ by at most a quarter or ten packets."""
        apart = abs(self.sim.retransmits_pkts - self.kernel.retransmits_pkts)
        most = max(RETRANSMITS_PKTS, RETRANSMITS_RELATIVE * self.kernel.retransmits_pkts)
        return apart <= most

    @property
    def shares(self) -> float:
        """Largest difference of a flow's share of the goodput between the backends, 0 to 1.

        Flows of one control are interchangeable, so shares are compared in order of size.
        """
        pairs = zip(sorted(self.sim.shares), sorted(self.kernel.shares), strict=True)
        return max(abs(one - other) for one, other in pairs)


Interval = tuple[float, float]


def interval(sims: Sequence[float], kernels: Sequence[float]) -> Interval | None:
    """95 % interval of (mean of sims - mean of kernels) / mean of kernels.

    Welch's interval, by Student's t with Satterthwaite's degrees of freedom: trials are
    independent, and the backends' variances may differ. None if either has fewer than two trials,
    or if the kernel's mean is 0.
    """
    from scipy.stats import ttest_ind  # imported here because the import is slow

    if min(len(sims), len(kernels)) < 2 or not (reference := float(np.mean(kernels))):
        return None
    with warnings.catch_warnings(action="ignore", category=RuntimeWarning):  # of equal trials
        ends = ttest_ind(sims, kernels, equal_var=False).confidence_interval()
    return float(ends.low) / reference, float(ends.high) / reference


def mean_interval(values: Sequence[float]) -> Interval | None:
    """95 % interval of the mean of independent values, by Student's t; None with fewer than two."""
    estimate = metrics.confidence_interval(values) if values else None
    if estimate is None or estimate.half_width is None:
        return None
    return estimate.mean - estimate.half_width, estimate.mean + estimate.half_width


def relative(value: float | None, reference: float | None) -> float | None:
    """(value - reference) / reference; None if either is None or the reference is 0."""
    if value is None or reference is None or reference == 0:
        return None
    return (value - reference) / reference


def observe(trace: Trace) -> Observed:
    """The numbers of a trace that are compared.

    One-way delay is the bottleneck's queueing delay plus its propagation delay, weighted by time.
    Both backends compute it from the recorded queue, so no probe packets are needed. For a link
    that changes, it is computed with the link's first rate and delay.
    """
    goodputs = [metrics.goodput_bps(trace, flow) for flow in trace.tcp_flows()]
    total = sum(goodputs)
    delay = _owd_us(trace)
    return Observed(
        goodput_bps=total,
        owd_median_us=delay.median,
        owd_p95_us=delay.p95,
        retransmits_pkts=sum(metrics.retransmits_pkts(trace, f) for f in trace.tcp_flows()),
        rtos=sum(metrics.rtos(trace, flow) for flow in trace.tcp_flows()),
        shares=tuple(goodput / total if total else 0.0 for goodput in goodputs),
    )


def _owd_us(trace: Trace) -> metrics.Distribution:
    link = trace.experiment.topology.links()[0][0]
    rows = trace["queue"].filter(pl.col("link") == 0)
    queue_bytes, held_ns = values_with_durations(rows, "queue_bytes", window_of(trace))
    return metrics.weighted_distribution(
        queue_bytes * BITS_PER_BYTE * 1e6 / link.rate + link.delay / 1e3, held_ns
    )


def median_of(trials: Sequence[Observed]) -> Observed:
    """The median of each number over the trials."""

    def middle(values: Sequence[float | None]) -> float | None:
        known = [value for value in values if value is not None]
        return float(np.median(known)) if known else None

    # flows are interchangeable: shares are compared in order of size
    shares = np.median([sorted(trial.shares) for trial in trials], axis=0)
    return Observed(
        goodput_bps=middle([trial.goodput_bps for trial in trials]) or 0.0,
        owd_median_us=middle([trial.owd_median_us for trial in trials]),
        owd_p95_us=middle([trial.owd_p95_us for trial in trials]),
        retransmits_pkts=round(middle([trial.retransmits_pkts for trial in trials]) or 0),
        rtos=round(middle([trial.rtos for trial in trials]) or 0),
        shares=tuple(shares.tolist()),
    )


def compare(
    scenario: Scenario,
    sims: Sequence[Observed],
    kernels: Sequence[Observed],
    warnings: tuple[str, ...] = (),
    repeated: int = 0,
) -> Comparison:
    """Compare the medians over the trials of a scenario on both backends."""
    return Comparison(
        scenario,
        median_of(sims),
        median_of(kernels),
        warnings,
        repeated,
        tuple(sims),
        tuple(kernels),
    )


@dataclass(frozen=True)
class Spread:
    """Absolute relative differences over the scenarios; None without scenarios."""

    median: float | None
    p90: float | None
    largest: float | None
    median_target: float | None = None
    p90_target: float | None = None

    @property
    def holds(self) -> bool | None:
        """Whether the targets hold; None without targets or values."""
        if self.median is None or self.p90 is None or self.median_target is None:
            return None
        return self.median <= self.median_target and self.p90 <= (self.p90_target or np.inf)


def spread(
    comparisons: Sequence[Comparison],
    of: Callable[[Comparison], float | None],
    median_target: float | None = None,
    p90_target: float | None = None,
) -> Spread:
    """The distribution of one difference over the scenarios that have it."""
    values = [abs(value) for value in map(of, comparisons) if value is not None]
    if not values:
        return Spread(None, None, None, median_target, p90_target)
    median, p90 = np.percentile(values, [50, 90])
    return Spread(float(median), float(p90), max(values), median_target, p90_target)


def spreads(comparisons: Sequence[Comparison]) -> dict[str, Spread]:
    """The distribution of each difference, by name."""
    return {
        "goodput": spread(comparisons, lambda c: c.goodput, GOODPUT_MEDIAN, GOODPUT_P90),
        "median one-way delay": spread(comparisons, lambda c: c.owd_median, OWD_MEDIAN, OWD_P90),
        "95th percentile one-way delay": spread(comparisons, lambda c: c.owd_p95),
        "packets sent again": spread(comparisons, lambda c: c.retransmits),
        "largest flow share": spread(comparisons, lambda c: c.shares),
    }


def retransmits_share(comparisons: Sequence[Comparison]) -> float:
    """Share of the scenarios in which retransmissions agree, 0 to 1."""
    return sum(c.retransmits_agree for c in comparisons) / max(len(comparisons), 1)
