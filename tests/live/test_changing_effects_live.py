"""Runs a link whose effects change on the kernel, and compares it with the simulator.

A run on a late machine is repeated (real_time.py).
"""

import numpy as np
import polars as pl
from real_time import in_real_time, live_each
from support import on_kernel

from headway.backends import backend_named
from headway.experiment import Cbr, Dumbbell, Experiment, Flow, Schedule, Step
from headway.trace import Trace

PHASES_S = (0, 2, 4, 6)
"""Starts of the phases: no effect, a policer, jitter, no effect."""


def changing() -> Experiment:
    """Datagrams of 6 Mbit/s over a link with a policer of 3 Mbit/s, later with jitter."""
    _, policed, varied, plain = (f"{start_s} s" for start_s in PHASES_S)
    steps = [
        Step(start="0 s"),
        Step(start=policed, policer="3Mbit/s:burst=15kB"),
        Step(start=varied, policer="off", jitter="15ms"),
        Step(start=plain, jitter="off"),
    ]
    return Experiment(
        topology=Dumbbell(
            rate="20 Mbit/s", rtt="40 ms", buffer="100 pkts", vary=Schedule(steps=steps)
        ),
        flows=[Flow(app=Cbr(packet="1500 B", interval="2 ms"), start="0 s")],
        duration="8 s",
    )


def _of_phases(trace: Trace) -> list[tuple[float, float]]:
    """In each phase, the share of datagrams that arrive and the range of half their delays, ms."""
    udp = trace["udp"].cast({"owd_ns": pl.Float64})
    sent_ns, owd_ns = (udp[name].to_numpy() for name in ("sent_ns", "owd_ns"))
    found = []
    for start_s, end_s in zip(PHASES_S, (*PHASES_S[1:], 8), strict=True):
        # a tenth of a second at each end, because programs on the kernel start at any time
        inside = (sent_ns > (start_s + 0.1) * 1e9) & (sent_ns < (end_s - 0.1) * 1e9)
        delays_ns = owd_ns[inside]
        arrived_ns = delays_ns[~np.isnan(delays_ns)]
        # a few late packets of a busy machine do not change the quartiles
        low_ns, high_ns = np.percentile(arrived_ns, (25, 75))
        found.append((arrived_ns.size / delays_ns.size, (high_ns - low_ns) / 1e6))
    return found


@on_kernel
@in_real_time
def test_effects_begin_and_end_on_both_backends_at_the_same_times() -> None:
    simulated = _of_phases(backend_named("sim").run(changing()))
    [trace] = live_each([changing()])
    measured = _of_phases(trace)
    for (share, range_ms), (kernel_share, kernel_range_ms) in zip(simulated, measured, strict=True):
        assert abs(share - kernel_share) < 0.01
        assert abs(range_ms - kernel_range_ms) < 0.5
    assert [round(share, 1) for share, _ in measured] == [1.0, 0.5, 1.0, 1.0]
    assert measured[2][1] > 4
