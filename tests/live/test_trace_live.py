"""Saves a trace on a full tmpfs.

Needs root to mount the tmpfs, and measures no time.
"""

import os
import shutil
import subprocess
from pathlib import Path

import pytest
from support import trace

from headway.errors import HeadwayError
from headway.trace import load_trace, save_trace


def test_a_disk_that_is_really_full(tmp_path: Path) -> None:
    disk = tmp_path / "disk"
    disk.mkdir()
    mount = shutil.which("mount")
    if os.geteuid() != 0 or mount is None:
        pytest.skip("mounting a small file system needs root")
    mounted = subprocess.run(
        [mount, "-t", "tmpfs", "-o", "size=128k", "tmpfs", disk], capture_output=True, check=False
    )
    if mounted.returncode:
        pytest.skip(f"no tmpfs here: {mounted.stderr.decode().strip()}")
    try:
        save_trace(trace(), disk / "earlier")
        with pytest.raises(HeadwayError, match="disk full while saving"):
            save_trace(trace(capture=os.urandom(150_000)), disk / "later")
        assert [path.name for path in disk.iterdir()] == ["earlier"]
        load_trace(disk / "earlier")
    finally:
        subprocess.run(["umount", disk], check=True)
