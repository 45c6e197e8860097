#!/usr/bin/env python3
"""Checks the types of the programs that pages show, and exits with 1 if mypy finds an error.

`make lint` runs this command. mypy uses the types of the package and no plugins, as a user's
program does. Three wrong programs show that it finds errors.
"""

from __future__ import annotations

import subprocess
import sys
import tempfile
from pathlib import Path

from shown import ROOT
from test_docs import programs

WRONG = {
    "a control that is a number": "from headway import Flow\nFlow(control=7)\n",
    "an unknown field": "from headway import Flow\nFlow(delai='1 s')\n",
    "a missing field": "from headway import Hop\nHop()\n",
}


def main() -> int:
    """Check all programs with one run of mypy."""
    with tempfile.TemporaryDirectory(prefix="headway-") as folder:
        texts = {f"shown_{number}.py": text for number, text in enumerate(programs())}
        wrong = {f"wrong_{number}.py": text for number, text in enumerate(WRONG.values())}
        for name, text in {**texts, **wrong}.items():
            Path(folder, name).write_text(text, encoding="utf-8")
        done = subprocess.run(
            [
                sys.executable, "-m", "mypy", "--strict", "--config-file=", "--python-executable",
                sys.executable, "--cache-dir", f"{ROOT}/target/mypy", *texts, *wrong,
            ],
            cwd=folder, env={"MYPYPATH": str(ROOT / "python"), "PATH": ""},
            capture_output=True, text=True, check=False,
        )  # fmt: skip
        errors = [line for line in done.stdout.splitlines() if ": error: " in line]
        found = [line for line in errors if line.startswith("shown_")]
        for line in found:
            name = line.partition(":")[0]
            print(line, Path(folder, name).read_text(encoding="utf-8"), sep="\n")
    missed = [why for name, why in zip(wrong, WRONG, strict=True)
              if not any(line.startswith(name) for line in errors)]  # fmt: skip
    for why in missed:
        print(f"mypy does not find {why}: {done.stdout or done.stderr}")
    return 1 if found or missed else 0


if __name__ == "__main__":
    sys.exit(main())
