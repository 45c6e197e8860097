"""A published statement and how it is judged.

A function that needs a trial which this run does not have gets ``MissingTrialError``; its
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
    """A trial that this run does not have; the message says which."""


@dataclass(frozen=True)
class Evidence(Mapping[str, Row], Generic[Row]):
    """What was observed of each trial, by key; it says by name what it does not have."""

    rows: Mapping[str, Row]

    def __getitem__(self, key: str) -> Row:
        """What was observed of a trial. Raises MissingTrialError."""
        if key not in self.rows:
            raise MissingTrialError(f"This run has no trial {key}.")
        return self.rows[key]

    def __contains__(self, key: object) -> bool:
        """Whether there is such a trial."""
        return key in self.rows

    def __iter__(self) -> Iterator[str]:
        """The keys there are."""
        return iter(self.rows)

    def __len__(self) -> int:
        """Number of trials."""
        return len(self.rows)

    @staticmethod
    def of(kind: type[Kind], rows: Mapping[str, object]) -> Evidence[Kind]:
        """Those trials of a study with several kinds of rows that have this one."""
        return Evidence({key: row for key, row in rows.items() if isinstance(row, kind)})


@dataclass(frozen=True)
class Seen:
    """What was seen: a value or words, whether the claim holds, and by which tolerance.

    ``words`` are those of the statement that were judged (claims.words), ``margin`` is that of
    ``Check``; without one, 1 or -1.
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
        """What was seen, judged by all of these checks."""
        whole = both(*checks)
        return Seen(measured, whole.holds, whole.bound, unit, note, whole.words, whole.margin)


def between(
    value: float | None, low: float, high: float, *, unit: str | None = None, note: str = ""
) -> Seen:
    """A value that must lie in [low, high]; an infinite end is open. None and NaN fail."""
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
    """A value within ``relative`` of the published one; 0 asks for the same to nine digits."""
    margin = abs(published) * (relative or 1e-9)
    seen = between(value, published - margin, published + margin, unit=unit, note=note)
    tolerance = f"±{100 * relative:g} %" if relative else "exact"
    return dataclasses.replace(seen, tolerance=tolerance)


@dataclass(frozen=True)
class Statement(Generic[Found]):
    """A statement of a paper and how it is looked at; without ``look``, ``why_not`` says why.

    ``carrier``: what a verdict rests on. ``part``: what of the statement is looked at, if it is not
    all; a claim judged so never holds, but "in part". ``ours``: why another tolerance is used than
    the claims list proposes. ``same_as``: the claim whose check this one repeats.

    Each word of the text that claims.words knows is judged, or the claim holds in part at most.
    ``unjudged`` names those that cannot be, and ``part`` then says why. ``figures`` has words that
    are not judged by the table: by word, the number that the paper prints instead or can be read
    from its figure, or why the word qualifies nothing here ("second half of the run").

    ``why`` says of which kind a failure is, with the experiments that show it (claims.why).

    ``calibrated`` names the setting that was fitted to this statement (studies.common.fit). Its
    verdict then counts in no headline.

    ``spoil`` changes trials' evidence so that the claim must fail, and ``mend``, for one that
    fails, so that it must hold: a check that no evidence can sway is no check.
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
        """The claim's basis, where trials are "simulated" or "live"."""
        if self.calibrated:
            return "calibrated"
        return trials if self.carrier == "trials" else self.carrier

    def left_out(self, seen: Seen) -> frozenset[str]:
        """Words of the statement that ``seen`` did not judge."""
        sentence = f"{self.text}; {self.published}"
        return left_out(sentence, (*seen.words, *self.figures))

    def judge(self, found: Found, trials: Basis = "simulated") -> Claim:
        """The claim with its verdict."""
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
    """Remarks of several origins as one text: with a full stop between two, where none is.

    Before a small letter it is a semicolon. What is empty is left out.
    """
    told = ""
    for text in filter(None, texts):
        between = "" if not told or told[-1] in ".!?:;" else ";" if text[0].islower() else "."
        told = f"{told}{between} {text}".strip()
    return told


def judge(
    statements: Iterable[Statement[Found]], found: Found, trials: Basis = "simulated"
) -> list[Claim]:
    """The claims with their verdicts, by id."""
    return sorted((one.judge(found, trials) for one in statements), key=lambda claim: claim.id)
