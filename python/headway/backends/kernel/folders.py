"""Temporary folders of runs on the kernel; their names identify the process that uses them.

A run that was killed cannot remove its folder, so the next run removes it. A folder's name contains
the boot ID, the PID namespace, the PID and the start time of its process; together they are unique.
"""

from __future__ import annotations

import contextlib
import os
import re
import shutil
import tempfile
from collections.abc import Iterator
from pathlib import Path

_PREFIX = "headway-run"
_NAME = re.compile(_PREFIX + r"-([0-9a-f]{8})-(\d+)-(\d+)-(\d+)-\w+")
_START_FIELD = 22
"""Field of /proc/PID/stat: clock ticks from the boot to the start of the process."""


@contextlib.contextmanager
def run_folder() -> Iterator[Path]:
    """Yield a temporary folder for a run's files; first removes the folders of killed runs."""
    remove_left_behind()
    prefix = f"{_PREFIX}-{_boot()}-{_pid_namespace()}-{os.getpid()}-{_started(os.getpid())}-"
    with tempfile.TemporaryDirectory(prefix=prefix) as folder:
        yield Path(folder)


def remove_left_behind() -> None:
    """Remove the folders of runs of this user whose processes were killed."""
    with contextlib.suppress(OSError):  # other processes may remove these folders meanwhile
        for entry in list(os.scandir(tempfile.gettempdir())):
            found = _NAME.fullmatch(entry.name)
            if found is None or not entry.is_dir(follow_symlinks=False):
                continue
            is_mine = entry.stat(follow_symlinks=False).st_uid == os.getuid()
            if is_mine and _is_dead(found[1], *map(int, found.groups()[1:])):
                shutil.rmtree(entry.path, ignore_errors=True)


def _is_dead(boot: str, namespace: int, pid: int, started: int) -> bool:
    if boot != _boot():
        return True
    # /proc does not show processes of another PID namespace, so they count as alive
    return namespace == _pid_namespace() and _started(pid) != started


def _boot() -> str:
    return Path("/proc/sys/kernel/random/boot_id").read_text(encoding="ascii")[:8]


def _pid_namespace() -> int:
    return Path("/proc/self/ns/pid").stat().st_ino


def _started(pid: int) -> int | None:
    """When process ``pid`` started; None if the process does not exist or is a zombie."""
    try:
        text = Path(f"/proc/{pid}/stat").read_text(encoding="ascii", errors="replace")
    except OSError:
        return None
    # /proc/PID/stat has the name in parentheses; the name may contain spaces and parentheses
    fields = text.rpartition(")")[2].split()
    return None if fields[0] in "ZX" else int(fields[_START_FIELD - 3])
