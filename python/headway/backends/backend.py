"""The interface of backends, which run an Experiment and return a Trace."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING, Protocol, TypeVar

from headway.errors import HeadwayError

if TYPE_CHECKING:
    from headway.experiment import Experiment
    from headway.trace import Trace

T = TypeVar("T")
Work = Callable[[int, "Trace"], T]
"""Called with (index of the experiment, its trace) in the thread that ran the experiment."""
Finished = Callable[[int, T], None]
"""Called with (index, the work's result) when an experiment finishes, in any order."""
OnFailure = Callable[[int, HeadwayError], None]
"""Called with (index, error) for each experiment that failed, in the calling thread."""


class Backend(Protocol):
    """The interface of every backend."""

    name: str

    def run(self, experiment: Experiment) -> Trace:
        """Run one experiment. Raises HeadwayError if the backend does not support it."""
        ...

    def run_each(
        self,
        experiments: Sequence[Experiment],
        work: Work[T],
        finished: Finished[T],
        threads: int = 0,
        failed: OnFailure | None = None,
    ) -> None:
        """Run several experiments; 0 threads means one per core.

        ``work`` gets each trace in the thread that made the trace, and only the result of ``work``
        is kept, so memory holds at most one trace per thread. ``finished`` is called in the calling
        thread. Without ``failed``, the first HeadwayError of a run or of its work ends all runs.
        With ``failed``, a run with an error calls ``failed`` instead of ``finished``, and the other
        runs continue unless ``failed`` raises. KeyboardInterrupt is passed on to the caller once
        work that has begun is complete; the caller keeps the results already passed to
        ``finished``.
        """
        ...

    def key(self, experiment: Experiment) -> str:
        """A hash of everything that determines a run's result: the program and its input.

        A trace has this hash as ``meta["key"]``. A saved trace with another key comes from a
        different experiment or program.
        """
        ...


def report_result(
    index: int, make: Callable[[], T], finished: Finished[T], failed: OnFailure | None
) -> None:
    """Call ``finished`` with a run's result, or ``failed`` with its error; see ``run_each``."""
    try:
        result = make()
    except HeadwayError as error:
        if failed is None:
            raise
        failed(index, error)
    else:
        finished(index, result)
