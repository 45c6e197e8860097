"""Claims as data: what was published, and the function that looks whether it is so.

A function that needs a trial which this run does not have gets :class:`MissingTrialError`; its
claim is then "not checked", with the trial's name as the reason.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Generic, TypeVar

from headway.studies._common import claims as claim
from headway.study import Claim

Trial = TypeVar("Trial")


class MissingTrialError(Exception):
    """A trial that this run does not have; the message says which."""


@dataclass(frozen=True)
class Trials(Mapping[str, Trial], Generic[Trial]):
    """Results of trials by key, which say by name what they do not have."""

    found: Mapping[str, Trial]

    def __getitem__(self, key: str) -> Trial:
        """The result of a trial. Raises MissingTrialError."""
        if key not in self.found:
            raise MissingTrialError(f"This run has no trial {key}.")
        return self.found[key]

    def __iter__(self) -> Iterator[str]:
        """The keys there are."""
        return iter(self.found)

    def __len__(self) -> int:
        """Number of trials."""
        return len(self.found)


@dataclass(frozen=True)
class Seen:
    """What was seen: a value or words, whether the claim holds, and by which tolerance."""

    measured: float | str
    holds: bool
    tolerance: str = "sign"
    unit: str | None = None
    note: str = ""


def between(
    value: float, low: float, high: float, *, unit: str | None = None, note: str = ""
) -> Seen:
    """A value that must lie in [low, high]; an infinite end is open."""
    checked = claim.in_range("", "", "", value, unit, low, high)
    return Seen(
        checked.measured if checked.measured is not None else "nothing",
        checked.verdict == "holds",
        checked.tolerance,
        unit,
        note,
    )


@dataclass(frozen=True)
class Statement(Generic[Trial]):
    """A claim of the paper and how it is looked at; without ``look``, why it is not."""

    id: str
    text: str
    published: float | str
    look: Callable[[Trials[Trial]], Seen] | None = None
    why_not: str = ""


def evaluate(statements: Sequence[Statement[Trial]], trials: Mapping[str, Trial]) -> list[Claim]:
    """The claims with their verdicts, in the order given."""
    found = Trials(trials)
    claims = []
    for one in statements:
        if one.look is None:
            claims.append(claim.unchecked(one.id, one.text, one.published, one.why_not))
            continue
        try:
            seen = one.look(found)
        except MissingTrialError as missing:
            claims.append(claim.unchecked(one.id, one.text, one.published, str(missing)))
            continue
        measured = (
            float(f"{seen.measured:.5g}") if isinstance(seen.measured, float) else seen.measured
        )
        claims.append(
            claim.shown(
                one.id,
                one.text,
                one.published,
                measured,
                bool(seen.holds),
                tolerance=seen.tolerance,
                unit=seen.unit,
                note=seen.note,
            )
        )
    return claims
