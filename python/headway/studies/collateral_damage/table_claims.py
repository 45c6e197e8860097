"""Check: C-CD-001 to C-CD-090, the cells of tables 1 and 2."""

from __future__ import annotations

from collections.abc import Callable, Iterator

from headway.claims import Seen, Statement, all_of, replaced, scaled
from headway.studies.collateral_damage.cells import Found
from headway.studies.collateral_damage.experiments import trial_key
from headway.studies.collateral_damage.published import (
    CELLS,
    DELAY,
    DELAY_LEVEL,
    DELAY_SD,
    GOODPUT,
    GOODPUT_MEAN,
    GOODPUT_SD,
    CellKey,
    Tolerance,
    cell_name,
)

DELAYS = (
    ("median", "median", DELAY_LEVEL, 0.9),
    ("mean", "mean", DELAY_LEVEL, 0.9),
    ("standard deviation", "sd", DELAY_SD, 0.5),
)
"""What table 2 has in each cell: its name, its field, its tolerance, and a factor that refutes."""

LIFETIMES = (
    "A sum of averages, each over its own flow's lifetime, exceeds what the link carries by as "
    "much as the lifetimes differ. The paper's must have differed more than these, by a cause that "
    "it does not name."
)


def _goodput_mean(number: int, cell: CellKey) -> Statement[Found]:
    published, path = GOODPUT[cell].mean, "numbers.goodput_kbytes_s"
    return Statement(
        f"C-CD-{number:03}",
        f"table 1, {cell_name(cell)}: summed goodput, mean over runs",
        published,
        _near(
            published,
            GOODPUT_MEAN,
            lambda found: found[cell].mean("goodput_kbytes_s"),
            LIFETIMES if cell[2] > 1 else "",
        ),
        spoil=scaled(trial_key(cell, "*"), 0.96, path),
        mend=replaced(trial_key(cell, "*"), published, path),
    )


def _goodput_sd(number: int, cell: CellKey) -> Statement[Found]:
    published = GOODPUT[cell].sd
    return Statement(
        f"C-CD-{number:03}",
        f"table 1, {cell_name(cell)}: summed goodput, spread over runs",
        published,
        _near(published, GOODPUT_SD, lambda found: found[cell].sd("goodput_kbytes_s")),
        # of the others the highest and the lowest do not count
        spoil=all_of(
            scaled(trial_key(cell, 2), 1.2, "numbers.goodput_kbytes_s"),
            scaled(trial_key(cell, 3), 1.1, "numbers.goodput_kbytes_s"),
        ),
    )


def _delay(
    number: int, cell: CellKey, what: str, field: str, tolerance: Tolerance, factor: float
) -> Statement[Found]:
    published, name = getattr(DELAY[cell], field), f"owd_{field}_ms"
    return Statement(
        f"C-CD-{number:03}",
        f"table 2, {cell_name(cell)}: one-way delay, {what}",
        published,
        _near(published, tolerance, lambda found: found[cell].mean(name)),
        spoil=scaled(trial_key(cell, "*"), factor, f"numbers.{name}"),
        mend=replaced(trial_key(cell, "*"), published, f"numbers.{name}"),
    )


def _near(
    published: float, tolerance: Tolerance, measure: Callable[[Found], float], why: str = ""
) -> Callable[[Found], Seen]:
    """Judge a number; ``why`` says what is known of one that is too far off."""

    def look(found: Found) -> Seen:
        measured = measure(found)
        holds = tolerance.accepts(published, measured)
        return Seen(measured, holds, str(tolerance), tolerance.unit, "" if holds else why)

    return look


def _statements() -> Iterator[Statement[Found]]:
    for place, cell in enumerate(CELLS):
        yield _goodput_mean(1 + 2 * place, cell)
        yield _goodput_sd(2 + 2 * place, cell)
    before = 2 * len(CELLS)
    for place, cell in enumerate(CELLS):
        for row, (what, field, tolerance, factor) in enumerate(DELAYS, start=1):
            yield _delay(before + 3 * place + row, cell, what, field, tolerance, factor)


STATEMENTS = tuple(_statements())
