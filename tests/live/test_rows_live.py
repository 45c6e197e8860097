"""Tests that transfers on the kernel take as long as they took when they were first measured.

Each row of the table has a spread, because times vary: a late packet changes a recovery without
SACK, a writer that wakes late changes a burst, and both change what a queue of three packets drops.
If single runs differ by more, the test checks the median of several. A row with a queue of three
packets runs alone. A row with a round trip of a second or more may run beside other tests, because
its spread is more than a delay of 50 ms.
"""

from statistics import median

import pytest
from real_time import in_real_time, live
from rows import ROWS, Row, done_ms
from support import on_kernel

from headway.units import NS_PER_S, parse_time

LIVE_ROWS = [row for row in ROWS if row.live]


def of(rows: list[Row]) -> pytest.MarkDecorator:
    return pytest.mark.parametrize("row", rows, ids=str)


def is_long(row: Row) -> bool:
    """Whether a row's round trip takes a second or more."""
    return parse_time(row.rtt) >= NS_PER_S


def check_time(row: Row) -> None:
    times_ms = [done_ms(live(row.experiment)) for _ in range(row.runs)]
    assert median(times_ms) == pytest.approx(row.kernel_ms, rel=row.spread), times_ms


@on_kernel
@of([row for row in LIVE_ROWS if is_long(row)])
def test_a_long_transfer_takes_as_long_as_measured(row: Row) -> None:
    check_time(row)


@on_kernel
@in_real_time
@of([row for row in LIVE_ROWS if not is_long(row)])
def test_a_transfer_takes_as_long_as_measured(row: Row) -> None:
    check_time(row)
