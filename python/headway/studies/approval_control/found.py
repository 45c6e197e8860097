"""What the statements look at: the trials of each experiment by themselves."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import TypeVar

from headway.claims import Evidence
from headway.studies.approval_control.observe import (
    Codes,
    Handshake,
    Headers,
    Load,
    Lot,
    Pattern,
    Pool,
    Row,
)

Kind = TypeVar("Kind")


@dataclass(frozen=True)
class Found:
    """Trials by experiment, under their own keys."""

    lots: Evidence[Lot]
    patterns: Evidence[Pattern]
    loads: Evidence[Load]
    pools: Evidence[Pool]
    codes: Evidence[Codes]
    handshakes: Evidence[Handshake]
    headers: Evidence[Headers]


def gather(rows: Mapping[str, Row]) -> Found:
    """All rows, told apart by what they are."""

    def of(kind: type[Kind]) -> Evidence[Kind]:
        return Evidence({key: row for key, row in rows.items() if isinstance(row, kind)})

    return Found(of(Lot), of(Pattern), of(Load), of(Pool), of(Codes), of(Handshake), of(Headers))
