"""Hints while experiments run: attached by the first that needs them, detached by the last.

Several processes may run experiments at once, and hints are the machine's. Each holds a lock that
is shared; who gets it alone is the only one. The lock's file says whether a backend attached them:
those of somebody else stay. headwayctl's caretaker keeps to the same lock.

The file is in /run, where nobody but root can make one, and root's alone: who may open it could
hold it, and with it every run, for ever.
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
from headway.backends.kernel.headwayctl import Caretaker, Headwayctl
from headway.errors import HeadwayError

_OURS = b"attached by the kernel backend\n"
_SILENCE_S = 1.0
"""Others take less; who waits longer is told for whom."""
_PAUSE_S = 0.02


def lock_file() -> Path:
    """The lock of this process's scope (see docs/headwayctl.md). Raises HeadwayError."""
    scope = os.environ.get("HEADWAY_SCOPE", "")
    if scope and not (scope.isascii() and scope.isalnum()):
        raise HeadwayError(f"HEADWAY_SCOPE={scope!r}: must be letters and digits")
    return Path(f"/run/headway.hints{scope and '-'}{scope}")


@contextlib.contextmanager
def taking_hints(ctl: Headwayctl, caretaker: Caretaker) -> Iterator[None]:
    """Socket options are taken as long as the context lasts. Raises HeadwayError."""
    path = lock_file()
    lock = _shared(path)
    try:
        attach_where_missing(ctl, caretaker)
        _wait_for(lock, fcntl.LOCK_SH, path)
        try:
            yield
        finally:
            if _try(lock, fcntl.LOCK_EX):
                is_ours = os.pread(lock, len(_OURS), 0) == _OURS
                os.truncate(lock, 0)
                if is_ours:
                    with contextlib.suppress(HeadwayError):  # somebody took them away
                        ctl.run("hints", "detach", "--keep-defaults")
                with contextlib.suppress(OSError):
                    path.unlink()
    finally:
        os.close(lock)


def attach_where_missing(ctl: Headwayctl, caretaker: Caretaker) -> None:
    """Before every run: somebody may have taken them away meanwhile. Raises HeadwayError."""
    with socket.socket() as probe:
        # hints of some cgroup are not ours
        taken = sockets.hint(probe, data_volume_bytes=1)
    if not taken:
        caretaker.mind("hints")
        note = _open(lock_file())
        try:
            os.pwrite(note, _OURS, 0)
        finally:
            os.close(note)
        ctl.run("hints", "attach")


def _shared(path: Path) -> int:
    """The lock's descriptor, held: alone by the first, who may attach, else with the others."""
    while True:
        lock = _open(path)
        try:
            if _try(lock, fcntl.LOCK_EX):
                os.truncate(lock, 0)  # of one that was killed
            else:
                _wait_for(lock, fcntl.LOCK_SH, path)
            # who had it may have removed the file: then it locks nothing any more
            with contextlib.suppress(FileNotFoundError):
                if os.path.samestat(os.fstat(lock), path.lstat()):
                    return lock
        except BaseException:
            os.close(lock)
            raise
        os.close(lock)


def _open(path: Path) -> int:
    """For root alone, and never through a link. Raises HeadwayError."""
    try:
        lock = os.open(path, os.O_RDWR | os.O_CREAT | os.O_NOFOLLOW | os.O_CLOEXEC, 0o600)
    except OSError as error:
        raise HeadwayError(f"{path}: cannot lock: {error.strerror}") from None
    found = os.fstat(lock)
    if not stat.S_ISREG(found.st_mode) or found.st_uid != os.geteuid():
        os.close(lock)
        raise HeadwayError(f"{path}: cannot lock: it is not a file of ours")
    os.fchmod(lock, 0o600)
    return lock


def _try(lock: int, kind: int) -> bool:
    try:
        fcntl.flock(lock, kind | fcntl.LOCK_NB)
    except BlockingIOError:
        return False
    return True


def _wait_for(lock: int, kind: int, path: Path) -> None:
    """Hold it; from a second on say who keeps it."""
    told_at = time.monotonic() + _SILENCE_S
    while not _try(lock, kind):
        if time.monotonic() >= told_at:
            told_at = float("inf")
            print(f"headway: waiting for {path}, held by {_holders(lock)}", file=sys.stderr)
        time.sleep(_PAUSE_S)


def _holders(lock: int) -> str:
    """Who holds it, as "process 17 (headwayctl)"."""
    inode = os.fstat(lock).st_ino
    found = []
    for line in Path("/proc/locks").read_text(encoding="ascii").splitlines():
        words = line.split()
        # "1: FLOCK  ADVISORY  WRITE 17 00:1a:123 0 EOF"; what waits has "->" after the number
        if len(words) < 6 or words[1] != "FLOCK" or not words[5].endswith(f":{inode}"):
            continue
        pid = words[4]
        if pid == str(os.getpid()):
            continue
        with contextlib.suppress(OSError):
            name = Path(f"/proc/{pid}/comm").read_text(encoding="utf-8", errors="replace").strip()
            found.append(f"process {pid} ({name})")
    return ", ".join(found) or "a process that cannot be seen from here"
