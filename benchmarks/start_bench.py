#!/usr/bin/env python3
"""Time the shortest commands, compared with a Python that does nothing, with warm files.

Each command runs once unmeasured, then ten times, alternating with the others and with `python -c
pass`, so that disturbances affect all. Numbers are medians of wall time and of processor time,
which other programs disturb less.
"""

from __future__ import annotations

import argparse
import json
import os
import statistics
import subprocess
import sys
import time
from dataclasses import dataclass

HEADWAY = [sys.executable, "-c", "from headway.cli import main; main()"]
COMMANDS: dict[str, tuple[list[str], float | None]] = {
    "python -c pass": ([sys.executable, "-c", "pass"], None),
    "headway --help": ([*HEADWAY, "--help"], 0.35),
    "headway list": ([*HEADWAY, "list"], 0.35),
    "headway try": ([*HEADWAY, "try"], 0.9),
}
"""The timed commands, and the longest allowed time in seconds."""
RUNS = 10


@dataclass(frozen=True)
class Timed:
    """Times of one run of a command, or the medians over its runs."""

    wall_s: float
    processor_s: float


def timed(command: list[str]) -> Timed:
    """Run a command once and time it. Raises CalledProcessError if it fails."""
    before = os.times()
    start = time.perf_counter()
    subprocess.run(command, check=True, stdout=subprocess.DEVNULL, stdin=subprocess.DEVNULL)
    wall_s = time.perf_counter() - start
    after = os.times()
    used = after.children_user + after.children_system
    return Timed(wall_s, used - before.children_user - before.children_system)


def measure(runs: int) -> dict[str, Timed]:
    """The medians of each command's times."""
    all_runs: dict[str, list[Timed]] = {name: [] for name in COMMANDS}
    for number in range(runs + 1):
        for name, (command, _) in COMMANDS.items():
            one = timed(command)
            if number:  # run 0 is not counted: it only brings files into the cache
                all_runs[name].append(one)
    return {
        name: Timed(
            statistics.median(one.wall_s for one in ones),
            statistics.median(one.processor_s for one in ones),
        )
        for name, ones in all_runs.items()
    }


def main() -> int:
    """Print the table; returns exit status 1 if a target is missed and --check is given."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--runs", type=int, default=RUNS, help="runs of each command [10]")
    parser.add_argument("--json", action="store_true", help="print one object for scripts")
    parser.add_argument("--check", action="store_true", help="exit with 1 if a target is missed")
    arguments = parser.parse_args()
    found = measure(max(arguments.runs, 1))
    nothing = next(iter(found.values()))
    missed = [name for name, (_, most) in COMMANDS.items() if most and found[name].wall_s > most]
    if arguments.json:
        print(
            json.dumps(
                {
                    name: {
                        "wall_s": one.wall_s,
                        "processor_s": one.processor_s,
                        "target_s": COMMANDS[name][1],
                    }
                    for name, one in found.items()
                }
            )
        )
        return int(arguments.check and bool(missed))
    print(f"medians of {max(arguments.runs, 1)} runs with warm files\n")
    print(f"{'':16}{'wall s':>8}{'processor s':>13}{'x pass':>8}{'target s':>10}")
    for name, one in found.items():
        most = COMMANDS[name][1]
        ratio = one.wall_s / nothing.wall_s
        shown = f"{most:10.2f}" if most else f"{'–':>10}"
        print(f"{name:16}{one.wall_s:8.3f}{one.processor_s:13.3f}{ratio:8.1f}{shown}")
    print(f"\nmissed: {', '.join(missed)}" if missed else "\nevery target is met")
    return int(arguments.check and bool(missed))


if __name__ == "__main__":
    sys.exit(main())
