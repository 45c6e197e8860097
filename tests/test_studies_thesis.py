"""The thesis' studies: each runs, gives a verdict to every claim that is its own, and rebuilds."""

from __future__ import annotations

import json
import re
from pathlib import Path

import pytest
from support import REASON, ROOT

from headway.backends import backend_named
from headway.study import Study, StudyContext, discover

OWNERS = ROOT / "docs" / "thesis-claims.md"
STARTUP_CLAIMS = ROOT / "docs" / "startup-claims.txt"
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


def listed(heading: str) -> list[str]:
    """The claims in the first column of the table below a heading of docs/thesis-claims.md."""
    section = OWNERS.read_text().partition(f"### {heading}\n")[2].partition("\n#")[0]
    cells = re.findall(r"^\| (C-[^|]*) \|", section, re.M)
    return [name for cell in cells for name in cell.split(", ")]


STUDIES = [study for name, study in discover().items() if name in claims_by_study()]


def test_every_claim_has_one_owner() -> None:
    left_out = [
        f"C-TH-{n:03}"
        for row in re.findall(r"^\|[^|`]*\|([ 0-9–,]+)\| \d+ \|$", OWNERS.read_text(), re.M)
        for n in numbers(row)
    ]
    before_results = OWNERS.read_text().partition("\n## What the studies found\n")[0]
    live = re.findall(r"^\| (C-TH-\d+) \|", before_results, re.M)
    owned = [name for names in claims_by_study().values() for name in names] + left_out + live
    assert len(owned) == len(set(owned))
    wanted = {f"C-TH-{n:03}" for n in range(1, 294)} | {f"C-QSL-{n:03}" for n in range(1, 37)}
    assert set(owned) == wanted


def test_the_page_counts_what_it_lists() -> None:
    text = OWNERS.read_text()
    rows = re.findall(r"^\| ([a-z-]+) \| (\d+) \| (\d+) \| (\d+) \|$", text, re.M)
    counts = {name: [int(number) for number in numbers] for name, *numbers in rows}
    total = counts.pop("all")
    assert [sum(column) for column in zip(*counts.values(), strict=True)] == total
    owned = claims_by_study()
    fails, unchecked = listed("What fails, and why"), listed("What is not checked, and why")
    for name, (holding, failing, open_) in counts.items():
        assert holding + failing + open_ == len(owned[name]), name
        assert sum(claim in owned[name] for claim in fails) == failing, name
        assert sum(claim in owned[name] for claim in unchecked) == open_, name
    assert (len(fails), len(unchecked)) == (total[1], total[2])

    startups = {line for line in STARTUP_CLAIMS.read_text().splitlines() if line[0] != "#"}
    assert startups <= set().union(*(owned[name] for name in counts))
    holds = len(startups - set(fails) - set(unchecked))
    said = f"Of the {len(startups)}, {holds} hold ({100 * holds / len(startups):.1f} %)"
    assert said in text


@pytest.mark.slow
@pytest.mark.parametrize("study", STUDIES, ids=lambda study: study.name)
def test_a_quick_study_judges_all_its_claims_and_rebuilds(study: Study, tmp_path: Path) -> None:
    if study.only_backend == "kernel" and REASON is not None:
        pytest.skip(f"kernel backend: {REASON}")
    ctx = StudyContext(tmp_path, backend_named(study.only_backend or "sim"), quick=True)
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
