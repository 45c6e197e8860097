"""The backend that uses the running kernel: controls as eBPF, real sockets, an emulated link.

Calls headwayctl, which needs root. An experiment of 30 s takes 30 s of real time. Everything that a
run sets up is removed at the run's end, even if its process is killed.
"""

from __future__ import annotations

import contextlib
import hashlib
import itertools
import os
import platform
import threading
import time
from collections import deque
from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import FIRST_COMPLETED, Future, ThreadPoolExecutor, wait

from headway.backends.backend import Finished, OnFailure, T, Work, report_result
from headway.backends.kernel.folders import run_folder
from headway.backends.kernel.headwayctl import Headwayctl, Watchdog
from headway.backends.kernel.hints import attach_if_missing, hints_attached
from headway.backends.kernel.programs import needs_hints
from headway.backends.kernel.room import MOST_CONCURRENT, Progress, Seconds, has_room
from headway.backends.kernel.run import Run
from headway.backends.kernel.supported import check
from headway.backends.kernel.testbed import Testbed
from headway.backends.kernel.traffic_files import with_exchange_files
from headway.errors import HeadwayError
from headway.experiment import Control, Experiment
from headway.mechanisms import gateway
from headway.trace import Trace
from headway.versions import trace_code

_setting_up = threading.Semaphore(os.cpu_count() or 1)
"""Limits the runs that are set up at the same time to the number of cores. Setting up a run keeps a
core busy: it loads eBPF, makes namespaces and starts programs."""
_runs = itertools.count()


class KernelBackend:
    """Runs experiments on this machine's kernel, in real time.

    With ``builtin`` flows use the kernel's own controls instead of Headway's controls of the same
    names, to compare them. A run that the machine disturbed is kept, and its notes tell why. The
    constructor raises KernelCannotError if this machine does not support the backend.
    """

    name = "kernel"

    def __init__(self, progress: Progress | None = None, *, builtin: bool = False) -> None:
        self._ctl = Headwayctl()
        self.progress = progress
        self._builtin = builtin

    def run(self, experiment: Experiment) -> Trace:
        """Run one experiment, which takes two seconds more than the experiment's duration."""
        check(experiment)
        seconds = Seconds(self.progress, [experiment])
        with Watchdog(self._ctl) as watchdog, self._with_hints([experiment], watchdog):
            return self._run(experiment, threading.Event(), watchdog, seconds.of(0))

    def run_each(
        self,
        experiments: Sequence[Experiment],
        work: Work[T],
        finished: Finished[T],
        threads: int = 0,
        failed: OnFailure | None = None,
    ) -> None:
        """Run several experiments in order, ``threads`` at a time.

        ``threads`` 0 means as many as the machine has room for: slow links run in parallel, fast
        links alone; see ``load``.
        """
        for experiment in experiments:
            check(experiment)
        cancel = threading.Event()
        seconds = Seconds(self.progress, experiments)
        waiting = deque(enumerate(experiments))
        running: dict[Future[Trace], int] = {}
        pool = ThreadPoolExecutor(threads or MOST_CONCURRENT)
        with Watchdog(self._ctl) as watchdog, self._with_hints(experiments, watchdog):
            try:
                while waiting or running:
                    active = [experiments[index] for index in running.values()]
                    while waiting and has_room(active, waiting[0][1], threads):
                        index, experiment = waiting.popleft()
                        active.append(experiment)
                        future = pool.submit(
                            self._run, experiment, cancel, watchdog, seconds.of(index)
                        )
                        running[future] = index
                    # Python handles Ctrl-C only after wait() returns, so wait() has a timeout
                    done, _ = wait(running, timeout=0.5, return_when=FIRST_COMPLETED)
                    seconds.report(len(running))
                    for future in done:
                        index = running.pop(future)
                        # call ``work`` in this thread, so that it does not delay active runs
                        report_result(
                            index,
                            lambda at=index, run=future: work(at, run.result()),  # type: ignore[misc]
                            finished,
                            failed,
                        )
            finally:
                cancel.set()
                pool.shutdown(wait=True, cancel_futures=True)

    def key(self, experiment: Experiment) -> str:
        """A hash of headwayctl, the kernel, the code that builds a trace, and the experiment."""
        made_by = f"{self._ctl.digest} {platform.version()} {trace_code()} {self._builtin} "
        return hashlib.sha256((made_by + experiment.model_dump_json()).encode()).hexdigest()

    def _run(
        self,
        experiment: Experiment,
        cancel: threading.Event,
        watchdog: Watchdog,
        elapsed: Callable[[float], None],
    ) -> Trace:
        name = f"hw{os.getpid():x}n{next(_runs):x}"
        with run_folder() as folder, contextlib.ExitStack() as up:
            with _setting_up:
                if cancel.is_set():
                    raise KeyboardInterrupt
                played = with_exchange_files(experiment, folder)
                controls = self._attach(played, name, watchdog, up)
                testbed = Testbed(self._ctl, played, name, folder)
                watchdog.register("testbed", name)
                up.enter_context(testbed)
                if any(map(needs_hints, played.flows)):
                    attach_if_missing(self._ctl, watchdog)
                run = Run(self._ctl, testbed, played, controls, folder)
                up.callback(run.kill)
                run.start()
            for left_s in _seconds(run.end_ns, cancel):
                run.check()
                elapsed(experiment.duration / 1e9 - left_s)
                if run.is_over():  # all programs have ended
                    elapsed(experiment.duration / 1e9)
                    break
            run.finish()
            # the emulator's log of packets is complete only after the emulator has ended
            testbed.down()
            return run.trace(experiment, self.key(experiment), builtin=self._builtin)

    def _with_hints(
        self, experiments: Sequence[Experiment], watchdog: Watchdog
    ) -> contextlib.AbstractContextManager[None]:
        """Attach Headway's hints inside the context, if any flow needs them."""
        if any(needs_hints(flow) for each in experiments for flow in each.flows):
            return hints_attached(self._ctl, watchdog)
        return contextlib.nullcontext()

    def _attach(
        self,
        experiment: Experiment,
        name: str,
        watchdog: Watchdog,
        up: contextlib.ExitStack,
    ) -> dict[int, str]:
        """Attach the controls of flows and relay until ``up`` ends.

        Returns the controls' names in the kernel by number of the flow; gateway.CONTROL stands for
        the relay.
        """
        names: dict[str, str] = {}
        chosen: dict[int, str] = {}
        controls = [(index, flow.control) for index, flow in enumerate(experiment.flows)]
        for index, control in [*controls, (gateway.CONTROL, gateway.control(experiment))]:
            if control is None:
                continue
            key = control.model_dump_json()
            if key not in names:
                own = control.name if self._builtin else control.kernel_own
                if own is not None:
                    names[key] = own
                else:
                    names[key] = f"{name}_{len(names):x}"[-15:]
                    watchdog.register("control", names[key])
                    self._attach_one(control, names[key], up)
            chosen[index] = names[key]
        return chosen

    def _attach_one(self, control: Control, name: str, up: contextlib.ExitStack) -> None:
        settings = [
            part for key, value in control.tunables.items() for part in ("--set", f"{key}={value}")
        ]
        up.callback(_quietly, lambda: self._ctl.run("detach", name))
        self._ctl.json("attach", str(control), "--name", name, *settings, "--json")


def _quietly(action: Callable[[], object]) -> None:
    # the action removes a control or a testbed; it fails if that does not exist
    with contextlib.suppress(HeadwayError):
        action()


def _seconds(end_ns: int, cancel: threading.Event) -> Iterator[float]:
    """Yield the seconds left until ``end_ns``, about twice a second."""
    while (left_s := (end_ns - time.monotonic_ns()) / 1e9) > 0:
        yield left_s
        if cancel.wait(min(left_s, 0.5)):
            raise KeyboardInterrupt
