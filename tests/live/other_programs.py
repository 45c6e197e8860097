"""Run other programs, such as tshark, to read the captures that Headway writes."""

from __future__ import annotations

import shutil
import subprocess
from collections.abc import Sequence
from pathlib import Path

import pytest

from headway import Trace


def program(name: str, package: str) -> str:
    """A program's path; skips the test if the program is not installed."""
    path = shutil.which(name)
    if path is None:
        pytest.skip(f"needs {name}: apt-get install {package}")
    return path


def output_of(*command: str | Path) -> str:
    return subprocess.run(command, capture_output=True, text=True, check=True).stdout


def tshark_rows(
    trace: Trace, folder: Path, fields: Sequence[str], *, checked: bool = True
) -> list[dict[str, str]]:
    """tshark's output, one entry per packet.

    tshark does not check checksums, because hosts with offloads send incomplete ones.
    """
    tshark = program("tshark", "tshark")
    assert trace.capture is not None
    file = folder / "captured.pcapng"
    file.write_bytes(trace.capture)
    command = [tshark, "-n", "-r", str(file), "-T", "fields", "-E", "separator=|"]
    for protocol in ("ip", "tcp"):
        command += ["-o", f"{protocol}.check_checksum:TRUE"]
    for field in fields:
        command += ["-e", field]
    found = [
        dict(zip(fields, line.split("|"), strict=True)) for line in output_of(*command).splitlines()
    ]
    assert len(found) > 100
    for row in found:
        assert row["_ws.malformed"] == ""
        if checked:
            assert (row["ip.checksum.status"], row["tcp.checksum.status"]) == ("1", "1")
    return found
