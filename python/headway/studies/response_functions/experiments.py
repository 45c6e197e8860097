"""Setup: one greedy flow over 9.76 Mbit/s and 200 ms, each packet lost with probability p.

Another flow without random loss has the queue of figures 4.8 and 4.9. Run: goodputs and queues.
"""

import itertools
import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import partial

import numpy as np
import polars as pl

from headway import metrics, models
from headway.claims import Evidence
from headway.experiment import Dumbbell, Experiment, Flow, Record
from headway.metrics.stats import Array, or_nan
from headway.models._checks import Floats
from headway.studies.common import lab
from headway.studies.common.runs import matching, mean
from headway.study import StudyContext
from headway.trace import Trace

CONTROLS = {"reno": "Reno", "cubic26": "CUBIC", "compound": "Compound"}
LOSSES = (1e-5, 3e-5, 1e-4, 3e-4, 1e-3, 3e-3, 1e-2, 2e-2, 5e-2, 1e-1)
QUICK_LOSSES = (1e-5, 1e-4, 3e-4, 1e-3, 3e-3, 1e-2, 5e-2)
RUNS, QUICK_RUNS = 2, 1
WARMUP_S = 40.0
QUEUED = ("cubic26", "compound")
"""The controls whose queues are measured."""
QUEUED_S = 400.0
"""Length of a trial of the queues, in which several sawtooths of figure 4.9 occur; one takes less
than a minute."""
LOSSES_PER_RUN, MOST_PKTS, QUICK_MOST_PKTS = 2000, 10e6, 4e6
"""Expected losses in each run, if this does not take too many packets."""
FULL_LINK_S = 2000.0
"""Length of a run whose equation gives the flow the whole link."""
RTT_S = lab.RTT_MS / 1e3
CAPACITY_BPS = lab.LINK_BPS * lab.MSS_BYTES / lab.MTU_BYTES
SEGMENTS_PER_ACK = 2.0
"""Linux 2.6 counts ACKs, and outside of slow start every second packet is acknowledged."""

# Equations 4.6, 4.7, 4.9 and 4.10 for this path.
reno_sqrt_bps = partial(
    models.reno_sqrt_bps,
    mss_bytes=lab.MSS_BYTES, rtt_s=RTT_S, segments_per_ack=SEGMENTS_PER_ACK,
)  # fmt: skip
reno_bps = partial(
    models.reno_pftk_bps,
    mss_bytes=lab.MSS_BYTES, rtt_s=RTT_S, segments_per_ack=SEGMENTS_PER_ACK,
    rto_s=RTT_S + models.LINUX_RTO_FLOOR_S,
)  # fmt: skip
cubic_bps = partial(models.cubic_response_bps, mss_bytes=lab.MSS_BYTES, rtt_s=RTT_S)
compound_bps = partial(models.compound_response_bps, mss_bytes=lab.MSS_BYTES, rtt_s=RTT_S)
_EQUATIONS = {"reno": reno_bps, "cubic26": cubic_bps, "compound": compound_bps}


def expected_bps(control: str, loss: float | Array) -> Floats:
    """Throughput by a control's equation, or Reno's if larger; at most the link's rate."""
    bps: Floats = np.maximum(_EQUATIONS[control](loss), reno_bps(loss))
    return np.minimum(bps, CAPACITY_BPS)


def losses(ctx: StudyContext) -> tuple[float, ...]:
    """Probabilities of loss of this form, in rising order."""
    return QUICK_LOSSES if ctx.quick else LOSSES


def experiments(ctx: StudyContext) -> dict[str, Experiment]:
    """A trial per control, loss and run ("cubic26-p1e-3-r1"), and queues ("queue-compound")."""
    trials = {
        f"{control}-p{loss:.0e}-r{run}".replace("e-0", "e-"): _trial(ctx, control, loss, run)
        for control in CONTROLS
        for loss in losses(ctx)
        for run in range(1, (QUICK_RUNS if ctx.quick else RUNS) + 1)
    }
    # In the trials of figures 4.8 and 4.9 only the queue drops packets.
    path = lab.path(buffer_pkts=lab.SMALL_BUFFER_PKTS)
    return trials | {
        f"queue-{one}": _greedy(path, one, QUEUED_S, seed=ctx.seed, record=("flows", "queue"))
        for one in QUEUED
    }


def _trial(ctx: StudyContext, control: str, loss: float, run: int) -> Experiment:
    equation_bps = float(expected_bps(control, loss))
    wanted_pkts = min(LOSSES_PER_RUN / loss, QUICK_MOST_PKTS if ctx.quick else MOST_PKTS)
    length_s = wanted_pkts * 8 * lab.MSS_BYTES / equation_bps
    if equation_bps >= CAPACITY_BPS:
        length_s = FULL_LINK_S
    topology = lab.path(loss=loss)
    lossless_back = topology.reverse and topology.reverse.model_copy(update={"loss": 0.0})
    topology = topology.model_copy(update={"reverse": lossless_back})
    return _greedy(topology, control, length_s, seed=ctx.seed * 1000 + run)


def _greedy(
    path: Dumbbell, control: str, length_s: float, *, seed: int, record: tuple[Record, ...] = ()
) -> Experiment:
    flow = Flow.model_validate({"control": control, "rmem": lab.RMEM, "start": "0 s"})
    trial = lab.experiment(path, [flow], duration_s=WARMUP_S + length_s, seed=seed, record=record)
    return trial.model_copy(update={"warmup": int(WARMUP_S * 1e9)})


_OPEN = 0


@dataclass(frozen=True)
class Run:
    """A flow's goodput in one trial, after the warm-up."""

    goodput_bps: float


@dataclass(frozen=True)
class Queue:
    """Mean queue length over time in full packets, after the warm-up."""

    mean_pkts: float
    governed_pkts: float
    """Mean queue length while delay governed the window; NaN: delay never governed it."""
    governed_part: float
    """The part of the time in which delay governed the window."""


@dataclass(frozen=True)
class Goodputs:
    """Goodputs and queues by trial."""

    runs: Evidence[Run]
    queues: Evidence[Queue]
    losses: Sequence[float]
    """The probabilities of loss of this form, in rising order."""

    def mean_bps(self, control: str, loss: float) -> float:
        """Mean goodput over all runs. Raises MissingTrialError."""
        keys = f"{control}-p{loss:.0e}-r*".replace("e-0", "e-")
        return mean(matching(self.runs, keys), "goodput_bps")


def gather(ctx: StudyContext, rows: Mapping[str, Run | Queue]) -> Goodputs:
    """Observations, grouped by the kind of trial."""
    return Goodputs(Evidence.of(Run, rows), Evidence.of(Queue, rows), losses(ctx))


def observe(key: str, trace: Trace) -> Run | Queue:
    """Goodput, or the queue of a trial without random loss."""
    return _queue(trace) if key.startswith("queue-") else Run(metrics.goodput_bps(trace, 0))


def _queue(trace: Trace) -> Queue:
    start_ns, end_ns = metrics.window_of(trace)
    states = trace.rows_of("flow_state", "flow", 0).sort("time_ns")
    parts = governed_ns(states, metrics.backoff_times_ns(trace, 0))
    lengths = [last - first for first, last in parts]
    means = [_mean_pkts(trace, part) for part in parts]
    return Queue(
        _mean_pkts(trace, (start_ns, end_ns)),
        float(np.average(means, weights=lengths)) if parts else math.nan,
        sum(lengths) / (end_ns - start_ns),
    )


def _mean_pkts(trace: Trace, window: metrics.Window) -> float:
    return or_nan(metrics.queue_bytes(trace, 0, window).mean) / lab.MTU_BYTES


def governed_ns(states: pl.DataFrame, backoffs_ns: Sequence[int]) -> list[metrics.Window]:
    """Times from the repair of a loss until the window last shrinks before the next loss.

    Only delay makes a window shrink without a loss. ``states`` are those of one flow, in order.
    """
    parts = []
    repaired = states.filter(pl.col("state") == _OPEN)
    for start_ns, end_ns in itertools.pairwise(backoffs_ns):
        rows = repaired.filter(pl.col("time_ns").is_between(start_ns, end_ns, closed="left"))
        times_ns = rows["time_ns"].to_numpy()
        shrinks = np.flatnonzero(np.diff(rows["cwnd_pkts"].to_numpy().astype(np.int64)) < 0)
        if shrinks.size:
            parts.append((int(times_ns[0]), int(times_ns[shrinks[-1] + 1])))
    return parts
