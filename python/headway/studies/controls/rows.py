"""A row of the table: a control, and a number that is published or follows from its law."""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import partial
from operator import attrgetter
from typing import Any

from headway.claims import Evidence, Seen, Spoil, Statement, Why, all_of, near, scaled
from headway.figures import label_of
from headway.studies.controls.observe import Run

Found = Evidence[Run]


@dataclass(frozen=True)
class Row:
    """One number of one control.

    ``value`` computes it from the observations. ``spoils`` names a trial's key and a field of
    ``Run``. A test scales this field by ``spoiled``, and the row must fail. Where the row itself
    fails, the test scales by ``mended``, and it must hold.
    """

    id: str
    control: str
    quantity: str
    source: str
    """The number's source: a paper, or "analytic" and the law."""
    expected: float
    unit: str
    within: float
    """The part of ``expected`` by which ours may differ, fixed before results were seen."""
    value: Callable[[Found], float]
    spoils: Sequence[tuple[str, str]]
    spoiled: float = 2.0
    mended: float | None = None
    why: str = ""
    """The reason for the tolerance or for a remaining difference."""
    cause: Why | None = None
    """Why the row fails, with the experiments that show it."""

    def statement(self) -> Statement[Found]:
        """The row as a statement."""

        def look(found: Found) -> Seen:
            return near(
                self.value(found), self.expected, relative=self.within, unit=self.unit or None
            )

        return Statement(
            self.id,
            f"{label_of(self.control)}: {self.quantity} ({self.source})",
            self.expected,
            look,
            ours=self.why,
            why=self.cause,
            spoil=self._scaled(self.spoiled),
            mend=None if self.mended is None else self._scaled(self.mended),
        )

    def _scaled(self, factor: float) -> Spoil:
        return all_of(*(scaled(key, factor, field) for key, field in self.spoils))


def trial_row(
    control: str,
    number: int,
    key: str,
    quantity: str,
    source: str,
    expected: float,
    *,
    field: str,
    unit: str,
    of: Callable[[Run], float] | None = None,
    **more: Any,
) -> Row:
    """A row about a field of one trial, or a number computed from it."""
    value = of or attrgetter(field)
    return Row(
        f"CC-{number:03}",
        control,
        quantity,
        source,
        expected,
        unit,
        value=lambda found: float(value(found[key])),
        spoils=((key, field),),
        **more,
    )


window_row = partial(trial_row, field="window_pkts", unit="packets")
"""A row about a mean window."""


def slope(small: str, large: str) -> Callable[[Found], float]:
    """Slope of the window's logarithm over that of the loss ratio, over a decade of loss.

    ``small`` and ``large`` are the trials with the smaller loss and with ten times as much.
    """

    def of(found: Found) -> float:
        return -math.log10(found[small].window_pkts / found[large].window_pkts)

    return of
