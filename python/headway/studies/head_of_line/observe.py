"""Run: the response times of each trial."""

from __future__ import annotations

import math
from dataclasses import dataclass

import numpy as np

from headway import models
from headway.claims import Evidence
from headway.experiment import BATCHES, Dumbbell, Pingpong
from headway.metrics.stats import Array, Estimate, batch_means, confidence_interval
from headway.studies.common import lab
from headway.studies.head_of_line.experiments import LOSSES, PROCESSING_S, key
from headway.trace import Trace
from headway.units import NS_PER_S

TAIL_POINTS = 400


@dataclass(frozen=True)
class Times:
    """Response times of a trial."""

    mean_s: float
    half_width_s: float
    """Of the 95 % interval of the mean, by ten batches; NaN: too few messages."""
    tail_s: Array
    """Some of the times in rising order, dense towards the longest; shape (n,)."""
    tail_share: Array
    """Part of all messages that took at least as long as each of ``tail_s``."""
    slow_s: float
    """The 99.9 % quantile."""
    model_s: float
    """Eq. A.7 for this trial's path, loss and interval; NaN where it has no such loss."""


Found = Evidence[Times]


def observe(trace: Trace) -> Times:
    """One trial."""
    rows = trace["responses"]
    times_s = np.asarray((rows["end_ns"] - rows["start_ns"]).to_numpy() / NS_PER_S)
    ordered, number = np.sort(times_s), times_s.size
    steps = np.geomspace(1, number, TAIL_POINTS).astype(np.intp)
    keep = np.unique(number - steps).clip(0)
    slow_s = float(np.quantile(times_s, 0.999))
    half_width = (
        confidence_interval([float(mean) for mean in batch_means(times_s)]).half_width
        if number >= BATCHES
        else None
    )
    half_width_s = float("nan") if half_width is None else half_width
    return Times(
        float(times_s.mean()),
        half_width_s,
        ordered[keep],
        1 - keep / number,
        slow_s,
        _model_s(trace),
    )


def _model_s(trace: Trace) -> float:
    topology, (flow, *_) = trace.experiment.topology, trace.experiment.flows
    if not isinstance(topology, Dumbbell) or not isinstance(flow.app, Pingpong):
        return math.nan
    return float(
        models.response_time_s(
            topology.loss,
            rtt_s=topology.rtt / NS_PER_S,
            interval_s=flow.app.mean_interval / NS_PER_S,
            processing_s=PROCESSING_S,
        )
    )


def estimate(found: Found, control: str, loss: float, stack: str = lab.STACK) -> Estimate:
    """A trial's mean time with its 95 % interval. Raises MissingTrialError."""
    one = found[key(control, loss, stack)]
    return Estimate(one.mean_s, None, one.half_width_s, BATCHES)


def means_s(found: Found, control: str, stack: str = lab.STACK) -> Array:
    """Mean times, shape (losses,). Raises MissingTrialError."""
    return np.array([found[key(control, loss, stack)].mean_s for loss in LOSSES])


def models_s(found: Found, control: str, stack: str = lab.STACK) -> Array:
    """Eq. A.7 for the same trials, shape (losses,). Raises MissingTrialError."""
    return np.array([found[key(control, loss, stack)].model_s for loss in LOSSES])
