"""Studies whose texts are data: study.toml, judges, and what is refused when a study is loaded."""

from __future__ import annotations

import sys
import types
from collections.abc import Callable
from pathlib import Path
from types import ModuleType

import pytest

from headway.claims import Change, Claims, Evidence, Seen, edited, scaled
from headway.errors import HeadwayError
from headway.experiment import Experiment
from headway.publish import Page
from headway.study import Agreement, Study, StudyContext, declared

HEAD = """
name = "made"
title = "A title"
source = "S"
"""
CLAIM = """
[[claim]]
id = "X-1"
text = '''
a text
over two lines
'''
published = 2
"""
WHY_NOT = CLAIM.replace("X-1", "X-2") + 'why_not = "It is not printed."\n'
OPEN = 'why.kind = "open"\nwhy.reason = "Who knows."\n'
Write = Callable[[str], str]


@pytest.fixture
def write(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Write:
    """Write a study.toml; returns the name of a module beside it."""
    (tmp_path / "made").mkdir()
    module = ModuleType("made_study", "Claim: it is so.")
    module.__file__ = str(tmp_path / "made" / "__init__.py")
    monkeypatch.setitem(sys.modules, module.__name__, module)

    def put(text: str) -> str:
        (tmp_path / "made" / "study.toml").write_text(text, encoding="utf-8")
        return module.__name__

    return put


def two(found: Evidence[float]) -> Seen:
    return Seen(found["a"], found["a"] == 2)


def test_claims_are_texts_with_judges_in_the_order_of_the_file(write: Write) -> None:
    claims: Claims[Evidence[float]] = Claims(write(HEAD + CLAIM + WHY_NOT))
    assert claims.judge("X-1", spoil=[scaled("a", 2.0, "x"), scaled("a", 3.0, "x")])(two) is two
    first, second = claims.statements()
    assert (first.id, first.text, first.published) == ("X-1", "a text over two lines", 2)
    assert (second.look, second.why_not) == (None, "It is not printed.")
    assert claims.number("X-1") == 2.0
    assert first.judge(Evidence({"a": 2.0})).verdict == "holds"
    assert first.spoil is not None
    assert first.spoil({"a": {"x": 1.0}}) == {"a": {"x": 6.0}}


def test_a_cause_is_the_claims_own_or_shared(write: Write) -> None:
    own = 'why.kind = "refuted"\nwhy.reason = "So."\n'
    shared = CLAIM.replace("X-1", "X-2") + 'why = "both"\n'
    cause = '[why.both]\nkind = "open"\nreason = "Who knows."\nshown_by = "X-1"\n'
    claims: Claims[Evidence[float]] = Claims(write(HEAD + CLAIM + own + shared + cause))
    claims.add("X-1", two, tries=[Change("more")])
    claims.add("X-2", two)
    first, second = (one.why for one in claims.statements())
    assert first is not None
    assert second is not None
    assert (first.kind, [one.says for one in first.changes]) == ("refuted", ["more"])
    assert (second.kind, second.reason, second.shown_by) == ("open", "Who knows.", "X-1")


def test_evidence_and_changes_are_data_or_code(write: Write) -> None:
    own = """
spoil = ["scaled", "a", 2.0, "x"]
mend = [["replaced", "a", 3.0, "x"], ["swapped", "a", "b"]]
why.kind = "refuted"
why.reason = "So."
tries = ["queue", {says = "two", keys = ["a", "b"]}]
[change.queue]
says = "a queue"
edit = {duration = "9 s"}
"""
    claims: Claims[Evidence[float]] = Claims(write(HEAD + CLAIM + own))
    claims.add("X-1", two, tries=[Change("more")])
    [one] = claims.statements()
    assert one.spoil is not None
    assert one.mend is not None
    assert one.why is not None
    rows = {"a": {"x": 1.0}, "b": {"x": 5.0}}
    assert one.spoil(rows) == {"a": {"x": 2.0}, "b": {"x": 5.0}}
    assert one.mend(rows) == {"a": {"x": 5.0}, "b": {"x": 3.0}}
    assert one.why.tries == (
        Change("a queue", edited({"duration": "9 s"})),
        Change("two", keys=("a", "b")),
        Change("more"),
    )


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("name = ", "made/study.toml: unreadable"),
        ('name = "made"', "made/study.toml: title: is missing"),
        (HEAD + CLAIM + "publish = 3", "claim X-1: publish: no such field"),
        (HEAD + CLAIM.replace("published = 2", ""), "claim X-1: published: is missing"),
        (HEAD + CLAIM.replace("= 2", "= true"), "claim X-1: published: only a number or a text"),
        (HEAD + CLAIM + 'carrier = "tea"', "claim X-1: carrier: 'tea' is not allowed; one of"),
        (HEAD + '[[claim]]\ntext = ""\npublished = 1', "claim number 1: id: is missing"),
        (HEAD + "[kernel]" + CLAIM.replace("[[", "[[kernel.") + "x = 1", "claim X-1: x: no such"),
        (HEAD + CLAIM + CLAIM, "made/study.toml: claim X-1 is defined twice"),
        (HEAD + CLAIM + 'why = "rain"', r"claim X-1: why: 'rain': this file has no \[why.rain\]"),
        (HEAD + CLAIM, "claim X-1: needs a judge, or why_not"),
        (
            HEAD + CLAIM + 'spoil = ["shaken", "a"]',
            "claim X-1: spoil: 'shaken' is not allowed; one",
        ),
        (HEAD + CLAIM + "spoil = []", r"claim X-1: spoil: \[\] is not allowed; one of"),
        (HEAD + CLAIM + 'mend = ["swapped", "a"]', "claim X-1: mend: .*argument: 'other'"),
        (HEAD + CLAIM + 'tries = ["rain"]', "claim X-1: has tries, but no why"),
        (HEAD + CLAIM + 'tries = ["rain"]\n' + OPEN, r"claim X-1: tries: no \[change.rain\]"),
    ],
)
def test_a_wrong_file_is_refused_in_one_line(write: Write, text: str, message: str) -> None:
    with pytest.raises(HeadwayError, match=message):
        Claims(write(text)).statements()


def test_a_wrong_judge_is_refused(write: Write) -> None:
    claims: Claims[Evidence[float]] = Claims(write(HEAD + CLAIM + WHY_NOT))
    claims.add("X-1", two)
    for call, message in (
        (lambda: claims.add("X-1", two), "made_study: claim X-1: has two judges"),
        (lambda: claims.add("X-2", two), "claim X-2: has both a judge and why_not"),
        (lambda: claims.add("X-3", two), "claim X-3: not in study.toml"),
        (
            lambda: Claims("made_study").add("X-1", two, tries=[Change("")]),
            "its judge has tries, but study.toml has no why",
        ),
    ):
        with pytest.raises(HeadwayError, match=message):
            call()


def test_evidence_in_two_places_is_refused(write: Write) -> None:
    claims: Claims[Evidence[float]] = Claims(write(HEAD + CLAIM + 'spoil = ["swapped", "a", "b"]'))
    with pytest.raises(HeadwayError, match=r"claim X-1: has spoil here and in study.toml"):
        claims.add("X-1", two, spoil=scaled("a", 2.0, "x"))


def test_a_study_is_made_of_functions_and_texts(write: Write) -> None:
    kernel = '[kernel]\ndescription = "live"\nchoices = ["one", "two"]\n'
    module = write(HEAD + kernel)

    def experiments(_ctx: StudyContext) -> dict[str, Experiment]:
        return {}

    def page(_ctx: StudyContext, _found: object) -> Page:
        return Page()

    parts = {"experiments": experiments, "observe": lambda _key, _trace: 1, "page": page}
    live: Study = declared(module, form="kernel", only_backend="kernel", **parts)
    study: Study = declared(module, kernel=live, **parts)
    assert (study.name, study.title, study.source) == ("made", "A title", "S")
    assert (live.name, live.title, live.description) == ("made", "A title", "live")
    assert (study.choices, live.choices) == ((), ("one", "two"))
    assert study.observe("key", None) == 1
    assert study.on("kernel") is live
    assert study.on("sim") is study
    with pytest.raises(TypeError, match="made_study: a study has no 'pages'"):
        declared(module, pages=page, **parts)


def test_a_study_takes_the_functions_that_its_modules_define(write: Write) -> None:
    name = write(HEAD + CLAIM)
    module = types.ModuleType("made_module")
    text = (
        "from headway.studies.ssthresh_strategies.experiments import experiments\n"
        "def observe(key, trace): return 1\n"
    )
    exec(text, module.__dict__)
    module.CLAIMS = Claims(name)  # type: ignore[attr-defined]
    study = declared(name, module, experiments=lambda _ctx: {}, page=lambda _ctx, _found: Page())
    assert study.observe("key", None) == 1
    assert study.statements == ()  # the claims belong to another module
    module.CLAIMS.module = "made_module"
    module.CLAIMS.add("X-1", two)
    study = declared(name, module, experiments=lambda _ctx: {}, page=lambda _ctx, _found: Page())
    assert [one.id for one in study.statements] == ["X-1"]
    # functions that the module imports do not count
    with pytest.raises(TypeError, match="abstract"):
        declared(name, module, page=lambda _ctx, _found: Page())


def test_agreements_are_made_per_row() -> None:
    [one] = Agreement.per_row({"a": "A"}, "{}: alike.", table="T", most=1.0, unit="s")
    assert one == Agreement("kernel-a", "A: alike.", table="T", row="A", most=1.0, unit="s")
