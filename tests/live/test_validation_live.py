"""Counts the processor cost of a control in the kernel.

Noise: asserts only that counts are there; a late run is repeated.
"""

from real_time import in_real_time
from support import on_kernel

from headway.sweep import no_progress
from headway.validation import (
    cost,
)
from headway.validation.failed import Failures


@on_kernel
@in_real_time
def test_the_kernel_counts_what_a_control_costs() -> None:
    [reno] = cost.measure([("reno", "slow-start")], no_progress, Failures(print))
    # 50 Mbit/s for some seconds, an ACK for two packets
    assert 3000 < reno.acks < 20_000
    assert 20 < reno.ns_per_ack < 20_000
