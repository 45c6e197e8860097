"""The running kernel: the same controls through eBPF, real sockets, an emulated link.

Drives headwayctl, which needs root. A run takes as long as it lasts; whatever ends it, what it
set up is taken down again.
"""

from __future__ import annotations

import contextlib
import itertools
import os
import tempfile
import threading
import time
from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import FIRST_COMPLETED, Future, ThreadPoolExecutor, wait
from pathlib import Path

from headway.backends import Finished
from headway.backends._headwayctl import Headwayctl
from headway.backends._kernel_run import Run, Testbed
from headway.errors import HeadwayError
from headway.experiment import Control, Experiment, Pingpong, Sessions
from headway.trace import Trace

Progress = Callable[[float, float], None]
"""Called with (seconds of the run so far, seconds in all) about twice a second."""

_CONCURRENT_BPS = 20_000_000
"""Bottlenecks that may run side by side on one machine, together."""
_MOST_CONCURRENT = 12
_runs = itertools.count()


class KernelBackend:
    """Runs experiments on this machine's kernel, in real time.

    ``builtin`` uses the kernel's own controls of the same names instead of ours, to compare
    them. Raises KernelCannotError, when made, if this machine cannot.
    """

    name = "kernel"

    def __init__(self, progress: Progress | None = None, *, builtin: bool = False) -> None:
        self._ctl = Headwayctl()
        self._progress = progress
        self._builtin = builtin

    def run(self, experiment: Experiment) -> Trace:
        """Run one experiment; takes its duration and about two seconds."""
        return self._run(experiment, threading.Event())

    def run_many(
        self, experiments: Sequence[Experiment], finished: Finished, threads: int = 0
    ) -> None:
        """Run several, ``threads`` at a time; 0: as many as this machine has room for.

        Slow links run side by side; two links of 10 Mbit/s or more do not, so that they do
        not disturb each other.
        """
        for experiment in experiments:
            check(experiment)
        cancel = threading.Event()
        pool = ThreadPoolExecutor(threads or concurrent(experiments))
        try:
            waiting: dict[Future[Trace], int] = {
                pool.submit(self._run, experiment, cancel): index
                for index, experiment in enumerate(experiments)
            }
            while waiting:
                # a timeout lets Ctrl-C in
                done, _ = wait(waiting, timeout=0.5, return_when=FIRST_COMPLETED)
                for future in done:
                    finished(waiting.pop(future), future.result())
        finally:
            cancel.set()
            pool.shutdown(wait=True, cancel_futures=True)

    def _run(self, experiment: Experiment, cancel: threading.Event) -> Trace:
        check(experiment)
        name = f"hw{os.getpid():x}n{next(_runs):x}"
        with tempfile.TemporaryDirectory(prefix="headway-") as folder, contextlib.ExitStack() as up:
            controls = self._attach(experiment, name, up)
            testbed = Testbed(self._ctl, experiment, name, Path(folder))
            up.enter_context(testbed)
            run = Run(self._ctl, testbed, experiment, controls, Path(folder))
            up.callback(run.kill)
            run.start()
            for elapsed_s in _seconds(run.end_ns, cancel):
                run.check()
                if self._progress is not None:
                    total_s = experiment.duration / 1e9
                    self._progress(min(max(elapsed_s + total_s, 0.0), total_s), total_s)
            run.finish()
            # the log is whole only after the emulator ended
            testbed.down()
            return run.trace(builtin=self._builtin)

    def _attach(
        self, experiment: Experiment, name: str, up: contextlib.ExitStack
    ) -> dict[int, str]:
        """The kernel's name of each TCP flow's control; what is new goes when ``up`` ends."""
        names: dict[str, str] = {}
        chosen: dict[int, str] = {}
        for index, flow in enumerate(experiment.flows):
            if flow.control is None:
                continue
            key = flow.control.model_dump_json()
            if key not in names:
                if self._builtin:
                    names[key] = flow.control.name
                else:
                    names[key] = f"{name}_{len(names):x}"[-15:]
                    self._attach_one(flow.control, names[key], up)
            chosen[index] = names[key]
        return chosen

    def _attach_one(self, control: Control, name: str, up: contextlib.ExitStack) -> None:
        settings = [
            part for key, value in control.tunables.items() for part in ("--set", f"{key}={value}")
        ]
        up.callback(_quietly, lambda: self._ctl.run("detach", name))
        self._ctl.json("attach", str(control), "--name", name, *settings, "--json")


def _quietly(action: Callable[[], object]) -> None:
    # what is being cleaned up may never have been made
    with contextlib.suppress(HeadwayError):
        action()


def _seconds(end_ns: int, cancel: threading.Event) -> Iterator[float]:
    """Seconds after the end (negative before it), about twice a second until the end."""
    while (left_s := (end_ns - time.monotonic_ns()) / 1e9) > 0:
        yield -left_s
        if cancel.wait(min(left_s, 0.5)):
            raise KeyboardInterrupt


def concurrent(experiments: Sequence[Experiment]) -> int:
    """How many of these may run side by side without disturbing each other."""
    fastest = max((e.topology.links()[0][0].rate for e in experiments), default=_CONCURRENT_BPS)
    return max(1, min(_MOST_CONCURRENT, _CONCURRENT_BPS // fastest))


def check(experiment: Experiment) -> None:
    """Raises HeadwayError, naming the field, for what this backend cannot do."""
    if experiment.topology.kind != "dumbbell":
        raise HeadwayError("kernel backend: topology: a chain is not possible yet, use a dumbbell")
    if experiment.capture is not None:
        raise HeadwayError("kernel backend: capture: not possible yet; use the simulator")
    for name, flow in zip(experiment.flow_names(), experiment.flows, strict=True):
        if isinstance(flow.app, Pingpong | Sessions):
            raise HeadwayError(f"kernel backend: {name}: {flow.app.kind} is not possible yet")
        for field in ("receive_buffer", "receive_window", "initial_rate", "data_volume"):
            if getattr(flow, field) is not None:
                raise HeadwayError(f"kernel backend: {name}: {field} is not possible yet")
        if flow.extra_ack:
            raise HeadwayError(f"kernel backend: {name}: extra_ack needs another kernel")
        if flow.is_tcp and not flow.delayed_ack:
            raise HeadwayError(f"kernel backend: {name}: Linux always delays ACKs")
