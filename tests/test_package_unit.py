"""The commands of the proxy's systemd unit after its end, without systemd."""

from __future__ import annotations

import re
import shlex
import subprocess
from pathlib import Path

import pytest
from support import ROOT

UNIT = ROOT / "packaging" / "headway-pep.service"


@pytest.mark.parametrize(
    ("options", "left", "stopped"),
    [
        ("--client-dev lan0", "pep", "pep stop pep\n"),
        ("--client-dev lan0 --name sat", "sat", "pep stop sat\n"),
        ("--name=sat --client-dev lan0", "sat", "pep stop sat\n"),
        ("--client-dev lan0 --name sat", "pep", ""),  # another user's
    ],
)
def test_what_a_killed_proxy_left_goes_by_the_name_in_its_options(
    tmp_path: Path, options: str, left: str, stopped: str
) -> None:
    unit = UNIT.read_text(encoding="utf-8").replace("\\\n", " ")
    (line,) = re.findall(r"^ExecStopPost=-\+(.+)$", unit, re.M)
    line = line.replace("/run/headway/pep", str(tmp_path)).replace("/usr/bin/headwayctl", "echo")
    *command, last = shlex.split(line)
    assert last == "$PEP_OPTIONS"
    (tmp_path / f"{left}.sock").touch()
    command = [word.replace("$$", "$") for word in command] + options.split()
    done = subprocess.run(["env", *command], capture_output=True, text=True, check=False)
    assert (done.stdout, done.stderr) == (stopped, "")
