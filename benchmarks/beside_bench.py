#!/usr/bin/env python3
"""Compare this engine's speed with another commit's, and measure what many flows cost.

Both engines run the dumbbell of run_bench.py on one core, in pairs with alternating order, on both
stacks. The result is the median over the pairs of (time per packet here) / (time per packet there):
disturbances affect both engines, and processor time excludes other programs. Then the benchmark
prints this engine's time per packet and memory with a thousand flows and more.
"""

from __future__ import annotations

import argparse
import json
import os
import shutil
import statistics
import subprocess
import sys
import tempfile
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import asdict, dataclass
from pathlib import Path

from run_bench import (
    ENGINE_NAME,
    MIB,
    ROOT,
    TARGET_SCALING,
    BenchError,
    find_engine,
    flow_counts,
    parse_sample,
    pin,
    run_tool,
)

STACKS = ("linux-6", "linux-2.6")
KEPT = ROOT / "build" / "beside"
TARGET_RATIO = 1.03
"""Largest allowed ratio of this commit's processor time per packet to the other commit's."""


@dataclass(frozen=True)
class Cost:
    """One run: processor time per data packet that crossed the bottleneck, and memory."""

    ns_per_pkt: float
    peak_rss_bytes: float
    processor_s: float


@dataclass(frozen=True)
class Pairs:
    """Pairs of runs of one scenario: medians of both commits' times, and of the ratios.

    Attributes:
        ratio: median of (time per packet of this commit) / (that of the other commit).
        low: the smallest ratio.
        high: the largest ratio.
    """

    stack: str
    flows: int
    here_ns: float
    there_ns: float
    ratio: float
    low: float
    high: float
    reps: int


def run_once(
    engine: Path, flows: int, stack: str, duration_s: float, rate_bps: int | None = None
) -> Cost:
    """Run an engine once and read its processor time.

    Raises:
        BenchError: the engine fails or prints no result.
    """
    command = [str(engine), "--flows", str(flows), "--stack", stack]
    command += ["--duration-s", f"{duration_s:g}", "--json"]
    command += ["--rate-bps", str(rate_bps)] if rate_bps else []
    with tempfile.TemporaryFile("w+") as out, tempfile.TemporaryFile("w+") as told:
        try:
            process = subprocess.Popen(command, stdout=out, stderr=told)
        except OSError as error:
            raise BenchError(f"cannot run {engine.name}: {error}") from error
        _, status, usage = os.wait4(process.pid, 0)
        process.returncode = os.waitstatus_to_exitcode(status)
        out.seek(0)
        told.seek(0)
        if process.returncode:
            reason = (told.read().strip().splitlines() or ["no message"])[-1]
            raise BenchError(f"{engine.name} failed with status {process.returncode}: {reason}")
        sample = parse_sample((out.read().strip().splitlines() or [""])[-1], engine.name)
    processor_s = usage.ru_utime + usage.ru_stime
    return Cost(processor_s * 1e9 / sample.data_pkts, sample.peak_rss_bytes, processor_s)


def in_pairs(
    here: Path, there: Path, flows: Sequence[int], reps: int, duration_s: float
) -> list[Pairs]:
    """Run both engines in turn; each repetition goes once through all scenarios."""
    cases = [(stack, n) for stack in STACKS for n in flows]
    costs: dict[tuple[str, int], list[tuple[float, float]]] = {case: [] for case in cases}
    for rep in range(reps):
        for stack, n in cases:
            order = (here, there) if rep % 2 == 0 else (there, here)
            cost = {engine: run_once(engine, n, stack, duration_s).ns_per_pkt for engine in order}
            costs[stack, n].append((cost[here], cost[there]))
    return [of_pairs(stack, n, costs[stack, n]) for stack, n in cases]


def of_pairs(stack: str, flows: int, costs: Sequence[tuple[float, float]]) -> Pairs:
    """Medians of the times per packet of this commit (here) and the other one (there)."""
    ratios = [here / there for here, there in costs]
    return Pairs(
        stack=stack,
        flows=flows,
        here_ns=statistics.median(here for here, _ in costs),
        there_ns=statistics.median(there for _, there in costs),
        ratio=statistics.median(ratios),
        low=min(ratios),
        high=max(ratios),
        reps=len(costs),
    )


@contextmanager
def checked_out(commit: str) -> Iterator[Path]:
    """The sources of a commit, in a folder that exists during the block."""
    KEPT.mkdir(parents=True, exist_ok=True)
    folder = KEPT / "source"
    discard(folder)
    run_tool(
        ["git", "worktree", "add", "--quiet", "--detach", str(folder), commit],
        f"check {commit} out",
    )
    try:
        yield folder
    finally:
        discard(folder)


def discard(folder: Path) -> None:
    """Remove a worktree, even one that an interrupted run has left."""
    git = ["git", "-C", str(ROOT), "worktree"]
    subprocess.run([*git, "remove", "--force", str(folder)], capture_output=True, check=False)
    shutil.rmtree(folder, ignore_errors=True)
    subprocess.run([*git, "prune"], capture_output=True, check=False)


def engine_of(commit: str) -> tuple[str, Path]:
    """The benchmark program of a commit, built once and kept.

    Returns:
        The commit's whole name and the program.

    Raises:
        BenchError: the commit does not exist or cannot be built.
    """
    asked = subprocess.run(
        ["git", "rev-parse", "--verify", "--quiet", f"{commit}^{{commit}}"],
        cwd=ROOT, capture_output=True, text=True, check=False,
    )  # fmt: skip
    name = asked.stdout.strip()
    if asked.returncode or not name:
        raise BenchError(f"--commit: {commit} is no commit of this repository")
    kept = KEPT / f"{ENGINE_NAME}-{name[:12]}"
    if os.access(kept, os.X_OK):
        return name, kept
    target = KEPT / "target"
    with checked_out(name) as folder:
        command = ["cargo", "build", "--quiet", "--release", "--locked", "-p", "headway-sim"]
        command += ["--bin", ENGINE_NAME, "--manifest-path", str(folder / "Cargo.toml")]
        run_tool([*command, "--target-dir", str(target)], f"build the engine of {name[:12]}")
    shutil.copy2(target / "release" / ENGINE_NAME, kept)
    return name, kept


def arguments(argv: Sequence[str] | None) -> argparse.Namespace:
    """Read the command line."""
    parser = argparse.ArgumentParser(description=(__doc__ or "").split("\n\n")[0])
    other = parser.add_mutually_exclusive_group(required=True)
    other.add_argument(
        "--commit", help="build the other engine from this commit; the build is kept"
    )
    other.add_argument("--other", type=Path, help="the other engine's program")
    parser.add_argument("--engine", type=Path, help="this engine's program (default: build it)")
    parser.add_argument("--flows", type=flow_counts, default=[1, 10, 100], metavar="N,N,...")
    parser.add_argument("--reps", type=int, default=15, help="pairs of each scenario [15]")
    parser.add_argument("--duration-s", type=float, default=60.0, help="simulated time [60]")
    parser.add_argument("--cpu", type=int, help="core to run on (default the last)")
    parser.add_argument(
        "--no-many", action="store_true", help="skip the runs with a thousand flows and more"
    )
    parser.add_argument("--json", action="store_true", help="print one JSON object")
    parser.add_argument("--check", action="store_true", help="status 1 if a target is missed")
    args = parser.parse_args(argv)
    if args.reps < 1:
        parser.error(f"argument --reps: must be at least 1, is {args.reps}")
    if not 0 < args.duration_s < float("inf"):
        parser.error(f"argument --duration-s: must be above 0, is {args.duration_s}")
    return args


@dataclass(frozen=True)
class Many:
    """A scenario of many flows, and how often it runs."""

    flows: int
    rate_bps: int
    duration_s: float
    reps: int


MANY = (
    Many(10, 10**8, 60.0, 9),
    Many(1000, 10**8, 60.0, 9),
    Many(10_000, 10**10, 5.0, 1),
    Many(100_000, 10**11, 1.0, 1),
)
"""With ten thousand flows and more, the link has 1 Mbit/s per flow: the flows could hardly send at
less."""


def many(engine: Path) -> dict[int, Cost]:
    """The engine's cost by number of flows: medians over runs in which the numbers alternate."""
    runs: dict[int, list[Cost]] = {case.flows: [] for case in MANY}
    for rep in range(max(case.reps for case in MANY)):
        for case in (case for case in MANY if rep < case.reps):
            cost = run_once(engine, case.flows, STACKS[0], case.duration_s, case.rate_bps)
            runs[case.flows].append(cost)
    return {n: median(costs) for n, costs in runs.items()}


def median(costs: Sequence[Cost]) -> Cost:
    """The median of each number over the runs."""
    return Cost(
        ns_per_pkt=statistics.median(cost.ns_per_pkt for cost in costs),
        peak_rss_bytes=statistics.median(cost.peak_rss_bytes for cost in costs),
        processor_s=statistics.median(cost.processor_s for cost in costs),
    )


def report(pairs: Sequence[Pairs], costs: dict[int, Cost], there: str) -> tuple[str, bool]:
    """The tables as text, and whether every target is met."""
    met = True
    lines = [f"Here beside {there}: processor time per packet, {pairs[0].reps} pairs", ""]
    lines.append(f"{'stack':10}{'flows':>7}{'there ns':>10}{'here ns':>9}{'ratio':>8}{'range':>15}")
    for one in pairs:
        good = one.ratio <= TARGET_RATIO
        met &= good
        span = f"{one.low:.3f} to {one.high:.3f}"
        lines.append(
            f"{one.stack:10}{one.flows:7,}{one.there_ns:10.1f}{one.here_ns:9.1f}{one.ratio:8.3f}"
            f"{span:>17}  {'met' if good else f'MISSED: above {TARGET_RATIO}'}"
        )
    if costs:
        lines += ["", f"{'flows':>9}{'ns/packet':>11}{'of 10':>7}{'peak MiB':>10}{'seconds':>9}"]
        for n, cost in costs.items():
            times = cost.ns_per_pkt / costs[10].ns_per_pkt
            verdict = ""
            if n == 1000:
                met &= times <= TARGET_SCALING
                verdict = (
                    "  met" if times <= TARGET_SCALING else f"  MISSED: above {TARGET_SCALING:g}"
                )
            lines.append(
                f"{n:9,}{cost.ns_per_pkt:11.1f}{times:7.2f}{cost.peak_rss_bytes / MIB:10.1f}"
                f"{cost.processor_s:9.2f}{verdict}"
            )
    return "\n".join(lines), met


def bench(args: argparse.Namespace) -> int:
    """Run what the command line asks for and print it; the exit status.

    Raises:
        BenchError: a program or a commit is missing or failed.
    """
    if args.commit:
        name, there = engine_of(args.commit)
        label = name[:12]
    else:
        there, label = find_engine(args.other), str(args.other)
    here = find_engine(args.engine)
    pin(args.cpu)
    pairs = in_pairs(here, there, args.flows, args.reps, args.duration_s)
    costs = {} if args.no_many else many(here)
    text, met = report(pairs, costs, label)
    if args.json:
        sides = {"pairs": [asdict(one) for one in pairs], "beside": label, "met": met}
        print(json.dumps({**sides, "many": {str(n): asdict(c) for n, c in costs.items()}}))
    else:
        print(text)
    return int(args.check and not met)


def main(argv: Sequence[str] | None = None) -> int:
    """Run the command line; errors are one line and status 2."""
    try:
        return bench(arguments(argv))
    except BenchError as error:
        print(f"beside_bench: {error}", file=sys.stderr)
        return 2
    except KeyboardInterrupt:
        print("beside_bench: interrupted", file=sys.stderr)
        return 130


if __name__ == "__main__":
    sys.exit(main())
