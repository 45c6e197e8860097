#!/usr/bin/env python3
"""Time every control with ten flows on the benchmark's dumbbell, on one core.

The dumbbell is that of run_bench.py. A control whose protocol has a router runs with it on the
link, and has another target. Runs of all controls alternate; numbers are medians.
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

FLOWS = 10
TARGET_PKTS_PER_S = 2_000_000
TARGET_WITH_ROUTER_PKTS_PER_S = 1_500_000


def routed() -> set[str]:
    """Names of the router algorithms; a control of the same name needs that router."""
    return {router.name for router in registry().routers}


def target_of(control: str, routers: set[str]) -> int:
    """Packets per second of wall time that the simulator must reach with a control."""
    return TARGET_WITH_ROUTER_PKTS_PER_S if control in routers else TARGET_PKTS_PER_S


def command(engine: Path, control: str, routers: set[str], duration_s: float) -> list[str]:
    """The command line of one run of the engine's program."""
    router = ["--router", control] if control in routers else []
    return [
        str(engine),
        *("--flows", str(FLOWS), "--duration-s", f"{duration_s:g}", "--control", control),
        *router,
        "--json",
    ]


def measure(
    engine: Path, controls: Sequence[str], reps: int, duration_s: float
) -> dict[str, Result]:
    """Each control's medians over runs in which the controls alternate."""
    routers = routed()
    samples: dict[str, list[Sample]] = {control: [] for control in controls}
    for _ in range(reps):
        for control in controls:
            line = command(engine, control, routers, duration_s)
            samples[control].append(run_bench.run_program(line, timeout_s=600))
    return {control: run_bench.summarize(ones) for control, ones in samples.items()}


def table(found: Mapping[str, Result]) -> str:
    """The table of results, with one line per control."""
    routers = routed()
    lines = [f"{'control':<12} {'packets/s':>11} {'ns/packet':>10} {'spread':>7}  target"]
    for control, result in found.items():
        median, target = result.median, target_of(control, routers)
        met = "met" if median.pkts_per_s >= target else "MISSED"
        lines.append(
            f"{control:<12} {median.pkts_per_s:>11,.0f} {median.ns_per_pkt:>10,.1f} "
            f"{result.spread:>7.1%}  {met}: {target / 1e6:g} M"
        )
    return "\n".join(lines)


def main(argv: Sequence[str] | None = None) -> int:
    """Run the command line; errors are one line and status 2."""
    known = [control.name for control in registry().controls]
    parser = argparse.ArgumentParser(description=(__doc__ or "").split("\n\n")[0])
    parser.add_argument("--only", metavar="NAME,NAME", help="measure these controls only")
    parser.add_argument("--reps", type=int, default=3, help="repetitions (default 3)")
    parser.add_argument("--duration-s", type=run_bench.positive, default=60.0)
    parser.add_argument("--cpu", type=int, help="core to run on (default the last)")
    parser.add_argument("--engine", type=Path, help="the engine's program")
    parser.add_argument("--json", action="store_true", help="print one JSON object")
    parser.add_argument("--check", action="store_true", help="status 1 if a target is missed")
    args = parser.parse_args(argv)
    controls = run_bench.selected(parser, args.only, known, "control")
    if args.reps < 1:
        parser.error(f"--reps: must be at least 1, is {args.reps}")
    try:
        engine = run_bench.find_engine(args.engine)
        run_bench.pin(args.cpu)
        found = measure(engine, controls, args.reps, args.duration_s)
    except BenchError as error:
        print(f"controls_bench: {error}", file=sys.stderr)
        return 2
    if args.json:
        print(json.dumps({name: run_bench.as_json(result) for name, result in found.items()}))
    else:
        print(table(found))
    routers = routed()
    missed = [n for n, r in found.items() if r.median.pkts_per_s < target_of(n, routers)]
    return 1 if args.check and missed else 0


if __name__ == "__main__":
    sys.exit(main())
