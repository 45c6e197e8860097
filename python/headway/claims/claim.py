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
"""The basis of a verdict: trials in the simulator (``simulated``) or on a live kernel (``live``),
the value of a formula (``model``), or a number that the study uses as a setting (``setting``). Only
trials can give an unexpected result. A statement is ``calibrated`` if a setting was fitted so that
the statement's number is met; headline counts leave out such statements."""

Verdict = Literal["holds", "in part", "undecided", "fails", "as stated", "differs", "not checked"]
"""``in part``: the judged part of the statement holds. ``undecided``: the 95 % interval over
several seeds includes 0. ``as stated`` and ``differs`` are verdicts on settings."""

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
"""The five papers by the prefix of their claims' ids; all other claims are Headway's own."""


@dataclass(frozen=True)
class Claim:
    """A published statement with its measured value and verdict.

    ``published`` and ``measured`` are numbers if the claim is a value, and text otherwise;
    ``measured`` is None if this run could not measure the value. ``part`` names the judged part if
    only a part of the statement is judged. ``same_as`` names an earlier claim with the same check.
    ``note`` tells why the claim fails or was not checked, or which choices were made. ``margin``
    tells by how much the claim holds (positive) or fails (negative), see ``words.Check``. ``why``
    is the kind of a failure (claims.why): "refuted", "unknown setting" or "open". ``calibrated``
    names the setting that was fitted to the statement.
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
        """Whether the statement is from one of the five papers."""
        return self.id.rpartition("-")[0] in PAPERS


@dataclass(frozen=True)
class Tally:
    """Number of claims per verdict, for one basis; claims with the same check count once."""

    counts: Mapping[Verdict, int]

    def __getitem__(self, verdict: Verdict) -> int:
        """Number of claims that have this verdict."""
        return self.counts.get(verdict, 0)

    @property
    def judged(self) -> int:
        """Number of claims that were checked."""
        return sum(self.counts.values()) - self["not checked"]


def tally(claims: Iterable[Claim]) -> dict[Basis, Tally]:
    """The number of claims per verdict for each basis, in the order of BASES."""
    once = unique(claims)
    return {
        basis: Tally(Counter(claim.verdict for claim in once if claim.basis == basis))
        for basis in BASES
    }


def unique(claims: Iterable[Claim]) -> list[Claim]:
    """The claims without those that repeat the check of another claim in the list."""
    everything = list(claims)
    names = {claim.id for claim in everything}
    return [claim for claim in everything if claim.same_as not in names]


@dataclass(frozen=True)
class Headline:
    """Three counts of the papers' statements: those that hold, hold in part, and were judged."""

    holds: int
    in_part: int
    judged: int

    @property
    def share(self) -> float | None:
        """Share of the judged statements that hold or hold in part, 0 to 1; None without any."""
        return (self.holds + self.in_part) / self.judged if self.judged else None


def headline(claims: Iterable[Claim], *bases: Basis) -> Headline:
    """The headline counts of the papers' claims with these bases (default: simulated, live)."""
    tallies = tally(claim for claim in claims if claim.is_published)
    own = [tallies[basis] for basis in bases or MEASURED]
    return Headline(
        sum(one["holds"] for one in own),
        sum(one["in part"] for one in own),
        sum(one.judged for one in own),
    )


def told(claims: Iterable[Claim]) -> str:
    """The headline as text, followed by counts of our own statements, models and settings."""
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


def write_claims(path: Path, claims: Sequence[Claim]) -> Path:
    """Write claims as a JSON list of objects with the fields of ``Claim``."""
    save_text(path, json.dumps([asdict(claim) for claim in claims], indent=2, ensure_ascii=False))
    return path


def read_claims(path: Path) -> list[Claim]:
    """Read a file of ``write_claims``. Raises HeadwayError if it is missing or invalid."""
    try:
        return [_claim(fields) for fields in json.loads(path.read_text(encoding="utf-8"))]
    except (FileNotFoundError, NotADirectoryError):
        raise HeadwayError(
            f"{path.parent}: has no study's claims ({path.name} is missing)"
        ) from None
    except (OSError, ValueError, TypeError, RecursionError) as error:
        raise HeadwayError(f"{path}: unreadable ({error})") from None


def _claim(fields: Mapping[str, object]) -> Claim:
    """Build a claim from its fields; raises TypeError or ValueError naming the wrong one."""
    claim = Claim(**fields)  # type: ignore[arg-type] # the loop below checks the types
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
