"""Saving files so that a reader never sees half of one, and a full disk is one clear line."""

from __future__ import annotations

import errno
import os
import shutil
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from headway.errors import HeadwayError

_NO_ROOM = {errno.ENOSPC, errno.EDQUOT, errno.EFBIG}


def save_error(path: Path, error: OSError) -> HeadwayError:
    """What a failed save says to a person."""
    if error.errno in _NO_ROOM:
        return HeadwayError(f"{path}: disk full while saving; nothing of it was kept")
    return HeadwayError(f"{path}: cannot save: {error.strerror or error}")


@contextmanager
def saving(path: Path) -> Iterator[Path]:
    """Give a temporary file path beside ``path``; it takes its place when the block succeeds.

    Raises HeadwayError for any OSError inside; then nothing is left behind.
    """
    try:
        path.parent.mkdir(parents=True, exist_ok=True)
        handle, name = tempfile.mkstemp(prefix=f".{path.name}.", dir=path.parent)
        os.close(handle)
    except OSError as error:
        raise save_error(path, error) from None
    temporary = Path(name)
    try:
        yield temporary
        temporary.chmod(0o644)
        temporary.replace(path)
    except OSError as error:
        raise save_error(path, error) from None
    finally:
        temporary.unlink(missing_ok=True)


@contextmanager
def saving_dir(path: Path) -> Iterator[Path]:
    """Like :func:`saving`, for a whole folder; an existing one is replaced."""
    try:
        path.parent.mkdir(parents=True, exist_ok=True)
        temporary = Path(tempfile.mkdtemp(prefix=f".{path.name}.", dir=path.parent))
    except OSError as error:
        raise save_error(path, error) from None
    try:
        yield temporary
        temporary.chmod(0o755)
        if path.exists():
            shutil.rmtree(path)
        temporary.replace(path)
    except OSError as error:
        raise save_error(path, error) from None
    finally:
        shutil.rmtree(temporary, ignore_errors=True)


def save_bytes(path: Path, data: bytes) -> None:
    """Write ``data`` to ``path``, whole or not at all."""
    with saving(path) as temporary:
        temporary.write_bytes(data)


def save_text(path: Path, text: str) -> None:
    """Write ``text`` as UTF-8 to ``path``, whole or not at all."""
    save_bytes(path, text.encode())
