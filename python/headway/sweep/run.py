"""Runs what is missing of a sweep, with one of the engines."""

from __future__ import annotations

import re
import time
from collections import Counter
from collections.abc import Callable, Iterator, Mapping, Sequence
from pathlib import Path

from headway.errors import HeadwayError, InterruptedRunError
from headway.interrupts import interrupted
from headway.sweep.plan import Plan, Unit
from headway.sweep.results import Results
from headway.sweep.trials import Progress, no_progress
from headway.sweep.work import Outcome

_ROWS = re.compile(r"(\d*):(\d*)")
_SHARD = re.compile(r"(\d+)/(\d+)")


def rows_of_text(sweep: Plan, rows: str | None, shard: str | None) -> Sequence[int]:
    """The numbers of the rows that ``A:B`` (from A to below B) and ``I/N`` select.

    Shard I of N, from 1 to N, has every N-th row. Raises HeadwayError.
    """
    chosen = range(sweep.rows)
    if rows is not None:
        found = _ROWS.fullmatch(rows)
        if found is None:
            raise HeadwayError(f"rows: {rows!r} is not allowed; write A:B, for example 0:100")
        begin, end = int(found[1] or 0), int(found[2] or sweep.rows)
        if not begin < end <= sweep.rows:
            raise HeadwayError(
                f"rows: {rows} is not allowed; the sweep has the rows 0:{sweep.rows}"
            )
        chosen = chosen[begin:end]
    if shard is not None:
        found = _SHARD.fullmatch(shard)
        if found is None or not 1 <= int(found[1]) <= int(found[2]):
            raise HeadwayError(f"shard: {shard!r} is not allowed; write I/N, from 1/N to N/N")
        chosen = chosen[int(found[1]) - 1 :: int(found[2])]
    return chosen


def run_sweep(
    sweep: Plan,
    folder: Path,
    *,
    rows: Sequence[int] | None = None,
    workers: int = 0,
    on: str | None = None,
    progress: Progress | None = None,
    report: Callable[[Outcome], object] | None = None,
) -> Mapping[str, int]:
    """Run the rows that are not done, and count them by their state: done, failed, kept.

    ``on`` None means local processes, "dask" a local cluster and "dask:ADDRESS" a scheduler's.
    ``report`` gets each row's outcome. Raises InterruptedRunError on Ctrl-C, and HeadwayError.
    """
    results = Results(folder)
    results.prepare(sweep)
    units = list(sweep.units(rows))
    counts: Counter[str] = Counter(done=0, failed=0, kept=0)
    progress = progress or no_progress
    clock = _Clock(len(units))
    progress(0, len(units), "")

    def run() -> None:
        for outcome in _engine(sweep, folder, units, workers, on):
            counts[outcome["state"]] += 1
            clock.count(outcome["runs"])
            finished = counts.total()
            progress(finished, len(units), clock.text(finished, counts["failed"]))
            if report is not None:
                report(outcome)

    if interrupted(run):
        raise InterruptedRunError(counts.total(), len(units), str(folder))
    return counts


def _engine(
    sweep: Plan, folder: Path, units: Sequence[Unit], workers: int, on: str | None
) -> Iterator[Outcome]:
    if not units:
        return iter(())
    if on is None:
        from headway.sweep import pool

        # The machine's kernel makes one run at a time.
        return pool.outcomes(sweep, folder, units, 1 if sweep.backend == "kernel" else workers)
    name, _, address = on.partition(":")
    if name != "dask":
        raise HeadwayError(f"on: unknown engine {on!r}; allowed: dask, dask:ADDRESS")
    from headway.sweep import cluster

    return cluster.outcomes(sweep, folder, units, workers, address or None)


class _Clock:
    """The rate of runs, and the time that the others take."""

    def __init__(self, total: int) -> None:
        self._total = total
        self._began_s: float | None = None
        self._runs = 0
        self._kept = 0

    def count(self, runs: int) -> None:
        """Count a row with this many new runs."""
        if self._began_s is None:
            self._began_s = time.monotonic()
        self._runs += runs
        self._kept += not runs

    def text(self, finished: int, failed: int) -> str:
        """Rate, remaining time and failures as text."""
        assert self._began_s is not None
        took_s = time.monotonic() - self._began_s
        parts = []
        if self._runs and took_s > 0:
            parts.append(f"{self._runs / took_s:,.0f} runs/s")
            left_s = (self._total - finished) * took_s / max(finished - self._kept, 1)
            parts.append(f"{duration_text(left_s)} left")
        if failed:
            parts.append(f"{failed} failed")
        return ", ".join(parts)


def duration_text(seconds: float) -> str:
    """A duration for people: "0:07", "12:30", "3:05:00"."""
    minutes, rest = divmod(round(seconds), 60)
    hours, minutes = divmod(minutes, 60)
    return f"{hours}:{minutes:02}:{rest:02}" if hours else f"{minutes}:{rest:02}"
