"""Readings of a control's state: recorded on request, saved, and shown with a column each."""

from pathlib import Path

from headway import Dumbbell, Experiment, metrics, run
from headway.registry import registry
from headway.trace import load_trace, save_trace

PATH = Dumbbell(rate="20 Mbit/s", rtt="40 ms", buffer="1 BDP")


def flows(text: str, **fields: object) -> Experiment:
    return Experiment(topology=PATH, flows=text, duration="1 s", **fields)


def test_readings_have_a_column_each_and_a_row_per_ack(tmp_path: Path) -> None:
    trace = run(flows("1xbbr3,1xcubic", record=["controls"]))
    loaded = load_trace(save_trace(trace, tmp_path / "saved"))
    table = metrics.readings(loaded, 0)
    declared = [reading.name for reading in registry().control("bbr3").readings]
    assert table.columns == ["time_ns", *declared]
    assert table.height > 500
    assert table["time_ns"].is_sorted()
    startup = table.filter(table["state"] == 0)
    assert startup["pacing_gain"].unique().to_list() == [277]
    assert startup["bw_bps"].is_sorted()
    assert 5e6 < table["max_bw_bps"].to_numpy().max() < 21e6
    # cubic declares no readings
    assert metrics.readings(trace, 1).columns == ["time_ns"]
    assert metrics.readings(trace, 1).is_empty()


def test_no_readings_are_recorded_by_default() -> None:
    trace = run(flows("1xbbr3"))
    assert trace["readings"].is_empty()
    assert trace.flows[0].readings == ()
    assert metrics.readings(trace).columns == ["time_ns"]
