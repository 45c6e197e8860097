"""The simulator: converts an Experiment to the engine's scenario, and its results to a Trace."""

from __future__ import annotations

import functools
import hashlib
import itertools
import json
import os
import threading
from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import FIRST_COMPLETED, Future, ThreadPoolExecutor, wait
from typing import TYPE_CHECKING, Any, NamedTuple

from headway import _engine
from headway.backends.backend import Finished, OnFailure, T, Work, report_result
from headway.digest import digest_of_totals
from headway.errors import HeadwayError
from headway.experiment import (
    Exchanges,
    Experiment,
    Pages,
    Sessions,
    Site,
)
from headway.interrupts import delay_interrupts
from headway.limits import FLOW_BYTES, READING_BYTES, check_room
from headway.units import format_time
from headway.versions import trace_code

if TYPE_CHECKING:
    from pathlib import Path

    from headway.digest import Digest
    from headway.trace import Trace
    from headway.trace_writer import GrowingTrace
    from headway.workloads import SessionTable, Workload

_NS_PER_US = 1000


Simulated = Callable[[float, float], None]
"""Called a few times a second, in any thread, with the simulated seconds of all runs so far, and
with the sum of all runs' durations."""


class _Watched(NamedTuple):
    """A caller's object to stop a run, and callback for the run's simulated time."""

    stop: _engine.Stop | None = None
    progress: Callable[[int], None] | None = None


class _SimulatedTime:
    """Progress of several runs in simulated time."""

    def __init__(self, experiments: Sequence[Experiment], report: Simulated | None) -> None:
        self._report = report
        self._now_ns = [0] * len(experiments)
        self._sum_ns = 0
        self._end_ns = sum(experiment.duration for experiment in experiments)
        self._lock = threading.Lock()

    def at(self, index: int, now_ns: int) -> None:
        """Record that run ``index`` has reached ``now_ns``."""
        with self._lock:
            self._sum_ns += now_ns - self._now_ns[index]
            self._now_ns[index] = now_ns
            sum_ns = self._sum_ns
        if self._report is not None:
            self._report(sum_ns / 1e9, self._end_ns / 1e9)


class SimBackend:
    """Runs experiments in virtual time, without privileges; traces are the same everywhere."""

    name = "sim"
    spill_bytes = 64 << 20
    """Bytes of a growing trace that are kept in memory before they are written to disk."""
    _parallel_runs = 1

    def __init__(self, simulated: Simulated | None = None) -> None:
        self.simulated = simulated

    def run(self, experiment: Experiment) -> Trace:
        """Run one experiment in this thread, without blocking other Python threads."""
        return self._run(experiment, _Watched())

    def run_each(
        self,
        experiments: Sequence[Experiment],
        work: Work[T],
        finished: Finished[T],
        threads: int = 0,
        failed: OnFailure | None = None,
    ) -> None:
        """Run experiments on ``threads`` threads (0: one per core); see Backend.run_each."""
        self._each(
            experiments,
            lambda index, watched: work(index, self._run(experiments[index], watched)),
            finished,
            threads,
            failed,
        )

    def digest(self, experiment: Experiment) -> Digest:
        """Compute an experiment's digest while it runs, without a trace and with little memory.

        It equals ``headway.digest.digest_of`` of the trace, with quantiles within
        QUANTILE_RESOLUTION. ``sample``, ``record`` and ``capture`` are ignored.
        """
        return self._digest(experiment, _Watched())

    def prepared(self, experiment: Experiment) -> tuple[str, str]:
        """A digest's key, a hash as of ``key``, and its scenario for ``prepared_digest``.

        Raises HeadwayError for what the simulator does not support.
        """
        text = scenario_json(_without_readings(experiment), digest=True, trace=False)
        return _key(text), text

    def prepared_digest(self, experiment: Experiment, scenario: str) -> Digest:
        """The ``digest`` of an experiment whose scenario is known."""
        check_size(_without_readings(experiment))
        result = self._engine(scenario, _Watched())
        return digest_of_totals(experiment, json.loads(result["digest"]))

    def digest_each(
        self, experiments: Sequence[Experiment], finished: Finished[Digest], threads: int = 0
    ) -> None:
        """``digest`` of several experiments, in parallel as in ``run_each``."""
        self._each(
            experiments,
            lambda index, watched: self._digest(experiments[index], watched),
            finished,
            threads,
        )

    def record_each(
        self,
        experiments: Sequence[Experiment],
        beside: Path,
        finished: Finished[tuple[Digest, GrowingTrace]],
        threads: int = 0,
        *,
        trace: bool = True,
    ) -> None:
        """``digest`` of several experiments, with their traces, which are written while they grow.

        Each growing trace has a folder in ``beside``, until ``finished`` saves the trace. Without
        ``trace`` the traces contain only the captures.
        """
        self._each(
            experiments,
            lambda index, watched: self._record(
                experiments[index], beside / str(index), watched, trace=trace
            ),
            finished,
            threads,
        )

    def _each(
        self,
        experiments: Sequence[Experiment],
        run: Callable[[int, _Watched], T],
        finished: Finished[T],
        threads: int,
        failed: OnFailure | None = None,
    ) -> None:
        clock = _SimulatedTime(experiments, self.simulated)
        stop = _engine.Stop()
        count = len(experiments)
        self._parallel_runs = min(threads or _cores(), max(count, 1))
        waiting = iter(range(count))
        with delay_interrupts() as raise_delayed, ThreadPoolExecutor(threads or _cores()) as pool:
            pending: dict[Future[T], int] = {}
            try:
                while True:
                    # Submit at most twice as many runs as can be active, so that few results wait
                    # in memory until this thread handles them.
                    for index in itertools.islice(waiting, 2 * self._parallel_runs - len(pending)):
                        watched = _Watched(stop, functools.partial(clock.at, index))
                        pending[pool.submit(run, index, watched)] = index
                    if not pending:
                        break
                    # The timeout limits how long Ctrl-C is delayed.
                    done, _ = wait(pending, timeout=0.5, return_when=FIRST_COMPLETED)
                    raise_delayed()
                    # Handle failed runs last, since a failure may end all runs.
                    for future in sorted(done, key=lambda one: one.exception() is not None):
                        index = pending.pop(future)
                        clock.at(index, experiments[index].duration)
                        report_result(index, future.result, finished, failed)
            finally:
                stop.set()
                pool.shutdown(wait=False, cancel_futures=True)

    def key(self, experiment: Experiment) -> str:
        """A hash of the engine's sources, of the code that builds a trace, and of the scenario."""
        return _key(scenario_json(experiment))

    def _run(self, experiment: Experiment, watched: _Watched) -> Trace:
        from headway.trace import from_engine  # and Polars

        check_size(experiment)
        text = scenario_json(experiment)
        return from_engine(experiment, self._engine(text, watched), _key(text))

    def _digest(self, experiment: Experiment, watched: _Watched) -> Digest:
        plain = _without_readings(experiment)
        check_size(plain)
        result = self._engine(scenario_json(plain, digest=True, trace=False), watched)
        return digest_of_totals(experiment, json.loads(result["digest"]))

    def _record(
        self, experiment: Experiment, folder: Path, watched: _Watched, *, trace: bool
    ) -> tuple[Digest, GrowingTrace]:
        from headway.trace import from_engine
        from headway.trace_writer import GrowingTrace

        check_size(experiment)
        growing = GrowingTrace(folder)
        text = scenario_json(experiment, digest=True, trace=trace)
        result = self._engine(text, watched, growing.append_rows)
        growing.captured = result["capture"]
        if trace:
            growing.trace = from_engine(experiment, result, self.key(experiment))
        return digest_of_totals(experiment, json.loads(result["digest"])), growing

    def _engine(
        self,
        scenario_json: str,
        watched: _Watched,
        spill: Callable[[dict[str, Any] | None, bytes | None], None] | None = None,
    ) -> dict[str, Any]:
        try:
            return _engine.run(
                scenario_json,
                watched.stop,
                progress=watched.progress,
                limit_bytes=_engine.free_bytes() // self._parallel_runs // 3,
                spill=spill,
                spill_bytes=self.spill_bytes,
            )
        except ValueError as error:
            raise HeadwayError(f"simulator: {error}") from None
        except MemoryError as error:
            raise HeadwayError(
                f"simulator: {error}; shorten the run, or reduce what record, sample and capture "
                "keep"
            ) from None


def _without_readings(experiment: Experiment) -> Experiment:
    """The experiment without what only a trace needs."""
    if experiment.sample is None and experiment.capture is None:
        return experiment
    return experiment.model_copy(update={"sample": None, "capture": None})


def _key(scenario_json: str) -> str:
    made_by = f"{_engine.sources()} {trace_code()} "
    return hashlib.sha256((made_by + scenario_json).encode()).hexdigest()


def _cores() -> int:
    """The number of cores that this process may use."""
    if hasattr(os, "sched_getaffinity"):
        return len(os.sched_getaffinity(0))
    return os.cpu_count() or 1


def check_size(experiment: Experiment) -> None:
    """Raise HeadwayError if an experiment certainly needs more memory than is free."""
    flows = len(experiment.flows)
    check_room(f"flows: {flows}", flows * FLOW_BYTES)
    if experiment.sample is not None:
        readings = experiment.duration // experiment.sample
        check_room(
            f"sample: {format_time(experiment.sample)}: {readings} readings of {flows} flows",
            readings * flows * READING_BYTES,
        )


def scenario_json(experiment: Experiment, *, digest: bool = False, trace: bool = True) -> str:
    """The engine's scenario of an experiment, as JSON text; see ``scenario``.

    It requests a ``digest``, a ``trace`` or both. Raises HeadwayError for what only another backend
    supports.
    """
    for name, flow in zip(experiment.flow_names(), experiment.flows, strict=True):
        if isinstance(flow.app, Site):
            raise HeadwayError(
                f"simulator: {name}: site: needs a browser; --backend kernel has one"
            )
    document = experiment.model_dump_json()
    apps = dict(_app_texts(experiment))
    batches_ns = experiment.batch_edges_ns() if digest else None
    try:
        return _engine.scenario(document, apps, batches_ns, trace)
    except ValueError as error:
        raise HeadwayError(str(error)) from None


def _app_texts(experiment: Experiment) -> Iterator[tuple[int, str]]:
    """The sessions of workloads and the exchanges of files, by flow number.

    An experiment only names them. They are most of a scenario's text, and many scenarios share
    them.
    """
    for number, flow in enumerate(experiment.flows):
        if isinstance(app := flow.app, Sessions):
            yield number, _session_texts(app.workload, app.pairs)[app.pair]
        elif isinstance(app, Exchanges):
            yield number, json.dumps({"kind": "exchanges", **app.table().columns()})
        elif isinstance(app, Pages):
            yield number, json.dumps(_pages(app))


@functools.lru_cache(maxsize=4)
def _session_texts(workload: Workload, pairs: int) -> tuple[str, ...]:
    """Each pair's sessions as JSON."""
    from headway import workloads

    shares = workloads.shares(workload, pairs)
    return tuple(json.dumps(_sessions(share, workload.persistent)) for share in shares)


def scenario(experiment: Experiment) -> dict[str, Any]:
    """The engine's scenario of an experiment: SI integers, with all defaults filled in."""
    fields: dict[str, Any] = json.loads(scenario_json(experiment))
    return fields


def topology_fields(experiment: Experiment) -> dict[str, Any]:
    """The topology in SI integers, in the format of the engine and the emulator."""
    fields: dict[str, Any] = json.loads(_engine.topology(experiment.topology.model_dump_json()))
    return fields


def _pages(app: Pages) -> dict[str, Any]:
    return {
        "kind": "pages",
        "http": app.http,
        "connections": app.parallel,
        "keepalive_requests": app.keepalive_requests,
        "keepalive_timeout_ns": app.keepalive_timeout,
        **app.table().columns(),
    }


def _sessions(share: SessionTable, persistent: bool) -> dict[str, Any]:
    return {
        "kind": "sessions",
        "persistent": persistent,
        "start_ns": (share.start_us * _NS_PER_US).tolist(),
        "exchanges": share.exchanges.tolist(),
        "request_bytes": share.request_bytes.tolist(),
        "response_bytes": share.response_bytes.tolist(),
        "think_ns": (share.think_us * _NS_PER_US).tolist(),
        "serve_ns": (share.serve_us * _NS_PER_US).tolist() if share.serve_us.any() else [],
    }
