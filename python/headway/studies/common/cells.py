"""Format numbers as cells of a table."""

import math

from headway.table import Cell


def seconds(value: float) -> Cell:
    """A time with two decimals, or a dash for an event that never occurred (NaN)."""
    return round(value, 2) if math.isfinite(value) else "–"
