"""The table: every control's numbers, the published ones, and the error of each."""

from __future__ import annotations

from collections.abc import Sequence

from headway.claims import Claim
from headway.figures import label_of
from headway.studies.controls.rows import Row
from headway.table import Cell, Table, alone, markdown

COLUMNS = ("control", "quantity", "from", "published", "ours", "error")


def table(rows: Sequence[Row], claims: Sequence[Claim]) -> Table:
    """The table of a report."""
    return Table(
        "Loss- and delay-based controls compared with published and analytic values",
        COLUMNS,
        _cells(rows, claims),
        "An error beyond its tolerance has a star.",
    )


def page_table(rows: Sequence[Row], claims: Sequence[Claim]) -> str:
    """The table of docs/controls.md."""
    return "\n".join(markdown(COLUMNS, _cells(rows, claims)))


def _cells(rows: Sequence[Row], claims: Sequence[Claim]) -> list[list[Cell]]:
    by_id = {claim.id: claim for claim in claims}
    return [_row(row, by_id[row.id]) for row in rows if row.id in by_id]


def _row(row: Row, claim: Claim) -> list[Cell]:
    expected = alone(float(f"{row.expected:.4g}"), row.unit or None)
    start = [label_of(row.control), row.quantity, row.source, expected]
    if not isinstance(claim.measured, float):
        return [*start, None, None]
    ours = alone(float(f"{claim.measured:.4g}"), row.unit or None)
    error = f"{100 * (claim.measured / row.expected - 1):+.1f} %"
    return [*start, ours, error if claim.verdict in ("holds", "in part") else f"{error} *"]
