"""Ctrl-C during a long run, taken once."""

from __future__ import annotations

import time
from collections.abc import Callable

_SETTLE_S = 0.01


def interrupted(run: Callable[[], None]) -> bool:
    """Call ``run``; True if Ctrl-C ended it.

    A library that writes tables may raise a KeyboardInterrupt of its own beside Python's for one
    and the same Ctrl-C: the second one is waited for and taken as well.
    """
    try:
        try:
            run()
        except KeyboardInterrupt:
            time.sleep(_SETTLE_S)
            raise
    except KeyboardInterrupt:
        return True
    return False
