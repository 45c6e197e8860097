"""Setup: 450 host pairs, campus traffic on 10 Mbit/s, by scheme and load. Run: their epochs."""

from collections.abc import Mapping
from dataclasses import dataclass, fields

import numpy as np
import polars as pl

from headway.claims import Evidence
from headway.experiment import Experiment
from headway.metrics.stats import Estimate
from headway.studies.common import network, pairs, traffic
from headway.studies.common.traffic import Traffic
from headway.study import StudyContext
from headway.trace import Trace
from headway.workloads import Recorded, SessionTable, Workload, recorded, sessions
from headway.workloads.draws import Floats, Ints

HOURS = 3.0
QUICK_HOURS = {0.06: 1.0, 0.15: 0.4, 0.35: 0.4, 0.5: 0.2, 0.65: 0.2}
"""Hours of virtual time by load. Loads that most statements judge, and loads with little traffic,
run longer."""
LOADS = (0.06, 0.15, 0.35, 0.5, 0.65)
SMALL, MODERATE = 0.06, 0.35
UNLIMITED = "unlimited"
"""Suffix of the trials of XCP and RCP with an unlimited queue, at moderate load."""
SCHEMES = (
    pairs.SLOW_START,
    pairs.JUMP_START,
    pairs.SMALL_JUMP_START,
    pairs.INITIAL_START,
    pairs.MEGA_START,
    *pairs.QUICK_STARTS,
)
LARGE_BYTES = 10_000
"""Response size from which a fast startup can help (section 6.4.5.2)."""
SIZES_BYTES = np.geomspace(100, 1e7, 21)
"""Ends of the size bins of figures 6.52 and 6.53."""
ENOUGH = 30
"""The least number of exchanges for a size bin to be plotted."""
ABOVE_MS = (200, 300, 500, 700, 900, 1500, 6000)
"""Epoch durations for which the part of longer epochs is kept: several hundred milliseconds, up to
the bounds of "of the order of 3 s"."""


def experiments(ctx: StudyContext) -> dict[str, Experiment]:
    """One trial per scheme and load, and XCP and RCP with an unlimited queue."""
    trials = {
        key(scheme.key, load): pairs.workload_experiment(
            workload(ctx, load), [scheme], seed=ctx.seed
        )
        for load in LOADS
        # The quick form runs XCP and RCP only at the load that statements judge.
        for scheme in (
            *pairs.present(SCHEMES), *(() if ctx.quick and load != MODERATE else pairs.NETWORK),
        )
    }  # fmt: skip
    for scheme in pairs.NETWORK:
        trials[f"{scheme.key}-{UNLIMITED}"] = pairs.workload_experiment(
            workload(ctx, MODERATE), [scheme], buffer_pkts=network.UNLIMITED_PKTS, seed=ctx.seed
        )
    return trials


def workload(ctx: StudyContext, load: float) -> Workload:
    """The workload of all schemes at a load."""
    return pairs.workload(
        pairs.traced(ctx.vectors), load=load, hours=hours(ctx, load), seed=ctx.seed
    )


def vectors(ctx: StudyContext) -> SessionTable:
    """The recorded connections that sessions are drawn from, with their recorded starts.

    For vectors that are not recorded: three hours of sessions at the smallest load.
    """
    kind = pairs.traced(ctx.vectors)
    if isinstance(kind, Recorded):
        return recorded.table(kind.largest_request)
    return sessions(pairs.workload(kind, load=SMALL, hours=HOURS, seed=ctx.seed))


def hours(ctx: StudyContext, load: float) -> float:
    """Virtual time in which sessions start."""
    return QUICK_HOURS[load] if ctx.quick else HOURS


def key(scheme: str, load: float) -> str:
    """A trial's name: "jump-start-35"."""
    return f"{scheme}-{round(100 * load):02d}"


@dataclass(frozen=True)
class BySize:
    """Epoch durations by response size; one entry per bin with enough exchanges."""

    bytes: Floats
    """Response size in the middle of the bin."""
    mean_s: Floats
    lower_s: Floats
    """The quartile."""
    upper_s: Floats


@dataclass(frozen=True)
class Epochs(Traffic):
    """Observations of one trial: its epoch durations."""

    large: Estimate
    """Mean duration in seconds of epochs with a response of 10 kB or more."""
    timeouts: int
    """Retransmission timeouts of all servers, in the whole run."""
    above_ms: Mapping[int, float]
    """Part of the epochs that last longer than each of ABOVE_MS."""
    tail_s: Floats
    """Epoch durations at some 300 ranks, in rising order."""
    tail_part: Floats
    """Part of the epochs that last at least as long as each of ``tail_s``."""
    by_size: BySize


@dataclass(frozen=True)
class Mix(Evidence[Epochs]):
    """All trials, and the connection vectors that they draw from."""

    drawn: SessionTable


def gather(ctx: StudyContext, rows: Mapping[str, Epochs]) -> Mix:
    """All trials, and the vectors that they draw from."""
    return Mix(rows, vectors(ctx))


def observe(_key: str, trace: Trace) -> Epochs:
    """Observe a trial: epoch durations, loss, and the router's grants."""
    rows = traffic.responses(trace)
    whole = traffic.traffic(trace, rows)
    seconds = rows["seconds"].to_numpy()
    sizes = rows["response_bytes"].to_numpy()
    counters = trace["flow_counters"].filter(pl.col("time_ns") == trace.duration_ns)
    rank = ranks(seconds.size)
    return Epochs(
        **{one.name: getattr(whole, one.name) for one in fields(Traffic)},
        large=traffic.mean_s(seconds[sizes >= LARGE_BYTES]),
        timeouts=int(counters["rtos"].sum()),
        above_ms={limit: float((seconds > limit / 1e3).mean()) for limit in ABOVE_MS},
        tail_s=np.sort(seconds)[-rank][::-1],
        tail_part=(rank / seconds.size)[::-1],
        by_size=_by_size(seconds, sizes),
    )


def ranks(count: int) -> Ints:
    """Some 300 of the ranks from 1 to ``count``, evenly spaced on a logarithmic axis."""
    return np.unique(np.geomspace(1, max(count, 1), 300).astype(np.int64))


def below(table: SessionTable) -> float:
    """The part of the responses below 10 kB."""
    return float((table.response_bytes[table.response_bytes > 0] < LARGE_BYTES).mean())


def _by_size(seconds: Floats, sizes: Ints) -> BySize:
    place = np.searchsorted(SIZES_BYTES, sizes, side="right") - 1
    order = np.argsort(place, kind="stable")
    ends = np.searchsorted(place[order], np.arange(SIZES_BYTES.size))
    bins = np.split(seconds[order], ends)[1:-1]
    kept = [i for i, values in enumerate(bins) if values.size >= ENOUGH]
    return BySize(
        np.sqrt(SIZES_BYTES[:-1] * SIZES_BYTES[1:])[kept],
        np.array([float(bins[i].mean()) for i in kept]),
        np.array([np.quantile(bins[i], 0.25) for i in kept]),
        np.array([np.quantile(bins[i], 0.75) for i in kept]),
    )
