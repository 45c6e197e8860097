"""The commit that this copy of Headway was built from: git's in a checkout, else a record."""

from __future__ import annotations

import re
import subprocess
from pathlib import Path

RECORD = Path(__file__).with_name("commit.txt")
"""The file that names the commit in wheels and sdists; packaging/backend.py writes it."""
STAMP = re.compile(rb"(?s)(?<=headwayctl commit:).{46}")
"""The place in headwayctl's file where packaging/stamp.py writes the commit, padded with zeros."""


def commit() -> str | None:
    """The commit as ``1a2b3c4d5e, 2026-11-27`` or ``1a2b3c4d5e-dirty, ...``; None if unknown."""
    top = RECORD.parents[2]
    found = of_checkout(top) if (top / ".git").exists() else None
    if found is None and RECORD.is_file():
        found = RECORD.read_text(encoding="ascii").strip()
    return found


def of_checkout(top: Path) -> str | None:
    """The commit that git has checked out in ``top``; ``-dirty`` if tracked files were changed."""
    describe = _git(top, "describe", "--always", "--abbrev=10", "--exclude=*", "--dirty")
    date = _git(top, "log", "-1", "--format=%cs")
    return f"{describe}, {date}" if describe and date else None


def _git(top: Path, *arguments: str) -> str | None:
    try:
        done = subprocess.run(
            ["git", "-C", top, *arguments], capture_output=True, text=True, check=False
        )
    except OSError:  # git is not installed
        return None
    return done.stdout.strip() if done.returncode == 0 else None
