"""Ctrl-C during a long run: handled once, and never while a result is being saved."""

from __future__ import annotations

import signal
import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from types import FrameType


def interrupted(run: Callable[[], None]) -> bool:
    """Call ``run``. Returns whether Ctrl-C ended ``run``."""
    try:
        run()
    except KeyboardInterrupt:
        return True
    return False


@contextmanager
def delay_interrupts() -> Iterator[None]:
    """Delay Ctrl-C inside the block until its end, so that a result is saved completely.

    Polars also hooks SIGINT, and would raise a second KeyboardInterrupt for one Ctrl-C; the handler
    installed here replaces its hook. In other threads than the main thread this does nothing, since
    only the main thread receives signals.
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
