"""Saves files into device nodes, such as a full device.

Needs root, and measures no time.
"""

import os
import stat
from pathlib import Path

import pytest
from support import headway

from headway.errors import HeadwayError
from headway.files import save_bytes

ROOT_ONLY = pytest.mark.skipif(os.geteuid() != 0, reason="device nodes need root")


@ROOT_ONLY
def test_a_device_stays_a_device(tmp_path: Path) -> None:
    null = tmp_path / "null"
    os.mknod(null, stat.S_IFCHR | 0o666, os.makedev(1, 3))
    done = headway("try", "--duration", "1s", "--pcap", str(null), "--json")
    assert done.returncode == 0, done.stderr
    assert stat.S_ISCHR(null.stat().st_mode)
    full = tmp_path / "full"
    os.mknod(full, stat.S_IFCHR | 0o666, os.makedev(1, 7))
    with pytest.raises(HeadwayError, match="disk full while saving"):
        save_bytes(full, b"x")
    assert stat.S_ISCHR(full.stat().st_mode)
