"""The evidence that the statements judge: trials grouped by experiment."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

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
    """Group the rows by type."""
    return Found(
        lots=Evidence.of(Lot, rows),
        patterns=Evidence.of(Pattern, rows),
        loads=Evidence.of(Load, rows),
        pools=Evidence.of(Pool, rows),
        codes=Evidence.of(Codes, rows),
        handshakes=Evidence.of(Handshake, rows),
        headers=Evidence.of(Headers, rows),
    )
