"""The paired benchmark's arithmetic, order, errors and output, with programs of a few lines."""

from __future__ import annotations

import json
import os
from pathlib import Path

import beside_bench
import pytest
from beside_bench import Cost
from run_bench import BenchError


@pytest.fixture(autouse=True)
def _keep_affinity():
    allowed = os.sched_getaffinity(0)
    yield
    os.sched_setaffinity(0, allowed)


RESULT = {"data_pkts": 1000, "pkts_per_s": 1.0, "ns_per_pkt": 1.0, "peak_rss_bytes": 2**20}


def program(tmp_path: Path, name: str, body: str) -> Path:
    path = tmp_path / name
    path.write_text(f"#!/bin/sh\n{body}\n")
    path.chmod(0o755)
    return path


def test_a_ratio_is_of_runs_that_stand_together_so_a_drift_of_the_machine_cancels():
    pairs = beside_bench.of_pairs("linux-6", 1, [(102, 100), (204, 200), (408, 400)])
    assert pairs.ratio == pytest.approx(1.02)
    assert (pairs.here_ns, pairs.there_ns, pairs.reps) == (204, 200, 3)


def test_engines_take_turns_at_being_first(tmp_path):
    log = tmp_path / "log"
    line = json.dumps(RESULT)
    here, there = (
        program(tmp_path, name, f"echo {name} $2 $4 >>{log}; echo '{line}'")
        for name in ("here", "there")
    )
    pairs = beside_bench.in_pairs(here, there, [1, 10], 2, 1)
    cases = [("1", "linux-6"), ("10", "linux-6"), ("1", "linux-2.6"), ("10", "linux-2.6")]
    first = [f"{who} {n} {stack}" for n, stack in cases for who in ("here", "there")]
    then = [f"{who} {n} {stack}" for n, stack in cases for who in ("there", "here")]
    assert log.read_text().splitlines() == first + then
    assert [(one.flows, one.stack) for one in pairs] == [(int(n), stack) for n, stack in cases]


@pytest.mark.parametrize(("here_ns", "thousand_ns", "met"), [
    (103, 200, True), (104, 200, False), (100, 201, False),
])  # fmt: skip
def test_targets_are_missed_just_beyond_their_limits(here_ns, thousand_ns, met):
    pairs = [beside_bench.of_pairs("linux-6", 1, [(here_ns, 100)])]
    costs = {10: Cost(100, 2**20, 1), 1000: Cost(thousand_ns, 2**20, 1)}
    text, judged = beside_bench.report(pairs, costs, "there")
    assert judged == met
    assert ("MISSED" in text) != met
    assert max(len(line) for line in text.splitlines()) <= 100


def test_an_engine_that_fails_is_named_with_its_reason(tmp_path):
    engine = program(tmp_path, "engine", "echo no control 1>&2; exit 2")
    with pytest.raises(BenchError, match="engine failed with status 2: no control"):
        beside_bench.run_once(engine, 1, "linux-6", 1)


def test_a_missing_commit_is_one_line_and_status_2(capsys):
    assert beside_bench.main(["--commit", "no-such-commit"]) == 2
    assert "no-such-commit is no commit" in capsys.readouterr().err


@pytest.mark.slow
def test_check_fails_when_the_engine_became_slower(tmp_path, capsys):
    burn = "i=0; while [ $i -lt %d ]; do i=$((i+1)); done; echo '%s'"
    slow = program(tmp_path, "slow", burn % (300_000, json.dumps(RESULT)))
    fast = program(tmp_path, "fast", burn % (1000, json.dumps(RESULT)))
    few = ["--flows", "1", "--reps", "1", "--no-many", "--check"]
    assert beside_bench.main(["--engine", str(slow), "--other", str(fast), *few]) == 1
    assert "MISSED" in capsys.readouterr().out
    assert beside_bench.main(["--engine", str(fast), "--other", str(slow), *few]) == 0
