"""Tests that tshark reads the same ECN flags in captures of the simulator and of the kernel.

The protocol determines the order of the flags. A late run is repeated.
"""

from __future__ import annotations

from pathlib import Path
from typing import Any

from other_programs import tshark_rows
from real_time import in_real_time, live
from support import on_kernel

from headway import Experiment, run

FIELDS = (
    "tcp.srcport",
    "ip.dsfield.ecn",
    "tcp.flags.syn",
    "tcp.flags.ece",
    "tcp.flags.cwr",
    "tcp.len",
    "ip.checksum.status",
    "tcp.checksum.status",
    "_ws.malformed",
)
RED = {
    "name": "red",
    "tunables": {"ecn": 1, "min_th_pkts": 10, "max_th_pkts": 30, "weight_shift": 6},
}


def marked(topology: dict[str, Any] | None = None, link: str = "bottleneck") -> Experiment:
    path = {
        "kind": "dumbbell",
        "rate": "10Mbit/s",
        "rtt": "40 ms",
        "buffer": "1000 pkts",
        "aqm": RED,
    }
    asked = {
        "topology": topology or path,
        "flows": "1xreno:ecn=on",
        "duration": "3 s",
        "capture": {"link": link},
    }
    return Experiment.model_validate(asked)


def told(found: list[dict[str, str]]) -> list[str]:
    """The packets' kinds and ECN flags as text, in order, without repetitions."""
    opener = found[0]["tcp.srcport"]
    steps: list[str] = []
    for row in found:
        what = "data" if row["tcp.len"] != "0" else "ack"
        if row["tcp.flags.syn"] in ("1", "True"):
            what = "syn"
        flags = [name for name in ("ece", "cwr") if row[f"tcp.flags.{name}"] in ("1", "True")]
        who = "opener" if row["tcp.srcport"] == opener else "responder"
        step = " ".join([who, what, f"ecn={row['ip.dsfield.ecn']}", *flags])
        if step not in steps[-2:]:
            steps.append(step)
    return steps


FIRST_MARK = [
    "opener syn ecn=0 ece cwr",
    "responder syn ecn=0 ece",
    "opener ack ecn=0",
    "opener data ecn=2",
    "responder ack ecn=0",
    "responder ack ecn=0 ece",
    "opener data ecn=2 cwr",
]
"""The packets from the handshake to the sender's answer (CWR) to the first mark."""


def without_repeats(steps: list[str]) -> list[str]:
    """The kinds of packets in the order of their first appearance."""
    return list(dict.fromkeys(steps))


def test_tshark_reads_the_flags_of_a_simulated_connection(tmp_path: Path) -> None:
    found = tshark_rows(run(marked()), tmp_path, FIELDS)
    assert without_repeats(told(found))[: len(FIRST_MARK)] == FIRST_MARK
    assert {row["ip.dsfield.ecn"] for row in found} == {"0", "2"}


def test_tshark_reads_marks_behind_the_queue(tmp_path: Path) -> None:
    narrow = {"rate": "10Mbit/s", "delay": "20 ms", "buffer": "1000 pkts", "aqm": RED}
    wide = {"rate": "1Gbit/s", "delay": "0 s", "buffer": "1000 pkts"}
    chain = {"kind": "chain", "hops": [{"forward": narrow}, {"forward": wide}]}
    trace = run(marked(chain, link="forward1"))
    found = tshark_rows(trace, tmp_path, FIELDS)
    marks = sum(row["ip.dsfield.ecn"] == "3" for row in found)
    assert marks > 0
    assert trace.flows[0].ce_marks in (marks - 1, marks)


def test_tshark_decodes_accurate_ecn(tmp_path: Path) -> None:
    asked = marked(link="hosts").model_dump() | {"flows": "1xreno:ecn=accurate"}
    trace = run(Experiment.model_validate(asked))
    names = ("ee0b", "eceb", "ee1b")
    counters = tuple(f"tcp.options.acc_ecn.{name}" for name in names)
    fields = ("frame.interface_id", "tcp.flags.ae", "tcp.flags.ace", *counters)
    found = tshark_rows(trace, tmp_path, (*FIELDS, *fields))
    opener = found[0]["tcp.srcport"]
    syn, syn_ack, ack = found[0], found[2], found[4]
    flags = ("tcp.flags.ae", "tcp.flags.cwr", "tcp.flags.ece")
    assert [syn[flag] in ("1", "True") for flag in flags] == [True, True, True]
    assert [syn_ack[flag] in ("1", "True") for flag in flags] == [False, True, False]
    assert ack["tcp.flags.ace"] == "2"
    marks = ce_bytes = 0
    e0_bytes = 1
    for row in found:
        if row["frame.interface_id"] != "1" or row["tcp.flags.syn"] in ("1", "True"):
            continue
        if row["tcp.srcport"] == opener:
            marks += row["ip.dsfield.ecn"] == "3"
            ce_bytes += int(row["tcp.len"]) * (row["ip.dsfield.ecn"] == "3")
            e0_bytes += int(row["tcp.len"]) * (row["ip.dsfield.ecn"] == "2")
            continue
        assert row["tcp.flags.ace"] == str((5 + marks) % 8)
        assert [row[counter] for counter in counters] == [str(e0_bytes), str(ce_bytes), "1"]
    assert marks > 5
    assert trace.flows[0].accurate_ecn


@on_kernel
@in_real_time
def test_a_live_connection_shows_tshark_the_same_flags_in_the_same_order(tmp_path: Path) -> None:
    found = tshark_rows(live(marked()), tmp_path, FIELDS, checked=False)
    simulated = tshark_rows(run(marked()), tmp_path, FIELDS)
    assert without_repeats(told(found)) == without_repeats(told(simulated)) == FIRST_MARK
