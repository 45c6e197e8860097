"""DCTCP when many servers answer at once, and both versions of BBR beside CUBIC.

docs/controls.md and docs/bbr3.md print the values of longer runs.
"""

from __future__ import annotations

import numpy as np
import pytest

from headway import Experiment, run
from headway.digest import digest_of


def incast(control: str, aqm: str, seed: int) -> tuple[list[float], int]:
    """Completion times in ms of 40 transfers that begin within 10 us, and timeouts."""
    path = {
        "kind": "dumbbell", "rate": "10 Gbit/s", "access_rate": "10 Gbit/s", "rtt": "100 us",
        "buffer": "250 pkts", "aqm": aqm,
    }  # fmt: skip
    experiment = Experiment.model_validate(
        {
            "topology": path,
            "flows": f"40x{control}:size=250kB",
            "duration": "1 s",
            "seed": seed,
            "start_spread": "10 us",
        }
    )
    trace = run(experiment)
    starts_ns = experiment.start_times_ns()
    done_ns = [flow.done_ns for flow in trace.flows]
    timeouts = sum(flow["rtos"] for flow in digest_of(trace)["flows"])
    ends = zip(done_ns, starts_ns, strict=True)
    return [(done - start) / 1e6 for done, start in ends if done is not None], timeouts


def test_dctcp_has_no_timeout_where_cubic_s_incast_has_several() -> None:
    p99_ms, timeouts = {}, {}
    for control, aqm in (("dctcp", "step:threshold=65pkts"), ("cubic", "drop-tail")):
        runs = [incast(control, aqm, seed) for seed in range(1, 6)]
        times_ms = [time for times, _ in runs for time in times]
        assert len(times_ms) == 200
        p99_ms[control] = float(np.percentile(times_ms, 99))
        timeouts[control] = sum(count for _, count in runs)
    assert p99_ms["dctcp"] == pytest.approx(12, abs=0.5)
    assert timeouts["dctcp"] == 0
    assert p99_ms["cubic"] > 200  # the least timeout
    assert timeouts["cubic"] >= 4


@pytest.mark.parametrize(
    ("control", "buffer", "share"),
    [
        ("bbr", "0.1 BDP", 0.975),
        ("bbr3", "0.1 BDP", 0.63),
        ("bbr", "8 BDP", 0.41),
        ("bbr3", "8 BDP", 0.53),
    ],
)
def test_bbr3_shares_with_cubic_at_any_buffer(control: str, buffer: str, share: float) -> None:
    path = {"kind": "dumbbell", "rate": "50 Mbit/s", "rtt": "40 ms", "buffer": buffer}
    experiment = Experiment.model_validate(
        {
            "topology": path,
            "flows": f"1x{control},1xcubic",
            "duration": "120 s",
            "warmup": "20 s",
            "seed": 1,
            "start_spread": "1 s",
        }
    )
    goodputs = [flow["goodput_bps"] for flow in digest_of(run(experiment))["flows"]]
    assert goodputs[0] / sum(goodputs) == pytest.approx(share, abs=0.03)
