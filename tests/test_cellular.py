"""Made-up traces of cellular links: the model's numbers, and both backends on one of them.

With HEADWAY_LONG=1 the test also runs a queue without an AQM on both backends.
"""

from typing import Any

import numpy as np
import pytest

from headway.errors import HeadwayError
from headway.workloads.cellular import Cellular, main


def test_the_same_seed_gives_the_same_trace_and_another_gives_another() -> None:
    made = Cellular(seed=1)
    assert made.opportunities_ms() == Cellular(seed=1).opportunities_ms()
    assert made.opportunities_ms() != Cellular(seed=2).opportunities_ms()
    # recorded with an earlier version: a change of the generator would change these numbers
    assert len(made.opportunities_ms()) == 56_825
    assert sum(made.opportunities_ms()) == 1_753_653_367


def test_rates_have_the_models_mean_spread_and_correlation() -> None:
    made = Cellular(duration="3600 s", most="1 Gbit/s", outage_every="10 h")
    rates = made.rates_bps()
    assert rates.mean() == pytest.approx(12e6, rel=0.05)
    logs = np.log(rates)
    assert logs.std() == pytest.approx(0.6, rel=0.05)
    # the correlation time is 1 s: 50 ticks of 20 ms
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
        ({"spread": -1.0}, "spread: -1.0 is not allowed; must be 0 to 3"),
        ({"outage": "0 s"}, "outage: "),
        ({"duration": "100 h", "mean": "1 Gbit/s"}, "duration: 100 h at 1 Gbit/s is not allowed"),
    ],
)
def test_invalid_input_is_one_line(changes: dict[str, Any], said: str) -> None:
    with pytest.raises(HeadwayError) as refused:
        Cellular(**changes)
    assert str(refused.value).startswith(said)


def test_the_command_writes_what_mahimahi_reads(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["--seed", "3", "--duration", "2s"]) == 0
    lines = capsys.readouterr().out.splitlines()
    assert [int(line) for line in lines] == Cellular(seed=3, duration="2 s").opportunities_ms()
    assert main(["--mean", "fast"]) == 2
    assert capsys.readouterr().err.startswith("mean: ")
