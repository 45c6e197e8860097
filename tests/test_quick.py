"""Results of quick forms are kept per state of the sources."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest
import quick

from headway.study import discover

NAME = "first-megabyte"


@pytest.fixture(autouse=True)
def kept(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Path]:
    """Let the tests keep results in a separate empty folder."""
    monkeypatch.setattr(quick, "KEPT", tmp_path / "quick")
    quick._kept.cache_clear()
    yield tmp_path / "quick"
    quick._kept.cache_clear()


@pytest.fixture
def runs(monkeypatch: pytest.MonkeyPatch) -> list[str]:
    """Names of the studies that ran, in order; replaces the run of a study by a counter."""
    ran: list[str] = []
    kind = type(discover()[NAME])
    collect = kind.collect

    def counted(study: quick.Study, ctx: quick.StudyContext) -> quick.Observed:
        ran.append(study.name)
        return collect(study, ctx)

    monkeypatch.setattr(kind, "collect", counted)
    return ran


def test_a_second_process_reads_what_the_first_kept(runs: list[str]) -> None:
    first = quick.quick.__wrapped__(NAME)
    second = quick.quick.__wrapped__(NAME)
    assert runs == [NAME]
    assert second.result == first.result
    assert second.seen.rows == first.seen.rows
    assert second.sums == first.sums == quick.sums_of(second.result)


def test_a_run_that_was_killed_runs_again(runs: list[str]) -> None:
    first = quick.quick.__wrapped__(NAME)
    (first.ctx.out_dir / "done.pickle").unlink()
    assert quick.quick.__wrapped__(NAME).result == first.result
    assert runs == [NAME, NAME]


def test_other_sources_run_again_and_replace_what_was_kept(
    runs: list[str], kept: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    first = quick.quick.__wrapped__(NAME)
    monkeypatch.setattr(quick, "versions", lambda: {"engine": "another"})
    quick._kept.cache_clear()
    second = quick.quick.__wrapped__(NAME)
    assert runs == [NAME, NAME]
    assert second.ctx.out_dir != first.ctx.out_dir
    assert [path for path in kept.iterdir() if path.is_dir()] == [second.ctx.out_dir.parent]
