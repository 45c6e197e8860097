"""Made-up traces of cellular links: the model's numbers, and both backends on one of them.

HEADWAY_LONG=1 has a queue without an AQM there, too.
"""

import os
import statistics
from typing import Any

import numpy as np
import pytest
from real_time import in_real_time, live_each
from support import on_kernel

from headway import metrics
from headway.backends import backend_named
from headway.errors import HeadwayError
from headway.experiment import Cbr, Dumbbell, Experiment, Flow
from headway.trace import Trace
from headway.workloads.cellular import Cellular, main

LONG = "HEADWAY_LONG" in os.environ


def test_the_same_seed_gives_the_same_trace_and_another_gives_another() -> None:
    made = Cellular(seed=1)
    assert made.opportunities_ms() == Cellular(seed=1).opportunities_ms()
    assert made.opportunities_ms() != Cellular(seed=2).opportunities_ms()
    # so that a change of the generator is seen
    assert len(made.opportunities_ms()) == 56_825
    assert sum(made.opportunities_ms()) == 1_753_653_367


def test_rates_have_the_models_mean_spread_and_correlation() -> None:
    made = Cellular(duration="3600 s", most="1 Gbit/s", outage_every="10 h")
    rates = made.rates_bps()
    assert rates.mean() == pytest.approx(12e6, rel=0.05)
    logs = np.log(rates)
    assert logs.std() == pytest.approx(0.6, rel=0.05)
    # 50 ticks of 20 ms are the correlation time
    correlation = np.corrcoef(logs[:-50], logs[50:])[0, 1]
    assert correlation == pytest.approx(np.exp(-1), abs=0.05)


def test_outages_come_as_often_and_last_as_long_as_asked() -> None:
    made = Cellular(duration="3600 s", outage_every="10 s", outage="500 ms", mean="1 Mbit/s")
    down = made.rates_bps() == 0
    begins = int(np.sum(down[1:] & ~down[:-1]))
    assert begins == pytest.approx(3600 / 10.5, rel=0.15)
    assert down.mean() == pytest.approx(0.5 / 10.5, rel=0.2)


def test_deliveries_are_a_poisson_process_of_the_rate() -> None:
    made = Cellular(duration="600 s", spread=0, outage_every="10 h", mean="12 Mbit/s")
    times = np.array(made.opportunities_ms()[:-1])
    per_ms = np.bincount(times, minlength=600_001)[1:]
    assert per_ms.mean() == pytest.approx(1, rel=0.01)
    assert per_ms.var() == pytest.approx(1, rel=0.02)
    assert made.opportunities_ms()[-1] == 600_000


@pytest.mark.parametrize(
    ("changes", "said"),
    [
        ({"mean": "12"}, "mean: "),
        ({"spread": -1.0}, "spread: -1.0 is not allowed; 0 to 3"),
        ({"outage": "0 s"}, "outage: "),
        ({"duration": "100 h", "mean": "1 Gbit/s"}, "duration: 100 h at 1 Gbit/s is not allowed"),
    ],
)
def test_what_makes_no_sense_is_one_line(changes: dict[str, Any], said: str) -> None:
    with pytest.raises(HeadwayError) as refused:
        Cellular(**changes)
    assert str(refused.value).startswith(said)


def test_the_command_writes_what_mahimahi_reads(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["--seed", "3", "--duration", "2s"]) == 0
    lines = capsys.readouterr().out.splitlines()
    assert [int(line) for line in lines] == Cellular(seed=3, duration="2 s").opportunities_ms()
    assert main(["--mean", "fast"]) == 2
    assert capsys.readouterr().err.startswith("mean: ")


def on_the_trace(aqm: str, start_ms: int = 100) -> Experiment:
    """Two downloads, and probes that see the delay, over a made-up cellular link.

    With one download through CoDel the utilization of a run has a standard deviation of 1.2 %, as
    its few drops fall; with two it has 0.6 %. Three links of this rate run side by side.
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
    """Utilization, and the probes' 95th percentile of one-way delay in ms."""
    owd_ns = trace["udp"].filter(trace["udp"]["owd_ns"] >= 0)["owd_ns"].to_numpy()
    return metrics.utilization(trace), float(np.quantile(owd_ns, 0.95)) / 1e6


@on_kernel
@in_real_time
@pytest.mark.parametrize("aqm", ["codel", *(["drop-tail"] if LONG else [])])
def test_both_backends_agree_on_a_made_up_trace(aqm: str) -> None:
    """Utilization within 3 %, 95th percentile of the delay within 10 %: medians of runs.

    Three on the kernel; 25 in the simulator that start a millisecond after each other, as a
    kernel's do by chance.
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
