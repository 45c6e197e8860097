"""The benchmark's arithmetic, its errors and its output, with programs of a few lines."""

from __future__ import annotations

import json
import os
from pathlib import Path

import pytest
import run_bench
from run_bench import BenchError, Sample


@pytest.fixture(autouse=True)
def _keep_affinity():
    allowed = os.sched_getaffinity(0)
    yield
    os.sched_setaffinity(0, allowed)


def program(tmp_path: Path, name: str, body: str) -> Path:
    path = tmp_path / name
    path.write_text(f"#!/bin/sh\n{body}\n")
    path.chmod(0o755)
    return path


def result_line(ns_per_pkt: float, peak_mib: float = 10) -> str:
    fields = {
        "flows": 1,
        "data_pkts": 500_000,
        "wall_s": 500_000 * ns_per_pkt / 1e9,
        "pkts_per_s": 1e9 / ns_per_pkt,
        "ns_per_pkt": ns_per_pkt,
        "peak_rss_bytes": int(peak_mib * 2**20),
    }
    return json.dumps(fields)


def test_an_outlier_does_not_move_the_result_but_shows_in_the_spread():
    rates = [100.0, 101.0, 50.0]
    result = run_bench.summarize([Sample(1000, rate, 1e9 / rate, 1e6) for rate in rates])
    assert result.median.pkts_per_s == 100
    assert result.spread == pytest.approx(0.51)
    assert result.reps == 3


@pytest.mark.parametrize("line", ["", "{}", "[1]", "nonsense", result_line(1).replace("5", "x")])
def test_a_line_that_is_no_result_is_reported_with_its_program(line: str):
    with pytest.raises(BenchError, match="dumbbell_bench did not print a result"):
        run_bench.parse_sample(line, "dumbbell_bench")


@pytest.mark.parametrize("value", ["0", "-1", "Infinity", "NaN"])
def test_an_impossible_result_is_refused(value: str):
    line = f'{{"data_pkts": 1, "pkts_per_s": {value}, "ns_per_pkt": 1, "peak_rss_bytes": 1}}'
    with pytest.raises(BenchError, match="not positive"):
        run_bench.parse_sample(line, "x")


def test_simulators_run_in_turn_and_ns3_only_where_asked():
    calls: list[str] = []

    def runner(name: str, ns_per_pkt: float) -> run_bench.Runner:
        def run(flows: int) -> Sample:
            calls.append(f"{name}{flows}")
            return Sample(1000, 1e9 / ns_per_pkt, ns_per_pkt, 1e6)

        return run

    ours, theirs = run_bench.measure(
        [1, 1000], 2, runner("e", 400), runner("n", 40_000), [1], lambda _: None
    )
    assert calls == ["e1", "n1", "e1000"] * 2
    assert list(ours) == [1, 1000]
    assert list(theirs) == [1]


@pytest.mark.parametrize(
    ("ns_per_pkt", "missed"),
    [
        ({1: 499, 10: 499, 100: 499, 1000: 990}, []),
        ({1: 501, 10: 499, 100: 499, 1000: 990}, ["2 M packets/s at 1 flows"]),
        ({10: 400, 1000: 801}, ["2 times one at 10"]),
    ],
)
def test_targets_are_missed_just_beyond_their_limits(ns_per_pkt, missed):
    ours = {
        n: run_bench.summarize([Sample(1000, 1e9 / ns, ns, 19 * 2**20)])
        for n, ns in ns_per_pkt.items()
    }
    targets = [verdict.target for verdict in run_bench.judge(ours) if not verdict.met]
    assert len(targets) == len(missed)
    assert all(end in target for target, end in zip(targets, missed, strict=True))


def test_the_table_fits_100_columns():
    peak = 999 * 2**20
    ours = {n: run_bench.summarize([Sample(1e6, 9_999_999, 100, peak)]) for n in (1, 1000)}
    theirs = {1: run_bench.summarize([Sample(1e6, 99_999, 123_456, peak)])}
    text = run_bench.table(ours, theirs, "ns-3.37")
    assert max(len(line) for line in text.splitlines()) <= 100
    assert "1,235" in text
    assert "not run; --full" in text


def test_json_holds_the_ratio_of_the_times_per_packet(tmp_path, capsys):
    engine = program(tmp_path, "engine", f"echo '{result_line(400)}'")
    ns3 = program(tmp_path, "ns3", f"echo '{result_line(40_000)}'")
    status = run_bench.main(
        ["--engine", str(engine), "--ns3", str(ns3), "--flows", "1,1000", "--reps", "2", "--json"]
    )
    report = json.loads(capsys.readouterr().out)
    assert status == 0
    assert report["ratio"] == {"1": pytest.approx(100)}
    assert report["engine"]["1000"]["reps"] == 2
    assert all(target["met"] for target in report["targets"])


def test_check_fails_when_a_target_is_missed(tmp_path, capsys):
    engine = program(tmp_path, "engine", f"echo '{result_line(600, peak_mib=21)}'")
    arguments = ["--engine", str(engine), "--flows", "1", "--quick"]
    assert run_bench.main(arguments) == 0
    assert run_bench.main([*arguments, "--check"]) == 1
    assert capsys.readouterr().out.count("MISSED") == 4


@pytest.mark.parametrize(
    ("body", "message"),
    [("echo no control 1>&2; exit 2", "status 2: no control"), ("true", "did not print a result")],
)
def test_a_program_that_fails_gives_one_line_and_status_2(tmp_path, capsys, body, message):
    engine = program(tmp_path, "engine", body)
    assert run_bench.main(["--engine", str(engine), "--flows", "1"]) == 2
    error = capsys.readouterr().err.strip()
    assert message in error
    assert "\n" not in error


def test_a_missing_program_is_named(tmp_path, capsys):
    assert run_bench.main(["--engine", str(tmp_path / "none")]) == 2
    assert f"no program {tmp_path / 'none'}" in capsys.readouterr().err


def test_a_missing_core_is_refused(tmp_path, capsys):
    engine = program(tmp_path, "engine", "true")
    assert run_bench.main(["--engine", str(engine), "--cpu", "4095"]) == 2
    assert "CPU 4095 cannot be used" in capsys.readouterr().err
