"""Tests that sysctls, attributes of routes and buffers have the same results on the kernel."""

import pytest
from host_rows import HOST_ROWS, HostRow, result
from real_time import in_real_time, live
from support import on_kernel


@on_kernel
@in_real_time
@pytest.mark.parametrize("row", [row for row in HOST_ROWS if row.live], ids=str)
def test_a_setting_has_the_result_that_was_measured(row: HostRow) -> None:
    # Drops and timers on the kernel depend on when programs run. A quarter of the setting's effect
    # still tells the setting from its default.
    effect = abs(row.kernel - row.usual)
    tolerance = max(row.spread * row.kernel, effect / 4)
    assert result(live(row.experiment(with_it=True))) == pytest.approx(row.kernel, abs=tolerance)
