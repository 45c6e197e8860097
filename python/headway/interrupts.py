"""Ctrl-C during a long run: taken once, and never in the middle of keeping a result."""

from __future__ import annotations

import signal
import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from types import FrameType


def interrupted(run: Callable[[], None]) -> bool:
    """Call ``run``; True if Ctrl-C ended it."""
    try:
        run()
    except KeyboardInterrupt:
        return True
    return False


@contextmanager
def held() -> Iterator[None]:
    """Ctrl-C inside waits until the end of the block, and is raised there.

    What keeps a result must not be left half done. Polars hooks SIGINT too and would raise a
    KeyboardInterrupt of its own beside Python's for one Ctrl-C; installing a handler here takes its
    hook out. Outside the main thread, which alone receives signals, the block just runs.
    """
    if threading.current_thread() is not threading.main_thread():
        yield
        return
    received: list[tuple[int, FrameType | None]] = []
    before = signal.signal(signal.SIGINT, lambda number, frame: received.append((number, frame)))
    try:
        yield
    finally:
        signal.signal(signal.SIGINT, before)
        if received and callable(before):
            before(*received[0])
