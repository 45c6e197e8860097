"""Measures the processor cost of a control in the kernel, and what limits a sender there.

The tests only assert that costs were measured. Of limiting times they check the median of five,
because a writer that wakes late changes a single time. A late run is repeated.
"""

from statistics import median

from real_time import in_real_time, live_each
from support import on_kernel

from headway import Experiment
from headway.sweep import no_progress
from headway.validation import (
    cost,
)
from headway.validation.failed import Failures


@on_kernel
@in_real_time
def test_the_kernel_counts_what_a_control_costs() -> None:
    [reno] = cost.measure([("reno", "slow-start")], no_progress, Failures(print))
    # bounds for the number of ACKs at 50 Mbit/s during some seconds, with an ACK per two packets
    assert 3000 < reno.acks < 20_000
    assert 20 < reno.ns_per_ack < 20_000


@on_kernel
@in_real_time
def test_the_kernel_counts_how_long_the_send_buffer_holds_a_sender_back() -> None:
    path = {"kind": "dumbbell", "rate": "20 Mbit/s", "rtt": "60 ms", "buffer": "1 BDP"}
    flow = "bbr:size=1MB:wmem=4KiB/100kB/100kB:start=0s"
    asked = {"topology": path, "flows": flow, "duration": "4 s"}
    flows = [trace.flows[0] for trace in live_each([Experiment.model_validate(asked)] * 5)]
    assert {flow.rwnd_limited_us for flow in flows} == {0}
    # The time is the sum of many waits. Each may be wrong by up to a tick of 4 ms, and is shorter
    # if the writer wakes late. Of 180 runs, 174 counted 532 to 568 ms, and 6 beside other work 456
    # to 588 ms. Medians of five were 544 to 552 ms. tests/test_random_cases.py has the same bounds
    # for the simulator.
    times_us = [flow.sndbuf_limited_us for flow in flows]
    assert 530_000 <= median(times_us) <= 570_000, times_us
