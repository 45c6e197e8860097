"""The studies of Quick-Start's routers: what holds without a trial, and what is kept of one."""

from __future__ import annotations

from pathlib import Path

import pytest

from headway.backends.sim import SimBackend
from headway.claims import Claim
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
