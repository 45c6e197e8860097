#!/usr/bin/env python3
"""Compare Headway's queues with the qdiscs of a Debian kernel, under software emulation.

Starts the guest of debian_kernel.py. There a router has htb's rate with one of the queues, and
iperf3 sends through it. The simulator runs the same path with the stack linux-6. Both are captured,
and the same code matches each packet that leaves a queue with its arrival there.
"""

from __future__ import annotations

import argparse
import re
import struct
import sys
import time
from collections.abc import Iterable, Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass

import debian_kernel
import numpy as np
from debian_kernel import BenchError
from run_bench import selected

from headway import Experiment, packets, run

PACKAGES = {**debian_kernel.PACKAGES, "tcpdump": "tcpdump"}
MODULES = (
    *debian_kernel.PATH_MODULES,
    *("virtio_pci", "virtio_console", "sch_htb", "sch_codel", "sch_pie", "sch_fq_pie"),
)
"""Debian's fq_codel is no module."""
QUEUES = {"codel": 1000, "fq_codel": 10240, "pie": 1000, "fq_pie": 10240}
"""Limits in packets: Linux's defaults."""
PIE_UPDATE = "20ms"
"""Linux's 15 ms in Debian's ticks of 4 ms, rounded up, and one more, as for every timer that its
own handler starts again. The kernel's function tracer shows these 20 ms."""
WARMUP_S = 5
FULL_BYTES = 1500
"""Only full packets are measured; they are all of iperf3's data."""
WAIT_BOUND_MS, WAIT_BOUND, SIGNALS_BOUND = 1.0, 0.10, 0.15
"""How far the simulator may be from Linux: delays by 1 ms or 10 %, drops and marks by 15 %."""
LIMIT_S = 7200


@dataclass(frozen=True)
class Way:
    """A path and what is sent over it."""

    mbit: int
    rtt_ms: int
    control: str
    flows: int
    length_s: int
    ecn: bool = False

    def __str__(self) -> str:
        ecn = " ECN" if self.ecn else ""
        return f"{self.flows} {self.control}{ecn}, {self.mbit} Mbit/s, {self.rtt_ms} ms"

    @property
    def apart_ms(self) -> int:
        """The flows start one after the other, over a second: their phases change the results."""
        return 1000 // self.flows

    @property
    def packet_us(self) -> float:
        """How long a full packet takes."""
        return FULL_BYTES * 8 / self.mbit


WAYS = (
    Way(10, 20, "cubic", 1, 40),
    Way(10, 50, "reno", 5, 40),
    Way(50, 30, "cubic", 10, 15),
    Way(20, 40, "cubic", 4, 30, ecn=True),
)


@dataclass(frozen=True)
class Seen:
    """What happened to the full packets that reached a queue after the warm-up."""

    median_ms: float
    p95_ms: float
    dropped: float
    """Share of the packets that arrived."""
    marked: float

    @property
    def signals(self) -> float:
        return self.dropped + self.marked


def guest_packets(capture: bytes) -> Iterator[tuple[int, bool, bytes]]:
    """Time, whether it leaves, and IP bytes of each packet of a guest's capture."""
    if struct.unpack_from("<I", capture)[0] != 0xA1B23C4D or capture[20] != 113:
        raise BenchError("the guest's capture is not in nanoseconds and Linux's cooked format")
    at = 24
    while at + 16 <= len(capture):
        seconds, ns, kept = struct.unpack_from("<III", capture, at)
        # a cooked header begins with the packet's direction: 0 to this host, 4 from it
        yield seconds * 10**9 + ns, capture[at + 17] == 4, capture[at + 32 : at + 16 + kept]
        at += 16 + kept


def seen(captured: Iterable[tuple[int, bool, bytes]], length_s: int) -> Seen:
    """The waiting times, drops and marks of full packets, from a capture on both sides of a queue.

    A packet waits for as long as it takes longer than the fastest one, which found the queue empty.
    Time counts from the first packet that passes.
    """
    came: dict[bytes, int] = {}
    passed: list[tuple[int, int, bool]] = []
    for at_ns, leaves, ip in sorted(captured, key=lambda packet: packet[0]):
        if int.from_bytes(ip[2:4], "big") != FULL_BYTES:
            continue
        # addresses, ports, sequence number and timestamp
        key = ip[12:28] + ip[44:48]
        if not leaves:
            came[key] = at_ns
        elif key in came:
            begin_ns = came.pop(key)
            passed.append((begin_ns, at_ns - begin_ns, ip[1] & 3 == 3))
    if not passed:
        raise BenchError("no full packet in a capture")
    begin, took, marked = np.array(passed).T
    lost = np.fromiter(came.values(), dtype=np.int64)
    start = begin.min() + WARMUP_S * 10**9
    end = start + length_s * 10**9
    inside = (begin >= start) & (begin < end)
    n_lost = int(np.sum((lost >= start) & (lost < end)))
    waits = (took[inside] - took.min()) / 1e6
    arrived = len(waits) + n_lost
    return Seen(
        float(np.median(waits)),
        float(np.percentile(waits, 95)),
        n_lost / arrived,
        int(np.sum(marked[inside])) / arrived,
    )


def settings(queue: str, runs: dict[str, Way]) -> str:
    """The guest's settings for runs, given by name, through a queue."""
    lines = []
    for name, way in runs.items():
        # the rate is that of IP packets, but htb counts Ethernet's header, too. The whole round
        # trip passes on the way back, with the time that a packet takes to be sent.
        bits = round(way.mbit * 1e6 * (FULL_BYTES + 14) / FULL_BYTES)
        delay_us = round(way.rtt_ms * 1000 + way.packet_us)
        ecn = " ecn" if way.ecn and queue != "fq_codel" else ""
        lines.append(
            f"{name} {bits} {delay_us} {way.control} {way.flows} {way.apart_ms / 1000} "
            f"{int(way.ecn)} {WARMUP_S + way.length_s} {queue} limit {QUEUES[queue]}{ecn}"
        )
    return "RUNS='" + "\n".join(lines) + "'\n"


def captures(console: str, data: bytes) -> dict[str, bytes]:
    """The guest's captures by the runs' names. Raises BenchError if one is not complete."""
    missed = dict(re.findall(r"^MISSED (\S+) (\d+)$", console, re.M))
    found, at = {}, 0
    for name, size in re.findall(r"^CAPTURE (\S+) (\d+)$", console, re.M):
        found[name] = data[at : at + int(size)]
        at += int(size)
        if missed.get(name) != "0" or at > len(data):
            raise BenchError(f"{name}: the capture is not complete")
    return found


def emulated(queue: str, rounds: int) -> tuple[str, dict[Way, list[Seen]], dict[Way, float]]:
    """The kernel's name, and for each way Debian's results and ACKs per packet."""
    runs = {f"{at}.{number}": way for at, way in enumerate(WAYS) for number in range(rounds)}
    image, modules = debian_kernel.kernel()
    order = debian_kernel.in_order(modules, MODULES)
    out = debian_kernel.WORK / f"{queue}.captures"
    console = debian_kernel.boot(
        image,
        debian_kernel.initial_files(
            "debian_queues_runs.sh", settings(queue, runs), order, ["tcpdump"]
        ),
        *("-chardev", f"file,id=out,path={out}"),
        *("-device", "virtio-serial-pci", "-device", "virtserialport,chardev=out"),
        name=queue,
        limit_s=LIMIT_S,
    )
    [release] = re.findall(r"^KERNEL (\S+)$", console, re.M)
    acks = debian_kernel.acks_per_packet(console)
    results: dict[Way, list[Seen]] = {way: [] for way in WAYS}
    for name, capture in captures(console, out.read_bytes()).items():
        results[runs[name]].append(seen(guest_packets(capture), runs[name].length_s))
    if sum(map(len, results.values())) < len(runs):
        raise BenchError(f"{queue}: a run has no capture")
    return release, results, {way: acks[name] for name, way in runs.items()}


def simulated(queue: str, way: Way, seed: int, *, delayed_ack: bool) -> Seen:
    """The way in the simulator."""
    aqm = queue + (":behind=all" if queue == "fq_codel" else "")
    if "pie" in queue:
        aqm += f":t_update={PIE_UPDATE}"
    if way.ecn and queue != "fq_codel":
        aqm += ":ecn=on"
    options = f":ecn={'on' if way.ecn else 'off'}:delayed_ack={'on' if delayed_ack else 'off'}"
    trace = run(
        Experiment.model_validate(
            {
                "topology": {
                    "kind": "dumbbell",
                    "rate": f"{way.mbit} Mbit/s",
                    "rtt": f"{way.rtt_ms} ms",
                    "buffer": f"{QUEUES[queue]} pkts",
                    "aqm": aqm,
                },
                "flows": ",".join(
                    f"{way.control}:start={index * way.apart_ms} ms{options}"
                    for index in range(way.flows)
                ),
                "duration": f"{WARMUP_S + way.length_s + 2} s",
                "seed": seed,
                "stack": "linux-6",
                "record": [],
                "capture": {"link": "hosts", "snaplen": "60 B"},
            }
        )
    )
    assert trace.capture is not None
    blocks = packets.blocks(trace.capture)
    return seen(((at_ns, side == packets.RIGHT, ip) for at_ns, side, ip in blocks), way.length_s)


def middle(rows: Sequence[Seen]) -> Seen:
    """The medians of several runs."""
    columns = ((row.median_ms, row.p95_ms, row.dropped, row.marked) for row in rows)
    return Seen(*(float(np.median(column)) for column in zip(*columns, strict=True)))


def misses(theirs: Seen, ours: Seen) -> list[str]:
    """Which of the simulator's values are out of bounds."""
    missed = [
        name
        for name, their, our in (
            ("median", theirs.median_ms, ours.median_ms),
            ("p95", theirs.p95_ms, ours.p95_ms),
        )
        if abs(our - their) > max(WAIT_BOUND_MS, WAIT_BOUND * their)
    ]
    if abs(ours.signals - theirs.signals) > SIGNALS_BOUND * theirs.signals:
        missed.append("signals")
    return missed


def row(queue: str, way: Way, theirs: Seen, ours: Seen) -> str:
    """A row of the table: Debian's value before the simulator's."""
    missed = misses(theirs, ours)
    return (
        f"| `{queue}` | {way} | {theirs.median_ms:.1f}, {ours.median_ms:.1f} "
        f"| {theirs.p95_ms:.1f}, {ours.p95_ms:.1f} "
        f"| {theirs.signals:.2%}, {ours.signals:.2%} "
        f"| {'all but ' + ', '.join(missed) if missed else 'all'} |"
    )


def main(argv: Sequence[str] | None = None) -> int:
    """Run the command line; errors are one line and status 2."""
    parser = argparse.ArgumentParser(description=(__doc__ or "").split("\n\n")[0])
    parser.add_argument("--only", metavar="NAME,NAME", help="run these queues only")
    parser.add_argument("--rounds", type=int, default=1, help="runs of each path in the guest (1)")
    parser.add_argument("--seeds", type=int, default=5, help="runs in the simulator (5)")
    parser.add_argument("--guests", type=int, default=1, help="guests at the same time (1)")
    args = parser.parse_args(argv)
    queues = selected(parser, args.only, list(QUEUES), "queue")
    start = time.monotonic()
    try:
        debian_kernel.install(PACKAGES)
        debian_kernel.kernel()
        with ThreadPoolExecutor(args.guests) as pool:
            done = list(pool.map(lambda queue: emulated(queue, args.rounds), queues))
    except BenchError as error:
        print(f"debian_queues: {error}", file=sys.stderr)
        return 2
    print(
        f"Linux {done[0][0]} of Debian in QEMU without KVM, virtual time, beside the simulator. "
        f"The guests took {time.monotonic() - start:.0f} s.\n\n"
        "| queue | flows and path | median wait, ms | p95, ms | dropped or marked | in bounds |\n"
        "|---|---|---:|---:|---:|---|"
    )
    for queue, (_, results, acks) in zip(queues, done, strict=True):
        for way, theirs in results.items():
            delayed = acks[way] < debian_kernel.EVERY_PACKET
            seeds = range(1, args.seeds + 1)
            ours = [simulated(queue, way, seed, delayed_ack=delayed) for seed in seeds]
            print(row(queue, way, middle(theirs), middle(ours)))
    return 0


if __name__ == "__main__":
    sys.exit(main())
