"""A published statement and the function that judges it.

If the function asks for a trial that this run does not have, ``MissingTrialError`` is raised. The
claim is then "not checked", with the trial's name as the reason.
"""

from __future__ import annotations

import dataclasses
import math
from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import dataclass
from typing import Generic, Literal, TypeVar

from headway.claims.claim import Basis, Claim, Verdict
from headway.claims.spoil import Spoil
from headway.claims.why import Why
from headway.claims.words import Check, both, left_out, within

Row = TypeVar("Row")
Kind = TypeVar("Kind")
Found = TypeVar("Found")
Carrier = Literal["trials", "model", "setting"]


class MissingTrialError(Exception):
    """This run lacks a trial that a judge needs; the message names the trial."""


@dataclass(frozen=True)
class Evidence(Mapping[str, Row], Generic[Row]):
    """Observations of trials by key; a missing key raises MissingTrialError."""

    rows: Mapping[str, Row]

    def __getitem__(self, key: str) -> Row:
        """The observation of a trial. Raises MissingTrialError."""
        if key not in self.rows:
            raise MissingTrialError(f"This run has no trial {key}.")
        return self.rows[key]

    def __contains__(self, key: object) -> bool:
        """Whether this trial exists."""
        return key in self.rows

    def __iter__(self) -> Iterator[str]:
        """The keys of the trials."""
        return iter(self.rows)

    def __len__(self) -> int:
        """Number of trials."""
        return len(self.rows)

    @staticmethod
    def of(kind: type[Kind], rows: Mapping[str, object]) -> Evidence[Kind]:
        """The trials whose observations are of class ``kind``, for studies with several classes."""
        return Evidence({key: row for key, row in rows.items() if isinstance(row, kind)})


@dataclass(frozen=True)
class Seen:
    """A finding: a value or text, whether the claim holds, and the tolerance.

    ``words`` are the words of the statement that were judged (claims.words). ``margin`` tells by
    how much the claim holds or fails (``words.Check``); None counts as 1 if the claim holds, and as
    -1 if not.
    """

    measured: float | str
    holds: bool
    tolerance: str = "sign"
    unit: str | None = None
    note: str = ""
    words: frozenset[str] = frozenset()
    margin: float | None = None

    @staticmethod
    def by(measured: float | str, *checks: Check, unit: str | None = None, note: str = "") -> Seen:
        """A finding that holds if all of the given checks hold."""
        whole = both(*checks)
        return Seen(measured, whole.holds, whole.bound, unit, note, whole.words, whole.margin)


def between(
    value: float | None, low: float, high: float, *, unit: str | None = None, note: str = ""
) -> Seen:
    """A finding that holds if the value is in [low, high]; None and NaN fail."""
    known = value if value is not None and math.isfinite(value) else math.nan
    check = within(known, low, high)
    return Seen.by("nothing" if math.isnan(known) else known, check, unit=unit, note=note)


def near(
    value: float | None,
    published: float,
    *,
    relative: float = 0.0,
    unit: str | None = None,
    note: str = "",
) -> Seen:
    """A finding that holds if the value is near the published value.

    "Near" is a relative difference of at most ``relative``; 0 requires equality to nine digits.
    """
    margin = abs(published) * (relative or 1e-9)
    seen = between(value, published - margin, published + margin, unit=unit, note=note)
    tolerance = f"±{100 * relative:g} %" if relative else "exact"
    return dataclasses.replace(seen, tolerance=tolerance)


@dataclass(frozen=True)
class Statement(Generic[Found]):
    """A paper's statement and the function ``look`` that judges it.

    ``why_not`` is the reason why a statement has no ``look``. ``carrier``: the basis of the
    verdict. ``part``: the judged part of the statement, if only a part is judged; the claim then
    holds "in part" at most. ``ours``: the reason for a tolerance other than the one in the list of
    claims. ``same_as``: another claim with the same check.

    Every word of the text that claims.words defines must be judged; otherwise the claim holds in
    part at most. ``unjudged`` names words that cannot be judged; ``part`` then gives the reason.
    ``figures`` has words that are not judged by their meaning in claims.words: for each, the number
    that the paper prints or its figure shows, or the reason why the word makes no claim in this
    sentence ("second half of the run").

    ``why`` is the kind of a failure, with the experiments that show it (claims.why).

    ``calibrated`` names the setting that was fitted to this statement (studies.common.fit). Its
    verdict then counts in no headline.

    ``spoil`` changes trials' evidence so that the claim must fail. ``mend``, for a claim that
    fails, changes the evidence so that the claim must hold. Both test that the verdict depends on
    the evidence.
    """

    id: str
    text: str
    published: float | str
    look: Callable[[Found], Seen] | None = None
    carrier: Carrier = "trials"
    part: str = ""
    ours: str = ""
    same_as: str = ""
    why_not: str = ""
    unjudged: tuple[str, ...] = ()
    figures: Mapping[str, str] = dataclasses.field(default_factory=dict)
    why: Why | None = None
    calibrated: str = ""
    spoil: Spoil | None = None
    mend: Spoil | None = None

    def basis(self, trials: Basis) -> Basis:
        """The claim's basis; it is ``trials`` ("simulated" or "live") if trials judge the claim."""
        if self.calibrated:
            return "calibrated"
        return trials if self.carrier == "trials" else self.carrier

    def left_out(self, seen: Seen) -> frozenset[str]:
        """Words of the statement that claims.words defines and that ``seen`` did not judge."""
        sentence = f"{self.text}; {self.published}"
        return left_out(sentence, (*seen.words, *self.figures))

    def judge(self, found: Found, trials: Basis = "simulated") -> Claim:
        """Judge the statement; returns the claim with its verdict."""
        basis = self.basis(trials)
        if self.look is None:
            return self._claim(basis, "not checked", None, note=self.why_not)
        try:
            seen = self.look(found)
        except MissingTrialError as missing:
            return self._claim(basis, "not checked", None, note=str(missing))
        measured = (
            float(f"{seen.measured:.5g}")
            if isinstance(seen.measured, float)  # NumPy's too
            else seen.measured
        )
        dropped = sorted(self.left_out(seen))
        part = self.part or (f"All but: {', '.join(dropped)}." if dropped else "")
        verdict: Verdict = ("in part" if part else "holds") if seen.holds else "fails"
        if basis == "setting":
            verdict = "as stated" if seen.holds else "differs"
        reason = self.why.reason if self.why is not None and verdict == "fails" else ""
        fitted = f"In no tally: {self.calibrated}" if self.calibrated else ""
        note = joined(seen.note, self.ours, reason, fitted)
        margin = seen.margin if seen.margin is not None else 1.0 if seen.holds else -1.0
        return self._claim(basis, verdict, measured, seen.unit, seen.tolerance, note, part, margin)

    def _claim(
        self,
        basis: Basis,
        verdict: Verdict,
        measured: float | str | None,
        unit: str | None = None,
        tolerance: str = "",
        note: str = "",
        part: str | None = None,
        margin: float | None = None,
    ) -> Claim:
        failed = verdict == "fails" and basis != "calibrated"
        return Claim(
            id=self.id,
            statement=self.text,
            basis=basis,
            published=self.published,
            measured=measured,
            unit=unit,
            tolerance=tolerance,
            verdict=verdict,
            note=note,
            part=self.part if part is None else part,
            margin=margin,
            why=("open" if self.why is None else self.why.kind) if failed else "",
            same_as=self.same_as,
            calibrated=self.calibrated,
        )


def joined(*texts: str) -> str:
    """Join remarks into one text.

    Adds a full stop to a remark that has none, or a semicolon if the next remark begins with a
    lower-case letter. Empty remarks are left out.
    """
    told = ""
    for text in filter(None, texts):
        between = "" if not told or told[-1] in ".!?:;" else ";" if text[0].islower() else "."
        told = f"{told}{between} {text}".strip()
    return told


def judge(
    statements: Iterable[Statement[Found]], found: Found, trials: Basis = "simulated"
) -> list[Claim]:
    """Judge statements; returns the claims with their verdicts, sorted by id."""
    return sorted((one.judge(found, trials) for one in statements), key=lambda claim: claim.id)
