"""Hints while experiments run: the first process that needs them attaches them, the last detaches.

Hints are socket options that tell TCP what an application will send. Several processes may run
experiments at once, but a machine has only one set of hints. Each process holds a shared lock on a
file; a process that gets the lock exclusively is the only one that uses hints. The lock file
records whether a backend attached the hints, so that hints attached by a user stay. headwayctl's
watchdog uses the same lock.

The file is in /run, where only root can create files, and only root can open it. Any process that
can open it could hold the lock, and block all runs.
"""

from __future__ import annotations

import contextlib
import fcntl
import os
import socket
import stat
import sys
import time
from collections.abc import Iterator
from pathlib import Path

from headway import sockets
from headway.backends.kernel.headwayctl import Headwayctl, Watchdog
from headway.errors import HeadwayError

_ATTACHED_HERE = b"attached by the kernel backend\n"
_NOTICE_AFTER_S = 1.0
"""After waiting this long for the lock, a process prints which process holds it."""
_PAUSE_S = 0.02


def lock_file() -> Path:
    """The lock file of this process's scope (see docs/headwayctl.md). Raises HeadwayError."""
    scope = os.environ.get("HEADWAY_SCOPE", "")
    if scope and not (scope.isascii() and scope.isalnum()):
        raise HeadwayError(f"HEADWAY_SCOPE={scope!r}: must be letters and digits")
    return Path(f"/run/headway.hints{scope and '-'}{scope}")


@contextlib.contextmanager
def hints_attached(ctl: Headwayctl, watchdog: Watchdog) -> Iterator[None]:
    """Let the kernel accept the socket options of include/headway.h inside the context.

    Raises HeadwayError.
    """
    path = lock_file()
    lock = _open_and_lock(path)
    try:
        attach_if_missing(ctl, watchdog)
        _wait_for_lock(lock, fcntl.LOCK_SH, path)
        try:
            yield
        finally:
            if _try_lock(lock, fcntl.LOCK_EX):
                attached_here = os.pread(lock, len(_ATTACHED_HERE), 0) == _ATTACHED_HERE
                os.truncate(lock, 0)
                if attached_here:
                    # another process may have detached the hints
                    with contextlib.suppress(HeadwayError):
                        ctl.run("hints", "detach", "--keep-defaults")
                with contextlib.suppress(OSError):
                    path.unlink()
    finally:
        os.close(lock)


def attach_if_missing(ctl: Headwayctl, watchdog: Watchdog) -> None:
    """Attach hints if they are missing, before every run. Raises HeadwayError.

    Another process may have detached them since the last run.
    """
    with socket.socket() as probe:
        # setting a hint on a socket fails if no hints are attached in this process's cgroup
        accepted = sockets.hint(probe, data_volume_bytes=1)
    if not accepted:
        watchdog.register("hints")
        note = _open_file(lock_file())
        try:
            os.pwrite(note, _ATTACHED_HERE, 0)
        finally:
            os.close(note)
        ctl.run("hints", "attach")


def _open_and_lock(path: Path) -> int:
    """Take the lock, and return its descriptor.

    The first process holds it exclusively, so that it may attach; later ones share it.
    """
    while True:
        lock = _open_file(path)
        try:
            if _try_lock(lock, fcntl.LOCK_EX):
                os.truncate(lock, 0)  # drop the note of an earlier process that was killed
            else:
                _wait_for_lock(lock, fcntl.LOCK_SH, path)
            # the previous holder may have removed the file; a lock on a removed file would have no
            # effect
            with contextlib.suppress(FileNotFoundError):
                if os.path.samestat(os.fstat(lock), path.lstat()):
                    return lock
        except BaseException:
            os.close(lock)
            raise
        os.close(lock)


def _open_file(path: Path) -> int:
    """Open the lock file, never through a link, accessible only to root. Raises HeadwayError."""
    try:
        lock = os.open(path, os.O_RDWR | os.O_CREAT | os.O_NOFOLLOW | os.O_CLOEXEC, 0o600)
    except OSError as error:
        raise HeadwayError(f"{path}: cannot lock: {error.strerror}") from None
    found = os.fstat(lock)
    if not stat.S_ISREG(found.st_mode) or found.st_uid != os.geteuid():
        os.close(lock)
        raise HeadwayError(f"{path}: cannot lock: it is not a regular file of this user")
    os.fchmod(lock, 0o600)
    return lock


def _try_lock(lock: int, kind: int) -> bool:
    try:
        fcntl.flock(lock, kind | fcntl.LOCK_NB)
    except BlockingIOError:
        return False
    return True


def _wait_for_lock(lock: int, kind: int, path: Path) -> None:
    """Wait for the lock; after a second print which process holds it."""
    notice_at_s = time.monotonic() + _NOTICE_AFTER_S
    while not _try_lock(lock, kind):
        if time.monotonic() >= notice_at_s:
            notice_at_s = float("inf")
            print(f"headway: waiting for {path}, held by {_holders(lock)}", file=sys.stderr)
        time.sleep(_PAUSE_S)


def _holders(lock: int) -> str:
    """The processes that hold the lock, as "process 17 (headwayctl)"."""
    inode = os.fstat(lock).st_ino
    found = []
    for line in Path("/proc/locks").read_text(encoding="ascii").splitlines():
        words = line.split()
        # a line is "1: FLOCK  ADVISORY  WRITE 17 00:1a:123 0 EOF" for a process that holds the
        # lock,
        # and has "->" after "1:" for a process that waits for it
        if len(words) < 6 or words[1] != "FLOCK" or not words[5].endswith(f":{inode}"):
            continue
        pid = words[4]
        if pid == str(os.getpid()):
            continue
        with contextlib.suppress(OSError):
            name = Path(f"/proc/{pid}/comm").read_text(encoding="utf-8", errors="replace").strip()
            found.append(f"process {pid} ({name})")
    return ", ".join(found) or "a process that cannot be seen from here"
