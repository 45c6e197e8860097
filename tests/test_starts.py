"""Transfers that their start or a queue of a few packets decides."""

from __future__ import annotations

from typing import Any, NamedTuple

import pytest
from rows import done_ms

from headway import Experiment
from headway.backends import run


class Row(NamedTuple):
    """A transfer, and after how many milliseconds it is complete."""

    rate: str
    rtt: str
    buffer: str
    flow: str
    simulator_ms: float
    kernel_ms: float
    """Of Linux 6.18; the live suite measures it again."""
    spread: float = 0.05
    """Of the kernel's runs, as a share: BBR draws its phase, and a queue of three packets loses by
    less than the time of programs."""
    approves: bool = False
    """The router answers Quick-Start requests."""


ROWS = (
    Row(
        "3 Mbit/s", "310 ms", "0.25 BDP",
        "cubic+quick-start:size=456499B:initial_rate=0.89Mbit/s", 2484, 2486, approves=True,
    ),
    Row("42 Mbit/s", "302 ms", "1 BDP", "reno+jump-start:size=8239584B", 3440, 3440),
    Row("3.5 Mbit/s", "270 ms", "1 BDP", "bic:size=917588B", 3412, 3412),
    Row("0.8 Mbit/s", "69 ms", "8 pkts", "bbr:size=105444B", 1198, 1235, spread=0.08),
    Row("20 Mbit/s", "60 ms", "3 pkts", "reno:size=3MB", 3958, 5275, spread=0.2),
)  # fmt: skip


def asked(row: Row) -> Experiment:
    """One flow from the start on."""
    path: dict[str, Any] = {
        "kind": "dumbbell", "rate": row.rate, "rtt": row.rtt, "buffer": row.buffer,
    }  # fmt: skip
    if row.approves:
        path["quick_start"] = {}
    flows = f"1x{row.flow}:start=0s"
    return Experiment.model_validate({"topology": path, "flows": flows, "duration": "8 s"})


@pytest.mark.parametrize("row", ROWS, ids=lambda row: row.flow)
def test_a_start_completes_a_transfer_as_linux_does(row: Row) -> None:
    assert done_ms(run(asked(row))) == pytest.approx(row.simulator_ms, rel=0.002)
