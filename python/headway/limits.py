"""What is asked for is held against the memory that is free before it is begun.

Estimates are of the least that is surely needed, so that nothing is refused that would have gone
well; what can only be known while it runs, the engine bounds then.
"""

from __future__ import annotations

from headway.errors import HeadwayError

FLOW_BYTES = 8_000
"""A flow of an experiment that runs: its description twice, two sockets, its digest."""
TRIAL_BYTES = 4_000
"""A trial: its experiment, its future, its digest without flows."""
TRIAL_FLOW_BYTES = 1_000
"""A flow in a trial's digest."""
READING_BYTES = 52
"""A flow's counters at one checkpoint, in the engine."""


def check_room(what: str, needed_bytes: int) -> None:
    """Raises HeadwayError, in one line that begins with ``what``, if so much is not free."""
    from headway import _engine

    free_bytes = _engine.free_bytes()
    if needed_bytes > free_bytes:
        raise HeadwayError(
            f"{what} would need {_size(needed_bytes)} of memory at least; "
            f"{_size(free_bytes)} are free"
        )


def _size(amount_bytes: int) -> str:
    return f"{amount_bytes / 1e9:,.1f} GB"
