"""Completion times of transfers that the kernel's start, or a queue of a few packets, decides.

Noise: the tolerance at the assertion; a late run is repeated.
"""

from __future__ import annotations

import pytest
from real_time import in_real_time, live
from rows import done_ms
from support import on_kernel
from test_starts import ROWS, Row, asked


@pytest.mark.parametrize("row", ROWS, ids=lambda row: row.flow)
@on_kernel
@in_real_time
def test_the_kernel_completes_a_transfer_as_it_did(row: Row) -> None:
    assert done_ms(live(asked(row))) == pytest.approx(row.kernel_ms, rel=row.spread)
