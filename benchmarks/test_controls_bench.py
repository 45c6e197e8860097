"""Which controls the benchmark runs, with which routers, and how it reports targets."""

from __future__ import annotations

from pathlib import Path

import controls_bench
import pytest
from test_run_bench import _keep_affinity, program, result_line  # noqa: F401 - a fixture


def fake(tmp_path: Path, ns_per_pkt: float) -> str:
    return str(program(tmp_path, "dumbbell_bench", f"echo '{result_line(ns_per_pkt)}'"))


@pytest.mark.parametrize(
    ("ns_per_pkt", "said", "status"), [(400, "met: 2 M", 0), (600, "MISSED: 2 M", 1)]
)
def test_a_control_is_compared_with_its_target(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], ns_per_pkt: float, said: str, status: int
):
    words = ["--engine", fake(tmp_path, ns_per_pkt), "--only", "reno", "--reps", "1", "--check"]
    assert controls_bench.main(words) == status
    assert said in capsys.readouterr().out


def test_a_control_with_a_router_runs_behind_it_and_has_another_target():
    routers = {"xcp"}
    assert controls_bench.command(Path("x"), "xcp", routers, 1)[-3:] == [
        "--router",
        "xcp",
        "--json",
    ]
    assert "--router" not in controls_bench.command(Path("x"), "reno", routers, 1)
    assert controls_bench.target_of("xcp", routers) == 1_500_000
    assert controls_bench.target_of("reno", routers) == 2_000_000


def test_a_missing_control_is_refused_by_name(capsys: pytest.CaptureFixture[str]):
    with pytest.raises(SystemExit) as refused:
        controls_bench.main(["--only", "renoo"])
    assert refused.value.code == 2
    assert "no control 'renoo'" in capsys.readouterr().err
