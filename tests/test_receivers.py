"""Transfers whose receiver sets their time: no timestamps, a small buffer, a slow reader."""

from __future__ import annotations

from typing import NamedTuple

import pytest

from headway import Experiment
from headway.backends import run
from headway.trace import Trace


class Row(NamedTuple):
    """A transfer, and after how many milliseconds it is complete."""

    rate: str
    rtt: str
    buffer: str
    flow: str
    simulator_ms: float
    kernel_ms: float
    """Of Linux 6.18; the live suite measures it again."""


ROWS = (
    Row("20 Mbit/s", "60 ms", "1 BDP", "cubic:size=10MB:timestamps=off", 4353, 4353),
    Row("33 Mbit/s", "20 ms", "0.25 BDP", "westwood:size=10.8MB:receive_buffer=16KiB", 4552, 4570),
    Row(
        "2 Mbit/s", "13 ms", "20 pkts",
        "bbr:size=300kB:timestamps=off:read_rate=0.63Mbit/s", 3830, 3831,
    ),
    Row(
        "4.41 Mbit/s", "22 ms", "20 pkts",
        "cubic:size=727289B:receive_buffer=512KiB:read_size=69762B:read_interval=200ms", 2233, 2236,
    ),
    Row(
        "10.31 Mbit/s", "63 ms", "1 BDP",
        "westwood:size=453743B:receive_buffer=8KiB:read_rate=1.23Mbit/s", 3305, 3186,
    ),
    Row(
        "0.7 Mbit/s", "149 ms", "20 pkts", "bic:size=154912B:read_rate=0.41Mbit/s", 3266, 3278,
    ),
)  # fmt: skip


def asked(row: Row) -> Experiment:
    """One flow from the start on; the kernel needs no longer than the simulator."""
    return Experiment.model_validate(
        {
            "topology": {
                "kind": "dumbbell", "rate": row.rate, "rtt": row.rtt, "buffer": row.buffer,
            },
            "flows": f"1x{row.flow}:start=0s",
            "duration": "8 s",
        }
    )  # fmt: skip


def complete_ms(trace: Trace) -> float:
    """From the start of the flow until the application has read all."""
    done_ns = trace.flows[0].done_ns
    assert done_ns is not None
    return done_ns / 1e6


@pytest.mark.parametrize("row", ROWS, ids=lambda row: row.flow)
def test_a_receiver_completes_a_transfer_as_linux_does(row: Row) -> None:
    assert complete_ms(run(asked(row))) == pytest.approx(row.simulator_ms, rel=0.002)
