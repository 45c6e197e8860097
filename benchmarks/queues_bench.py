#!/usr/bin/env python3
"""Compare the time per packet of every queue discipline with that of drop-tail, on one core.

The dumbbell is that of run_bench.py with the discipline on its bottleneck: 10 flows on 100 Mbit/s
and 1000 flows on 10 Gbit/s, so that every flow has the same share. The latter run for a tenth of
the time. Runs of all disciplines alternate; numbers are medians.
"""

from __future__ import annotations

import argparse
import json
import sys
from collections.abc import Mapping, Sequence
from pathlib import Path

import run_bench
from run_bench import BenchError, Result, Sample

from headway.registry import registry

FLOWS = (10, 1000)
SHARE_BPS = 10_000_000
"""The share of a flow in the bottleneck's rate."""
BASE = "drop-tail"
"""The discipline that the others are compared with."""
TARGETS = {("fq_codel", 1000): 1.5}
"""The largest allowed ratio to ``BASE``, by discipline and number of flows."""

Found = Mapping[tuple[str, int], Result]
"""Medians by discipline and number of flows."""


def command(engine: Path, queue: str, flows: int, duration_s: float) -> list[str]:
    """The command line of one run of the engine's program."""
    return [
        str(engine),
        *("--flows", str(flows), "--rate-bps", str(flows * SHARE_BPS)),
        *("--duration-s", f"{duration_s:g}", "--aqm", queue, "--json"),
    ]


def measure(engine: Path, queues: Sequence[str], reps: int, duration_s: float) -> Found:
    """The medians over runs in which the disciplines alternate; ``BASE`` always runs, too."""
    names = dict.fromkeys([BASE, *queues])
    samples: dict[tuple[str, int], list[Sample]] = {}
    for flows in FLOWS:
        for _ in range(reps):
            for name in names:
                line = command(engine, name, flows, duration_s if flows == 10 else duration_s / 10)
                sample = run_bench.run_program(line, timeout_s=600)
                samples.setdefault((name, flows), []).append(sample)
    return {case: run_bench.summarize(ones) for case, ones in samples.items()}


def ratio(found: Found, queue: str, flows: int) -> float:
    """A discipline's time per packet in units of that of ``BASE`` with as many flows."""
    return found[queue, flows].median.ns_per_pkt / found[BASE, flows].median.ns_per_pkt


def missed(found: Found) -> list[tuple[str, int]]:
    """The measured cases that miss their targets."""
    return [case for case in found if case in TARGETS and ratio(found, *case) > TARGETS[case]]


def table(found: Found) -> str:
    """The table of results, with one line per discipline and number of flows."""
    lines = [f"{'queue':<10} {'flows':>5} {'ns/packet':>10} {'spread':>7} {'ratio':>6}  target"]
    for (name, flows), result in found.items():
        target = TARGETS.get((name, flows))
        met = "MISSED" if (name, flows) in missed(found) else "met"
        line = (
            f"{name:<10} {flows:>5} {result.median.ns_per_pkt:>10,.1f} {result.spread:>7.1%} "
            f"{ratio(found, name, flows):>6.2f}"
        )
        lines.append(line if target is None else f"{line}  {met}: {target:g}")
    return "\n".join(lines)


def main(argv: Sequence[str] | None = None) -> int:
    """Run the command line; errors are one line and status 2."""
    known = [queue.name for queue in registry().queues]
    parser = argparse.ArgumentParser(description=(__doc__ or "").split("\n\n")[0])
    parser.add_argument("--only", metavar="NAME,NAME", help="measure these disciplines only")
    parser.add_argument("--reps", type=int, default=3, help="repetitions (default 3)")
    parser.add_argument("--duration-s", type=run_bench.positive, default=20.0)
    parser.add_argument("--cpu", type=int, help="core to run on (default the last)")
    parser.add_argument("--engine", type=Path, help="the engine's program")
    parser.add_argument("--json", action="store_true", help="print one JSON object")
    parser.add_argument("--check", action="store_true", help="status 1 if a target is missed")
    args = parser.parse_args(argv)
    queues = run_bench.selected(parser, args.only, known, "queue discipline")
    if args.reps < 1:
        parser.error(f"--reps: must be at least 1, is {args.reps}")
    try:
        engine = run_bench.find_engine(args.engine)
        run_bench.pin(args.cpu)
        found = measure(engine, queues, args.reps, args.duration_s)
    except BenchError as error:
        print(f"queues_bench: {error}", file=sys.stderr)
        return 2
    if args.json:
        rows = {f"{name}/{flows}": run_bench.as_json(one) for (name, flows), one in found.items()}
        print(json.dumps(rows))
    else:
        print(table(found))
    return 1 if args.check and missed(found) else 0


if __name__ == "__main__":
    sys.exit(main())
