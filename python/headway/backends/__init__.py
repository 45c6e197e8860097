"""Backends, which run an Experiment and return a Trace."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING

from headway.backends.backend import Backend
from headway.errors import HeadwayError

if TYPE_CHECKING:
    from headway.experiment import Experiment
    from headway.trace import Trace

__all__ = ["BACKENDS", "Backend", "Recorded", "backend_named", "keep_trace", "run", "run_many"]


def _sim() -> Backend:
    from headway.backends.sim import SimBackend

    return SimBackend()


def _kernel() -> Backend:
    from headway.backends.kernel import KernelBackend

    return KernelBackend()


BACKENDS: dict[str, Callable[[], Backend]] = {"sim": _sim, "kernel": _kernel}
"""Constructors of backends by name; a backend's modules are imported when it is constructed."""


def backend_named(name: str) -> Backend:
    """The backend called ``name``. Raises HeadwayError for an unknown name."""
    if name not in BACKENDS:
        raise HeadwayError(f"backend: unknown {name!r}; allowed: {', '.join(BACKENDS)}")
    return BACKENDS[name]()


class Recorded:
    """A stand-in for a backend in code that only reads saved traces. It runs no experiments."""

    def __init__(self, name: str) -> None:
        self.name = name

    def run(self, *_: object, **__: object) -> Trace:
        """Raises HeadwayError."""
        raise HeadwayError(f"backend {self.name}: only recorded traces are used here")

    def run_each(self, *_: object, **__: object) -> None:
        """Raises HeadwayError."""
        self.run()

    def key(self, _experiment: Experiment) -> str:
        """The empty key, which no saved trace has."""
        return ""


def keep_trace(_index: int, trace: Trace) -> Trace:
    """Return the trace unchanged: the ``work`` of Backend.run_each for callers that want traces."""
    return trace


def run(experiment: Experiment, backend: str = "sim") -> Trace:
    """Run one experiment and return its trace.

    ``backend`` is "sim", in virtual time, or "kernel", this machine's Linux in real time, which
    needs root and headwayctl. Raises HeadwayError for an unknown backend and for an experiment that
    it does not support; KernelCannotError if the kernel lacks a feature or a privilege is missing.
    """
    return backend_named(backend).run(experiment)


def run_many(
    experiments: Sequence[Experiment], threads: int = 0, backend: str = "sim"
) -> list[Trace]:
    """Run several experiments in parallel; returns their traces in the given order.

    ``threads`` 0 means one per core; the kernel runs as many as the machine has room for. All
    traces are in memory at once; for many or long runs see ``headway.sweep``. Raises HeadwayError
    as ``run`` does; no trace is kept then.
    """
    traces: dict[int, Trace] = {}
    backend_named(backend).run_each(experiments, keep_trace, traces.__setitem__, threads)
    return [traces[index] for index in range(len(experiments))]
