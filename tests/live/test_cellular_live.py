"""Runs a made-up cellular trace on the kernel and compares delay and throughput with the simulator.

The tolerances at the assertions allow for a busy machine. A run on a late machine is repeated
(real_time.py).
"""

import os
import statistics

import numpy as np
import pytest
from real_time import in_real_time, live_each
from support import on_kernel

from headway import metrics
from headway.backends import backend_named
from headway.experiment import Cbr, Dumbbell, Experiment, Flow
from headway.trace import Trace
from headway.workloads.cellular import Cellular

LONG = "HEADWAY_LONG" in os.environ


def on_the_trace(aqm: str, start_ms: int = 100) -> Experiment:
    """Two downloads, and datagrams that measure the delay, over a made-up cellular link.

    With one download through CoDel, the utilization of a run has a standard deviation of 1.2 %,
    because drops are few. With two downloads it is 0.6 %. Three such links run in parallel.
    """
    return Experiment(
        topology=Dumbbell(
            rate="5 Mbit/s",
            rtt="40 ms",
            buffer="200 pkts",
            aqm=aqm,
            vary=Cellular(seed=1, mean="5 Mbit/s", duration="20 s").trace(),
        ),
        flows=[
            Flow(control="cubic", start=f"{start_ms} ms"),
            Flow(control="cubic", start=f"{start_ms + 10} ms"),
            Flow(app=Cbr(packet="186 B", interval="20 ms"), start="200 ms"),
        ],
        duration="20 s",
        warmup="2 s",
    )


def _seen(trace: Trace) -> tuple[float, float]:
    """The link's utilization, and the 95th percentile of the datagrams' one-way delay in ms."""
    owd_ns = trace["udp"].filter(trace["udp"]["owd_ns"] >= 0)["owd_ns"].to_numpy()
    return metrics.utilization(trace), float(np.quantile(owd_ns, 0.95)) / 1e6


@on_kernel
@in_real_time
@pytest.mark.parametrize("aqm", ["codel", *(["drop-tail"] if LONG else [])])
def test_both_backends_agree_on_a_made_up_trace(aqm: str) -> None:
    """Test that utilization agrees within 3 %, and the 95th percentile of the delay within 10 %.

    The compared values are medians of three runs on the kernel and of 25 in the simulator. The
    simulator's runs start at intervals of a millisecond, because runs on the kernel also start at
    random times.
    """
    simulator = backend_named("sim")
    simulated = [_seen(simulator.run(on_the_trace(aqm, 88 + run))) for run in range(25)]
    measured = [_seen(trace) for trace in live_each([on_the_trace(aqm)] * 3)]
    medians = [
        [statistics.median(each) for each in zip(*runs, strict=True)]
        for runs in (simulated, measured)
    ]
    print(f"{aqm}: simulated {medians[0]}, kernel {medians[1]} of {measured}")
    assert medians[1][0] == pytest.approx(medians[0][0], rel=0.03)
    assert medians[1][1] == pytest.approx(medians[0][1], rel=0.1)
