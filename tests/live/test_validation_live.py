"""Measures the processor cost of a control in the kernel, and what limits a sender there.

Noise: only asserts that costs exist; a tolerance for the time; a late run is repeated.
"""

from real_time import in_real_time, live
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
    # bounds for 50 Mbit/s during some seconds, with an ACK per two packets
    assert 3000 < reno.acks < 20_000
    assert 20 < reno.ns_per_ack < 20_000


@on_kernel
@in_real_time
def test_the_kernel_counts_how_long_the_send_buffer_holds_a_sender_back() -> None:
    path = {"kind": "dumbbell", "rate": "20 Mbit/s", "rtt": "60 ms", "buffer": "1 BDP"}
    flow = "bbr:size=1MB:send_buffer=100kB:start=0s"
    asked = {"topology": path, "flows": flow, "duration": "4 s"}
    [flow_of] = live(Experiment.model_validate(asked)).flows
    # tests/test_random_cases.py checks the values of the same transfer in the simulator
    assert flow_of.rwnd_limited_us == 0
    assert flow_of.sndbuf_limited_us is not None
    assert 500_000 < flow_of.sndbuf_limited_us < 610_000
