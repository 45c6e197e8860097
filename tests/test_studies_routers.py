"""The studies of Quick-Start's routers: what holds without a trial, and what their trials are."""

from __future__ import annotations

from pathlib import Path

import pytest

from headway.backends.sim import SimBackend
from headway.claims import Claim
from headway.experiment import Vectors
from headway.studies.approval_control import experiments as approval
from headway.studies.capacity_error import experiments as capacity
from headway.studies.common import lab
from headway.study import StudyContext, discover

NAMES = ("approval-control", "capacity-error")


def without_trials(name: str, folder: Path) -> dict[str, Claim]:
    study = discover()[name]
    ctx = StudyContext(folder, SimBackend(), quick=True)
    return {claim.id: claim for claim in study.judge(ctx, study.gather(ctx, {}))}


@pytest.mark.parametrize("name", NAMES)
def test_without_trials_only_equations_and_settings_are_judged(name: str, tmp_path: Path) -> None:
    found = without_trials(name, tmp_path)
    judged = {claim.basis for claim in found.values() if claim.verdict != "not checked"}
    assert judged <= {"model", "setting"}
    assert "model" in judged


def test_transfers_over_the_long_path_are_granted_too_much_and_limited_by_nothing_else(
    tmp_path: Path,
) -> None:
    ctx = StudyContext(tmp_path, SimBackend(), quick=True)
    trials = discover()["capacity-error"].experiments(ctx)
    own = [trial for key, trial in trials.items() if key.startswith("long-quick-start-")]
    assert len(own) == len(capacity.SIZES)
    for trial in own:
        forward, _ = trial.topology.links()[0]
        [flow] = trial.flows
        assert isinstance(flow.app, Vectors)
        assert flow.control is not None
        asked_kbps = flow.control.tunables["qs_rate_kbps"]
        assert forward.rate < 1000 * int(asked_kbps) <= 1000 * capacity.LONG_ROUTER["capacity_kbps"]
        assert flow.receive_window is not None
        assert flow.app.epochs[0][0] < flow.receive_window
        assert str(forward.buffer) == f"{lab.SMALL_BUFFER_PKTS} pkts"


def test_the_burst_comes_at_several_times_within_a_slot(tmp_path: Path) -> None:
    ctx = StudyContext(tmp_path, SimBackend(), quick=True)
    trials = discover()["approval-control"].experiments(ctx)
    keys = ["pattern-fair", *(approval.late_key(ms) for ms in approval.LATER_MS)]
    begins = [trials[key].flows[approval.BURST[0]].start for key in keys]
    assert all(begin is not None for begin in begins)
    within = {int(begin or 0) // 1_000_000 % approval.INTERVAL_MS for begin in begins}
    assert within == set(range(0, approval.INTERVAL_MS, 25))
