#!/usr/bin/env python3
"""Time whole `headway try ... --json` processes on one core: packets per second, peak memory.

It measures the wall time of the process from start to end, with imports and output, and counts the
data packets that the flows sent. Each case runs several times, alternating with the others; numbers
are medians.
"""

from __future__ import annotations

import argparse
import json
import os
import statistics
import subprocess
import sys
import time
from dataclasses import asdict, dataclass

MB = 10**6
_TRY = """
import atexit, os, sys
def peak():
    with open("/proc/self/status") as status:
        line = next(line for line in status if line.startswith("VmHWM"))
    print("\\npeak_kib", line.split()[1], file=sys.stderr, flush=True)
atexit.register(peak)
from headway.cli import main
sys.argv[0] = "headway"
main()
"""


@dataclass(frozen=True)
class Case:
    """A case and its targets; a value whose target is None is printed but not judged."""

    name: str
    flows: int
    rate: str
    duration: str
    pkts_per_s: float | None = None
    wall_s: float | None = None
    peak_mb: float | None = None


CASES = [
    Case("300 s", 1, "100Mbit/s", "300s", 2.5e6, None, 150),
    Case("300 s", 10, "100Mbit/s", "300s", 2.5e6, None, 150),
    Case("300 s", 100, "100Mbit/s", "300s", 2.5e6, None, 150),
    Case("one hour", 1, "100Mbit/s", "1h", None, None, 200),
    Case("5 s", 10_000, "10Gbit/s", "5s", None, 12),
    Case("1 s", 100_000, "100Gbit/s", "1s"),
]


@dataclass(frozen=True)
class Measured:
    """The cost of one process, or the medians of several."""

    wall_s: float
    processor_s: float
    """Processor time, which other programs disturb less."""
    pkts_per_s: float
    peak_mb: float


def run(case: Case) -> Measured:
    """Run ``headway try`` once, on the core of this process. Raises RuntimeError if it fails."""
    command = [
        sys.executable, "-c", _TRY, "try", "--json", "--flows", f"{case.flows}xcubic",
        "--rate", case.rate, "--rtt", "50ms", "--buffer", "1BDP", "--duration", case.duration,
    ]  # fmt: skip
    before = os.times()
    start = time.perf_counter()
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    wall_s = time.perf_counter() - start
    after = os.times()
    processor_s = after.children_user + after.children_system
    processor_s -= before.children_user + before.children_system
    if done.returncode:
        raise RuntimeError(f"{case.flows} flows, {case.name}: {done.stderr.strip()}")
    pkts = sum(flow["sent_pkts"] for flow in json.loads(done.stdout)["flows"])
    peak_kib = int(done.stderr.rpartition("peak_kib")[2])
    return Measured(wall_s, processor_s, pkts / wall_s, peak_kib * 1024 / MB)


def median(runs: list[Measured]) -> Measured:
    """The median of each number over the runs."""
    return Measured(
        *(statistics.median(column) for column in zip(*map(_numbers, runs), strict=True))
    )


def _numbers(one: Measured) -> tuple[float, ...]:
    return tuple(asdict(one).values())


def misses(case: Case, found: Measured) -> list[str]:
    """The missed targets as text."""
    missed = []
    if case.pkts_per_s is not None and found.pkts_per_s < case.pkts_per_s:
        missed.append(f"packets per second below {case.pkts_per_s:,.0f}")
    if case.wall_s is not None and found.wall_s > case.wall_s:
        missed.append(f"longer than {case.wall_s:g} s")
    if case.peak_mb is not None and found.peak_mb > case.peak_mb:
        missed.append(f"more than {case.peak_mb:g} MB")
    return missed


def main() -> int:
    """Print the table; returns exit status 1 if a target is missed and --check is given."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--runs", type=int, default=3, help="runs of each case [3]")
    parser.add_argument("--json", action="store_true", help="print one list for scripts")
    parser.add_argument("--check", action="store_true", help="exit with 1 if a target is missed")
    arguments = parser.parse_args()
    os.sched_setaffinity(0, {max(os.sched_getaffinity(0))})
    all_runs: list[list[Measured]] = [[] for _ in CASES]
    for _ in range(max(arguments.runs, 1)):
        for case, runs in zip(CASES, all_runs, strict=True):
            runs.append(run(case))
    found = [median(runs) for runs in all_runs]
    missed = any(misses(case, one) for case, one in zip(CASES, found, strict=True))
    if arguments.json:
        pairs = zip(CASES, found, strict=True)
        print(json.dumps([{"case": asdict(case), **asdict(one)} for case, one in pairs]))
        return int(arguments.check and missed)
    print(f"headway try --json, one core, medians of {max(arguments.runs, 1)}\n")
    print(
        f"{'flows':>8}  {'rate':10}{'length':10}{'wall s':>8}"
        f"{'processor s':>13}{'packets/s':>12}{'peak MB':>9}"
    )
    for case, one in zip(CASES, found, strict=True):
        judged = case.pkts_per_s or case.wall_s or case.peak_mb
        verdict = "; ".join(misses(case, one)) or ("met" if judged else "no target")
        print(
            f"{case.flows:8,}  {case.rate:10}{case.name:10}{one.wall_s:8.2f}"
            f"{one.processor_s:13.2f}{one.pkts_per_s:12,.0f}{one.peak_mb:9.0f}  {verdict}"
        )
    return int(arguments.check and missed)


if __name__ == "__main__":
    sys.exit(main())
