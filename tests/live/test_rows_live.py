"""Transfers on the kernel take as long as they did when they were measured.

Noise: a packet that comes late changes a recovery without SACK, a writer that wakes late a burst,
and both what a queue of three packets drops; hence each row's spread. A row with such a queue
runs alone.
"""

import pytest
from real_time import in_real_time, live
from rows import ROWS, Row, done_ms
from support import on_kernel


@on_kernel
@in_real_time
@pytest.mark.parametrize(
    "row",
    [pytest.param(row, marks=pytest.mark.alone if row.buffer == "3 pkts" else ()) for row in ROWS],
    ids=str,
)
def test_a_transfer_takes_as_long_as_measured(row: Row) -> None:
    assert done_ms(live(row.experiment)) == pytest.approx(row.kernel_ms, rel=row.spread)
