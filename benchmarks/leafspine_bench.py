#!/usr/bin/env python3
"""Time a leaf-spine fabric of 128 hosts, and compare it with ns-3 on a tenth of the simulated time.

8 leaves with 16 hosts each at 100 Gbit/s, 4 spines at 400 Gbit/s, 1 us per link. Ports hold 2000
packets and mark above 100. Every host sends DCTCP transfers with sizes of web search to all others,
at a load of 60 %. Headway also runs for ns-3's time, to show that both simulate the same traffic.

Programs run one after the other, each repetition with another seed. Times are processor times,
which other programs disturb less. Headway's includes building the network, ns-3's does not.
"""

from __future__ import annotations

import argparse
import json
import statistics
import sys
import time
from collections.abc import Sequence
from dataclasses import asdict, dataclass
from pathlib import Path

import run_bench
from run_bench import BenchError

LEAVES, SPINES, HOSTS_PER_LEAF = 8, 4, 16
HOSTS = LEAVES * HOSTS_PER_LEAF
HOST_BPS = 100_000_000_000
MSS_BYTES = 1448
THRESHOLD_PKTS, LIMIT_PKTS = 100, 2000
SIZES = run_bench.ROOT / "crates/experiment/data/web-search.cdf"


@dataclass(frozen=True)
class Run:
    """What a program prints: its cost, and what it simulated.

    Attributes:
        data_pkts: data packets that arrived at hosts. bytes: their payload.
        wall_s, cpu_s: time, processor time. peak_rss_bytes: the largest resident set.
        begun, completed: transfers. marks, drops: by all ports, of ACKs too.
        slowdowns: of complete transfers. The median, the p99, and the medians of classes of size,
        by the class's limit in bytes.
    """

    duration_s: float
    data_pkts: float
    bytes: float
    wall_s: float
    cpu_s: float
    peak_rss_bytes: float
    begun: float
    completed: float
    marks: float
    drops: float
    slowdowns: dict[str, float]

    @property
    def us_per_pkt(self) -> float:
        """Processor time per data packet."""
        return self.cpu_s * 1e6 / self.data_pkts


def parse_run(line: str, program: str) -> Run:
    """Read the JSON line of a run.

    Raises:
        BenchError: the line is not one JSON object with the fields of Run, or nothing arrived.
    """
    try:
        fields = json.loads(line)
        slowdowns = {str(k): float(v) for k, v in fields.pop("slowdowns").items()}
        run = Run(**{name: float(value) for name, value in fields.items()}, slowdowns=slowdowns)
    except (ValueError, KeyError, TypeError, AttributeError) as error:
        raise BenchError(f"{program} did not print a result: {error!r} in {line!r}") from error
    if not all(0 < value < float("inf") for value in (run.data_pkts, run.cpu_s)):
        raise BenchError(f"{program} printed a result that is not positive: {line!r}")
    return run


def median(runs: Sequence[Run]) -> Run:
    """The median of every field, and of each slowdown that all runs have."""
    classes = [c for c in runs[0].slowdowns if all(c in run.slowdowns for run in runs)]
    fields = [name for name in asdict(runs[0]) if name != "slowdowns"]
    return Run(
        **{name: statistics.median(getattr(run, name) for run in runs) for name in fields},
        slowdowns={c: statistics.median(run.slowdowns[c] for run in runs) for c in classes},
    )


def headway_once(duration_s: float, seed: int) -> Run:
    """Simulate the fabric in this process."""
    import polars as pl

    from headway import Experiment, Flow, Hop, LeafSpine, Link, Transfers, metrics, run
    from headway.experiment import all_to_all
    from headway.metrics.transfers import transfer_totals

    def port(rate: str) -> Hop:
        step = f"step:threshold={THRESHOLD_PKTS}pkts"
        link = Link(rate=rate, delay="1 us", buffer=f"{LIMIT_PKTS} pkts", aqm=step)
        return Hop(forward=link, reverse=link)

    one = Flow(app=Transfers(sizes="web-search", load=0.6), control="dctcp", start="0 s")
    made = Experiment(
        topology=LeafSpine(
            leaves=LEAVES,
            spines=SPINES,
            hosts=HOSTS_PER_LEAF,
            host_edge=port("100 Gbit/s"),
            spine_edge=port("400 Gbit/s"),
            # A flow's own link to its host: ns-3's hosts have none, so it is fast.
            access_rate="1000 Gbit/s",
        ),
        flows=all_to_all(one, [f"host{number}" for number in range(HOSTS)]),
        duration=f"{duration_s * 1e6:.0f} us",
        seed=seed,
        record=(),
    )
    start, cpu_start = time.perf_counter(), time.process_time()
    trace = run(made)
    wall_s, cpu_s = time.perf_counter() - start, time.process_time() - cpu_start

    def total(rows: pl.DataFrame, column: str) -> int:
        return int(rows.filter(pl.col("time_ns") == pl.col("time_ns").max())[column].sum())

    received = total(trace["flow_counters"], "delivered_bytes")
    [found] = transfer_totals(trace)
    every = found["all"]
    classes = [size for size in found["by_size"] if size["completed"]]
    return Run(
        duration_s=duration_s,
        # Packets are not counted by kind. A transfer's last one is smaller: 0.1 % too few.
        data_pkts=received // MSS_BYTES,
        bytes=received,
        wall_s=wall_s,
        cpu_s=cpu_s,
        peak_rss_bytes=peak_rss_bytes(),
        begun=found["begun"],
        completed=every["completed"],
        marks=total(metrics.queue_counters(trace, "step"), "marked_ect0_pkts"),
        drops=total(trace["link_counters"], "dropped_pkts"),
        slowdowns={
            "median": every["slowdown"]["median"],
            "p99": every["slowdown"]["p99"],
            **{str(size["below_bytes"]): size["slowdown"]["median"] for size in classes},
        },
    )


def peak_rss_bytes() -> int:
    """This process's largest resident set."""
    lines = Path("/proc/self/status").read_text(encoding="utf-8").splitlines()
    return next(int(line.split()[1]) * 1024 for line in lines if line.startswith("VmHWM:"))


def table(rows: Sequence[tuple[str, Run]]) -> str:
    """The cost of each row, and below it what was simulated."""
    cost = [
        f"{'':<8} {'simulated':>9} {'packets':>10} {'wall s':>7} {'CPU s':>7} {'us/packet':>10}"
        f" {'peak MiB':>9}"
    ]
    what = [
        f"{'':<8} {'simulated':>9} {'load':>6} {'marks':>6} {'drops':>6} {'complete':>13}"
        "  median slowdown by size; p99"
    ]
    for name, run in rows:
        head = f"{name:<8} {run.duration_s * 1e3:>6g} ms"
        cost.append(
            f"{head} {run.data_pkts:>10,.0f} {run.wall_s:>7.1f} {run.cpu_s:>7.1f}"
            f" {run.us_per_pkt:>10.2f} {run.peak_rss_bytes / run_bench.MIB:>9.0f}"
        )
        load = run.bytes * 8 / run.duration_s / (HOSTS * HOST_BPS)
        classes = [f"{value:.2f}" for key, value in run.slowdowns.items() if key.isdigit()]
        what.append(
            f"{head} {load:>6.1%} {run.marks / run.data_pkts:>6.1%} {run.drops:>6.0f}"
            f" {f'{run.completed:.0f} of {run.begun:.0f}':>13}"
            f"  {' '.join(classes)}; {run.slowdowns['p99']:.1f}"
        )
    return "\n".join([*cost, "", *what])


def bench(args: argparse.Namespace) -> int:
    """Run the benchmark that the command line asks for and print it.

    Raises:
        BenchError: a program is missing or failed.
    """
    if args.once:
        print(json.dumps(asdict(headway_once(args.duration_s, args.seed))))
        return 0
    ns3 = run_bench.find_ns3(args.ns3, build=True, name="ns3_leafspine")
    cpu = run_bench.pin(args.cpu)
    peer, tenth_s = run_bench.ns3_version(), args.duration_s / 10
    ours = [str(args.headway)] if args.headway else [sys.executable, __file__, "--once"]
    theirs = [str(ns3), f"--sizes={SIZES}", f"--threshold={THRESHOLD_PKTS}"]
    theirs += [f"--limit={LIMIT_PKTS}"]
    cases = [
        ("Headway", ours, args.duration_s),
        ("Headway", ours, tenth_s),
        (peer, theirs, tenth_s),
    ]
    runs: list[list[Run]] = [[] for _ in cases]
    for seed in range(args.seed, args.seed + args.reps):
        for (name, program, duration_s), samples in zip(cases, runs, strict=True):
            command = [*program, f"--duration-s={duration_s:g}", f"--seed={seed}"]
            samples.append(parse_run(run_bench.last_line(command, timeout_s=7200), name))
    rows = [(name, median(samples)) for (name, *_), samples in zip(cases, runs, strict=True)]
    ratio = rows[2][1].us_per_pkt / rows[0][1].us_per_pkt
    if args.json:
        named = [{"name": name, **asdict(run)} for name, run in rows]
        print(json.dumps({"cpu": cpu, "reps": args.reps, "medians": named, "ratio": ratio}))
    else:
        print(f"Leaf-spine of {HOSTS} hosts; median of {args.reps} on CPU {cpu}.")
        print(table(rows))
        print(f"\nA packet takes {ratio:.1f} times as much processor time in {peer}.")
    return 0


def main(argv: Sequence[str] | None = None) -> int:
    """Run the command line; errors are one line and status 2."""
    parser = argparse.ArgumentParser(description=(__doc__ or "").split("\n\n")[0])
    parser.add_argument(
        "--duration-s", type=run_bench.positive, default=0.01, help="simulated time (default 0.01)"
    )
    parser.add_argument("--reps", type=int, default=3, help="repetitions (default 3)")
    parser.add_argument("--seed", type=int, default=1, help="of the first repetition (default 1)")
    parser.add_argument("--cpu", type=int, help="core to run on (default the last)")
    parser.add_argument("--once", action="store_true", help="run Headway once and print JSON")
    parser.add_argument("--headway", type=Path, help="a program instead of Headway")
    parser.add_argument("--ns3", type=Path, help="the ns-3 program")
    parser.add_argument("--json", action="store_true", help="print one JSON object")
    args = parser.parse_args(argv)
    if args.reps < 1:
        parser.error(f"argument --reps: must be at least 1, is {args.reps}")
    try:
        return bench(args)
    except BenchError as error:
        print(f"leafspine_bench: {error}", file=sys.stderr)
        return 2


if __name__ == "__main__":
    sys.exit(main())
