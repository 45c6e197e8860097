"""Plot: every control's numbers, the published ones, and the error of each."""

from collections.abc import Sequence

from headway.claims import Claim, judge
from headway.figures import label_of
from headway.publish import Page
from headway.studies.common.shown import table
from headway.studies.controls.claims import ROWS, STATEMENTS, Row
from headway.studies.controls.experiments import Found
from headway.study import StudyContext
from headway.table import Table, markdown, value_text


def page(ctx: StudyContext, found: Found) -> Page:
    """The table of a report."""
    return Page(tables=[_table(judge(STATEMENTS, found, ctx.basis))])


def part(claims: Sequence[Claim]) -> str:
    """The table of docs/controls.md."""
    made = _table(claims)
    return "\n".join(markdown(made.columns, made.rows))


def _table(claims: Sequence[Claim]) -> Table:
    by_id = {claim.id: claim for claim in claims}
    return table(
        "Loss- and delay-based controls compared with published and analytic values",
        [(row, by_id[row.id]) for row in ROWS if row.id in by_id],
        {
            "control": lambda one: label_of(one[0].text.control),
            "quantity": lambda one: one[0].text.quantity,
            "from": lambda one: one[0].text.source,
            "published": lambda one: _number(one[0].expected, one[0]),
            "ours": lambda one: _number(one[1].measured, one[0]),
            "error": lambda one: _error(*one),
        },
        "An error beyond its tolerance has a star.",
    )


def _number(value: object, row: Row) -> str | None:
    known = isinstance(value, int | float)
    return value_text(float(f"{value:.4g}"), row.unit or None) if known else None


def _error(row: Row, claim: Claim) -> str | None:
    if not isinstance(claim.measured, float):
        return None
    error = f"{100 * (claim.measured / row.expected - 1):+.1f} %"
    return error if claim.verdict in ("holds", "in part") else f"{error} *"
