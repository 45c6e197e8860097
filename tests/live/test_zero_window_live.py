"""Measures when the kernel sends its zero-window probes.

The tolerance at the assertion allows for a busy machine. A late run is repeated.
"""

from __future__ import annotations

from real_time import in_real_time, live
from support import on_kernel
from test_zero_window import _asked, _checked, _stalled

from headway.backends import run

TICK_S = 0.004
"""Length of a kernel tick with HZ = 250."""


@on_kernel
@in_real_time
def test_the_probes_of_a_closed_window_are_the_kernels_one_by_one() -> None:
    here, there = _stalled(run(_asked())), _stalled(live(_asked()))
    ours, theirs = _checked(here), _checked(there)
    assert len(ours) == len(theirs)
    for gap, kernel_gap in zip(ours, theirs, strict=True):
        # The SRTTs of kernel and simulator differ by at most a tick, and this difference doubles
        # with each gap between probes. The kernel's timer wheel fires long timers up to an eighth
        # of their time late, and every timer up to a tick late.
        doublings = gap / 0.26
        assert gap - TICK_S * doublings <= kernel_gap <= gap * 1.125 + TICK_S * (doublings + 2)
    # until the window closed, kernel and simulator had sent the same amount of data, within a
    # segment
    sent = [
        max(s.seq + s.payload for s in segments if s.outbound and s.time_s < 10)
        for segments in (here, there)
    ]
    assert abs(sent[0] - sent[1]) <= 1448
