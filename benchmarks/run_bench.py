#!/usr/bin/env python3
"""Time the engine on a dumbbell, and compare it with ns-3 if that is built.

One bottleneck of 100 Mbit/s with a 417-packet drop-tail queue, 50 ms of round-trip time, a host
pair with 1 Gbit/s links per flow, segments of 1448 bytes, SACK, timestamps, delayed
acknowledgements. The benchmark compares wall time per data packet that crosses the bottleneck, so
the simulated times may differ: ns-3 gets a shorter one.

Programs run one after the other on one core, alternating between the simulators, so that
disturbances affect both. Numbers are medians over the repetitions.
"""

from __future__ import annotations

import argparse
import json
import os
import shutil
import statistics
import subprocess
import sys
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent
ENGINE_NAME = "dumbbell_bench"
MIB = 1024 * 1024

TARGET_PKTS_PER_S = 2_000_000
"""Data packets per second that one core must deliver at 1, 10 and 100 flows."""
TARGET_SCALING = 2.0
"""The largest allowed ratio of the time per packet at 1000 flows to that at 10."""
TARGET_PEAK_MIB = {1: 20, 1000: 120}
"""The largest allowed memory by number of flows."""


class BenchError(Exception):
    """A program is missing, failed, or did not print exactly one result."""


@dataclass(frozen=True)
class Sample:
    """One run of one simulator.

    Attributes:
        data_pkts: data packets that crossed the bottleneck.
        pkts_per_s: the same per second of wall time.
        ns_per_pkt: wall time per such packet, in nanoseconds.
        peak_rss_bytes: the largest resident set.
    """

    data_pkts: float
    pkts_per_s: float
    ns_per_pkt: float
    peak_rss_bytes: float


@dataclass(frozen=True)
class Result:
    """Medians over the repetitions of one simulator at one number of flows.

    Attributes:
        median: the median of each field separately. spread: (largest - smallest) / median of the
        packets per second. reps: the number of runs.
    """

    median: Sample
    spread: float
    reps: int


Runner = Callable[[int], Sample]
"""A function that runs one simulator once with the given number of flows."""


def parse_sample(line: str, program: str) -> Sample:
    """Read the JSON line of a run.

    Args:
        line: what the program printed.
        program: its name, for the error.

    Raises:
        BenchError: the line is not one JSON object with four positive numbers.
    """
    try:
        fields = json.loads(line)
        values = {
            name: float(fields[name])
            for name in ("data_pkts", "pkts_per_s", "ns_per_pkt", "peak_rss_bytes")
        }
    except (ValueError, KeyError, TypeError) as error:
        raise BenchError(f"{program} did not print a result: {error!r} in {line!r}") from error
    if not all(0 < value < float("inf") for value in values.values()):
        raise BenchError(f"{program} printed a result that is not positive: {line!r}")
    return Sample(**values)


def last_line(command: Sequence[str], timeout_s: float) -> str:
    """Run one benchmark program and return the last line it prints.

    Raises:
        BenchError: the program fails or hangs.
    """
    program = Path(command[0]).name
    try:
        done = subprocess.run(
            command, capture_output=True, text=True, timeout=timeout_s, check=False
        )
    except (OSError, subprocess.TimeoutExpired) as error:
        raise BenchError(f"cannot run {program}: {error}") from error
    if done.returncode != 0:
        reason = (done.stderr.strip().splitlines() or ["no message"])[-1]
        raise BenchError(f"{program} failed with status {done.returncode}: {reason}")
    lines = done.stdout.strip().splitlines()
    return lines[-1] if lines else ""


def run_program(command: Sequence[str], timeout_s: float) -> Sample:
    """Run one benchmark program and read its result from the last line it prints.

    Raises:
        BenchError: the program fails, hangs, or prints no result.
    """
    return parse_sample(last_line(command, timeout_s), Path(command[0]).name)


def summarize(samples: Sequence[Sample]) -> Result:
    """Take the median of every field over at least one sample."""
    rates = [sample.pkts_per_s for sample in samples]
    median = Sample(
        data_pkts=statistics.median(sample.data_pkts for sample in samples),
        pkts_per_s=statistics.median(rates),
        ns_per_pkt=statistics.median(sample.ns_per_pkt for sample in samples),
        peak_rss_bytes=statistics.median(sample.peak_rss_bytes for sample in samples),
    )
    return Result(median, (max(rates) - min(rates)) / median.pkts_per_s, len(samples))


def run_tool(command: Sequence[str], purpose: str) -> None:
    """Run a build command from the project's folder, its progress on standard error.

    Raises:
        BenchError: it is missing or fails.
    """
    try:
        done = subprocess.run(command, cwd=ROOT, stdout=sys.stderr, check=False)
    except OSError as error:
        raise BenchError(f"cannot {purpose}: {error}") from error
    if done.returncode != 0:
        raise BenchError(f"cannot {purpose}: status {done.returncode} of {' '.join(command)}")


def selected(
    parser: argparse.ArgumentParser, only: str | None, known: Sequence[str], what: str
) -> list[str]:
    """The names that ``--only`` selects, or all; an unknown name ends the program with status 2."""
    names = only.split(",") if only else list(known)
    for name in names:
        if name not in known:
            parser.error(f"--only: no {what} {name!r}; there are {', '.join(known)}")
    return names


def find_engine(given: Path | None) -> Path:
    """Find the engine's benchmark program; without a path, build it from the present sources.

    Raises:
        BenchError: it is missing or cannot be built.
    """
    if given is None:
        run_tool(
            ["cargo", "build", "--quiet", "--release", "-p", "headway-sim", "--bin", ENGINE_NAME],
            "build the engine",
        )
    target = Path(os.environ.get("CARGO_TARGET_DIR", ROOT / "target"))
    place = given or target / "release" / ENGINE_NAME
    if not os.access(place, os.X_OK):
        raise BenchError(f"no program {place}")
    return place.resolve()


def find_ns3(given: Path | None, *, build: bool, name: str = "ns3_dumbbell") -> Path | None:
    """Find an ns-3 program, or None if it was not built.

    Args:
        given: its path, if it is not where the build puts it. build: build it first; as root, also
        install what the build needs. name: that of the program.

    Raises:
        BenchError: the requested program is missing or cannot be built.
    """
    if build and given is None:
        run_tool([str(ROOT / "benchmarks/peers/build.sh"), "--install"], "build the ns-3 programs")
    place = given or ROOT / "build" / "peers" / name
    if os.access(place, os.X_OK):
        return place.resolve()
    if given:
        raise BenchError(f"no program {given}")
    return None


def ns3_version() -> str:
    """Name the installed ns-3 by its package files, without a version if they have none."""
    if shutil.which("pkg-config"):
        asked = subprocess.run(
            ["pkg-config", "--modversion", "ns3-core"], capture_output=True, text=True, check=False
        )
        if asked.returncode == 0 and asked.stdout.strip():
            return f"ns-{asked.stdout.strip().removeprefix('ns-')}"
    return "ns-3"


def pin(cpu: int | None) -> int:
    """Bind this process and its children to one core and return its number.

    Args:
        cpu: the core; None means the last allowed one, which usually has the least other work.

    Raises:
        BenchError: the core does not exist or is not allowed.
    """
    allowed = sorted(os.sched_getaffinity(0))
    chosen = allowed[-1] if cpu is None else cpu
    if chosen not in allowed:
        raise BenchError(f"CPU {chosen} cannot be used; allowed: {allowed}")
    os.sched_setaffinity(0, {chosen})
    return chosen


def measure(
    flows: Sequence[int],
    reps: int,
    engine: Runner,
    peer: Runner | None,
    peer_flows: Sequence[int],
    note: Callable[[str], None],
) -> tuple[dict[int, Result], dict[int, Result]]:
    """Run the simulators alternately.

    Returns:
        The results of the engine and of the peer by number of flows.
    """
    ours: dict[int, list[Sample]] = {n: [] for n in flows}
    theirs: dict[int, list[Sample]] = {n: [] for n in flows if peer and n in peer_flows}
    for rep in range(reps):
        for n in flows:
            note(f"repetition {rep + 1} of {reps}, {n} flows")
            ours[n].append(engine(n))
            if peer and n in theirs:
                theirs[n].append(peer(n))
    return (
        {n: summarize(samples) for n, samples in ours.items()},
        {n: summarize(samples) for n, samples in theirs.items()},
    )


@dataclass(frozen=True)
class Verdict:
    """A target, the measured value, and whether the target is met."""

    target: str
    measured: str
    met: bool


def judge(ours: dict[int, Result]) -> list[Verdict]:
    """Compare the engine's results with the targets."""
    verdicts = []
    for n in (1, 10, 100):
        if n in ours:
            rate = ours[n].median.pkts_per_s
            verdicts.append(
                Verdict(
                    f"at least {TARGET_PKTS_PER_S / 1e6:g} M packets/s at {n} flows",
                    f"{rate / 1e6:.2f} M",
                    rate >= TARGET_PKTS_PER_S,
                )
            )
    for n, limit in TARGET_PEAK_MIB.items():
        if n in ours:
            peak = ours[n].median.peak_rss_bytes / MIB
            verdicts.append(
                Verdict(f"at most {limit} MiB at {n} flows", f"{peak:.1f} MiB", peak <= limit)
            )
    scaling = scaling_of(ours)
    if scaling is not None:
        verdicts.append(
            Verdict(
                f"a packet at 1000 flows costs at most {TARGET_SCALING:g} times one at 10",
                f"{scaling:.2f}",
                scaling <= TARGET_SCALING,
            )
        )
    return verdicts


def scaling_of(ours: dict[int, Result]) -> float | None:
    """The ratio of the time per packet at 1000 flows to that at 10; None if one was not run."""
    if 10 not in ours or 1000 not in ours:
        return None
    return ours[1000].median.ns_per_pkt / ours[10].median.ns_per_pkt


def table(ours: dict[int, Result], theirs: dict[int, Result], peer_name: str) -> str:
    """Format the results in at most 100 columns."""
    header = f"{'flows':>6} {'packets/s':>11} {'ns/packet':>10} {'spread':>7} {'peak MiB':>9}"
    if theirs:
        header += (
            f" | {peer_name + ' packets/s':>17} {'ns/packet':>10} {'peak MiB':>9} {'ratio':>6}"
        )
    lines = [header, "-" * len(header)]
    for n, result in ours.items():
        m = result.median
        line = (
            f"{n:>6} {m.pkts_per_s:>11,.0f} {m.ns_per_pkt:>10,.1f} {result.spread:>7.1%}"
            f" {m.peak_rss_bytes / MIB:>9.1f}"
        )
        if n in theirs:
            peer = theirs[n].median
            line += (
                f" | {peer.pkts_per_s:>17,.0f} {peer.ns_per_pkt:>10,.0f}"
                f" {peer.peak_rss_bytes / MIB:>9.1f} {peer.ns_per_pkt / m.ns_per_pkt:>6,.0f}"
            )
        elif theirs:
            line += f" | {'not run; --full':>17}"
        lines.append(line)
    return "\n".join(lines)


def as_json(result: Result) -> dict[str, float]:
    """Turn a result into plain numbers."""
    return {**vars(result.median), "spread": result.spread, "reps": result.reps}


def flow_counts(text: str) -> list[int]:
    """Read a list such as "1,10,100".

    Raises:
        ValueError: a number is missing, not whole or not positive.
    """
    counts = [int(part) for part in text.split(",")]
    if min(counts) < 1:
        raise ValueError(text)
    return counts


def positive(text: str) -> float:
    """Read a number above zero.

    Raises:
        ValueError: it is not a positive number.
    """
    value = float(text)
    if not 0 < value < float("inf"):
        raise ValueError(text)
    return value


def arguments(argv: Sequence[str] | None) -> argparse.Namespace:
    """Read the command line."""
    parser = argparse.ArgumentParser(description=(__doc__ or "").split("\n\n")[0])
    parser.add_argument(
        "--quick", action="store_true", help="one repetition; simulate 2 s with ns-3"
    )
    parser.add_argument(
        "--peers",
        action="store_true",
        help="build the ns-3 program first; as root, also install ns-3",
    )
    parser.add_argument(
        "--full", action="store_true", help="also run ns-3 with more than 100 flows"
    )
    parser.add_argument(
        "--flows",
        type=flow_counts,
        default=[1, 10, 100, 1000],
        metavar="N,N,...",
        help="numbers of flows (default 1,10,100,1000)",
    )
    parser.add_argument("--reps", type=int, help="repetitions (default 5, quick 1)")
    parser.add_argument("--cpu", type=int, help="core to run on (default the last)")
    parser.add_argument("--control", default="cubic", help="congestion control (default cubic)")
    parser.add_argument(
        "--duration-s", type=positive, default=60.0, help="simulated time (default 60)"
    )
    parser.add_argument(
        "--ns3-duration-s", type=positive, help="ns-3's simulated time (default 10, quick 2)"
    )
    parser.add_argument("--engine", type=Path, help="the engine's program")
    parser.add_argument("--ns3", type=Path, help="the ns-3 program")
    parser.add_argument("--json", action="store_true", help="print one JSON object")
    parser.add_argument("--check", action="store_true", help="status 1 if a target is missed")
    args = parser.parse_args(argv)
    if args.reps is None:
        args.reps = 1 if args.quick else 5
    if args.reps < 1:
        parser.error(f"argument --reps: must be at least 1, is {args.reps}")
    if args.ns3_duration_s is None:
        args.ns3_duration_s = 2.0 if args.quick else 10.0
    return args


def bench(args: argparse.Namespace) -> int:
    """Run the benchmark that the command line asks for and print it.

    Returns:
        The exit status.

    Raises:
        BenchError: a program is missing or failed.
    """
    engine_path = find_engine(args.engine)
    ns3_path = find_ns3(args.ns3, build=args.peers)
    cpu = pin(args.cpu)

    def engine(flows: int) -> Sample:
        command = [str(engine_path), "--flows", str(flows), "--duration-s"]
        command += [f"{args.duration_s:g}", "--control", args.control, "--json"]
        return run_program(command, timeout_s=600)

    def ns3(flows: int) -> Sample:
        command = [str(ns3_path), f"--flows={flows}", f"--duration-s={args.ns3_duration_s:g}"]
        # Use the routing method that is faster in ns-3; README.md has the numbers.
        command += [f"--control={args.control}", f"--routing={'nix' if flows <= 100 else 'static'}"]
        return run_program(command, timeout_s=3600)

    def note(text: str) -> None:
        if sys.stderr.isatty():
            print(f"\r\x1b[K{text}", end="", file=sys.stderr, flush=True)

    peer_flows = [n for n in args.flows if args.full or n <= 100]
    ours, theirs = measure(
        args.flows, args.reps, engine, ns3 if ns3_path else None, peer_flows, note
    )
    if sys.stderr.isatty():
        print("\r\x1b[K", end="", file=sys.stderr, flush=True)
    verdicts = judge(ours)
    peer_name = ns3_version() if theirs else None
    if args.json:
        report = {
            "control": args.control,
            "cpu": cpu,
            "duration_s": args.duration_s,
            "engine": {str(n): as_json(result) for n, result in ours.items()},
            "peer": peer_name,
            "peer_duration_s": args.ns3_duration_s if theirs else None,
            "peer_results": {str(n): as_json(result) for n, result in theirs.items()},
            "ratio": {
                str(n): result.median.ns_per_pkt / ours[n].median.ns_per_pkt
                for n, result in theirs.items()
            },
            "ns_per_pkt_1000_over_10": scaling_of(ours),
            "targets": [vars(verdict) for verdict in verdicts],
        }
        print(json.dumps(report))
    else:
        print(
            f"Dumbbell of 100 Mbit/s, 50 ms, 417 packets; {args.control}, "
            f"{args.duration_s:g} s simulated; median of {args.reps} on CPU {cpu}."
        )
        if peer_name:
            print(
                f"{peer_name} runs in turn with it for {args.ns3_duration_s:g} s simulated; "
                "the ratio is of the time per packet."
            )
        print(table(ours, theirs, peer_name or ""))
        for verdict in verdicts:
            print(f"{'met   ' if verdict.met else 'MISSED'} {verdict.target}: {verdict.measured}")
        if not ns3_path:
            print("ns-3 is not built; `make bench-peers` installs and builds it for the ratio.")
    return 1 if args.check and not all(verdict.met for verdict in verdicts) else 0


def main(argv: Sequence[str] | None = None) -> int:
    """Run the command line; errors are one line and status 2."""
    try:
        return bench(arguments(argv))
    except BenchError as error:
        print(f"run_bench: {error}", file=sys.stderr)
        return 2
    except KeyboardInterrupt:
        print("run_bench: interrupted", file=sys.stderr)
        return 130


if __name__ == "__main__":
    sys.exit(main())
