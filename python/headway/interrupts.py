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
def delay_interrupts() -> Iterator[Callable[[], None]]:
    """Delay Ctrl-C inside the block until its end, so that a result is saved completely.

    The block may call the yielded function where it is safe to stop: it raises KeyboardInterrupt if
    Ctrl-C was pressed. A thread that waits for others needs this: without it KeyboardInterrupt may
    come while the thread has taken a lock and not yet entered its ``with`` block. The lock then
    stays locked, and the other threads wait for it for ever.

    Polars also hooks SIGINT, and would raise a second KeyboardInterrupt for one Ctrl-C; the handler
    installed here replaces its hook. In other threads than the main thread this does nothing, since
    only the main thread receives signals.
    """
    if threading.current_thread() is not threading.main_thread():
        yield lambda: None
        return
    received: list[tuple[int, FrameType | None]] = []
    before = signal.signal(signal.SIGINT, lambda number, frame: received.append((number, frame)))

    def raise_delayed() -> None:
        if received and callable(before):
            number, frame = received[0]
            received.clear()
            before(number, frame)

    try:
        yield raise_delayed
    finally:
        signal.signal(signal.SIGINT, before)
        raise_delayed()
