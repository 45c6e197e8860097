"""Times of the kernel's window probes.

Noise: the tolerance at the assertion; a late run is repeated.
"""

from __future__ import annotations

from real_time import in_real_time, live
from support import on_kernel
from test_zero_window import _asked, _checked, _stalled

from headway.backends import run

TICK_S = 0.004
"""Length of a tick with HZ 250."""


@on_kernel
@in_real_time
def test_the_probes_of_a_closed_window_are_the_kernels_one_by_one() -> None:
    here, there = _stalled(run(_asked())), _stalled(live(_asked()))
    ours, theirs = _checked(here), _checked(there)
    assert len(ours) == len(theirs)
    for gap, kernel_gap in zip(ours, theirs, strict=True):
        # The backends' SRTTs differ by at most a tick, which doubles with each gap. The timer
        # wheel lets long timers fire up to an eighth of their time late, and each up to a tick.
        doublings = gap / 0.26
        assert gap - TICK_S * doublings <= kernel_gap <= gap * 1.125 + TICK_S * (doublings + 2)
    # until the window closed, both backends had sent the same amount of data, within a segment
    sent = [
        max(s.seq + s.payload for s in segments if s.outbound and s.time_s < 10)
        for segments in (here, there)
    ]
    assert abs(sent[0] - sent[1]) <= 1448
