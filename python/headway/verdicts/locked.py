"""Locked verdicts: files with one line of JSON per claim, and comparisons of runs with them.

For measurements on a live kernel, the first line names the machine: ``{"measured_on": {form:
machine}}``. If a study's version for the kernel judges claims of its own, the file has the claims
of both versions. Claims with basis "live" belong to the kernel version, and each version reads and
writes its own claims.
"""

from __future__ import annotations

import importlib
import json
from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass, field
from pathlib import Path
from typing import Any, Literal

from headway.claims import Basis, Claim, Statement, Verdict, Why
from headway.errors import HeadwayError
from headway.files import save_text
from headway.study import Study, discover
from headway.verdicts.tries import GOOD, Tried

FILE = "verdicts.json"
SEEDS = (2, 3, 4)
"""Further seeds with which the quick form runs, to show whether a verdict depends on the seed. Live
measurements ignore the seed, so on a live kernel each of these seeds is just one more run."""
Form = Literal["full", "quick"]
MACHINE = "measured_on"
"""The key of a file's line that names the machine on which the live kernel was measured."""


@dataclass(frozen=True)
class Outcome:
    """The result of a study's full or quick form for a claim.

    ``note`` is None if it equals the note of ``Locked``.
    """

    verdict: Verdict
    measured: float | str | None = None
    note: str | None = None


@dataclass(frozen=True)
class Try:
    """A counterfactual: its change, and the results of the full and the quick form with it.

    The quick form runs only the first one of each claim.
    """

    change: str
    full: Outcome | None = None
    quick: Outcome | None = None


@dataclass(frozen=True)
class Locked:
    """A claim with the locked results of the study's full and quick form.

    ``full`` and ``quick`` are results with seed 1, ``seeds`` has the quick form's verdicts with
    other seeds. ``unit`` and ``tolerance`` apply to both forms. ``note`` is the full form's; the
    quick form has a note of its own if notes contain measured values. ``trials`` is the number of
    seeds that the full form needed to decide the verdict. ``why`` is the kind of failure that the
    study declares.
    """

    id: str
    basis: Basis
    statement: str
    published: float | str
    unit: str | None = None
    tolerance: str = ""
    part: str = ""
    same_as: str = ""
    note: str = ""
    full: Outcome | None = None
    quick: Outcome | None = None
    seeds: Mapping[str, Verdict] = field(default_factory=dict)
    trials: int = 1
    why: str = ""
    nothing_helps: bool = False
    tries: Sequence[Try] = ()

    @property
    def kind(self) -> str:
        """The kind of the failure: the declared one if counterfactuals show it, otherwise open.

        Empty if the claim does not fail.
        """
        outcome = self.full or self.quick
        if outcome is None or outcome.verdict != "fails":
            return ""
        if self.basis == "calibrated":
            return ""
        found = [one.full or one.quick for one in self.tries]
        flips = any(one is not None and one.verdict in GOOD for one in found)
        is_shown = not flips and len(found) > 1 if self.nothing_helps else flips
        return self.why if self.why and is_shown else "open"

    @property
    def flips(self) -> bool:
        """Whether the quick form's verdicts differ between seeds (on a live kernel: runs)."""
        own = {} if self.quick is None else {"1": self.quick.verdict}
        return len({*own.values(), *self.seeds.values()}) > 1

    def claim(self) -> Claim:
        """The claim with the result of the full form or, without one, of the quick form."""
        outcome = self.full or self.quick or Outcome("not checked")
        return Claim(
            id=self.id,
            statement=self.statement,
            basis=self.basis,
            published=self.published,
            measured=outcome.measured,
            unit=self.unit,
            tolerance=self.tolerance,
            verdict=outcome.verdict,
            note=self.note,
            part=self.part,
            same_as=self.same_as,
            why=self.kind,
        )


@dataclass(frozen=True)
class Difference:
    """A difference between a claim as judged now and as locked."""

    id: str
    what: str
    was: str
    now: str


def file_of(study: Study[Any, Any]) -> Path:
    """The file of a study's verdicts, in the study's folder."""
    module = importlib.import_module(type(study).__module__)
    assert module.__file__ is not None
    return Path(module.__file__).parent / FILE


def read(study: Study[Any, Any]) -> list[Locked]:
    """The locked claims that belong to a study's version; empty without a file.

    Raises HeadwayError if the file is unreadable.
    """
    return [one for one in _all(study) if _is_of_form(study, one)]


def _is_of_form(study: Study[Any, Any], one: Locked) -> bool:
    """Whether a claim in a study's file belongs to this version of the study.

    Claims with basis "live" belong to the kernel version, all others to the simulator's version.
    """
    whole = discover().get(study.name, study)
    return len(whole.forms()) == 1 or (one.basis == "live") == (study is not whole)


def _all(study: Study[Any, Any]) -> list[Locked]:
    try:
        return [_locked(row) for row in _rows(study) if MACHINE not in row]
    except (TypeError, KeyError) as error:
        raise HeadwayError(f"{file_of(study)}: unreadable ({error})") from None


def measured_on(study: Study[Any, Any]) -> dict[Form, str]:
    """The machine on which the full and the quick form of a live study were measured.

    Raises HeadwayError if the file is unreadable.
    """
    machines = [row[MACHINE] for row in _rows(study) if MACHINE in row]
    return dict(machines[0]) if machines else {}


def _rows(study: Study[Any, Any]) -> list[dict[str, Any]]:
    path = file_of(study)
    try:
        return [json.loads(line) for line in path.read_text(encoding="utf-8").splitlines()]
    except FileNotFoundError:
        return []
    except (OSError, ValueError) as error:
        raise HeadwayError(f"{path}: unreadable ({error})") from None


def _locked(row: dict[str, Any]) -> Locked:
    row["tries"] = tuple(
        Try(one["change"], *(Outcome(**one[f]) if f in one else None for f in ("full", "quick")))
        for one in row.get("tries", ())
    )
    for form in ("full", "quick"):
        if form in row:
            row[form] = Outcome(**row[form])
    return Locked(**row)


def write(
    study: Study[Any, Any], locked: Sequence[Locked], machines: Mapping[Form, str] | None = None
) -> Path:
    """Write the claims of a study's version, completely or not at all. Raises HeadwayError.

    Claims of the study's other version are kept. ``machines`` has the machine on which the full and
    the quick form were measured, if live.
    """
    rows = [{MACHINE: dict(machines)}] if machines else []
    others = [one for one in _all(study) if not _is_of_form(study, one)]
    both = sorted((*locked, *others), key=lambda one: one.basis == "live") if others else locked
    lines = [json.dumps(row, ensure_ascii=False) for row in (*rows, *map(_row, both))]
    save_text(file_of(study), "\n".join(lines) + "\n")
    return file_of(study)


def _row(one: Locked) -> dict[str, Any]:
    row = asdict(one)
    for form in ("full", "quick"):
        for holder in (row, *row["tries"]):
            if holder[form] is None:
                del holder[form]
            elif holder[form]["note"] is None:
                del holder[form]["note"]
    if row["trials"] == 1:
        del row["trials"]
    return {
        name: value for name, value in row.items() if value not in ("", None, {}, (), [], False)
    }


def as_claims(locked: Sequence[Locked]) -> list[Claim]:
    """The locked claims as Claim objects, with the full form's results where they exist."""
    return [one.claim() for one in locked]


def changed(
    locked: Sequence[Locked],
    *,
    full: Sequence[Claim] | None = None,
    quick: Sequence[Claim] | None = None,
    seeds: Mapping[int, Sequence[Claim]] | None = None,
    trials: Mapping[str, int] | None = None,
    tries: Mapping[Form, Mapping[str, Sequence[Tried]]] | None = None,
    statements: Sequence[Statement[Any]] = (),
) -> list[Locked]:
    """The locked claims, updated with the results of a run.

    Claims that are no longer judged are removed. If only the quick or the full form ran, the
    other's results are kept. ``trials`` has, by claim, the number of seeds of the full form's
    verdict. ``tries`` has the counterfactuals that ran, by form and claim. ``statements`` declare
    the kinds of failures.
    """
    before = {one.id: one for one in locked}
    found = {
        "full": {claim.id: claim for claim in full or ()},
        "quick": {claim.id: claim for claim in quick or ()},
    }
    by_seed = {
        str(seed): {claim.id: claim.verdict for claim in claims}
        for seed, claims in (seeds or {}).items()
    }
    declared = {one.id: one.why for one in statements if one.why is not None}
    made = []
    for claim in full or quick or ():
        old = before.get(claim.id, Locked(claim.id, claim.basis, claim.statement, claim.published))
        note = _new_note(old, claim, is_full=full is not None)
        outcomes = {
            form: _outcome(own[claim.id], note if form == "quick" else own[claim.id].note)
            if claim.id in (own := found[form])
            else getattr(old, form)
            for form in ("full", "quick")
        }
        is_judged = claim.verdict != "not checked" or full is not None
        judged = claim if is_judged or old.full is None else old
        made.append(
            Locked(
                id=claim.id,
                basis=claim.basis,
                statement=claim.statement,
                published=claim.published,
                unit=judged.unit,
                tolerance=judged.tolerance,
                part=claim.part,
                same_as=claim.same_as,
                note=note,
                full=outcomes["full"],
                quick=outcomes["quick"],
                seeds={seed: own[claim.id] for seed, own in by_seed.items()}
                if seeds
                else old.seeds,
                trials=(trials or {}).get(claim.id, 1) if full is not None else old.trials,
                **_why(old, declared.get(claim.id), tries or {}),
            )
        )
    return made


def _why(
    old: Locked, why: Why | None, tries: Mapping[Form, Mapping[str, Sequence[Tried]]]
) -> dict[str, Any]:
    """The fields of ``Locked`` on a failure and its counterfactuals.

    If only the quick or the full form ran, the other's results are kept.
    """
    if why is None:
        return {}
    before = {one.change: one for one in old.tries}
    found: dict[str, dict[Form, Outcome]] = {}
    for form, by_claim in tries.items():
        for one in by_claim.get(old.id, ()):
            outcome = Outcome(one.claim.verdict, one.claim.measured)
            found.setdefault(one.change.says, {})[form] = outcome
    return {
        "why": why.kind,
        "nothing_helps": why.nothing_helps,
        "tries": tuple(
            _try(before.get(change.says, Try(change.says)), found.get(change.says, {}))
            for change in why.changes
            if change.says in found or change.says in before
        ),
    }


def _outcome(claim: Claim, note: str) -> Outcome:
    """The result of a form; it includes the form's note if that differs from ``note``."""
    return Outcome(claim.verdict, claim.measured, None if claim.note == note else claim.note)


def _new_note(old: Locked, claim: Claim, *, is_full: bool) -> str:
    """The note to lock for a claim: the new note, or the locked note of the full form.

    The quick form's note cannot replace the full form's if notes contain measured values, or if
    the two forms have different verdicts.
    """
    if is_full or old.full is None:
        return claim.note
    has_values = old.quick is not None and old.quick.note is not None
    is_own = claim.basis == "live" or has_values or claim.verdict != old.full.verdict
    return old.note if is_own else claim.note


def _try(old: Try, found: Mapping[Form, Outcome]) -> Try:
    return Try(old.change, found.get("full", old.full), found.get("quick", old.quick))


def differing_tries(
    locked: Sequence[Locked], tries: Mapping[str, Sequence[Tried]], form: Form
) -> list[Difference]:
    """Differences between a run's counterfactuals and the locked ones of the same form.

    On a live kernel only verdicts are compared.
    """
    found = []
    before = {one.id: one for one in locked}
    for name, own in tries.items():
        known = {
            one.change: getattr(one, form) for one in (before[name].tries if name in before else ())
        }
        for one in own:
            was: Outcome | None = known.get(one.change.says)
            now = Outcome(one.claim.verdict, one.claim.measured)
            if one.claim.basis == "live":
                is_same = was is not None and was.verdict == now.verdict
            else:
                is_same = was == now
            if not is_same:
                found.append(Difference(name, f"with {one.change.says}", _short(was), _short(now)))
    return found


def _short(outcome: Outcome | None) -> str:
    return "none" if outcome is None else f"{outcome.verdict}, {outcome.measured}"


def differences(locked: Sequence[Locked], claims: Sequence[Claim], form: Form) -> list[Difference]:
    """Differences between a run's claims and the locked ones of the same form, sorted by id.

    For live claims only verdicts are compared, not values and notes, since measurements vary
    between runs.
    """
    before = {one.id: one for one in locked}
    now = {claim.id: claim for claim in claims}
    found = []
    for name in sorted({*before, *now}):
        if name not in now:
            found.append(Difference(name, "claim", "there", "gone"))
        elif name not in before:
            found.append(Difference(name, "claim", "none", now[name].verdict))
        else:
            found += _differing(before[name], now[name], form)
    return found


def _differing(old: Locked, new: Claim, form: Form) -> list[Difference]:
    outcome: Outcome | None = getattr(old, form)
    pairs: list[tuple[str, object, object]] = [
        (name, getattr(old, name), getattr(new, name))
        for name in ("basis", "statement", "published", "part", "same_as")
    ]
    if outcome is None:
        pairs.append(("verdict", None, new.verdict))
    else:
        pairs.append(("verdict", outcome.verdict, new.verdict))
        if new.basis != "live":
            pairs.append(("measured", outcome.measured, new.measured))
            pairs.append(("note", old.note if outcome.note is None else outcome.note, new.note))
        if "not checked" not in (outcome.verdict, new.verdict) and old.tolerance:
            pairs.append(("unit", old.unit, new.unit))
            pairs.append(("tolerance", old.tolerance, new.tolerance))
    return [Difference(old.id, what, str(was), str(now)) for what, was, now in pairs if was != now]
