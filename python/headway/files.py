"""Atomic saving of files, with a clear one-line error for a full disk."""

from __future__ import annotations

import errno
import os
import shutil
import stat
import tempfile
from collections.abc import Callable, Iterable, Iterator
from contextlib import contextmanager
from pathlib import Path

from headway.errors import HeadwayError

_NO_ROOM = {errno.ENOSPC, errno.EDQUOT, errno.EFBIG}
_DESCRIPTORS = Path("/dev/fd")


def save_error(path: Path, error: OSError | RuntimeError) -> HeadwayError:
    """The error for a failed save."""
    if isinstance(error, RuntimeError):
        return HeadwayError(f"{path}: cannot save: {error}")
    if error.errno in _NO_ROOM:
        return HeadwayError(f"{path}: disk full while saving; no part of it was kept")
    return HeadwayError(f"{path}: cannot save: {error.strerror or error}")


def save_bytes(path: Path, data: bytes) -> None:
    """Write ``data`` to ``path``, completely or not at all; see ``save_parts``."""
    save_parts(path, [data])


def save_parts(path: Path, parts: Iterable[bytes]) -> None:
    """Write all parts to ``path``, completely or not at all.

    A symbolic link is followed: its target is replaced, and the link stays. Devices, FIFOs and
    open descriptors are written into. Raises HeadwayError for any OSError, and then leaves no
    partial file.
    """
    try:
        if _is_written_into(path):
            with path.open("wb") as stream:
                stream.writelines(parts)
            return
        target = path.resolve() if path.is_symlink() else path
        target.parent.mkdir(parents=True, exist_ok=True)
        handle, name = tempfile.mkstemp(prefix=f".{target.name}.", dir=target.parent)
        os.close(handle)
    except (OSError, RuntimeError) as error:  # a loop of symbolic links raises RuntimeError
        raise save_error(path, error) from None
    temporary = Path(name)
    try:
        with temporary.open("wb") as stream:
            stream.writelines(parts)
        temporary.chmod(0o644)
        temporary.replace(target)
    except OSError as error:
        raise save_error(path, error) from None
    finally:
        temporary.unlink(missing_ok=True)


def save_text(path: Path, text: str) -> None:
    """Write ``text`` as UTF-8 to ``path``, completely or not at all; see ``save_parts``."""
    save_bytes(path, text.encode())


@contextmanager
def saving_dir(path: Path, is_ours: Callable[[str], bool]) -> Iterator[Path]:
    """Yield a temporary folder next to ``path`` that replaces ``path`` when the block succeeds.

    An existing folder is replaced only if ``is_ours`` is true for all names in it. Raises
    HeadwayError if the folder has other names, and for any OSError in the block; then the temporary
    folder is removed.
    """
    try:
        target = path.resolve() if path.is_symlink() else path
        _refuse_others(target, is_ours)
        target.parent.mkdir(parents=True, exist_ok=True)
        temporary = Path(tempfile.mkdtemp(prefix=f".{target.name}.", dir=target.parent))
    except (OSError, RuntimeError) as error:
        raise save_error(path, error) from None
    try:
        yield temporary
        temporary.chmod(0o755)
        _refuse_others(target, is_ours)
        if target.exists():
            shutil.rmtree(target)
        temporary.replace(target)
    except OSError as error:
        raise save_error(path, error) from None
    finally:
        shutil.rmtree(temporary, ignore_errors=True)


def _refuse_others(folder: Path, is_ours: Callable[[str], bool]) -> None:
    """Raise HeadwayError if the folder to be replaced contains files that Headway did not write."""
    if not folder.is_dir():
        return
    if folder.samefile(Path.cwd()):
        raise HeadwayError(f"{folder}: cannot save: it is the current folder")
    others = sorted(entry.name for entry in folder.iterdir() if not is_ours(entry.name))
    if others:
        raise HeadwayError(
            f"{folder}: cannot save: the folder exists and has other files ({others[0]})"
        )


def _is_written_into(path: Path) -> bool:
    """Whether the path is a device, FIFO or the like, which a rename must not replace."""
    try:
        mode = path.stat().st_mode
    except OSError:
        return False
    if stat.S_ISDIR(mode):
        raise IsADirectoryError(errno.EISDIR, "it is a folder")
    return not stat.S_ISREG(mode) or path.is_relative_to("/proc") or path.parent == _DESCRIPTORS
