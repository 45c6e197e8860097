#!/usr/bin/env python3
"""Compare the proxy with direct routing and HAProxy, in turn, between namespaces over veth.

Each load program has one core; the proxies may use all of them. Every round runs each way once;
numbers are medians over the rounds, and ratios compare runs of one round. HAProxy (mode tcp,
splicing both ways, pipes of 1 MB) is not transparent: its clients connect to the gateway. All hosts
use Reno, which every namespace may choose, whatever the machine's default is: a control that paces
sets a timer for every packet, and on a machine with slow timers this dominates the result.
Processor time is the proxy's own, user and system. It includes the soft interrupts that its own
calls trigger (also the end hosts' TCP), but not those in ksoftirqd or in the load programs' time.
The benchmark also prints the time of all programs of a run and of ksoftirqd: its excess over direct
routing is a proxy's cost. Needs root.
"""

from __future__ import annotations

import argparse
import json
import os
import shutil
import statistics
import sys
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path

from pep_lab import (
    MOST_CONNECTIONS,
    OF_ONE_TABLE,
    PAGES,
    Lab,
    descriptors,
    memory_bytes,
    processor_s,
    served_first,
)
from run_bench import ROOT, BenchError, positive

WAYS = ("direct", "pep", "haproxy")
IDLE = (1000, MOST_CONNECTIONS)
NEEDED = {"ip": "iproute2", "nft": "nftables", "ss": "iproute2", "iperf3": "iperf3",
          "haproxy": "haproxy", "wrk": "wrk", "taskset": "util-linux"}  # fmt: skip

PEPSAL = {
    "one_up_gbps": "6.4-8.1", "one_up_cpu": "0.62-1.21", "rr_p50_ms": "416",
    "rr_bulk_p50_ms": "195", "rr_bulk_p99_ms": "2341", "connections_per_s": "85",
    "idle_1000_descriptors": "6",
}  # fmt: skip
"""Results of PEPsal 2.0.2, measured once, on another day and a similar machine. For the exchanges
during a bulk flow, PEPsal's corking was turned off."""

Found = dict[str, float]
"""The results of one way (direct, pep or haproxy) in one round, by the name of the table's row."""


@dataclass(frozen=True)
class Row:
    """One line of the table of results."""

    name: str
    title: str
    digits: int


BULK = [(f"{word}_{way}", n, way == "down") for word, n in (("one", 1), ("ten", 10))
        for way in ("up", "down")]  # fmt: skip
ROWS = (
    *(Row(f"{name}_gbps", f"{n} connection{'s' * (n > 1)} {'from' if down else 'to'} the server, "
          "Gbit/s", 1) for name, n, down in BULK),
    *(Row(f"{name}_cpu", f"{n} {'from' if down else 'to'} the server, CPU-s per GB", 3)
      for name, n, down in BULK),
    *(Row(f"{name}_all_cpu", f"{n} {'from' if down else 'to'} the server, all hosts' of them", 3)
      for name, n, down in BULK),
    Row("rr_p50_ms", "exchange, p50 ms", 3),
    Row("rr_p99_ms", "exchange, p99 ms", 3),
    Row("rr_bulk_p50_ms", "beside a bulk flow, p50 ms", 3),
    Row("rr_bulk_p99_ms", "beside a bulk flow, p99 ms", 2),
    Row("connections_per_s", "new connections per second", 0),
    *(Row(f"idle_{n}_{what}", f"idle at {n:,}, {what} each", digits) for n in IDLE
      for what, digits in (("descriptors", 2), ("bytes", 0))),
)  # fmt: skip


def measure(lab: Lab, way: str, duration_s: float, idle: Sequence[int]) -> Found:
    """Measure one way (direct, pep or haproxy) once, with each kind of load."""
    found: Found = {}
    with lab.ways[way]() as (pid, to):
        for name, connections, reverse in BULK:
            before = processor_s(pid) if pid else 0.0
            bps, ends_s = lab.bulk(to, connections, reverse, duration_s)
            own_s = processor_s(pid) - before if pid else 0.0
            # iperf3 omits its first 0.3 s from the rate
            moved_gb = bps * (duration_s + 0.3) / 8e9
            found[f"{name}_gbps"] = bps / 1e9
            found[f"{name}_all_cpu"] = (own_s + ends_s) / moved_gb
            if pid:
                found[f"{name}_cpu"] = own_s / moved_gb
        for name, beside in (("rr", False), ("rr_bulk", True)):
            times = lab.exchanges(to, duration_s, beside)
            found[f"{name}_p50_ms"], found[f"{name}_p99_ms"] = times.p50_ms, times.p99_ms
        found["connections_per_s"] = lab.new_connections(to, PAGES[way], duration_s)
    for connections in idle if way != "direct" else ():
        if way == "haproxy" and connections > OF_ONE_TABLE:
            continue
        # restart the proxy, because a running proxy would reuse memory of earlier connections
        with lab.ways[way]() as (pid, to):
            assert pid is not None
            with lab.idle(to, 50):
                pass
            before_fds, before_bytes = descriptors(pid), memory_bytes(pid)
            with lab.idle(to, connections):
                name = f"idle_{connections}"
                found[f"{name}_descriptors"] = (descriptors(pid) - before_fds) / connections
                found[f"{name}_bytes"] = (memory_bytes(pid) - before_bytes) / connections
    return found


def in_turns(
    turn: Callable[[str, int], Found], rounds: int, told: Callable[[str], None]
) -> dict[str, list[Found]]:
    """Run every way once in each round; each round starts with a different way."""
    found: dict[str, list[Found]] = {way: [] for way in WAYS}
    for number in range(rounds):
        for at in range(len(WAYS)):
            way = WAYS[(number + at) % len(WAYS)]
            told(f"round {number + 1} of {rounds}: {way}")
            found[way].append(turn(way, number))
    return found


def median(rounds: Sequence[Found], name: str) -> float | None:
    """The median of the result ``name`` over the rounds in which it was measured."""
    values = [found[name] for found in rounds if name in found]
    return statistics.median(values) if values else None


def ratio(found: dict[str, list[Found]], name: str, other: str) -> float | None:
    """The median over the rounds of (result of our proxy) / (result of the way ``other``)."""
    pairs = zip(found["pep"], found[other], strict=True)
    ratios = [here[name] / there[name] for here, there in pairs if name in here and name in there]
    return statistics.median(ratios) if ratios else None


@dataclass(frozen=True)
class Target:
    """The targets."""

    title: str
    value: float | None
    limit: float
    at_least: bool = False

    @property
    def met(self) -> bool:
        """Whether the value meets the target; a value that was not measured does not."""
        if self.value is None:
            return False
        return self.value >= self.limit if self.at_least else self.value <= self.limit


def targets(found: dict[str, list[Found]]) -> list[Target]:
    """All targets, judged."""
    here = {row.name: median(found["pep"], row.name) for row in ROWS}
    direct = {row.name: median(found["direct"], row.name) for row in ROWS}
    p50, beside = direct["rr_p50_ms"], direct["rr_bulk_p99_ms"]
    both = [(name, "from" if down else "to") for name, n, down in BULK if n == 1]
    return [
        *(Target(f"1 connection {way} the server, of HAProxy's rate",
                 ratio(found, f"{name}_gbps", "haproxy"), 0.9, at_least=True)
          for name, way in both),
        *(Target(f"1 connection {way} the server, CPU-s per GB", here[f"{name}_cpu"], 0.1)
          for name, way in both),
        Target("exchange, p50 ms", here["rr_p50_ms"], (p50 or 0) + 0.1),
        Target("beside a bulk flow, p99 ms", here["rr_bulk_p99_ms"], 1.3 * (beside or 0) + 2),
        Target("new connections per second", here["connections_per_s"], 6000, at_least=True),
        *(target for n in IDLE if here[f"idle_{n}_bytes"] is not None for target in (
            Target(f"idle at {n:,}, descriptors each", here[f"idle_{n}_descriptors"], 2.005),
            Target(f"idle at {n:,}, bytes each", here[f"idle_{n}_bytes"], 4096))),
    ]  # fmt: skip


def report(found: dict[str, list[Found]]) -> str:
    """The tables."""
    lines = [f"{'':38}{'direct':>9}{'pep':>9}{'haproxy':>9}{'pep/haproxy':>13}{'PEPsal*':>11}"]
    for row in ROWS:
        cells = [median(found[way], row.name) for way in WAYS]
        if all(value is None for value in cells):
            continue
        text = "".join(f"{'-' if v is None else f'{v:,.{row.digits}f}':>9}" for v in cells)
        beside = ratio(found, row.name, "haproxy")
        text += f"{'-' if beside is None else f'{beside:.2f}':>13}{PEPSAL.get(row.name, '-'):>11}"
        lines.append(f"{row.title:38}{text}")
    lines += ["* measured before, on another run: quoted", ""]
    for target in targets(found):
        word = "at least" if target.at_least else "at most"
        value = "not measured" if target.value is None else f"{target.value:,.3f}"
        verdict = "met" if target.met else "MISSED"
        lines.append(f"{verdict:7} {target.title}: {value}, {word} {target.limit:,.3f}")
    return "\n".join(lines)


def arguments(argv: Sequence[str] | None) -> argparse.Namespace:
    """Read the command line."""
    parser = argparse.ArgumentParser(description=(__doc__ or "").split("\n\n")[0])
    parser.add_argument(
        "--rounds", type=int, default=5, help="number of rounds; a round measures each way once [5]"
    )
    parser.add_argument(
        "--duration-s", type=positive, default=2.0, help="duration of each load [2]"
    )
    parser.add_argument("--no-idle", action="store_true", help="skip idle connections")
    parser.add_argument("--headwayctl", type=Path, help="the program (default the built one)")
    parser.add_argument("--json", action="store_true", help="print one JSON object")
    parser.add_argument("--check", action="store_true", help="status 1 if a target is missed")
    args = parser.parse_args(argv)
    if args.rounds < 1:
        parser.error(f"argument --rounds: must be at least 1, is {args.rounds}")
    return args


def bench(args: argparse.Namespace) -> int:
    """Run what the command line asks for and print it; the exit status.

    Raises:
        BenchError: a program is missing or failed.
    """
    missing = [program for program in NEEDED if not shutil.which(program)]
    if missing:
        raise BenchError(f"`{missing[0]}` is missing; install {NEEDED[missing[0]]}")
    if os.geteuid() != 0:
        raise BenchError("network namespaces need root")
    asked = args.headwayctl or os.environ.get("HEADWAYCTL")
    headwayctl = Path(asked or ROOT / "target" / "release" / "headwayctl").resolve()
    if not os.access(headwayctl, os.X_OK):
        raise BenchError(f"{headwayctl}: no program; `make build` makes it")
    with served_first(), Lab(headwayctl, sorted(os.sched_getaffinity(0))) as lab:

        def turn(way: str, number: int) -> Found:
            idle = IDLE if number == 0 and not args.no_idle else ()
            return measure(lab, way, args.duration_s, idle)

        found = in_turns(turn, args.rounds, lambda line: print(line, file=sys.stderr))
    judged = targets(found)
    if args.json:
        rows = {row.name: {way: median(found[way], row.name) for way in WAYS} for row in ROWS}
        verdicts = [{"title": t.title, "value": t.value, "limit": t.limit, "met": t.met}
                    for t in judged]  # fmt: skip
        print(json.dumps({"rows": rows, "rounds": found, "pepsal": PEPSAL, "targets": verdicts}))
    else:
        print(report(found))
    return int(args.check and not all(target.met for target in judged))


def main(argv: Sequence[str] | None = None) -> int:
    """Run the command line; errors are one line and status 2."""
    try:
        return bench(arguments(argv))
    except BenchError as error:
        print(f"pep_bench: {error}", file=sys.stderr)
        return 2
    except KeyboardInterrupt:
        print("pep_bench: interrupted", file=sys.stderr)
        return 130


if __name__ == "__main__":
    sys.exit(main())
