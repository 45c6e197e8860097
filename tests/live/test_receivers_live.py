"""Completion times of transfers that the kernel's receiver decides.

Noise: the tolerance at the assertion; a late run is repeated.
"""

from __future__ import annotations

import pytest
from real_time import in_real_time, live
from support import on_kernel
from test_receivers import ROWS, Row, asked, complete_ms


@pytest.mark.parametrize("row", ROWS, ids=lambda row: row.flow)
@on_kernel
@in_real_time
def test_the_kernels_receiver_completes_a_transfer_as_it_did(row: Row) -> None:
    assert complete_ms(live(asked(row))) == pytest.approx(row.kernel_ms, rel=0.05)
