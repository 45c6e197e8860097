"""Setup: 450 host pairs, half of each round-trip time's with a startup, half with slow start."""

import functools
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt
import polars as pl

from headway import metrics, workloads
from headway.experiment import Experiment, Sessions
from headway.metrics.stats import Estimate
from headway.studies.common import lab, pairs, traffic
from headway.study import StudyContext
from headway.trace import Trace
from headway.workloads import Workload, published

LOADS = (0.15, 0.3, 0.45, 0.6, 0.75)
SCHEMES = (pairs.JUMP_START, pairs.INITIAL_START, pairs.MEGA_START, *pairs.QUICK_STARTS)


def experiments(ctx: StudyContext) -> dict[str, Experiment]:
    """One trial per scheme and load, and one where all use slow start."""
    hours = 0.2 if ctx.quick else 2.0
    vectors = pairs.synthetic(published.MEAN_RESPONSE_BYTES)
    trials = {}
    for load in LOADS:
        workload = pairs.workload(vectors, load=load, hours=hours, seed=ctx.seed)
        for scheme in (pairs.SLOW_START, *pairs.present(SCHEMES)):
            trials[key(scheme.key, load)] = pairs.workload_experiment(
                workload, [pairs.SLOW_START, scheme], seed=ctx.seed
            )
    return trials


def key(scheme: str, load: float) -> str:
    """A trial's name: "jump-start-45"."""
    return f"{scheme}-{round(100 * load):02d}"


@dataclass(frozen=True)
class Half:
    """The response times of one half of the host pairs."""

    mean: Estimate
    """Seconds."""
    seconds: npt.NDArray[np.float32]
    """Time of each planned session, in the order of their starts. NaN: not requested between the
    warm-up and the sessions' end, or not answered in the run."""


@dataclass(frozen=True)
class Halves:
    """Observations of one trial."""

    default: Half
    """Slow start's."""
    fast: Half
    loss: float
    """Part of the responses' packets that the bottleneck dropped."""
    utilization: float


def observe(_key: str, trace: Trace) -> Halves:
    """Response times of both halves of the hosts, and packet loss."""
    rows = traffic.responses(trace)
    app = trace.experiment.flows[0].app
    assert isinstance(app, Sessions)
    planned = _planned(app.workload, app.pairs)
    return Halves(
        default=_half(rows, planned, 0),
        fast=_half(rows, planned, 1),
        loss=metrics.drop_rate(trace, lab.DOWNLINK) or 0.0,
        utilization=metrics.utilization(trace, lab.DOWNLINK),
    )


@functools.lru_cache(maxsize=4)
def _planned(workload: Workload, pairs: int) -> pl.DataFrame:
    """Flow and number in the flow of every session, by start; a session has one exchange."""
    shares = workloads.shares(workload, pairs)
    return pl.DataFrame(
        {
            "flow": np.repeat(np.arange(pairs, dtype=np.uint32), [len(one) for one in shares]),
            "epoch": np.concatenate([np.arange(len(one), dtype=np.uint32) for one in shares]),
            "start_us": np.concatenate([one.start_us for one in shares]),
        }
    ).sort("start_us", "flow", "epoch")


def _half(rows: pl.DataFrame, planned: pl.DataFrame, number: int) -> Half:
    own = pl.col("flow") // len(pairs.RTTS_MS) % 2 == number
    answered = rows.filter(own)
    joined = planned.filter(own).join(
        answered, on=["flow", "epoch"], how="left", maintain_order="left"
    )
    seconds = joined["seconds"].cast(pl.Float32).fill_null(np.nan)
    return Half(metrics.mean_response_s(answered), seconds.to_numpy())
