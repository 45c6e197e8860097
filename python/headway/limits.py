"""Checks before a run that its results fit into free memory.

Estimates are lower bounds, so that no run is rejected that would have succeeded. Memory that only
the run shows is limited by the engine.
"""

from __future__ import annotations

from headway.errors import HeadwayError

FLOW_BYTES = 8_000
"""Bytes of memory per flow of a running experiment: its description twice, two sockets, its
digest."""
TRIAL_BYTES = 4_000
"""Bytes of memory per trial: its experiment, its Python future, and its digest without the
flows."""
TRIAL_FLOW_BYTES = 1_000
"""Bytes of memory per flow in the digest of a trial."""
READING_BYTES = 52
"""Bytes of the engine's memory for one flow's counters at one checkpoint."""


def check_room(what: str, needed_bytes: int) -> None:
    """Raise HeadwayError, beginning with ``what``, if this much memory is not free."""
    from headway import _engine

    free_bytes = _engine.free_bytes()
    if needed_bytes > free_bytes:
        raise HeadwayError(
            f"{what} would need at least {_size(needed_bytes)} of memory; "
            f"{_size(free_bytes)} are free"
        )


def _size(amount_bytes: int) -> str:
    return f"{amount_bytes / 1e9:,.1f} GB"
