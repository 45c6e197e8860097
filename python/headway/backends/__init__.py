"""Where experiments run. A backend takes an Experiment and returns a Trace; nothing else."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING, Protocol, TypeVar

from headway.errors import HeadwayError

if TYPE_CHECKING:
    from headway.experiment import Experiment
    from headway.trace import Trace

T = TypeVar("T")
Work = Callable[[int, "Trace"], T]
"""Called with (index of the experiment, its trace) where the experiment ran, in any thread."""
Finished = Callable[[int, T], None]
"""Called with (index of the experiment, what the work made of it) as each one finishes, in any
order."""
OnFailure = Callable[[int, HeadwayError], None]
"""Called with (index of the experiment, the error) for each that failed, in the calling thread."""


class Backend(Protocol):
    """What every backend can do."""

    name: str

    def run(self, experiment: Experiment) -> Trace:
        """Run one experiment. Raises HeadwayError for what the backend cannot do."""
        ...

    def run_each(
        self,
        experiments: Sequence[Experiment],
        work: Work[T],
        finished: Finished[T],
        threads: int = 0,
        failed: OnFailure | None = None,
    ) -> None:
        """Run several; 0 threads means one per core.

        ``work`` gets each trace where it ran, and what it returns is all that is kept: no more
        traces are in memory than threads. ``finished`` is called in the calling thread.
        The first HeadwayError of a run or its work ends them all, but with ``failed``: it is called
        instead of ``finished``, and the others go on unless it raises.
        KeyboardInterrupt passes through; experiments already handed to ``finished`` are the
        caller's, and work that has begun is done to its end.
        """
        ...

    def key(self, experiment: Experiment) -> str:
        """What decides a run's outcome, as a hash: the program that runs it and all it is told.

        A trace has it as ``meta["key"]``; one with another key is not of this run.
        """
        ...


def settle(
    index: int, make: Callable[[], T], finished: Finished[T], failed: OnFailure | None
) -> None:
    """Hand over what a run has come to, or that it failed, as ``run_each`` promises."""
    try:
        result = make()
    except HeadwayError as error:
        if failed is None:
            raise
        failed(index, error)
    else:
        finished(index, result)


def _sim() -> Backend:
    from headway.backends.sim import SimBackend

    return SimBackend()


def _kernel() -> Backend:
    from headway.backends.kernel import KernelBackend

    return KernelBackend()


BACKENDS: dict[str, Callable[[], Backend]] = {"sim": _sim, "kernel": _kernel}
"""Backends by name, made when asked for, so that a missing one costs nothing."""


def backend_named(name: str) -> Backend:
    """The backend called ``name``; raises HeadwayError with the allowed names."""
    if name not in BACKENDS:
        raise HeadwayError(f"backend: unknown {name!r}; allowed: {', '.join(BACKENDS)}")
    return BACKENDS[name]()


class Recorded:
    """Stands for a backend whose traces are there already: it has its name and runs nothing."""

    def __init__(self, name: str) -> None:
        self.name = name

    def run(self, *_: object, **__: object) -> Trace:
        """Raises HeadwayError."""
        raise HeadwayError(f"backend {self.name}: only recorded traces are used here")

    def run_each(self, *_: object, **__: object) -> None:
        """Raises HeadwayError."""
        self.run()

    def key(self, _experiment: Experiment) -> str:
        """Empty, since no run made these traces."""
        return ""


def as_it_is(_index: int, trace: Trace) -> Trace:
    """The work of who wants the traces themselves."""
    return trace


def run(experiment: Experiment, backend: str = "sim") -> Trace:
    """Run one experiment and return its trace.

    ``backend`` is "sim", in virtual time, or "kernel", this machine's Linux in real time: it needs
    root and headwayctl. Raises HeadwayError for a backend that there is not and for what it cannot
    do; where the kernel or a privilege is missing that is a KernelCannotError.
    """
    return backend_named(backend).run(experiment)


def run_many(
    experiments: Sequence[Experiment], threads: int = 0, backend: str = "sim"
) -> list[Trace]:
    """Run several experiments in parallel; traces come back in the order given.

    ``threads`` 0 is one per core; the kernel runs one at a time. All traces are in memory at once:
    for many, or long ones, see ``headway.sweep``. Raises HeadwayError as ``run`` does, and then
    none of the traces is kept.
    """
    traces: dict[int, Trace] = {}
    backend_named(backend).run_each(experiments, as_it_is, traces.__setitem__, threads)
    return [traces[index] for index in range(len(experiments))]
