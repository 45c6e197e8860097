"""The local engine: worker processes that make runs until all are made.

A worker that dies is replaced, and its units are given to others. A unit whose processes died
three times is recorded as failed. If this process dies, its workers end after their current run.
"""

from __future__ import annotations

import json
import os
import queue
import subprocess
import sys
import threading
from collections import Counter, deque
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any

from headway.errors import HeadwayError, KernelCannotError
from headway.sweep.plan import Plan, Unit
from headway.sweep.results import compact
from headway.sweep.work import Description, Outcome, description_of, task

_CHUNK_S = 0.3
"""Time that the units take that a worker gets at once."""
_MOST_UNITS = 64
_DEATHS = 3
_STARTS = 3
"""A sweep ends if this many workers in a row die before their first outcome."""


def cores() -> int:
    """The number of cores that this process may use."""
    return len(os.sched_getaffinity(0))


def check_outcome(outcome: Outcome) -> None:
    """Raise the error of an outcome that ends the sweep."""
    if "fatal" in outcome:
        error = KernelCannotError if outcome["status"] == "kernel" else HeadwayError
        raise error(outcome["fatal"])


class Pool:
    """Worker processes, and the units that wait for them."""

    def __init__(self, sweep: Plan, folder: Path, units: Sequence[Unit], workers: int) -> None:
        self._sweep, self._folder = sweep, folder
        self._waiting = deque(units)
        self._workers = max(1, min(workers or cores(), len(units)))
        self._deaths: Counter[int] = Counter()
        self._fruitless = 0
        self._took_s, self._made = 0.0, 0
        self._lock = threading.Lock()
        self._outcomes: queue.Queue[Outcome | None] = queue.Queue()
        self._processes: set[subprocess.Popen[str]] = set()
        self._is_ended = False

    def run(self) -> Iterator[Outcome]:
        """The outcomes of all units, as they are made. Raises HeadwayError."""
        description = description_of(self._sweep)
        threads = [
            threading.Thread(target=self._serve, args=(description,), daemon=True)
            for _ in range(self._workers)
        ]
        for thread in threads:
            thread.start()
        try:
            running = len(threads)
            while running:
                outcome = self._outcomes.get()
                if outcome is None:
                    running -= 1
                    continue
                check_outcome(outcome)
                yield outcome
        finally:
            self._end()

    def _end(self) -> None:
        with self._lock:
            self._is_ended = True
            processes = list(self._processes)
        for process in processes:
            process.terminate()
        for process in processes:
            process.wait()

    def _serve(self, description: Description) -> None:
        """Start workers, one after the other, until no unit waits."""
        try:
            while self._has_waiting():
                self._serve_one(description)
        except HeadwayError as error:
            self._outcomes.put({"fatal": str(error), "status": "error"})
        finally:
            self._outcomes.put(None)

    def _has_waiting(self) -> bool:
        with self._lock:
            return bool(self._waiting) and not self._is_ended

    def _serve_one(self, description: Description) -> None:
        """Give units to one worker until it dies or none waits."""
        process = subprocess.Popen(
            [sys.executable, "-m", "headway.sweep.work"],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            text=True,
            encoding="utf-8",
            env={**os.environ, "PYTHONPATH": os.pathsep.join(filter(None, sys.path))},
            process_group=0,
        )
        with self._lock:
            self._processes.add(process)
            if self._is_ended:
                process.terminate()
        given: deque[Unit] = deque()
        try:
            assert process.stdin is not None
            self._send(process, {"description": description, "folder": str(self._folder)})
            while units := self._take():
                given = deque(units)
                self._send(process, [self._task(unit) for unit in given])
                while given and (outcome := self._receive(process)) is not None:
                    if "fatal" not in outcome:
                        given.popleft()
                    self._outcomes.put(outcome)
                if given:
                    break
            process.stdin.close()
        except BrokenPipeError:
            pass
        finally:
            status = process.wait()
            with self._lock:
                self._processes.discard(process)
            if process.stdout is not None:
                process.stdout.close()
        if given:
            self._give_back(given, status)

    def _send(self, process: subprocess.Popen[str], data: Any) -> None:
        assert process.stdin is not None
        process.stdin.write(compact(data) + "\n")
        process.stdin.flush()

    def _receive(self, process: subprocess.Popen[str]) -> Outcome | None:
        assert process.stdout is not None
        line = process.stdout.readline()
        if not line.endswith("\n"):
            return None
        outcome: Outcome = json.loads(line)
        with self._lock:
            self._fruitless = 0
            self._took_s += outcome.get("seconds", 0.0)
            self._made += 1
        return outcome

    def _task(self, unit: Unit) -> dict[str, Any]:
        return task(self._sweep, unit, has_died=self._deaths[unit.row] >= _DEATHS)

    def _take(self) -> list[Unit]:
        """Units for one worker: few if they take long, or if few are left."""
        with self._lock:
            if self._is_ended:
                return []
            each_s = self._took_s / self._made if self._made else _CHUNK_S / 2
            wanted = min(_MOST_UNITS, int(_CHUNK_S / max(each_s, 1e-6)))
            fair = len(self._waiting) // (2 * self._workers)
            count = min(max(1, min(wanted, fair)), len(self._waiting))
            return [self._waiting.popleft() for _ in range(count)]

    def _give_back(self, given: deque[Unit], status: int) -> None:
        """Let other workers have the units of one that died; the first one was running."""
        with self._lock:
            if self._is_ended:
                return
            self._deaths[given[0].row] += 1
            self._waiting.extendleft(reversed(given))
            self._fruitless += 1
            if self._fruitless > _STARTS * max(self._workers, _DEATHS):
                raise HeadwayError(f"worker processes cannot run: they ended with status {status}")


def outcomes(sweep: Plan, folder: Path, units: Sequence[Unit], workers: int) -> Iterator[Outcome]:
    """Run units in local processes, 0 workers meaning one per core; yields their outcomes."""
    return Pool(sweep, folder, units, workers).run()
