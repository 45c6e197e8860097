"""Jitter, bursty loss, policers and shapers: text, fields, errors, and what they do to flows."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest
from test_try import run as command

from headway import metrics, run
from headway.backends.sim import scenario
from headway.errors import ExperimentError
from headway.experiment import (
    Aggregation,
    BurstLoss,
    Dumbbell,
    Experiment,
    Jitter,
    Link,
    Mahimahi,
    Policer,
    Schedule,
    Shaper,
    Step,
    Topology,
    TraceStep,
)

PATH = {"rate": "20 Mbit/s", "rtt": "40 ms", "buffer": "1 BDP"}


def _path(**effects: Any) -> Dumbbell:
    return Dumbbell.model_validate({**PATH, **effects})


def _link(topology: Topology, number: int = 0) -> dict[str, Any]:
    made = Experiment(topology=topology, flows="1xcubic", duration="1 s")
    links: list[dict[str, Any]] = scenario(made)["topology"]["links"]
    return links[number]


@pytest.mark.parametrize(
    ("field", "text", "typed", "lowered"),
    [
        (
            "jitter",
            "10ms:distribution=normal:correlation=25%:reorder=on",
            Jitter(spread="10 ms", distribution="normal", correlation=0.25, reorder=True),
            {"spread_ns": 10_000_000, "distribution": "normal", "correlation": 0.25,
             "reorder": True},
        ),
        (
            "burst_loss",
            "to_bad=1%:to_good=0.25:loss_bad=90%:loss_good=0.1%",
            BurstLoss(to_bad=0.01, to_good=0.25, loss_bad=0.9, loss_good=0.001),
            {"to_bad": 0.01, "to_good": 0.25, "loss_bad": 0.9, "loss_good": 0.001},
        ),
        (
            "policer",
            "10Mbit/s:burst=64KiB:mark=on",
            Policer(rate="10 Mbit/s", burst="64 KiB", mark=True),
            {"rate_bps": 10_000_000, "burst_bytes": 65536, "mark": True},
        ),
        (
            "shaper",
            "10Mbit/s:burst=64KiB",
            Shaper(rate="10 Mbit/s", burst="64 KiB"),
            {"rate_bps": 10_000_000, "burst_bytes": 65536},
        ),
        (
            "aggregation",
            "4ms:packets=32",
            Aggregation(interval="4 ms", packets=32),
            {"interval_ns": 4_000_000, "packets": 32},
        ),
    ],
)  # fmt: skip
def test_text_and_fields_give_the_same_effect(
    field: str, text: str, typed: object, lowered: dict[str, Any]
) -> None:
    assert getattr(_path(**{field: text}), field) == typed
    made = Experiment(topology=_path(**{field: typed}), flows="1xcubic", duration="1 s")
    assert Experiment.model_validate_json(made.model_dump_json()) == made
    assert _link(made.topology)[field] == lowered
    assert field not in _link(made.topology, 1), "the reverse link has no effects of its own"


def test_each_direction_has_its_own_effects() -> None:
    back = Link(rate="5 Mbit/s", delay="20 ms", buffer="50 pkts", jitter="2 ms")
    path = _path(jitter="9 ms", reverse=back)
    assert _link(path)["jitter"]["spread_ns"] == 9_000_000
    assert _link(path, 1)["jitter"]["spread_ns"] == 2_000_000


def test_a_table_of_netem_is_read_and_kept(tmp_path: Path) -> None:
    file = tmp_path / "mine.dist"
    file.write_text("# netem\n -8192 0\n 8192 32767\n")
    path = _path(jitter=f"10ms:table={file}")
    assert path.jitter == Jitter(spread="10 ms", table=(-8192, 0, 8192, 32767))
    assert _link(path)["jitter"]["table"] == [-8192, 0, 8192, 32767]
    assert path.jitter.longest_ns == 10_000_000 * 32767 // 8192


@pytest.mark.parametrize(
    ("effects", "said"),
    [
        ({"jitter": "fast"}, "jitter.spread: 'fast' is not a time"),
        ({"jitter": "distribution=normal"}, "jitter: 'distribution=normal' is not allowed"),
        ({"jitter": "10ms:shape=3"}, "jitter: unknown option 'shape'"),
        ({"jitter": "0 ms"}, "jitter.spread"),
        ({"jitter": "11 min"}, "jitter.spread: 660 s is not allowed; at most 10 minutes"),
        ({"jitter": "1 ms:distribution=cauchy"}, "jitter.distribution: 'cauchy' is not allowed"),
        ({"jitter": "1 ms:correlation=100%"}, "jitter.correlation: '100%' must be at least 0 and"),
        ({"jitter": "1 ms:table=/nonexistent.dist"}, "/nonexistent.dist: cannot read"),
        ({"jitter": {"spread": "1 ms", "table": [1, 40000]}}, "jitter.table: 40000 is not"),
        ({"jitter": {"spread": "1 ms", "table": []}}, "jitter.table: 0 values are not"),
        (
            {"jitter": {"spread": "1 ms", "table": [1], "distribution": "normal"}},
            "jitter.distribution: normal is not allowed; with a table",
        ),
        ({"burst_loss": "1%"}, "burst_loss: '1%' is not allowed; write for example"),
        ({"burst_loss": "to_bad=1%"}, "burst_loss.to_good: is missing"),
        ({"burst_loss": "to_bad=0:to_good=1"}, "burst_loss.to_bad: 0 is not allowed"),
        ({"burst_loss": "to_bad=-1%:to_good=1"}, "burst_loss.to_bad: '-1%' must be"),
        (
            {"burst_loss": "to_bad=1%:to_good=1:loss_bad=10%:loss_good=20%"},
            "burst_loss.loss_good: 0.2 is not allowed; at most loss_bad, 0.1",
        ),
        ({"policer": "10Mbit/s"}, "policer.burst: is missing"),
        ({"policer": "10Mbit/s:burst=1499B"}, "policer.burst: 1499 B is not allowed; 1500 B to"),
        ({"policer": "0 bit/s:burst=1MB"}, "policer.rate: '0 bit/s'"),
        ({"shaper": "10Mbit/s:burst=1kB"}, "shaper.burst: 1000 B is not allowed; 1500 B to"),
        ({"shaper": "10Mbit/s:burst=2kB:mark=on"}, "shaper: unknown option 'mark'"),
        ({"aggregation": "4ms:packets=0"}, "aggregation.packets"),
        ({"aggregation": "packets=2"}, "aggregation: 'packets=2' is not allowed; write for"),
        ({"vary": {"kind": "schedule", "steps": [
            {"start": "0 s"}, {"start": "1 s", "jitter": "fast"}]}},
         "vary.steps[1].jitter.spread: 'fast' is not a time"),
        ({"vary": {"kind": "schedule", "steps": [{"start": "0 s", "buffer": "9 pkts"}]}},
         "vary.steps[0].buffer: cannot change during a run; allowed: start, jitter, burst_loss,"),
        ({"vary": {"kind": "mahimahi", "opportunities_ms": [1], "steps": [
            {"start": "0 s", "delay": "9 ms"}]}},
         "vary.steps[0].delay: cannot change during a run; allowed: start, jitter, burst_loss,"),
    ],
)  # fmt: skip
def test_bad_input_is_one_line_with_the_field(effects: dict[str, Any], said: str) -> None:
    with pytest.raises(ExperimentError) as raised:
        _path(**effects)
    assert said in str(raised.value)
    assert "\n" not in str(raised.value)


def test_a_table_that_is_no_table_is_refused_with_its_line(tmp_path: Path) -> None:
    file = tmp_path / "mine.dist"
    for text, said in (("1\ntwo\n", "line 2"), ("", "0 values"), ("\xff", "line 1")):
        file.write_text(text)
        with pytest.raises(ExperimentError, match=said):
            _path(jitter=f"10ms:table={file}")
    file.write_bytes(b"\xff\xfe")
    with pytest.raises(ExperimentError, match="not text"):
        _path(jitter=f"10ms:table={file}")


def test_a_shaper_cannot_be_faster_than_its_link() -> None:
    with pytest.raises(ExperimentError, match=r"shaper\.rate: 30 Mbit/s is not allowed; at most"):
        Experiment(topology=_path(shaper="30Mbit/s:burst=9kB"), flows="1xcubic", duration="1 s")


def test_frames_need_a_byte_and_no_trace() -> None:
    slow = Schedule(steps=[Step(start="0 s"), Step(start="1 s", rate="1 kbit/s")])
    trace = Mahimahi(opportunities_ms=[1], steps=[TraceStep(start="1 s", aggregation="4 ms")])
    for path, said in (
        (_path(aggregation="1 ns"), r"aggregation\.interval: 1 ns is not allowed; a time in which"),
        (
            _path(aggregation="4 ms", vary=slow),
            r"aggregation\.interval: 4 ms is not allowed; a time",
        ),
        (_path(vary=trace), r"aggregation: hop 0 has a Mahimahi trace"),
    ):
        with pytest.raises(ExperimentError, match=said):
            Experiment(topology=path, flows="1xcubic", duration="1 s")


def test_headway_try_has_an_option_for_each_effect(capfd: pytest.CaptureFixture[str]) -> None:
    def tried(*options: str) -> tuple[int, str]:
        code, _, errors = command(capfd, "try", "--duration", "1s", *options)
        return code, errors

    effects = ("--jitter=5ms", "--burst-loss=to_bad=1%:to_good=30%",
               "--policer=900kbit/s:burst=20kB", "--shaper=800kbit/s:burst=3kB",
               "--aggregation=4ms:packets=8")  # fmt: skip
    for options in (
        effects,
        ("--reverse", "jitter=5ms:reorder=on,policer=900kbit/s:burst=20kB"),
        ("--hop", "9Mbit/s,5ms,1BDP,shaper=5Mbit/s:burst=9kB,burst_loss=to_bad=1%:to_good=1"),
    ):
        assert tried(*options)[0] == 0, options
    code, line = tried("--policer", "9Mbit/s:burst=1kB")
    assert code == 2
    assert "policer.burst: 1000 B is not allowed" in line
    code, line = tried("--hop", "9Mbit/s,5ms,1BDP", "--jitter", "1ms")
    assert code == 2
    assert "--jitter: give it in each --hop" in line


def test_a_constant_bit_rate_gets_exactly_the_policers_rate() -> None:
    path = _path(policer="5Mbit/s:burst=15kB")
    flow = {"app": {"kind": "cbr", "packet": "1500 B", "interval": "1 ms"}}  # 12 Mbit/s
    made = Experiment.model_validate(
        {"topology": path, "flows": [flow], "duration": "20 s", "warmup": "5 s"}
    )
    passed_bps = metrics.throughput_bps(run(made), 0)
    assert passed_bps == pytest.approx(5e6, rel=2e-4)


def test_bbr_finds_the_policers_rate_and_cubic_gets_less() -> None:
    path = _path(rate="100 Mbit/s", policer="10Mbit/s:burst=50kB")
    goodput_bps = {}
    for control in ("bbr", "cubic"):
        made = Experiment(topology=path, flows=f"1x{control}", duration="30 s", warmup="10 s")
        goodput_bps[control] = metrics.goodput_bps(run(made), 0)
    payload_bps = 10e6 * 1448 / 1500
    assert 0.7 * payload_bps < goodput_bps["bbr"] <= payload_bps
    assert goodput_bps["cubic"] < goodput_bps["bbr"]
