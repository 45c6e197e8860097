"""Parts of pages that are made of the locked claims: medians, errors, what does not hold."""

from __future__ import annotations

from collections.abc import Sequence

from headway.claims import Claim, told
from headway.studies.collateral_damage.errors import Error, delay_errors
from headway.studies.collateral_damage.published import (
    CELLS,
    CONTROLS,
    DELAY,
    DELAY_TOLERANCES,
    FLOW_COUNTS,
    LABELS,
    RTTS_MS,
    CellKey,
    cell_name,
    delay_claim,
    goodput_claims,
)
from headway.table import markdown

_, SPREAD = goodput_claims(CELLS[0])
"""The claim that carries the check of all standard deviations of goodput."""


def medians(claims: Sequence[Claim]) -> str:
    """Table 2's medians beside the measured ones."""
    measured = _measured(claims)
    columns = ["RTT", "control"]
    for flows in FLOW_COUNTS:
        columns += [f"{flows}: paper", "ours"]
    rows = []
    for rtt_ms in RTTS_MS:
        for control in CONTROLS:
            row = [f"{rtt_ms} ms", LABELS[control]]
            for flows in FLOW_COUNTS:
                cell = (rtt_ms, control, flows)
                ours = measured[delay_claim(cell, "median")]
                row += [f"{DELAY[cell].median:.1f}", f"{ours:.1f}"]
            rows.append(row)
    return "\n".join(markdown(columns, rows))


def errors(claims: Sequence[Claim]) -> str:
    """How far table 2 is off, and which numbers of both tables are outside of their tolerance."""
    measured = _measured(claims)

    def of_cell(cell: CellKey, statistic: str) -> float:
        return measured[delay_claim(cell, statistic)]

    median, mean, sd = delay_errors(of_cell)
    names = [goodput_claims(cell)[0] for cell in CELLS]
    names += [delay_claim(cell, statistic) for cell in CELLS for statistic in DELAY_TOLERANCES]
    by_id = {claim.id: claim for claim in claims}
    outside = [
        f"- {claim.id}, {claim.statement}: {claim.measured} instead of {claim.published} "
        f"{claim.unit}, {claim.tolerance}"
        for name in names
        if (claim := by_id[name]).verdict == "fails"
    ]
    if by_id[SPREAD].verdict == "fails":
        outside.append(_spread(by_id[SPREAD]))
    return "\n".join(
        [
            f"The {len(CELLS)} medians of table 2 are {_off(median)}, the means {_off(mean)}, the "
            f"standard deviations {_off(sd)} or {100 * sd.largest_relative:.0f} % (full form, "
            "seed 1). Numbers of both tables outside of their tolerance:",
            "",
            *(outside or ["None."]),
        ]
    )


def verdicts(claims: Sequence[Claim]) -> str:
    """How many claims hold, and which others do not."""
    lines = [f"{told(claims)}. The others fail or hold in part:", ""]
    lines += [
        _spread(claim)
        if claim.id == SPREAD
        else f"- {claim.id}, {claim.statement}: {claim.measured}"
        f"{f' {claim.unit}' if claim.unit else ''} ({claim.verdict})"
        for claim in claims
        if claim.verdict in ("fails", "in part") and not claim.same_as
    ]
    return "\n".join(lines)


def _spread(claim: Claim) -> str:
    return (
        f"- {claim.id} and the {len(CELLS) - 1} like it, table 1, standard deviations of goodput: "
        f"{claim.tolerance}. {claim.note}"
    )


def _off(error: Error) -> str:
    return (
        f"{error.mean_abs_ms:.1f} ms off on average and {error.largest_ms:.1f} ms at most "
        f"({cell_name(error.worst_cell)})"
    )


def _measured(claims: Sequence[Claim]) -> dict[str, float]:
    return {claim.id: claim.measured for claim in claims if isinstance(claim.measured, float)}
