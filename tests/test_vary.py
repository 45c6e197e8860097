"""Links that change during a run: which descriptions are accepted or rejected, and how links
behave.
"""

import json
from pathlib import Path

import pytest

from headway import metrics
from headway.backends.sim import SimBackend, scenario
from headway.errors import ExperimentError
from headway.experiment import (
    Dumbbell,
    Experiment,
    Jitter,
    Link,
    Mahimahi,
    Policer,
    Schedule,
    Shaper,
    Step,
    TraceStep,
    outages,
)
from headway.try_experiment import from_file, save

STEPS = Schedule(
    steps=[
        Step(start="0 s", rate="20 Mbit/s", delay="20 ms"),
        Step(start="5 s", rate="5 Mbit/s", delay="20 ms"),
        Step(start="10 s", rate="20 Mbit/s", delay="20 ms"),
    ]
)


def _path(vary: object) -> Dumbbell:
    return Dumbbell.model_validate(
        {"rate": "20 Mbit/s", "rtt": "40 ms", "buffer": "1 BDP", "vary": vary}
    )


def _experiment(vary: object) -> Experiment:
    return Experiment(topology=_path(vary), flows="1xcubic", duration="15 s", sample="1 s")


def test_files_are_read_and_stored_in_the_experiment(tmp_path: Path) -> None:
    schedule = tmp_path / "rates.csv"
    schedule.write_text(
        "time_ns,rate_bps,delay_ns\n0,20000000,20000000\n5000000000,5000000,20000000\n"
        "10000000000,20000000,20000000\n"
    )
    assert _path(f"schedule:{schedule}").vary == STEPS
    trace = tmp_path / "up.trace"
    trace.write_text("2\n5\n5\n12\n")
    made = _experiment(f"mahimahi:{trace}")
    assert made.topology.links()[0][0].vary == Mahimahi(opportunities_ms=(2, 5, 5, 12))
    schedule.unlink()
    trace.unlink()
    for experiment in (made, _experiment(STEPS)):
        save(experiment, tmp_path / "kept.json")
        assert from_file(tmp_path / "kept.json") == experiment


SWITCHED = Schedule(
    steps=[
        Step(start="0 s", rate="20 Mbit/s", delay="20 ms", shaper="8Mbit/s:burst=9kB"),
        Step(start="5 s", rate="20 Mbit/s", delay="20 ms", jitter="4ms:distribution=normal"),
        Step(start="10 s", rate="10 Mbit/s", delay="20 ms", jitter="off", shaper="off"),
    ]
)


def test_steps_change_effects_and_keep_what_they_do_not_name(tmp_path: Path) -> None:
    made = _experiment(
        {
            "kind": "schedule",
            "steps": [
                {"start": "0 s", "shaper": {"rate": "8 Mbit/s", "burst": "9 kB"}},
                {"start": "5 s", "jitter": Jitter(spread="4 ms", distribution="normal")},
                {"start": "10 s", "rate": "10 Mbit/s", "jitter": "off", "shaper": "off"},
            ],
        }
    )
    save(made, tmp_path / "kept.json")
    assert from_file(tmp_path / "kept.json") == made
    lowered = scenario(made)["topology"]["links"][0]["vary"]
    assert lowered == SWITCHED.fields()
    second = 10**9
    *numbers, switches = lowered["steps"][1]
    assert numbers == [5 * second, 20_000_000, 20_000_000]
    assert switches["jitter"]["spread_ns"] == 4_000_000
    off = {"jitter": "off", "shaper": "off"}
    assert lowered["steps"][2] == [10 * second, 10_000_000, 20_000_000, off]
    [(link, _)] = made.topology.links()
    assert link.over_time("shaper") == [(0, Shaper(rate="8 Mbit/s", burst="9 kB")),
                                        (10 * second, None)]  # fmt: skip
    assert link.largest_delay_ns() > 20_000_000 + 4_000_000
    trace = Mahimahi(opportunities_ms=[1], steps=[TraceStep(start="3 s", policer="off")])
    assert trace.fields() == {
        "kind": "mahimahi", "opportunities_ms": [1], "steps": [[3 * second, {"policer": "off"}]]
    }  # fmt: skip


def test_a_file_has_columns_of_effects(tmp_path: Path) -> None:
    file = tmp_path / "steps.csv"
    file.write_text(
        "time_ns,rate_bps,delay_ns,jitter,shaper,policer\n"
        "0,20000000,20000000,,8Mbit/s:burst=9kB\n"
        "5000000000,20000000,20000000,4ms:distribution=normal\n"
        "10000000000,10000000,20000000,off,off,2Mbit/s:burst=3kB:mark=on\n"
    )
    found = _path(f"schedule:{file}").vary
    assert isinstance(found, Schedule)
    *before, last = SWITCHED.steps
    policer = Policer(rate="2 Mbit/s", burst="3 kB", mark=True)
    assert found.steps == (*before, last.model_copy(update={"policer": policer}))
    made = _experiment(found)
    assert Experiment.model_validate_json(made.model_dump_json()) == made


def test_the_reverse_link_varies_only_if_it_says_so() -> None:
    [(forward, reverse)] = _path(STEPS).links()
    assert forward.vary == STEPS
    assert reverse.vary is None
    there, back = scenario(_experiment(STEPS))["topology"]["links"]
    assert there["vary"] == STEPS.fields()
    assert "vary" not in back


@pytest.mark.parametrize(
    ("vary", "said"),
    [
        ("mahimahi:/nonexistent/a.trace", "vary: /nonexistent/a.trace: cannot read"),
        ("lte.trace", "vary: 'lte.trace' is not allowed; schedule:FILE or mahimahi:FILE"),
        ("steps:lte.trace", "schedule:FILE or mahimahi:FILE"),
        ({"kind": "mahimahi", "opportunities_ms": [3, 2]}, "opportunities_ms[1]: times must not"),
        ({"kind": "mahimahi", "opportunities_ms": []}, "at least 1"),
        ({"kind": "wave"}, "vary"),
        (
            {"kind": "schedule", "steps": [{"start": "1 s", "rate": "1Mbit/s", "delay": "0 s"}]},
            "steps[0]: times must start at 0",
        ),
        (
            {"kind": "schedule", "steps": [{"start": "0 s", "rate": "down", "delay": "0 s"}]},
            "the last rate holds for ever and must not be 0",
        ),
        (
            {"kind": "schedule", "steps": [{"start": "0 s", "rate": "0 bit/s", "delay": "0 s"}]},
            "vary.steps[0].rate",
        ),
        (
            {"kind": "schedule", "steps": [{"start": "0 s"}, {"start": "0 s"}]},
            "steps[1]: times must start at 0 and increase",
        ),
        (
            {"kind": "mahimahi", "opportunities_ms": [1], "steps": 2 * [{"start": "1 s"}]},
            "steps[1]: times must increase",
        ),
    ],
)
def test_invalid_input_is_one_line(vary: object, said: str) -> None:
    with pytest.raises(ExperimentError) as refused:
        _path(vary)
    assert said in str(refused.value)
    assert "\n" not in str(refused.value)


def test_a_bad_line_of_a_file_is_named(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)  # the error would shorten a long path
    Path("rates.csv").write_text("time_ns,rate_bps,delay_ns\n0,20000000,20000000\n5,x,1\n")
    with pytest.raises(ExperimentError, match=r"rates.csv: line 3: expected three whole numbers"):
        _path("schedule:rates.csv")
    Path("rates.csv").write_text("time_ns,rate_bps,delay_ns,jitter\n0,20000000,20000000,fast\n")
    with pytest.raises(ExperimentError, match=r"rates.csv: line 2: jitter.spread: 'fast' is not a"):
        _path("schedule:rates.csv")
    Path("rates.csv").write_text("time_ns,rate_bps,delay_ns,aqm\n")
    with pytest.raises(ExperimentError, match=r"rates.csv: the first line must be time_ns,rate"):
        _path("schedule:rates.csv")


def test_outages_are_steps() -> None:
    made = outages("10 Mbit/s", "20 ms", [("1 s", "2 s"), ("5 s", "5500 ms")])
    rates = [(step.start / 1e9, step.rate) for step in made.steps]
    assert rates == [(0, 10**7), (1, 0), (2, 10**7), (5, 0), (5.5, 10**7)]
    assert outages("1 Mbit/s", "0 s", [("0 s", "1 s")]).steps[0].rate == 0
    with pytest.raises(ExperimentError, match="increase"):
        outages("1 Mbit/s", "0 s", [("2 s", "1 s")])


def test_capacity_is_the_mean_over_the_window() -> None:
    link = Link(rate="1 Mbit/s", delay="0 s", buffer="10 pkts", vary=STEPS)
    assert link.capacity_bps(0, 15 * 10**9) == pytest.approx(15e6)
    assert link.capacity_bps(4 * 10**9, 6 * 10**9) == pytest.approx(12.5e6)
    assert link.capacity_bps(12 * 10**9, 30 * 10**9) == pytest.approx(20e6)
    trace = Mahimahi(opportunities_ms=(2, 5, 5, 10))
    each = Link(rate="1 Mbit/s", delay="0 s", buffer="10 pkts", vary=trace)
    # the trace delivers four times 1500 bytes in 10 ms: 4.8 Mbit/s
    assert each.capacity_bps(0, 10**9) == pytest.approx(4.8e6, rel=0.01)
    assert each.capacity_bps(3 * 10**6, 13 * 10**6) == pytest.approx(4.8e6)
    assert trace.capacity_bytes(0, 6 * 10**6) == 3 * 1500
    assert trace.capacity_bytes(10**7, 10**7 + 1) == 1500


def test_capacity_counts_the_shaper_while_it_is_on() -> None:
    link = Link(rate="20 Mbit/s", delay="0 s", buffer="10 pkts", vary=SWITCHED)
    assert link.capacity_bps(0, 10 * 10**9) == pytest.approx(8e6)
    assert link.capacity_bps(8 * 10**9, 12 * 10**9) == pytest.approx(9e6)
    own = Link(rate="20 Mbit/s", delay="0 s", buffer="10 pkts", shaper="5Mbit/s:burst=3kB",
               vary=Schedule(steps=[Step(start="0 s"), Step(start="1 s", shaper="off"),
                                    Step(start="2 s", rate="1 Mbit/s")]))  # fmt: skip
    assert own.capacity_bps(0, 4 * 10**9) == pytest.approx((5e6 + 20e6 + 2 * 1e6) / 4)


def test_a_policer_that_a_step_begins_is_in_force_from_then_on() -> None:
    steps = [Step(start="0 s"), Step(start="5 s", policer="4Mbit/s:burst=15kB"),
             Step(start="10 s", policer="off")]  # fmt: skip
    flow = {"app": {"kind": "cbr", "packet": "1500 B", "interval": "1 ms"}}  # 12 Mbit/s
    made = Experiment.model_validate(
        {
            "topology": _path(Schedule(steps=steps)),
            "flows": [flow],
            "duration": "15 s",
            "sample": "1 s",
        }
    )
    trace = SimBackend().run(made)
    second = 10**9
    for start_s, end_s, rate_bps in ((1, 5, 12e6), (6, 10, 4e6), (11, 14, 12e6)):
        window = (start_s * second, end_s * second)
        assert metrics.throughput_bps(trace, 0, window) == pytest.approx(rate_bps, rel=1e-3)


def test_a_step_of_the_rate_is_followed_by_trace_and_digest() -> None:
    made = _experiment(STEPS)
    trace = SimBackend().run(made)
    second = 10**9

    def rate_bps(start_s: int, end_s: int) -> float:
        return metrics.throughput_bps(trace, 0, (start_s * second, end_s * second))

    assert 18e6 < rate_bps(3, 5) <= 20.02e6
    assert 4.7e6 < rate_bps(7, 10) <= 5.02e6
    assert 17e6 < rate_bps(13, 15) <= 20.02e6
    used = metrics.utilization(trace)
    assert 0.85 < used <= 1
    assert SimBackend().digest(made)["link"]["utilization"] == pytest.approx(used)
    assert metrics.utilization(trace, 0, (7 * second, 10 * second)) > 0.94
    assert json.loads(made.model_dump_json())["topology"]["vary"]["steps"][1]["rate"] == "5 Mbit/s"
