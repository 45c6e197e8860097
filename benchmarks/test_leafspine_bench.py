"""The fabric's benchmark: what it reads and prints, with programs of a few lines."""

from __future__ import annotations

import json

import leafspine_bench
import pytest
from run_bench import BenchError
from test_run_bench import _keep_affinity, program  # noqa: F401 - a fixture


def line(cpu_s: float = 2, **changed: object) -> str:
    fields = {
        "duration_s": 0.001,
        "data_pkts": 500_000,
        "bytes": 724_000_000,
        "wall_s": 3 * cpu_s,
        "cpu_s": cpu_s,
        "peak_rss_bytes": 2**27,
        "begun": 560,
        "completed": 440,
        "marks": 100_000,
        "drops": 0,
        "slowdowns": {"median": 1.8, "p99": 8.5, "10000": 1.1, "100000": 1.9},
    }
    return json.dumps({**fields, **changed})


@pytest.mark.parametrize(
    "text", ["", "[1]", "{}", line(extra=1), line(slowdowns=1), line().replace("0.001", '"x"')]
)
def test_a_line_that_is_no_result_is_reported_with_its_program(text: str):
    with pytest.raises(BenchError, match=r"ns-3\.37 did not print a result"):
        leafspine_bench.parse_run(text, "ns-3.37")


@pytest.mark.parametrize("text", [line(cpu_s=0), line(data_pkts=0)])
def test_a_run_without_packets_or_time_is_refused(text: str):
    with pytest.raises(BenchError, match="not positive"):
        leafspine_bench.parse_run(text, "x")


def test_medians_are_of_the_size_classes_that_all_runs_have():
    more = {"median": 2, "p99": 9, "10000": 1.2, "100000": 2, "1000000": 3}
    texts = [line(1), line(9), line(2, slowdowns=more)]
    found = leafspine_bench.median([leafspine_bench.parse_run(text, "x") for text in texts])
    assert found.us_per_pkt == 4
    assert found.slowdowns == {"median": 1.8, "p99": 8.5, "10000": 1.1, "100000": 1.9}


def test_the_ratio_is_of_the_longer_run_and_the_seeds_follow_each_other(tmp_path, capsys):
    said = tmp_path / "said"
    body = f"echo $@ >> {said}; echo '{line(2)}'"
    headway = program(tmp_path, "headway", body)
    ns3 = program(tmp_path, "ns3", body.replace('"cpu_s": 2', '"cpu_s": 50'))
    arguments = ["--headway", str(headway), "--ns3", str(ns3), "--reps", "2"]
    assert leafspine_bench.main(arguments) == 0
    out = capsys.readouterr().out
    assert "25.0 times as much" in out
    assert max(map(len, out.splitlines())) <= 100
    runs = said.read_text().splitlines()
    assert [run.split("--duration-s=")[1] for run in runs] == [
        f"{duration} --seed={seed}" for seed in (1, 2) for duration in ("0.01", "0.001", "0.001")
    ]
    assert leafspine_bench.main([*arguments, "--json"]) == 0
    assert json.loads(capsys.readouterr().out)["ratio"] == 25


def test_a_program_that_fails_gives_one_line_and_status_2(tmp_path, capsys):
    ns3 = program(tmp_path, "ns3", "true")
    failing = program(tmp_path, "headway", "echo no sizes 1>&2; exit 2")
    assert leafspine_bench.main(["--headway", str(failing), "--ns3", str(ns3)]) == 2
    assert "status 2: no sizes" in capsys.readouterr().err


def test_a_short_run_of_headway_prints_what_the_benchmark_reads(monkeypatch, capsys):
    monkeypatch.setattr(leafspine_bench, "HOSTS", 8)
    assert leafspine_bench.main(["--once", "--duration-s", "0.0002"]) == 0
    run = leafspine_bench.parse_run(capsys.readouterr().out, "Headway")
    assert 0 < run.completed <= run.begun
    assert run.data_pkts == run.bytes // leafspine_bench.MSS_BYTES
