"""Hints while experiments run: attached by the first that needs them, detached by the last.

Several processes may run experiments at once, and hints are the machine's. Each holds a lock that
is shared; who gets it alone is the only one. The lock's file says whether a backend attached them:
those of somebody else stay. headwayctl's caretaker keeps to the same lock.
"""

from __future__ import annotations

import contextlib
import fcntl
import os
import socket
from collections.abc import Iterator
from pathlib import Path

from headway import sockets
from headway.backends._headwayctl import Caretaker, Headwayctl
from headway.errors import HeadwayError

_OURS = b"attached by the kernel backend\n"


def lock_file() -> Path:
    """The lock of this process's scope (see docs/headwayctl.md)."""
    return Path(f"/run/lock/headway-hints{os.environ.get('HEADWAY_SCOPE', '')}")


@contextlib.contextmanager
def taking_hints(ctl: Headwayctl, caretaker: Caretaker) -> Iterator[None]:
    """Socket options are taken as long as the context lasts. Raises HeadwayError."""
    with lock_file().open("a+b", buffering=0) as lock:
        if _alone(lock.fileno()):
            lock.truncate(0)  # of one that was killed
        else:
            fcntl.flock(lock, fcntl.LOCK_SH)
        attach_where_missing(ctl, caretaker)
        fcntl.flock(lock, fcntl.LOCK_SH)
        try:
            yield
        finally:
            lock.seek(0)
            if _alone(lock.fileno()) and lock.read() == _OURS:
                lock.truncate(0)
                with contextlib.suppress(HeadwayError):  # somebody took them away
                    ctl.run("hints", "detach", "--keep-defaults")


def attach_where_missing(ctl: Headwayctl, caretaker: Caretaker) -> None:
    """Before every run: somebody may have taken them away meanwhile. Raises HeadwayError."""
    with socket.socket() as probe:
        # hints of some cgroup are not ours
        taken = sockets.hint(probe, data_volume_bytes=1)
    if not taken:
        caretaker.mind("hints")
        lock_file().write_bytes(_OURS)
        ctl.run("hints", "attach")


def _alone(lock: int) -> bool:
    """Whether nobody else holds the lock; then it is held alone."""
    try:
        fcntl.flock(lock, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except BlockingIOError:
        return False
    return True
