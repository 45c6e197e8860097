"""Verdicts are locked, evidence changes them, and pages are generated from them."""

from __future__ import annotations

import dataclasses
import itertools
import math
import re
from collections.abc import Iterable, Iterator, Mapping
from pathlib import Path
from typing import Any

import made_up
import numpy as np
import pytest
from quick import SIMULATED, alone, quick, sums_of
from support import ROOT

from headway.backends import backend_named
from headway.claims import PAPERS, Change, Claim, MissingTrialError, Statement, Why
from headway.studies.common.left_out import LEFT_OUT
from headway.studies.common.measured import MeasuredStudy
from headway.study import StudyContext, discover
from headway.verdicts import (
    Locked,
    Outcome,
    Try,
    chance,
    changed,
    differences,
    differing_tries,
    locked,
    measured_on,
    read,
    write,
)
from headway.verdicts.pages import pages, study_pages
from headway.verdicts.tries import Tried, Tries

STUDIES = {
    study.name if form is study else f"{study.name}-live": form
    for study in discover().values()
    for form in study.forms()
}
"""Every version of every study (simulator or kernel) that judges claims of its own."""
LIVE = [name for name in STUDIES if name not in SIMULATED]
"""Versions for the live kernel, which are judged here with made-up evidence."""
FAMILIES = {"C-TH": 293, "C-QSL": 36, "C-CD": 109, "C-RP": 19, "C-MN": 47}
GOOD = ("holds", "in part")


def statements(name: str) -> list[Statement[Any]]:
    return [one for one in STUDIES[name].statements if one.carrier == "trials" and one.look]


def cases(names: Iterable[str]) -> Iterator[Any]:
    for name in names:
        for statement in statements(name):
            yield pytest.param(name, statement, id=f"{name}-{statement.id}")


# ---- Which study judges which claim ----


def test_every_claim_of_the_papers_is_judged_once_or_left_out_with_a_reason() -> None:
    judged = [one.id for study in STUDIES.values() for one in study.statements]
    left = [name for _, names in LEFT_OUT for name in names]
    published = {f"{p}-{n:03}" for p, count in FAMILIES.items() for n in range(1, count + 1)}
    assert sorted(name for name in [*judged, *left] if name.rpartition("-")[0] in FAMILIES) == (
        sorted(published)
    )
    assert len(judged) == len(set(judged))
    assert set(FAMILIES) == set(PAPERS)


@pytest.mark.parametrize("name", STUDIES)
def test_a_statement_says_what_it_is_and_what_would_refute_it(name: str) -> None:
    known = {one.id for study in STUDIES.values() for one in study.statements}
    for one in STUDIES[name].statements:
        assert one.text
        assert (one.look is None) == bool(one.why_not), f"{one.id}: looks, or says why not"
        assert one.same_as in {"", *known} - {one.id}
        if one.carrier == "trials" and one.look is not None:
            assert one.spoil is not None, f"{one.id}: nothing would refute it"
        else:
            assert one.spoil is None
            assert one.mend is None


# ---- Evidence ----


def evidence(name: str) -> tuple[StudyContext, Mapping[str, Any]]:
    """The observations of a study's quick form."""
    if name in LIVE:
        ctx = made_up.whole(STUDIES[name], made_up.context(Path("nowhere")))
        return ctx, made_up.rows(STUDIES[name].name, ctx)
    return quick(name).ctx, quick(name).seen.rows


@pytest.mark.parametrize("name", STUDIES)
def test_nothing_holds_without_trials(name: str, tmp_path: Path) -> None:
    study, ctx = STUDIES[name], StudyContext(tmp_path, backend_named("sim"), quick=True)
    for one in statements(name):
        claim = one.judge(study.gather(ctx, {}))
        assert claim.verdict == "not checked", f"{one.id} is judged by nothing"


def _judged(name: str, statement: Statement[Any], rows: Mapping[str, Any]) -> Claim:
    ctx, _ = evidence(name)
    return statement.judge(STUDIES[name].gather(ctx, rows))


@pytest.mark.slow
@pytest.mark.parametrize(("name", "statement"), list(cases(STUDIES)))
def test_spoiled_evidence_changes_the_verdict(name: str, statement: Statement[Any]) -> None:
    """A claim that holds must fail with spoiled evidence; a claim that fails must hold with mended
    evidence.
    """
    _, rows = evidence(name)
    before = _judged(name, statement, rows)
    if before.verdict == "fails":
        assert statement.mend is not None, "fails, and nothing says what it would take to hold"
        rows = statement.mend(rows)
        assert _judged(name, statement, rows).verdict in GOOD
    else:
        assert before.verdict in GOOD, before.note
    assert statement.spoil is not None
    after = _judged(name, statement, statement.spoil(rows))
    assert after.verdict == "fails", f"{before.measured} -> {after.measured}"


@pytest.mark.slow
@pytest.mark.parametrize("name", LIVE)
def test_a_live_claim_has_evidence_either_way(name: str) -> None:
    """Another machine may measure other results, so each claim comes with evidence that makes it
    hold and evidence that makes it fail.
    """
    _, rows = evidence(name)
    for one in statements(name):
        assert one.spoil is not None
        assert one.mend is not None
        assert _judged(name, one, one.spoil(one.mend(rows))).verdict == "fails", one.id
        assert _judged(name, one, one.mend(one.spoil(rows))).verdict in GOOD, one.id


@pytest.mark.slow
@pytest.mark.parametrize("name", STUDIES)
def test_nothing_holds_without_numbers(name: str) -> None:
    is_json = isinstance(STUDIES[name], MeasuredStudy)
    without = _without_measurements if is_json else _without_numbers
    rows = {key: without(row) for key, row in evidence(name)[1].items()}
    for one in statements(name):
        try:
            claim = _judged(name, one, rows)
        except (ValueError, ArithmeticError, LookupError):
            continue  # no verdict either
        assert claim.verdict not in GOOD, f"{one.id} holds: {claim.measured}"


def _without_measurements(value: Any) -> Any:
    """JSON, in which measured values may be whole numbers."""
    if isinstance(value, Mapping):
        return {key: _without_measurements(entry) for key, entry in value.items()}
    if isinstance(value, list | tuple):
        return [_without_measurements(entry) for entry in value]
    return math.nan if isinstance(value, int | float) else value


def _without_numbers(value: Any) -> Any:  # noqa: PLR0911
    if isinstance(value, bool | int):
        return value
    if isinstance(value, float):
        return math.nan
    if isinstance(value, np.ndarray):
        return np.full(value.shape, np.nan) if value.dtype.kind == "f" else value
    if dataclasses.is_dataclass(value) and not isinstance(value, type):
        changes = {
            field.name: _without_numbers(getattr(value, field.name))
            for field in dataclasses.fields(value)
            if field.init
        }
        return dataclasses.replace(value, **changes)
    if isinstance(value, Mapping):
        return {key: _without_numbers(entry) for key, entry in value.items()}
    if isinstance(value, list | tuple):
        return type(value)(_without_numbers(entry) for entry in value)
    return value


# ---- Words ----


@pytest.mark.slow
@pytest.mark.parametrize("name", STUDIES)
def test_every_word_of_a_statement_is_judged(name: str) -> None:
    """A word that cannot be judged is declared, and then the claim holds in part at most."""
    ctx, rows = evidence(name)
    found = STUDIES[name].gather(ctx, rows)
    for one in STUDIES[name].statements:
        if one.look is None:
            continue
        try:
            dropped = one.left_out(one.look(found))
        except MissingTrialError:
            continue
        assert dropped == set(one.unjudged), f"{one.id}: {one.text}; {one.published}"
        assert one.part or not one.unjudged, f"{one.id}: says not what is judged"


# ---- Why ----


@pytest.mark.slow
@pytest.mark.parametrize("name", STUDIES)
def test_a_failure_is_explained_by_what_its_counterfactuals_show(name: str) -> None:
    locked = {one.id: one for one in _locked_of(name)}
    for one in STUDIES[name].statements:
        was = locked[one.id]
        # Live studies that were last measured before reasons existed have no locked reason.
        is_judged = name in SIMULATED or was.why
        is_one = one.carrier == "trials" and not one.same_as
        if was.claim().verdict == "fails" and is_one and is_judged:
            assert one.why is not None, f"{one.id} fails, and nothing says why"
            assert one.why.reason, one.id
            shown = [each.full is not None and each.full.verdict in GOOD for each in was.tries]
            assert shown[0] or not any(shown), f"{one.id}: what shows it is not the first try"
            assert was.kind == one.why.kind, f"{one.id}: its experiments do not show it"
            assert one.why.shown_by in ("", *locked), one.id


@pytest.mark.slow
@pytest.mark.parametrize("name", SIMULATED)
def test_counterfactuals_show_what_is_locked(name: str) -> None:
    ctx, rows = evidence(name)
    failed = {claim.id for claim in quick(name).result.claims if claim.verdict == "fails"}
    counterfactuals = Tries(STUDIES[name], ctx, rows)
    tries = {
        one.id: counterfactuals.of(one, only_first=True)
        for one in STUDIES[name].statements
        if one.id in failed and one.why is not None
    }
    assert differing_tries(read(STUDIES[name]), tries, "quick") == []


# ---- Locked ----


@pytest.mark.slow
@pytest.mark.parametrize("name", SIMULATED)
def test_verdicts_are_those_that_are_locked(name: str) -> None:
    found = differences(read(STUDIES[name]), quick(name).result.claims, "quick")
    assert not found, "\n" + "\n".join(
        f"{one.id}: {one.what} was {one.was}, is {one.now}" for one in found
    )


def _locked_of(name: str) -> list[Locked]:
    """A study's locked claims; a live study may lack statements, which is reported."""
    found = read(STUDIES[name])
    if name in LIVE and not {one.id for one in STUDIES[name].statements} <= {x.id for x in found}:
        pytest.skip(f"{name} was not measured with all its statements yet: `make verdicts-live`")
    return found


@pytest.mark.slow
@pytest.mark.parametrize("name", STUDIES)
def test_every_statement_is_locked_with_a_reason_where_it_does_not_hold(name: str) -> None:
    locked = {one.id: one for one in _locked_of(name)}
    assert set(locked) == {one.id for one in STUDIES[name].statements}
    for one in locked.values():
        verdict = one.claim().verdict
        has_reason = one.note or one.part
        assert verdict in ("holds", "as stated", "undecided") or has_reason, f"{one.id}: {verdict}"


@pytest.mark.slow
@pytest.mark.parametrize("name", LIVE)
def test_live_verdicts_say_what_they_were_measured_on(name: str) -> None:
    _locked_of(name)
    on = measured_on(STUDIES[name])
    assert set(on) == {"full", "quick"}
    assert all("Linux" in machine and " x " in machine for machine in on.values())
    page = study_pages()[STUDIES[name].name]
    assert f"by `make verdicts-live`, full form on {on['full']}" in page
    assert "quick form, runs 1 to 4" in page
    if STUDIES[name].only_backend == "kernel":
        assert "seed" not in page.partition("## Notes")[0]
    else:
        assert "quick form, seeds 1 to 4" in page.partition("## Claims on the kernel")[0]
    for one in read(STUDIES[name]):
        assert one.full is not None
        assert one.quick is not None
        assert one.basis in ("live", "setting", "model")
        assert set(one.seeds) == {"2", "3", "4"}


@pytest.mark.slow
@pytest.mark.parametrize("name", SIMULATED)
def test_a_quick_study_rebuilds_the_same_files(name: str) -> None:
    ran = quick(name)
    with alone(name):
        again = ran.study.rebuild(ran.ctx)
        assert sums_of(again) == ran.sums
    assert again.claims == ran.result.claims
    assert again.tables == ran.result.tables
    assert again.report is not None
    assert "<svg" in again.report.read_text() or name == "first-megabyte"


def test_the_pages_are_those_made_of_what_is_locked() -> None:
    for path, text in pages(ROOT).items():
        assert path.read_text(encoding="utf-8") == text, f"{path}: run `make verdicts`"


CLAIM = Claim("X-1", "it is", "simulated", 1.0, 1.1, "s", "±20 %", "holds", note="why")
LOCKED = Locked(
    "X-1", "simulated", "it is", 1.0, "s", "±20 %", note="why", full=Outcome("holds", 1.1)
)


def test_every_change_is_named() -> None:
    assert differences([LOCKED], [CLAIM], "full") == []
    for changes in (
        {"verdict": "fails"},
        {"measured": 1.2},
        {"basis": "live"},
        {"published": 2.0},
        {"statement": "it was"},
        {"tolerance": "±50 %"},
        {"part": "some"},
        {"same_as": "X-2"},
        {"note": "because"},
    ):
        [one] = differences([LOCKED], [dataclasses.replace(CLAIM, **changes)], "full")
        assert {one.what} == set(changes)
    assert [one.what for one in differences([LOCKED], [CLAIM], "quick")] == ["verdict"]
    assert [one.now for one in differences([LOCKED], [], "full")] == ["gone"]
    assert [one.was for one in differences([], [CLAIM], "full")] == ["none"]


def test_of_live_claims_only_the_verdict_must_stay() -> None:
    was = dataclasses.replace(LOCKED, basis="live")
    now = dataclasses.replace(CLAIM, basis="live", measured=1.2, note="of 1.2")
    assert differences([was], [now], "full") == []
    failed = dataclasses.replace(now, verdict="fails")
    assert [one.what for one in differences([was], [failed], "full")] == ["verdict"]


def test_the_machine_of_each_form_is_kept_beside_the_verdicts(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(locked, "file_of", lambda study: tmp_path / "verdicts.json")
    study = STUDIES["overhead"]
    assert measured_on(study) == {}
    write(study, [LOCKED], {"quick": "Linux 6.18, 2 x A", "full": "Linux 6.12, 4 x B"})
    assert read(study) == [LOCKED]
    assert measured_on(study) == {"quick": "Linux 6.18, 2 x A", "full": "Linux 6.12, 4 x B"}
    write(study, [LOCKED])
    assert measured_on(study) == {}
    assert read(study) == [LOCKED]


def test_each_form_of_a_study_locks_its_own_claims_in_one_file(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(locked, "file_of", lambda study: tmp_path / "verdicts.json")
    study, live = STUDIES["deadlines"], STUDIES["deadlines-live"]
    assert study.live() is not None
    of_live = dataclasses.replace(LOCKED, id="A-1", basis="live")
    machines = {"quick": "Linux 6.18, 2 x A", "full": "Linux 6.18, 2 x A"}
    write(live, [of_live], machines)
    write(study, [LOCKED], measured_on(study))
    assert (read(study), read(live)) == ([LOCKED], [of_live])
    failed = dataclasses.replace(of_live, full=Outcome("fails", 9.0))
    write(live, [failed], measured_on(live))
    assert (read(study), read(live)) == ([LOCKED], [failed])
    assert measured_on(study) == machines
    lines = (tmp_path / "verdicts.json").read_text().splitlines()
    assert ["live" in line for line in lines[1:]] == [False, True]


def test_a_form_that_judges_the_simulators_statements_again_locks_none() -> None:
    study = discover()["rappep"]
    assert study.on("kernel").statements
    assert study.live() is None
    assert study.forms() == (study,)


@pytest.mark.parametrize("name", LIVE)
def test_a_form_on_the_kernel_beside_a_simulated_one_judges_trials_alone(name: str) -> None:
    """Live claims in a file are identified by their basis."""
    if STUDIES[name].only_backend != "kernel":
        assert {one.carrier for one in STUDIES[name].statements} == {"trials"}


def test_what_was_not_run_stays_locked_and_what_is_not_judged_goes() -> None:
    other = dataclasses.replace(CLAIM, id="X-2")
    quick_only = changed([LOCKED], quick=[dataclasses.replace(CLAIM, verdict="fails"), other])
    assert [one.id for one in quick_only] == ["X-1", "X-2"]
    assert quick_only[0].full == Outcome("holds", 1.1)
    assert quick_only[0].quick == Outcome("fails", 1.1)
    assert quick_only[0].note == "why"
    assert changed(quick_only, full=[other], quick=[other]) == [
        Locked(
            "X-2", "simulated", "it is", 1.0, "s", "±20 %", note="why",
            full=Outcome("holds", 1.1), quick=Outcome("holds", 1.1),
        )
    ]  # fmt: skip


def test_a_note_in_other_words_is_written_though_no_value_has_changed() -> None:
    same = dataclasses.replace(LOCKED, quick=Outcome("holds", 1.1))
    now = dataclasses.replace(CLAIM, note="because")
    [written] = changed([same], quick=[now])
    assert written == dataclasses.replace(same, note="because")
    assert differences([written], [now], "quick") == []
    [written] = changed([same], quick=[now], full=[now])
    assert written.note == "because"


def test_a_quick_form_with_another_verdict_leaves_the_note_of_the_full_form() -> None:
    failed = dataclasses.replace(LOCKED, full=Outcome("fails", 2.0))
    now = dataclasses.replace(CLAIM, note="")
    [written] = changed([failed], quick=[now])
    assert (written.note, written.claim().note) == ("why", "why")
    assert written.quick == Outcome("holds", 1.1, note="")
    assert differences([written], [now], "quick") == []


@pytest.mark.parametrize("quick_note", ["1.2 s", ""])
def test_a_note_that_tells_numbers_is_kept_for_each_form(
    quick_note: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(locked, "file_of", lambda study: tmp_path / "verdicts.json")
    full = dataclasses.replace(CLAIM, note="1.1 s")
    quick_claim = dataclasses.replace(CLAIM, note=quick_note)
    both = changed([], full=[full], quick=[quick_claim])
    write(STUDIES["load"], both)
    assert read(STUDIES["load"]) == both
    assert differences(both, [full], "full") == differences(both, [quick_claim], "quick") == []
    # only the quick form was run, so the full form's note stays
    now = dataclasses.replace(CLAIM, note="1.3 s")
    assert [one.what for one in differences(both, [now], "quick")] == ["note"]
    [later] = changed(both, quick=[now])
    assert (later.note, later.quick and later.quick.note) == ("1.1 s", "1.3 s")
    of_live = dataclasses.replace(now, basis="live")
    assert changed([dataclasses.replace(both[0], basis="live")], quick=[of_live])[0].note == "1.1 s"


def _with_margins(*margins: float) -> list[Claim]:
    return [
        dataclasses.replace(CLAIM, margin=one, verdict="holds" if one >= 0 else "fails")
        for one in margins
    ]


def test_a_verdict_over_seeds_is_decided_by_the_interval_of_its_margin() -> None:
    assert chance.verdict(_with_margins(0.2)) == "holds"
    assert chance.verdict(_with_margins(0.2, 0.3, 0.25)) == "holds"
    assert chance.verdict(_with_margins(-0.2, -0.3, -0.25)) == "fails"
    assert chance.verdict(_with_margins(0.2, -0.1, 0.1)) == "undecided"
    assert chance.verdict(_with_margins(0.0, 0.0, 0.0)) == "holds"
    # one margin far from the others makes the interval include 0, but six runs that agree decide
    assert chance.verdict(_with_margins(0.2, 0.3, 0.25, 900.0)) == "undecided"
    assert chance.verdict(_with_margins(0.2, 0.3, 0.25, 900.0, 0.1, 0.1)) == "holds"
    assert chance.verdict(_with_margins(-0.2, -0.3, -0.25, -900.0, -0.1, -0.1)) == "fails"
    in_part = [dataclasses.replace(one, part="some") for one in _with_margins(0.2, 0.3, 0.25)]
    assert chance.verdict(in_part) == "in part"


def test_the_full_form_runs_until_each_verdict_is_decided() -> None:
    asked: list[int] = []

    def again(margins: dict[int, float]) -> Any:
        def run(seed: int) -> list[Claim]:
            asked.append(seed)
            return _with_margins(margins.get(seed, 0.2))

        return run

    sure = [_with_margins(m) for m in (0.2, 0.21, 0.19, 0.2)]
    [claim], trials = chance.settled(_with_margins(0.2), sure, again({}), 8)
    assert (claim.verdict, trials, asked) == ("holds", {"X-1": 1}, [])
    doubtful = [_with_margins(m) for m in (0.2, -0.1, 0.1, 0.0)]
    failed = chance.settled(
        _with_margins(0.01), doubtful, again(dict.fromkeys(range(2, 9), -0.3)), 8
    )
    assert (failed[0][0].verdict, failed[1]) == ("fails", {"X-1": 5})
    asked.clear()
    [claim], trials = chance.settled(_with_margins(0.2), doubtful, again({2: 0.3}), 8)
    assert (claim.verdict, trials, asked) == ("holds", {"X-1": 3}, [2, 3])
    asked.clear()
    mixed = dict(zip(range(2, 9), (-0.2, 0.2) * 4, strict=False))
    [claim], trials = chance.settled(_with_margins(0.2), doubtful, again(mixed), 8)
    assert (claim.verdict, trials, asked) == ("undecided", {"X-1": 8}, [*range(2, 9)])
    [claim], _ = chance.settled(_with_margins(0.2), doubtful, again({}), 1)
    assert claim.verdict == "undecided"


def test_what_no_counterfactual_shows_is_open() -> None:
    failed = dataclasses.replace(LOCKED, full=Outcome("fails", 9.0), why="refuted")
    flips, stays = Try("a", Outcome("holds")), Try("b", Outcome("fails"))
    assert LOCKED.kind == ""
    assert failed.kind == "open"
    assert dataclasses.replace(failed, tries=(stays, flips)).kind == "refuted"
    assert dataclasses.replace(failed, tries=(stays, stays)).kind == "open"
    assert dataclasses.replace(failed, tries=(stays, stays), nothing_helps=True).kind == "refuted"
    assert dataclasses.replace(failed, tries=(stays, flips), nothing_helps=True).kind == "open"


def test_counterfactuals_are_locked_and_compared(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(locked, "file_of", lambda study: tmp_path / "verdicts.json")
    change = Change("a queue of 15 packets")
    statement = Statement("X-1", "it is", 1.0, why=Why("refuted", "So it is.", (change,)))
    tried = {"X-1": [Tried(change, dataclasses.replace(CLAIM, measured=3.0))]}
    failed = [dataclasses.replace(CLAIM, verdict="fails")]
    made = changed(
        [], full=failed, quick=failed, tries={"full": tried, "quick": tried}, statements=[statement]
    )
    write(STUDIES["load"], made)
    [back] = read(STUDIES["load"])
    assert back == made[0]
    assert back.kind == "refuted"
    assert differing_tries([back], tried, "quick") == []
    other = {"X-1": [Tried(change, dataclasses.replace(CLAIM, measured=4.0))]}
    [one] = differing_tries([back], other, "quick")
    assert (one.what, one.was, one.now) == (
        "with a queue of 15 packets",
        "holds, 3.0",
        "holds, 4.0",
    )


def test_a_verdict_that_flips_with_the_seed_says_so() -> None:
    by_seed = {2: [CLAIM], 3: [dataclasses.replace(CLAIM, verdict="fails")]}
    [one] = changed([LOCKED], quick=[CLAIM], seeds=by_seed)
    assert one.seeds == {"2": "holds", "3": "fails"}
    assert one.flips
    [same] = changed([LOCKED], quick=[CLAIM], seeds={2: [CLAIM]})
    assert not same.flips


def test_no_page_types_a_share_of_claims() -> None:
    """A sentence such as "127 of 146 claims hold", written by hand, will become wrong."""
    for path in itertools.chain(ROOT.glob("*.md"), (ROOT / "docs").glob("*.md")):
        if path.name == "CHANGELOG.md":
            continue
        made = r"^<!-- made: ([\w-]+) -->.*?^<!-- end: \1 -->$"
        typed = re.sub(made, "", path.read_text(), flags=re.M | re.S)
        assert not re.search(r"\d+ of (the )?\d+ ([a-z]+ )*claims hold", typed), path


def test_the_readme_has_the_numbers_of_the_comparison_with_linux() -> None:
    compared = (ROOT / "docs" / "validation.md").read_text()
    scenarios = re.search(r"(\d+) scenarios of", compared)
    goodput = re.search(r"\| goodput \| (\S+) \| (\S+) \|", compared)
    delay = re.search(r"\| median one-way delay \| (\S+) \| (\S+) \|", compared)
    assert scenarios
    assert goodput
    assert delay
    readme = " ".join((ROOT / "README.md").read_text().split())
    assert f"In {scenarios[1]} scenarios the simulator's goodput differs" in readme
    assert f"by {goodput[1]} in the median and {goodput[2]} at the 90th percentile" in readme
    assert f"its median one-way delay by {delay[1]} and {delay[2]}:" in readme
