#!/usr/bin/env python3
"""Copies a headwayctl and writes the commit into the copy: stamp.py PROGRAM COPY.

The commit is not compiled in, so a new commit does not relink the program
(crates/kernel/src/cli/version.rs).
"""

from __future__ import annotations

import os
import shutil
import sys
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parent.parent / "python"))

from headway.commit import STAMP, commit


def main(program: Path, copy: Path) -> None:
    """Writes the copy. Replaces an existing file atomically."""
    found = (commit() or "").encode("ascii")
    stamped, times = STAMP.subn(lambda old: found.ljust(len(old[0]), b"\0"), program.read_bytes())
    if times != 1:
        sys.exit(f"stamp.py: {program} has {times} places for the commit; allowed: 1")
    made = copy.with_name(f".{copy.name}.{os.getpid()}")
    made.write_bytes(stamped)
    shutil.copymode(program, made)
    made.replace(copy)


if __name__ == "__main__":
    main(*map(Path, sys.argv[1:]))
