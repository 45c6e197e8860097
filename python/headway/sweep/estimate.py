"""Estimates how long a sweep takes, and how much memory, from parts of a few runs."""

from __future__ import annotations

import resource
import threading
import time
from dataclasses import dataclass

from headway import _engine
from headway.backends.sim import scenario_json
from headway.errors import HeadwayError
from headway.sweep.plan import Plan
from headway.sweep.pool import cores
from headway.units import NS_PER_S

_SAMPLES = 8
"""Number of combinations that are tried, spread over the plan."""
_MOST_S = 0.3
"""Longest time that a try takes."""
_SHARE = 10
"""A try simulates this part of the duration, and of the time a run takes."""
_OVERHEAD_S = 0.002
"""Time that a run takes besides its simulation."""


@dataclass(frozen=True)
class Estimate:
    """An estimate; None if no run can be tried."""

    runs: int
    """The largest number of runs."""
    workers: int
    seconds: float | None
    """Time of the whole sweep."""
    memory_bytes: int | None
    """Memory of all processes."""


def estimate(sweep: Plan, workers: int = 0) -> Estimate:
    """Try parts of a few runs. Runs on the kernel take their duration, one after the other."""
    runs = len(sweep.cells) * sweep.most_replications
    workers = 1 if sweep.backend == "kernel" else min(workers or cores(), runs)
    count = len(sweep.cells)
    tried = sorted({index * (count - 1) // (_SAMPLES - 1) for index in range(_SAMPLES)})
    each_s = []
    for cell in tried:
        try:
            experiment = sweep.base.experiment(sweep.settings(cell))
            if sweep.backend == "kernel":
                each_s.append(experiment.duration / NS_PER_S)
                continue
            duration = max(experiment.duration // _SHARE, 1)
            part = experiment.model_copy(update={"duration": duration, "warmup": 0})
            each_s.append(
                _OVERHEAD_S
                + _took_s(scenario_json(part, digest=True, trace=False), duration)
                * experiment.duration
                / duration
            )
        except HeadwayError:
            continue  # an invalid combination takes no time
    if not each_s:
        return Estimate(runs, workers, None, None)
    peak_kib = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
    seconds = sum(each_s) / len(each_s) * runs / workers
    return Estimate(runs, workers, seconds, workers * peak_kib * 1024)


def _took_s(scenario: str, duration_ns: int) -> float:
    """Time that a simulation takes; after a while it is stopped, and the rest is extrapolated."""
    stop = _engine.Stop()
    reached: list[tuple[int, float]] = []
    began_s = time.perf_counter()
    timer = threading.Timer(_MOST_S, stop.set)
    timer.start()
    try:
        _engine.run(
            scenario, stop,
            progress=lambda now_ns: reached.append((now_ns, time.perf_counter() - began_s)),
        )  # fmt: skip
    except (ValueError, MemoryError):
        return 0.0
    except InterruptedError:
        now_ns, took_s = reached[-1] if reached else (duration_ns, _MOST_S)
        return took_s * duration_ns / max(now_ns, 1)
    finally:
        timer.cancel()
    return time.perf_counter() - began_s
