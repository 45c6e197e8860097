"""Check: C-CD-001 to C-CD-090, the cells of tables 1 and 2."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import replace

from headway.claims import Seen, Statement, replaced, scaled, words
from headway.claims.spoil import Rows
from headway.studies.collateral_damage import changes
from headway.studies.collateral_damage.cells import Found
from headway.studies.collateral_damage.experiments import TRIALS, trial_key
from headway.studies.collateral_damage.published import (
    CELLS,
    DELAY,
    DELAY_TOLERANCES,
    FLOW_COUNTS,
    GOODPUT,
    GOODPUT_MEAN,
    GOODPUT_SD_CELLS,
    GOODPUT_SD_FACTOR,
    CellKey,
    Tolerance,
    cell_name,
    delay_claim,
    goodput_claims,
)

_, GROUP = goodput_claims(CELLS[0])
"""Carries the one check of all 18 deviations of goodput."""
REFUTING = {"median": 0.9, "mean": 0.9, "sd": 0.5}
"""By statistic of table 2, a factor that puts any cell outside of its tolerance."""


def _goodput_mean(cell: CellKey) -> Statement[Found]:
    published, path = GOODPUT[cell].mean, "numbers.goodput_kbytes_s"
    return Statement(
        goodput_claims(cell)[0],
        f"table 1, {cell_name(cell)}: summed goodput, mean over runs",
        published,
        _near(
            published,
            GOODPUT_MEAN,
            lambda found: found[cell].mean("goodput_kbytes_s"),
        ),
        why=changes.GOODPUT_MEAN if cell[2] == FLOW_COUNTS[-1] else None,
        spoil=scaled(trial_key(cell, "*"), 0.96, path),
        mend=replaced(trial_key(cell, "*"), published, path),
    )


def _goodput_sd(cell: CellKey) -> Statement[Found]:
    name = goodput_claims(cell)[1]
    return Statement(
        name,
        f"table 1, {cell_name(cell)}: summed goodput, spread over runs",
        GOODPUT[cell].sd,
        lambda found: _sds_as_a_group(found, cell),
        same_as="" if name == GROUP else GROUP,
        why=changes.GOODPUT_SD,
        spoil=replaced("*", 112.0, "numbers.goodput_kbytes_s"),  # trials that are all alike
        mend=spread_as_published,
    )


def _sds_as_a_group(found: Found, shown: CellKey) -> Seen:
    sds = {cell: found[cell].sd("goodput_kbytes_s") for cell in CELLS}
    checks = [
        words.within(sd / GOODPUT[cell].sd, 1 / GOODPUT_SD_FACTOR, GOODPUT_SD_FACTOR)
        for cell, sd in sds.items()
    ]
    counted = f"{sum(one.holds for one in checks)} of {len(checks)} cells are within."
    return Seen.by(
        float(f"{sds[shown]:.2g}"),
        _in_cells(checks, GOODPUT_SD_CELLS),
        unit="kB/s",
        note=counted,
    )


def _in_cells(checks: Sequence[words.Check], least: int) -> words.Check:
    """At least so many cells hold; the margin is that of the last one needed."""
    last = sorted(checks, key=lambda one: (one.holds, one.margin))[-least]
    bound = f"within a factor of {GOODPUT_SD_FACTOR:g} in {least} of {len(checks)} cells"
    return words.Check(last.holds, last.margin, bound)


def spread_as_published(rows: Rows) -> Rows:
    """Trials whose goodputs lie about the published mean, one published deviation apart."""
    numbers = range(1, TRIALS + 1)
    places = {trial_key(cell, n): (GOODPUT[cell], n) for cell in CELLS for n in numbers}
    changed = {}
    for key, row in rows.items():
        goodput, number = places[key]
        spread = goodput.mean + (number - (TRIALS + 1) / 2) * goodput.sd
        changed[key] = replace(row, numbers=replace(row.numbers, goodput_kbytes_s=spread))
    return changed


def _delay(cell: CellKey, statistic: str, tolerance: Tolerance) -> Statement[Found]:
    published, name = getattr(DELAY[cell], statistic), f"owd_{statistic}_ms"
    name_of_it = {"sd": "standard deviation"}.get(statistic, statistic)
    return Statement(
        delay_claim(cell, statistic),
        f"table 2, {cell_name(cell)}: one-way delay, {name_of_it}",
        published,
        _near(published, tolerance, lambda found: found[cell].mean(name)),
        why=changes.SHORT_TRIALS if (cell, statistic) == (CELLS[-1], "sd") else None,
        spoil=scaled(trial_key(cell, "*"), REFUTING[statistic], f"numbers.{name}"),
        mend=replaced(trial_key(cell, "*"), published, f"numbers.{name}"),
    )


def _near(
    published: float, tolerance: Tolerance, measure: Callable[[Found], float]
) -> Callable[[Found], Seen]:
    """Judge a number, shown as the paper's are."""

    def look(found: Found) -> Seen:
        measured = measure(found)
        check = tolerance.check(published, measured)
        return Seen.by(round(measured, 1), check, unit=tolerance.unit)

    return look


STATEMENTS = (
    *(make(cell) for cell in CELLS for make in (_goodput_mean, _goodput_sd)),
    *(
        _delay(cell, statistic, tolerance)
        for cell in CELLS
        for statistic, tolerance in DELAY_TOLERANCES.items()
    ),
)
