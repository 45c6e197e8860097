"""Text for the beginning of a report: a study's question and its findings."""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass
from inspect import cleandoc

from headway.claims import Claim, Verdict

_PARTS = {
    "Claim": "What is claimed",
    "Setup": "Set-up",
    "Run": "The full form",
    "Check": "What was checked",
    "Plot": "",
}
"""Parts of a study's docstring, each with its title in the report. A part without a title is not
shown."""
_BEGINS = re.compile(rf"\b({'|'.join(_PARTS)}):\s")


def question(docstring: str | None, description: str) -> list[tuple[str, str]]:
    """(title, text) of the parts of a study's module docstring, or else its description."""
    first = cleandoc(docstring or "").partition("Claim:")[2].partition("\n\n")[0]
    _, *parts = _BEGINS.split(f"Claim: {first}") if first else [""]
    words = [
        (_PARTS[name], " ".join(text.split()))
        for name, text in zip(parts[::2], parts[1::2], strict=True)
        if _PARTS[name]
    ]
    return [(what, _sentence(text)) for what, text in words] or [("Set-up", description)]


def _sentence(text: str) -> str:
    ended = text if text.endswith((".", "?")) else f"{text}."
    is_command = ended.startswith("headway")
    return ended if is_command else ended[:1].upper() + ended[1:]


@dataclass(frozen=True)
class VerdictGroup:
    """The claims with a verdict, or with one of two, each with the claims that repeat its check."""

    title: str
    verdict: Verdict
    claims: Sequence[tuple[Claim, Sequence[Claim]]]
    shown: int
    """Number of claims that the report shows first; readers can unfold the others."""


_GROUPS: tuple[tuple[str, tuple[Verdict, ...], int], ...] = (
    ("As published", ("holds", "as stated"), 5),
    ("In part", ("in part",), 10),
    ("Undecided", ("undecided",), 10),
    ("Not as published", ("fails", "differs"), 10),
    ("Not checked", ("not checked",), 0),
)


def grouped_by_verdict(claims: Sequence[Claim]) -> list[VerdictGroup]:
    """All claims grouped by verdict, without empty groups."""
    groups = []
    for title, verdicts, shown in _GROUPS:
        own = {claim.id: claim for claim in claims if claim.verdict in verdicts}
        repeats: dict[str, list[Claim]] = {}
        for claim in own.values():
            if claim.same_as in own:
                repeats.setdefault(claim.same_as, []).append(claim)
        first = [
            (claim, repeats.get(claim.id, [])) for claim in own.values() if claim.same_as not in own
        ]
        if first:
            groups.append(VerdictGroup(title, verdicts[0], first, shown))
    return groups
