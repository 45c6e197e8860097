"""A claim as data: a published statement, its basis, and the verdict on it."""

from __future__ import annotations

import json
import math
from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Literal, get_args

from headway.errors import HeadwayError
from headway.files import save_text

Basis = Literal["simulated", "live", "model", "setting", "calibrated"]
"""What carries a verdict: trials in the simulator or on a live kernel, a formula that was
evaluated, or a number that was restated. Only the first two can surprise anybody. A
``calibrated`` statement gives a number that a setting was fitted to, and counts in no headline."""

Verdict = Literal["holds", "in part", "undecided", "fails", "as stated", "differs", "not checked"]
"""``in part``: what was judged holds, but is not all that is said. ``undecided``: the 95 %
interval over several seeds includes 0. ``as stated`` and ``differs`` are a setting's, which never
holds."""

BASES: tuple[Basis, ...] = get_args(Basis)
VERDICTS: tuple[Verdict, ...] = get_args(Verdict)
MEASURED: tuple[Basis, ...] = ("simulated", "live")
PAPERS: Mapping[str, str] = {
    "C-QSL": "000",
    "C-CD": "001",
    "C-TH": "002",
    "C-MN": "003",
    "C-RP": "004",
}
"""The five papers by the first part of their claims' ids; every other claim is ours."""


@dataclass(frozen=True)
class Claim:
    """A published statement beside what was found.

    ``published`` and ``measured`` are numbers where the claim is a value, else words; ``measured``
    is None when this run could not measure it. ``part`` says what of the statement is judged if it
    is not all, ``same_as`` names the claim whose check this one repeats. ``note`` says why it fails
    or could not be checked, or what had to be chosen. ``margin`` is that of ``words.Check``.
    ``why`` is the kind of a failure (claims.why): "refuted", "unknown setting" or "open".
    ``calibrated`` names the setting that was fitted to the statement.
    """

    id: str
    statement: str
    basis: Basis
    published: float | str
    measured: float | str | None
    unit: str | None
    tolerance: str
    verdict: Verdict
    note: str = ""
    part: str = ""
    same_as: str = ""
    margin: float | None = None
    why: str = ""
    calibrated: str = ""

    @property
    def is_published(self) -> bool:
        """Whether one of the five papers states it."""
        return self.id.rpartition("-")[0] in PAPERS


@dataclass(frozen=True)
class Tally:
    """How many claims of one basis have which verdict; a check that is shown twice counts once."""

    counts: Mapping[Verdict, int]

    def __getitem__(self, verdict: Verdict) -> int:
        """Number of claims with a verdict."""
        return self.counts.get(verdict, 0)

    @property
    def judged(self) -> int:
        """All but those that were not checked."""
        return sum(self.counts.values()) - self["not checked"]


def tally(claims: Iterable[Claim]) -> dict[Basis, Tally]:
    """Verdicts by basis, in the order of BASES; bases never mix."""
    once = _once(claims)
    return {
        basis: Tally(Counter(claim.verdict for claim in once if claim.basis == basis))
        for basis in BASES
    }


def _once(claims: Iterable[Claim]) -> list[Claim]:
    """Without claims that repeat the check of another one among them."""
    everything = list(claims)
    names = {claim.id for claim in everything}
    return [claim for claim in everything if claim.same_as not in names]


@dataclass(frozen=True)
class Headline:
    """How many of the papers' statements hold, and how many hold in part, of those judged."""

    holds: int
    in_part: int
    judged: int

    @property
    def share(self) -> float | None:
        """The part that holds, at least in part; None where nothing was judged."""
        return (self.holds + self.in_part) / self.judged if self.judged else None


def headline(claims: Iterable[Claim], *bases: Basis) -> Headline:
    """The headline over claims of these bases (default: simulated and live); ours are left out."""
    tallies = tally(claim for claim in claims if claim.is_published)
    own = [tallies[basis] for basis in bases or MEASURED]
    return Headline(
        sum(one["holds"] for one in own),
        sum(one["in part"] for one in own),
        sum(one.judged for one in own),
    )


def told(claims: Iterable[Claim]) -> str:
    """The headline in words, then our own statements, models and settings by themselves."""
    everything = list(claims)
    parts = []
    for whose, own in (
        (" of the papers", [claim for claim in everything if claim.is_published]),
        (" of ours", [claim for claim in everything if not claim.is_published]),
    ):
        tallies = tally(own)
        for basis in MEASURED:
            one = tallies[basis]
            if one.judged:
                more = f" (and {one['in part']} in part)" if one["in part"] else ""
                verb = f"{one['holds']} of {one.judged} {basis} statements{whose} hold{more}"
                parts.append(verb)
    tallies = tally(everything)
    if undecided := sum(one["undecided"] for one in tallies.values()):
        parts.append(f"{undecided} undecided")
    if own_models := tallies["model"].judged:
        parts.append(f"{tallies['model']['holds']} of {own_models} models")
    if settings := tallies["setting"].judged:
        parts.append(f"{tallies['setting']['as stated']} of {settings} settings are as stated")
    if fitted := tallies["calibrated"].judged:
        parts.append(f"{fitted} calibrated")
    if missing := sum(one["not checked"] for one in tallies.values()):
        parts.append(f"{missing} not checked")
    return "; ".join(parts) or "none"


def kinds_told(claims: Iterable[Claim]) -> str:
    """Of the claims that fail, how many are of which kind."""
    kinds = Counter(claim.why for claim in _once(claims) if claim.why)
    if not kinds:
        return "none fails"
    return ", ".join(
        f"{kinds[kind]} {words}"
        for kind, words in (
            ("refuted", "refuted"),
            ("unknown setting", "due to an unknown setting"),
            ("open", "open"),
        )
        if kinds[kind]
    )


def write_claims(path: Path, claims: Sequence[Claim]) -> Path:
    """Write claims as a JSON list of objects with the fields of ``Claim``."""
    save_text(path, json.dumps([asdict(claim) for claim in claims], indent=2, ensure_ascii=False))
    return path


def read_claims(path: Path) -> list[Claim]:
    """What ``write_claims`` wrote. Raises HeadwayError."""
    try:
        return [_claim(fields) for fields in json.loads(path.read_text(encoding="utf-8"))]
    except (FileNotFoundError, NotADirectoryError):
        raise HeadwayError(
            f"{path.parent}: no study's claims here ({path.name} is missing)"
        ) from None
    except (OSError, ValueError, TypeError, RecursionError) as error:
        raise HeadwayError(f"{path}: unreadable ({error})") from None


def _claim(fields: Mapping[str, object]) -> Claim:
    """A claim of its fields; raises TypeError or ValueError naming the one that is wrong."""
    claim = Claim(**fields)  # type: ignore[arg-type] # that is what is checked here
    for name, value in asdict(claim).items():
        if name in ("published", "measured", "margin"):
            is_right = isinstance(value, str) or (
                isinstance(value, int | float) and math.isfinite(value)
            )
        else:
            is_right = isinstance(value, str)
        if not (is_right or (value is None and name in ("measured", "unit", "margin"))):
            raise ValueError(f"{name}: {str(value)[:60]!r} is not allowed")
    for name, allowed in (("basis", BASES), ("verdict", VERDICTS)):
        if getattr(claim, name) not in allowed:
            raise ValueError(
                f"{name}: {getattr(claim, name)[:60]!r}; allowed: {', '.join(allowed)}"
            )
    return claim
