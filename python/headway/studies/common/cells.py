"""Numbers as cells of a table."""

from __future__ import annotations

import math

from headway.table import Cell


def seconds(value: float) -> Cell:
    """A time with two digits, or a dash for one that never came (NaN)."""
    return round(value, 2) if math.isfinite(value) else "–"
