"""Measurements of a live kernel: kept, resumed, refused, and reported without a kernel."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import made_up
import pytest

from headway import machine
from headway.errors import HeadwayError, InterruptedRunError
from headway.studies.common import measured
from headway.studies.common.measured import MeasuredStudy
from headway.study import StudyContext, discover

LIVE = sorted(made_up.MEASURE)
STUDY = discover()["overhead"]


class Fake:
    """Replaces headwayctl: counts its calls, and is interrupted in one of them."""

    calls = 0
    digest = "0123"
    name = "overhead"
    interrupted_in: int | None = None

    def json(self, *command: str, timeout_s: float) -> dict[str, Any]:
        assert command[-1] == "--json"
        assert timeout_s > 60
        Fake.calls += 1
        if Fake.calls == Fake.interrupted_in:
            raise KeyboardInterrupt
        return made_up.MEASURE[Fake.name](command)


@pytest.fixture
def notices() -> list[str]:
    return []


@pytest.fixture
def ctx(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, notices: list[str]) -> StudyContext:
    monkeypatch.setattr(measured, "Headwayctl", Fake)
    monkeypatch.setattr(Fake, "calls", 0)
    ctx = made_up.context(tmp_path)
    ctx.notice = notices.append
    return ctx


def test_every_live_study_has_made_up_evidence() -> None:
    live = [name for name, study in discover().items() if isinstance(study, MeasuredStudy)]
    assert live == LIVE


@pytest.mark.slow
@pytest.mark.parametrize("name", LIVE)
def test_a_live_study_judges_what_it_measured_and_rebuilds(
    name: str, ctx: StudyContext, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(Fake, "name", name)
    study = discover()[name]
    result = study.run(ctx)
    assert all(claim.note for claim in result.claims if claim.verdict == "not checked")
    assert {claim.basis for claim in result.claims} <= {"live", "setting"}
    assert result.report is not None
    page = result.report.read_text()
    assert machine.processor() in page
    assert "<svg" in page
    saved = json.loads((ctx.out_dir / "claims.json").read_text())
    assert [one["id"] for one in saved] == sorted(one.id for one in study.statements)
    before = [path.read_bytes() for path in (result.report, *result.artefacts)]
    again = study.rebuild(ctx)
    assert again.report is not None
    assert [path.read_bytes() for path in (again.report, *again.artefacts)] == before


def test_an_interrupted_run_keeps_what_is_finished_and_says_so(
    ctx: StudyContext, notices: list[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(Fake, "interrupted_in", 3)
    with pytest.raises(InterruptedRunError, match="2 of 5"):
        STUDY.collect(ctx)
    with pytest.raises(HeadwayError, match="3 of 5 measurements are missing"):
        STUDY.saved(ctx)
    ctx.resume = True
    STUDY.collect(ctx)
    assert Fake.calls == 6  # the third measurement was interrupted and ran again
    assert notices == [f"2 of 5 measurements in {ctx.trials_dir} are kept"]


@pytest.mark.parametrize(
    ("part", "other", "said"),
    [
        ("command", ["router", "bench"], "another command"),
        ("versions", {"headwayctl": "4567"}, "another build of Headway"),
        ("kernel", "Linux 2.6.24", "another kernel"),
        ("processor", "1 x Pentium 4", "another processor"),
    ],
)
def test_what_something_else_measured_is_measured_again(
    ctx: StudyContext, notices: list[str], part: str, other: object, said: str
) -> None:
    STUDY.collect(ctx)
    path = ctx.trials_dir / "requests-1.json"
    record = json.loads(path.read_text())
    path.write_text(json.dumps({**record, part: other}))
    ctx.resume = True
    STUDY.collect(ctx)
    assert Fake.calls == 6
    assert notices == [
        f"4 of 5 measurements in {ctx.trials_dir} are kept",
        f"1 of 5 measurements in {ctx.trials_dir} are made again: 1 of {said}",
    ]
    assert json.loads(path.read_text()) == record


def test_an_unreadable_measurement_is_made_again(ctx: StudyContext, notices: list[str]) -> None:
    STUDY.collect(ctx)
    (ctx.trials_dir / "requests-1.json").write_text("{")
    with pytest.raises(HeadwayError, match=r"requests-1\.json: unreadable"):
        STUDY.saved(ctx)
    ctx.resume = True
    STUDY.collect(ctx)
    assert Fake.calls == 6
    assert notices[1].endswith("made again: 1 of an unreadable file")
