"""The running kernel: the same controls through eBPF, real sockets, an emulated link.

Drives headwayctl, which needs root. A run takes as long as it lasts; whatever ends it, what it
set up is taken down again.
"""

from __future__ import annotations

import contextlib
import hashlib
import itertools
import os
import platform
import re
import threading
import time
from collections import deque
from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import FIRST_COMPLETED, Future, ThreadPoolExecutor, wait
from pathlib import Path

from headway.backends import Finished, T, Work
from headway.backends import _kernel_quick_start as quick_start
from headway.backends._headwayctl import Caretaker, Headwayctl
from headway.backends._kernel_folders import run_folder
from headway.backends._kernel_hints import attach_where_missing, taking_hints
from headway.backends._kernel_run import Run, says_something
from headway.backends._kernel_testbed import Testbed, sides
from headway.errors import HeadwayError, KernelCannotError
from headway.experiment import Control, Experiment, Pingpong, Requests, Sessions, Vectors
from headway.trace import Trace
from headway.versions import trace_code

Progress = Callable[[float, float, float], None]
"""Called about twice a second with the seconds of all runs so far, those of all runs together,
and those that are left until the last one ends."""

_ROOM_BPS_PER_CORE = 13_500_000
"""What may run side by side, as the sum of :func:`load`. Measured on two cores: 24 links of
1 Mbit/s with six flows each keep 0.6 cores busy, 36 keep 0.9 busy; of 36, packets were late by
12 us on average and by 0.2 ms in one of a hundred, where a packet takes 12 ms."""
_RUN_BPS = 20_000
_FAST_BPS = 10_000_000
_MOST_CONCURRENT = 64
"""Each run has a dozen processes."""
_SETUP_S = 3.0
"""About what a run takes beside its duration."""
_setting_up = threading.Semaphore(os.cpu_count() or 1)
"""To set up a run is work: loading eBPF, making namespaces, starting programs. More at a time
than there are cores would only make all of them late."""
_runs = itertools.count()
_LARGE_WINDOW_SINCE = (6, 10)
_SMALL_WINDOW_BYTES = 65_535
_AVAILABLE = Path("/proc/sys/net/ipv4/tcp_available_congestion_control")
_OF_A_RUN = re.compile(r"hw[0-9a-f]+n[0-9a-f]+_")


class KernelBackend:
    """Runs experiments on this machine's kernel, in real time.

    ``builtin`` uses the kernel's own controls of the same names instead of ours, to compare
    them. Raises KernelCannotError, when made, if this machine cannot.
    """

    name = "kernel"

    def __init__(self, progress: Progress | None = None, *, builtin: bool = False) -> None:
        self._ctl = Headwayctl()
        self.progress = progress
        self._builtin = builtin

    def run(self, experiment: Experiment) -> Trace:
        """Run one experiment; takes its duration and about two seconds."""
        check(experiment)
        seconds = _Seconds(self.progress, [experiment])
        with Caretaker(self._ctl) as caretaker, self._taking_hints([experiment], caretaker):
            return self._run(experiment, threading.Event(), caretaker, seconds.of(0))

    def run_each(
        self,
        experiments: Sequence[Experiment],
        work: Work[T],
        finished: Finished[T],
        threads: int = 0,
    ) -> None:
        """Run several in their order, ``threads`` at a time; 0: as the machine has room.

        Slow links run side by side, fast ones alone; see :func:`load`.
        """
        for experiment in experiments:
            check(experiment)
        cancel = threading.Event()
        seconds = _Seconds(self.progress, experiments)
        waiting = deque(enumerate(experiments))
        running: dict[Future[Trace], int] = {}
        pool = ThreadPoolExecutor(threads or _MOST_CONCURRENT)
        with Caretaker(self._ctl) as caretaker, self._taking_hints(experiments, caretaker):
            try:
                while waiting or running:
                    beside = [experiments[index] for index in running.values()]
                    while waiting and _has_room(beside, waiting[0][1], threads):
                        index, experiment = waiting.popleft()
                        beside.append(experiment)
                        future = pool.submit(
                            self._run, experiment, cancel, caretaker, seconds.of(index)
                        )
                        running[future] = index
                    # a timeout lets Ctrl-C in
                    done, _ = wait(running, timeout=0.5, return_when=FIRST_COMPLETED)
                    seconds.tell(len(running))
                    for future in done:
                        index = running.pop(future)
                        # here, so that no run in real time waits for the processor
                        finished(index, work(index, future.result()))
            finally:
                cancel.set()
                pool.shutdown(wait=True, cancel_futures=True)

    def key(self, experiment: Experiment) -> str:
        """A hash of headwayctl, the kernel, the code that makes a trace, and the experiment."""
        made_by = f"{self._ctl.digest} {platform.version()} {trace_code()} {self._builtin} "
        return hashlib.sha256((made_by + experiment.model_dump_json()).encode()).hexdigest()

    def _run(
        self,
        experiment: Experiment,
        cancel: threading.Event,
        caretaker: Caretaker,
        elapsed: Callable[[float], None],
    ) -> Trace:
        name = f"hw{os.getpid():x}n{next(_runs):x}"
        with run_folder() as folder, contextlib.ExitStack() as up:
            with _setting_up:
                if cancel.is_set():
                    raise KeyboardInterrupt
                controls = self._attach(experiment, name, caretaker, up)
                testbed = Testbed(self._ctl, experiment, name, folder)
                caretaker.mind("testbed", name)
                up.enter_context(testbed)
                if any(map(says_something, experiment.flows)):
                    attach_where_missing(self._ctl, caretaker)
                run = Run(self._ctl, testbed, experiment, controls, folder)
                up.callback(run.kill)
                run.start()
            for left_s in _seconds(run.end_ns, cancel):
                run.check()
                elapsed(experiment.duration / 1e9 - left_s)
            run.finish()
            # the log is whole only after the emulator ended
            testbed.down()
            return run.trace(self.key(experiment), builtin=self._builtin)

    def _taking_hints(
        self, experiments: Sequence[Experiment], caretaker: Caretaker
    ) -> contextlib.AbstractContextManager[None]:
        """Lets applications say something, where one does."""
        if any(says_something(flow) for each in experiments for flow in each.flows):
            return taking_hints(self._ctl, caretaker)
        return contextlib.nullcontext()

    def _attach(
        self,
        experiment: Experiment,
        name: str,
        caretaker: Caretaker,
        up: contextlib.ExitStack,
    ) -> dict[int, str]:
        """The kernel's name of each TCP flow's control; what is new goes when ``up`` ends."""
        names: dict[str, str] = {}
        chosen: dict[int, str] = {}
        for index, flow in enumerate(experiment.flows):
            if flow.control is None:
                continue
            key = flow.control.model_dump_json()
            if key not in names:
                own = flow.control.name if self._builtin else flow.control.kernel_own
                if own is not None:
                    names[key] = own
                else:
                    names[key] = f"{name}_{len(names):x}"[-15:]
                    caretaker.mind("control", names[key])
                    self._attach_one(flow.control, names[key], up)
            chosen[index] = names[key]
        return chosen

    def _attach_one(self, control: Control, name: str, up: contextlib.ExitStack) -> None:
        settings = [
            part for key, value in control.tunables.items() for part in ("--set", f"{key}={value}")
        ]
        up.callback(_quietly, lambda: self._ctl.run("detach", name))
        self._ctl.json("attach", str(control), "--name", name, *settings, "--json")


class _Seconds:
    """How far several runs are, in seconds."""

    def __init__(self, progress: Progress | None, experiments: Sequence[Experiment]) -> None:
        self._progress = progress
        self._lengths_s = [experiment.duration / 1e9 for experiment in experiments]
        self._done_s = [0.0] * len(experiments)

    def of(self, index: int) -> Callable[[float], None]:
        """What a run calls with its seconds so far."""

        def elapsed(seconds: float) -> None:
            self._done_s[index] = min(max(seconds, 0.0), self._lengths_s[index])
            if len(self._done_s) == 1:
                self.tell(1)

        return elapsed

    def tell(self, side_by_side: int) -> None:
        """Tell the progress, with so many runs at a time from now on."""
        if self._progress is None:
            return
        left_s = [
            length_s - done_s + (_SETUP_S if done_s == 0 else 0)
            for length_s, done_s in zip(self._lengths_s, self._done_s, strict=True)
        ]
        longest_s = max(left_s, default=0.0)
        at_a_time_s = sum(left_s) / max(side_by_side, 1)
        self._progress(sum(self._done_s), sum(self._lengths_s), max(longest_s, at_a_time_s))


def _quietly(action: Callable[[], object]) -> None:
    # what is being cleaned up may never have been made
    with contextlib.suppress(HeadwayError):
        action()


def _seconds(end_ns: int, cancel: threading.Event) -> Iterator[float]:
    """Seconds that are left, about twice a second until the end."""
    while (left_s := (end_ns - time.monotonic_ns()) / 1e9) > 0:
        yield left_s
        if cancel.wait(min(left_s, 0.5)):
            raise KeyboardInterrupt


def load(experiment: Experiment) -> float:
    """What a run takes of the machine's room, in bit/s.

    It grows faster than the link's rate: what side-by-side runs delay each other by is a larger
    share of a shorter packet. Two links of 10 Mbit/s do not run side by side on two cores, 24 of
    1 Mbit/s do.
    """
    rate = max(link.rate for link in experiment.topology.links()[0])
    return _RUN_BPS + rate * (1 + rate / _FAST_BPS)


def _has_room(beside: Sequence[Experiment], experiment: Experiment, threads: int) -> bool:
    """Whether one more may run beside those that do."""
    if threads or not beside:
        return len(beside) < max(threads, 1)
    room_bps = _ROOM_BPS_PER_CORE * len(os.sched_getaffinity(0))
    return (
        len(beside) < _MOST_CONCURRENT
        and sum(load(each) for each in [*beside, experiment]) <= room_bps
    )


def check(experiment: Experiment) -> None:
    """Raises HeadwayError, naming the field, for what this backend cannot do."""
    if experiment.topology.kind != "dumbbell":
        raise HeadwayError("kernel backend: topology: a chain is not possible, use a dumbbell")
    quick_start.check(experiment, len(sides(experiment)))
    for name, flow in zip(experiment.flow_names(), experiment.flows, strict=True):
        own = flow.control and flow.control.kernel_own
        if own and own not in (there := _kernels_own()):
            raise KernelCannotError(
                f"kernel backend: {name}: this kernel has no control {own!r}; it has "
                f"{', '.join(there)} (`modprobe tcp_{own}` loads one that is a module)"
            )
        if isinstance(flow.app, Sessions):
            raise HeadwayError(
                f"kernel backend: {name}: sessions: a connection for each is not possible, the "
                "traffic programs hold one; use vectors"
            )
        if isinstance(flow.app, Vectors) and len(flow.app.connections or ()) > 1:
            raise HeadwayError(
                f"kernel backend: {name}: connections: one after the other is not possible, the "
                "traffic programs hold one; leave connections out"
            )
        if isinstance(flow.app, Requests):
            raise HeadwayError(
                f"kernel backend: {name}: requests: hosts ask for rates with TCP only"
            )
        for field in ("deadline", "stabilize"):
            if getattr(flow, field):
                raise HeadwayError(f"kernel backend: {name}: {field} is not possible yet")
        if flow.extra_ack:
            raise HeadwayError(
                f"kernel backend: {name}: extra_ack: not possible yet; "
                "`headwayctl host window` does it outside of experiments"
            )
        if isinstance(flow.app, Pingpong) and says_something(flow):
            raise HeadwayError(
                f"kernel backend: {name}: initial_rate and data_volume are for bulk and vectors; "
                "the pingpong program says nothing"
            )
        window = flow.receive_window
        if window is not None and window > _SMALL_WINDOW_BYTES and _linux() < _LARGE_WINDOW_SINCE:
            raise KernelCannotError(
                f"kernel backend: {name}: receive_window: before Linux 6.10 at most "
                f"{_SMALL_WINDOW_BYTES} B are announced from the start, and this is "
                f"{platform.release()}"
            )


def _kernels_own() -> list[str]:
    """The controls that this kernel has loaded, those of headwayctl's runs left out."""
    return [name for name in _AVAILABLE.read_text().split() if not _OF_A_RUN.match(name)]


def _linux() -> tuple[int, int]:
    """The running kernel's version."""
    major, minor = re.match(r"(\d+)\.(\d+)", platform.release()).groups()  # type: ignore[union-attr]
    return int(major), int(minor)
