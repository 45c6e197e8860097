"""Which disciplines the benchmark runs, and how it compares them with drop-tail."""

from __future__ import annotations

import json
from pathlib import Path

import pytest
import queues_bench
from test_run_bench import _keep_affinity, program, result_line  # noqa: F401 - a fixture


def fake(tmp_path: Path, fq_codel_ns: float) -> str:
    """A program that takes 200 ns per packet, but with FQ-CoDel another time."""
    script = f"""case "$*" in
*fq_codel*) echo '{result_line(fq_codel_ns)}';;
*) echo '{result_line(200)}';;
esac"""
    return str(program(tmp_path, "dumbbell_bench", script))


@pytest.mark.parametrize(("ns_per_pkt", "said", "status"), [(290, "met", 0), (310, "MISSED", 1)])
def test_fq_codel_with_a_thousand_flows_is_compared_with_drop_tail(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], ns_per_pkt: float, said: str, status: int
):
    words = ["--engine", fake(tmp_path, ns_per_pkt), "--only", "fq_codel", "--reps", "1"]
    assert queues_bench.main([*words, "--check"]) == status
    lines = capsys.readouterr().out.splitlines()
    assert [line.split()[:2] for line in lines[1:]] == [
        ["drop-tail", "10"],
        ["fq_codel", "10"],
        ["drop-tail", "1000"],
        ["fq_codel", "1000"],
    ]
    assert lines[-1].endswith(f"{ns_per_pkt / 200:.2f}  {said}: 1.5")
    # only the thousand flows have a target
    assert lines[2].endswith(f"{ns_per_pkt / 200:.2f}")
    assert queues_bench.main([*words, "--json"]) == 0
    assert set(json.loads(capsys.readouterr().out)) == {
        "drop-tail/10",
        "fq_codel/10",
        "drop-tail/1000",
        "fq_codel/1000",
    }


def test_a_missing_discipline_is_refused_by_name(capsys: pytest.CaptureFixture[str]):
    with pytest.raises(SystemExit) as refused:
        queues_bench.main(["--only", "codle"])
    assert refused.value.code == 2
    assert "no queue discipline 'codle'" in capsys.readouterr().err
