"""Run: the response times of both halves of a trial."""

from __future__ import annotations

import functools
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt
import polars as pl

from headway import metrics, workloads
from headway.experiment import Sessions
from headway.metrics.stats import Estimate
from headway.studies.common import lab, traffic
from headway.studies.mixed_use.experiments import DEFAULT, FAST, RTTS
from headway.trace import Trace
from headway.workloads import Workload


@dataclass(frozen=True)
class Half:
    """The response times of one half of the host pairs."""

    mean: Estimate
    """Seconds."""
    seconds: npt.NDArray[np.float32]
    """Time of each planned session, in the order of their starts. NaN: not requested between the
    warm-up and the sessions' end, or not answered in the run."""

    @property
    def mean_s(self) -> float:
        """Mean response time."""
        return self.mean.mean


@dataclass(frozen=True)
class Halves:
    """Observations of one trial."""

    default: Half
    """Slow start's."""
    fast: Half
    loss: float
    """Part of the responses' packets that the bottleneck dropped."""
    utilization: float


def observe(trace: Trace) -> Halves:
    """One trial."""
    rows = traffic.responses(trace)
    app = trace.experiment.flows[0].app
    assert isinstance(app, Sessions)
    planned = _planned(app.workload, app.pairs)
    return Halves(
        default=_half(rows, planned, DEFAULT),
        fast=_half(rows, planned, FAST),
        loss=metrics.drop_rate(trace, lab.DOWNLINK) or 0.0,
        utilization=metrics.utilization(trace, lab.DOWNLINK),
    )


@functools.lru_cache(maxsize=4)
def _planned(workload: Workload, pairs: int) -> pl.DataFrame:
    """Every session's flow and number in it, by start; each session has one exchange."""
    shares = workloads.shares(workload, pairs)
    return pl.DataFrame(
        {
            "flow": np.repeat(np.arange(pairs, dtype=np.uint32), [len(one) for one in shares]),
            "epoch": np.concatenate([np.arange(len(one), dtype=np.uint32) for one in shares]),
            "start_us": np.concatenate([one.start_us for one in shares]),
        }
    ).sort("start_us", "flow", "epoch")


def _half(rows: pl.DataFrame, planned: pl.DataFrame, number: int) -> Half:
    own = pl.col("flow") // RTTS % 2 == number
    answered = rows.filter(own)
    seconds = (
        planned.filter(own)
        .join(answered, on=["flow", "epoch"], how="left", maintain_order="left")["seconds"]
        .cast(pl.Float32)
        .fill_null(np.nan)
    )
    return Half(metrics.mean_response_s(answered), seconds.to_numpy())
