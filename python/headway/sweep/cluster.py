"""The engine for Dask: a running scheduler, or a local cluster.

Every worker must see the results folder by the same name, as on a cluster's shared file system.
Dask gives the tasks of a worker that died to others.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

from headway.errors import HeadwayError
from headway.sweep.plan import Plan, Unit
from headway.sweep.pool import check_outcome, cores
from headway.sweep.work import Outcome, description_of, run_units, task

if TYPE_CHECKING:
    from distributed import Client

RETRIES = 3
_UNITS = 8
"""Units per task. A task that Dask gives up is divided into its units."""


def outcomes(
    sweep: Plan, folder: Path, units: Sequence[Unit], workers: int, address: str | None
) -> Iterator[Outcome]:
    """Run units on Dask; yields their outcomes. Raises HeadwayError."""
    try:
        from distributed import Client
    except ImportError:
        raise HeadwayError(
            "on: dask is not installed; install it with: pip install 'headway[cluster]'"
        ) from None
    try:
        client = (
            Client(address, timeout="10s")
            if address
            else Client(n_workers=workers or cores(), threads_per_worker=1, dashboard_address=None)
        )
    except (OSError, ValueError) as error:
        raise HeadwayError(f"on: dask:{address}: cannot connect: {error}") from None
    with client:
        yield from _gathered(client, sweep, folder.resolve(), units)


def _gathered(
    client: Client, sweep: Plan, folder: Path, units: Sequence[Unit]
) -> Iterator[Outcome]:
    from distributed import as_completed

    description = client.scatter(dict(description_of(sweep)), broadcast=True, hash=False)
    chunks = [units[at : at + _UNITS] for at in range(0, len(units), _UNITS)]
    tasks: dict[Any, Sequence[Unit]] = {}

    def submit(chunk: Sequence[Unit], *, has_died: bool = False) -> Any:
        future = client.submit(
            run_units, description, str(folder),
            [task(sweep, unit, has_died=has_died) for unit in chunk],
            pure=False, retries=RETRIES,
        )  # fmt: skip
        tasks[future] = chunk
        return future

    done = as_completed([submit(chunk) for chunk in chunks])
    for future in done:
        chunk = tasks.pop(future)
        if future.status == "finished":
            for outcome in future.result():
                check_outcome(outcome)
                yield outcome
        elif len(chunk) > 1:
            for unit in chunk:
                done.add(submit([unit]))
        elif _is_of_worker(future):
            done.add(submit(chunk, has_died=True))
        else:
            raise HeadwayError(f"on: dask: row {chunk[0].row}: {future.exception()!r}")


def _is_of_worker(future: Any) -> bool:
    """Whether a task failed because its workers died."""
    from distributed import KilledWorker

    return isinstance(future.exception(), KilledWorker)
