"""Check: how far table 2 is from the paper, over its 18 cells."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

import numpy as np

from headway.studies.collateral_damage.published import CELLS, DELAY, DELAY_TOLERANCES, CellKey


@dataclass(frozen=True)
class Error:
    """How far one statistic of table 2 is from the paper over all 18 cells."""

    statistic: str
    mean_abs_ms: float
    largest_ms: float
    worst_cell: CellKey
    largest_relative: float
    """Largest |measured / published - 1|."""


def delay_errors(measured_ms: Callable[[CellKey, str], float]) -> list[Error]:
    """Errors of the medians, means and standard deviations of table 2."""
    errors = []
    for statistic in DELAY_TOLERANCES:
        published = np.array([getattr(DELAY[cell], statistic) for cell in CELLS])
        off = np.abs(np.array([measured_ms(cell, statistic) for cell in CELLS]) - published)
        errors.append(
            Error(
                statistic,
                float(off.mean()),
                float(off.max()),
                CELLS[int(np.argmax(off))],
                float((off / published).max()),
            )
        )
    return errors
