"""Saving files so that a reader never sees half of one, and a full disk is one clear line."""

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
    """What a failed save says to a person."""
    if isinstance(error, RuntimeError):
        return HeadwayError(f"{path}: cannot save: {error}")
    if error.errno in _NO_ROOM:
        return HeadwayError(f"{path}: disk full while saving; nothing of it was kept")
    return HeadwayError(f"{path}: cannot save: {error.strerror or error}")


def save_bytes(path: Path, data: bytes) -> None:
    """Write ``data`` to ``path``, whole or not at all; see ``save_parts``."""
    save_parts(path, [data])


def save_parts(path: Path, parts: Iterable[bytes]) -> None:
    """Write all parts to ``path``, whole or not at all.

    A link is followed: what it names is replaced, and the link stays. What is no regular file (a
    device, a FIFO, an open descriptor) is written into. Raises HeadwayError for any OSError; then
    nothing is left behind.
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
    except (OSError, RuntimeError) as error:  # a loop of links is a RuntimeError
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
    """Write ``text`` as UTF-8 to ``path``, whole or not at all; see ``save_bytes``."""
    save_bytes(path, text.encode())


@contextmanager
def saving_dir(path: Path, is_ours: Callable[[str], bool]) -> Iterator[Path]:
    """Give a temporary folder beside ``path``; it takes its place when the block succeeds.

    A folder that exists is replaced if ``is_ours`` says so of all the names in it. Raises
    HeadwayError if it does not, and for any OSError inside; then nothing is left behind.
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
    """Raises HeadwayError if a folder that would be replaced has what somebody else put there."""
    if not folder.is_dir():
        return
    if folder.samefile(Path.cwd()):
        raise HeadwayError(f"{folder}: cannot save: it is the current folder")
    others = sorted(entry.name for entry in folder.iterdir() if not is_ours(entry.name))
    if others:
        raise HeadwayError(
            f"{folder}: cannot save: a folder with other files ({others[0]}) is there, and stays"
        )


def _is_written_into(path: Path) -> bool:
    """Whether it exists and is no file that another could take the place of."""
    try:
        mode = path.stat().st_mode
    except OSError:
        return False
    if stat.S_ISDIR(mode):
        raise IsADirectoryError(errno.EISDIR, "it is a folder")
    return not stat.S_ISREG(mode) or path.is_relative_to("/proc") or path.parent == _DESCRIPTORS
