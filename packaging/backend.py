"""Maturin as a PEP 517 build backend that records the commit in wheels and sdists.

`python packaging/backend.py DIR` builds both into DIR.
"""

from __future__ import annotations

import os
import subprocess
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import maturin
from maturin import (  # noqa: F401 - hooks that maturin implements as they are
    build_editable,
    get_requires_for_build_editable,
    get_requires_for_build_sdist,
    get_requires_for_build_wheel,
    prepare_metadata_for_build_editable,
    prepare_metadata_for_build_wheel,
)

TOP = Path(__file__).resolve().parent.parent
sys.path.insert(0, str(TOP / "python"))

from headway.commit import RECORD, of_checkout  # noqa: E402


@contextmanager
def _recorded() -> Iterator[None]:
    """Write the file that records the commit, while a checkout is built.

    An unpacked sdist already has this file.
    """
    commit = of_checkout(TOP) if (TOP / ".git").exists() else None
    if commit is None:
        yield
        return
    RECORD.write_text(f"{commit}\n", encoding="ascii")
    try:
        yield
    finally:
        RECORD.unlink(missing_ok=True)


def build_wheel(directory: str, settings: Any = None, metadata: str | None = None) -> str:
    """PEP 517's hook."""
    with _recorded():
        return str(maturin.build_wheel(directory, settings, metadata))


def build_sdist(directory: str, settings: Any = None) -> str:
    """PEP 517's hook."""
    with _recorded():
        return str(maturin.build_sdist(directory, settings))


def _release(directory: str) -> None:
    """Build a wheel and an sdist.

    Maturin gives the wheel the lowest manylinux tag that the wheel's symbols allow.
    """
    environment = {**os.environ, "MATURIN_NO_MISSING_BUILD_BACKEND_WARNING": "1"}
    notices = RECORD.with_name("copyright.txt")
    try:
        with notices.open("w", encoding="utf-8") as file:
            listing = [sys.executable, "packaging/copyright.py", "headway-python"]
            subprocess.run(listing, cwd=TOP, stdout=file, check=True)
        for words in (["sdist"], ["build", "--release", "--locked", "--auditwheel", "check"]):
            command = [sys.executable, "-m", "maturin", *words, "--out", directory]
            with _recorded():
                subprocess.run(command, cwd=TOP, env=environment, check=True)
    finally:
        notices.unlink(missing_ok=True)


if __name__ == "__main__":
    _release(sys.argv[1])
