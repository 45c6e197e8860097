"""Tests that Wireshark's Quick-Start dissector reads the request and response of a simulated run.

Measures no time.
"""

from __future__ import annotations

from pathlib import Path

from other_programs import tshark_rows
from support import experiment

from headway import run
from headway.experiment import Bulk, Capture, Flow

FIELDS = (
    "ip.src",
    "ip.ttl",
    "ip.opt.qs_func",
    "ip.opt.qs_rate",
    "ip.opt.qs_ttl",
    "ip.opt.qs_nonce",
    "tcp.options.qs.rate",
    "tcp.options.qs.ttl_diff",
    "ip.checksum.status",
    "tcp.checksum.status",
    "_ws.malformed",
)
REQUEST, REPORT = "0", "8"
DUMBBELL = {"kind": "dumbbell", "rate": "10Mbit/s", "rtt": "100 ms", "buffer": "100 pkts"}


def rows(folder: Path, topology: dict[str, object], link: str) -> list[dict[str, str]]:
    """What tshark reads in the capture of a 200 kB transfer with Quick-Start, by packet."""
    flow = Flow(app=Bulk(size="200 kB"), control="cubic+quick-start")
    trace = run(
        experiment(
            topology=topology,
            flows=[flow],
            duration="10 s",
            warmup="0 s",
            capture=Capture(link=link),
        )
    )
    return tshark_rows(trace, folder, FIELDS)


def test_request_response_and_report_of_a_granted_rate(tmp_path: Path) -> None:
    found = rows(tmp_path, {**DUMBBELL, "quick_start": True}, "bottleneck")
    options = [row for row in found if row["ip.opt.qs_func"]]
    assert [row["ip.opt.qs_func"] for row in options] == [REQUEST, REPORT]
    request, report = options
    (response,) = (row for row in found if row["tcp.options.qs.rate"])
    # a request for 10 Mbit/s is rounded up to 10.24 Mbit/s (8); the router grants 5.12 Mbit/s (7)
    assert request["ip.opt.qs_rate"] == "8"
    assert response["tcp.options.qs.rate"] == report["ip.opt.qs_rate"] == "7"
    difference = (int(request["ip.ttl"]) - int(request["ip.opt.qs_ttl"])) % 256
    assert response["tcp.options.qs.ttl_diff"] == str(difference)
    assert report["ip.opt.qs_nonce"] == request["ip.opt.qs_nonce"]


def test_a_router_that_takes_no_part_shows_in_the_difference(tmp_path: Path) -> None:
    found = rows(tmp_path, DUMBBELL, "bottleneck")
    request, report = (row for row in found if row["ip.opt.qs_func"])
    (response,) = (row for row in found if row["tcp.options.qs.rate"])
    difference = (int(request["ip.ttl"]) - int(request["ip.opt.qs_ttl"])) % 256
    assert response["tcp.options.qs.ttl_diff"] == str((difference - 1) % 256)
    assert (report["ip.opt.qs_func"], report["ip.opt.qs_rate"]) == (REPORT, "0")


def test_a_lowered_request_behind_its_router(tmp_path: Path) -> None:
    link = {"rate": "10Mbit/s", "delay": "20 ms", "buffer": "100 pkts", "quick_start": True}
    chain = {"kind": "chain", "hops": [{"forward": link}, {"forward": link}]}
    before = next(r for r in rows(tmp_path, chain, "forward0") if r["ip.opt.qs_func"])
    behind = next(r for r in rows(tmp_path, chain, "forward1") if r["ip.opt.qs_func"])
    assert (before["ip.opt.qs_rate"], behind["ip.opt.qs_rate"]) == ("8", "7")
    assert int(before["ip.ttl"]) - int(behind["ip.ttl"]) == 1
    assert (int(before["ip.opt.qs_ttl"]) - int(behind["ip.opt.qs_ttl"])) % 256 == 1
    changed = int(before["ip.opt.qs_nonce"], 16) ^ int(behind["ip.opt.qs_nonce"], 16)
    assert changed & ~(3 << 14) == 0, "only the step from 8 to 7"
