"""Check: the 18 cells, each the mean of its middle trials.

"Discarded the highest and lowest results and took the average of the remaining three" is applied
to each quantity on its own.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from headway import metrics
from headway.claims import Evidence
from headway.metrics.stats import Array
from headway.studies.collateral_damage.experiments import trial_key
from headway.studies.collateral_damage.observe import Trial
from headway.studies.collateral_damage.published import CellKey


@dataclass(frozen=True)
class Cell:
    """All trials of one RTT, control and number of flows."""

    key: CellKey
    trials: list[Trial]

    def values(self, name: str) -> list[float]:
        """One quantity of ``TrialNumbers``, one value per trial."""
        return [float(getattr(trial.numbers, name)) for trial in self.trials]

    def mean(self, name: str) -> float:
        """Mean over the trials without the highest and the lowest."""
        return metrics.trimmed_mean(self.values(name))

    def sd(self, name: str) -> float:
        """Standard deviation over the same trials; 0 for a single one."""
        values = self.values(name)
        kept = [values[index] for index in metrics.without_extremes(values)]
        return float(np.std(kept, ddof=1)) if len(kept) > 1 else 0.0

    def owd_ms(self) -> Array:
        """All delays of all trials, shape (n,), ms."""
        return np.concatenate([trial.owd_ms for trial in self.trials])


@dataclass(frozen=True)
class Found:
    """What the statements and the page look at."""

    rows: Evidence[Trial]
    trials: int
    """How many trials a cell has."""

    def __getitem__(self, key: CellKey) -> Cell:
        """A cell with all of its trials. Raises MissingTrialError if it lacks one."""
        numbers = range(1, self.trials + 1)
        return Cell(key, [self.rows[trial_key(key, number)] for number in numbers])

    def first(self, key: CellKey) -> Trial:
        """A cell's first trial. Raises MissingTrialError."""
        return self.rows[trial_key(key, 1)]
