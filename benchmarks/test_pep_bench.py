"""The proxy's benchmark: order, ratios, targets, output and errors, without a network."""

from __future__ import annotations

import os

import pep_bench
import pytest

GOOD = {
    "one_up_gbps": 9.0, "one_down_gbps": 9.0, "one_up_cpu": 0.1, "one_down_cpu": 0.1,
    "rr_p50_ms": 0.2, "rr_bulk_p99_ms": 4.6, "connections_per_s": 6000.0,
    "idle_1000_descriptors": 2.0, "idle_1000_bytes": 4096.0,
}  # fmt: skip
DIRECT = {"rr_p50_ms": 0.1, "rr_bulk_p99_ms": 2.0, "one_up_gbps": 20.0}
HAPROXY = {"one_up_gbps": 10.0, "one_down_gbps": 10.0}


def of(**changes: float) -> dict[str, list[pep_bench.Found]]:
    return {"direct": [DIRECT], "pep": [{**GOOD, **changes}], "haproxy": [HAPROXY]}


def test_every_way_has_its_turn_in_each_round_and_another_is_first():
    turns: list[tuple[str, int]] = []

    def turn(way, number):
        turns.append((way, number))
        return {"rr_p50_ms": float(number)}

    found = pep_bench.in_turns(turn, 3, lambda _: None)
    assert [way for way, number in turns if number == 1] == ["pep", "haproxy", "direct"]
    assert {way for way, _ in turns[::3]} == set(pep_bench.WAYS)
    assert pep_bench.median(found["pep"], "rr_p50_ms") == 1.0


def test_a_ratio_is_of_runs_of_one_round_so_a_drift_of_the_machine_cancels():
    found = {
        "pep": [{"x": 9.0}, {"x": 18.0}, {"x": 36.0}],
        "haproxy": [{"x": 10.0}, {"x": 20.0}, {"x": 40.0}],
    }
    assert pep_bench.ratio(found, "x", "haproxy") == pytest.approx(0.9)
    assert pep_bench.ratio(found, "y", "haproxy") is None


def test_targets_at_their_limits_are_met():
    assert [target.title for target in pep_bench.targets(of()) if not target.met] == []
    assert "MISSED" not in pep_bench.report(of())


@pytest.mark.parametrize(("name", "value", "title"), [
    ("one_up_gbps", 8.9, "1 connection to the server, of HAProxy's rate"),
    ("one_down_cpu", 0.11, "1 connection from the server, CPU-s per GB"),
    ("rr_p50_ms", 0.21, "exchange, p50 ms"),
    ("rr_bulk_p99_ms", 4.7, "beside a bulk flow, p99 ms"),
    ("connections_per_s", 5999.0, "new connections per second"),
    ("idle_1000_bytes", 4097.0, "idle at 1,000, bytes each"),
])  # fmt: skip
def test_a_target_is_missed_just_beyond_its_limit(name, value, title):
    found = of(**{name: value})
    assert [target.title for target in pep_bench.targets(found) if not target.met] == [title]
    assert f"MISSED  {title}" in pep_bench.report(found)


def test_an_unmeasured_target_is_not_met():
    assert not any(
        target.met for target in pep_bench.targets({way: [{}] for way in pep_bench.WAYS})
    )


def test_a_terminal_shows_a_line_for_each_row_that_was_measured_and_what_was_quoted():
    lines = pep_bench.report(of()).splitlines()
    assert max(len(line) for line in lines) <= 100
    row = next(line for line in lines if line.startswith("1 connection to"))
    assert row.split()[-5:] == ["20.0", "9.0", "10.0", "0.90", "6.4-8.1"]
    assert not any("10 connections" in line for line in lines)


def test_errors_are_one_line_and_status_2(capsys, monkeypatch, tmp_path):
    monkeypatch.setattr(pep_bench.shutil, "which", lambda name: None if name == "wrk" else name)
    assert pep_bench.main([]) == 2
    assert capsys.readouterr().err == "pep_bench: `wrk` is missing; install wrk\n"
    monkeypatch.setattr(pep_bench.shutil, "which", lambda name: name)
    monkeypatch.setattr(os, "geteuid", lambda: 0)
    assert pep_bench.main(["--headwayctl", str(tmp_path / "none")]) == 2
    assert "none: no program" in capsys.readouterr().err
