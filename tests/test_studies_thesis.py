"""The thesis' studies: each runs, gives a verdict to every claim that is its own, and rebuilds."""

from __future__ import annotations

import json
import re
from pathlib import Path

import pytest
from support import ROOT

from headway.backends import backend_named
from headway.study import Study, StudyContext, discover

OWNERS = ROOT / "docs" / "thesis-claims.md"
PREFIXES = ("C-TH", "C-QSL")


def numbers(text: str) -> list[int]:
    """ "007–009, 012" as numbers."""
    spans = [part.split("–") for part in text.replace(" ", "").split(",") if part]
    return [n for span in spans for n in range(int(span[0]), int(span[-1]) + 1)]


def claims_by_study() -> dict[str, set[str]]:
    """The table of docs/thesis-claims.md."""
    rows = re.findall(r"^\| `([a-z0-9-]+)` \|[^|]*\|([^|]*)\|([^|]*)\|", OWNERS.read_text(), re.M)
    return {
        name: {
            f"{prefix}-{number:03}"
            for prefix, cell in zip(PREFIXES, cells, strict=True)
            for number in numbers(cell)
        }
        for name, *cells in rows
    }


STUDIES = [study for name, study in discover().items() if name in claims_by_study()]


def test_every_claim_has_one_owner() -> None:
    left_out = [
        f"C-TH-{n:03}"
        for row in re.findall(r"^\|[^|`]*\|([ 0-9–,]+)\| \d+ \|$", OWNERS.read_text(), re.M)
        for n in numbers(row)
    ]
    owned = [name for names in claims_by_study().values() for name in names] + left_out
    assert len(owned) == len(set(owned))
    wanted = {f"C-TH-{n:03}" for n in range(1, 294)} | {f"C-QSL-{n:03}" for n in range(1, 37)}
    assert set(owned) == wanted


@pytest.mark.slow
@pytest.mark.parametrize("study", STUDIES, ids=lambda study: study.name)
def test_a_quick_study_judges_all_its_claims_and_rebuilds(study: Study, tmp_path: Path) -> None:
    ctx = StudyContext(tmp_path, backend_named("sim"), quick=True)
    result = study.run(ctx)
    assert {claim.id for claim in result.claims} == claims_by_study()[study.name]
    assert any(claim.verdict != "not checked" for claim in result.claims)
    for claim in result.claims:
        assert claim.statement
        assert claim.note or claim.verdict != "not checked", f"{claim.id}: says no reason"
    assert result.report is not None
    assert "<svg" in result.report.read_text()
    saved = json.loads((tmp_path / "claims.json").read_text())
    assert [claim["id"] for claim in saved] == sorted(claim.id for claim in result.claims)
    before = [path.read_bytes() for path in (result.report, *result.artefacts)]
    again = study.rebuild(ctx)
    assert again.claims == result.claims
    assert again.report is not None
    assert [path.read_bytes() for path in (again.report, *again.artefacts)] == before
