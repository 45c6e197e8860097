"""Run: the goodput of each trial, and the means that equations are held against."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from headway import metrics
from headway.claims import Evidence
from headway.metrics.stats import Array
from headway.studies.response_functions.experiments import CONTROLS, key
from headway.trace import Trace


@dataclass(frozen=True)
class Run:
    """What a flow got in one trial."""

    goodput_bps: float
    """After the warm-up."""


@dataclass(frozen=True)
class Goodputs:
    """Mean goodputs by control and loss."""

    seen: Evidence[Run]
    losses: Sequence[float]
    """Those of this form, in rising order."""
    runs: int

    def mean_bps(self, control: str, loss: float) -> float:
        """Over all runs. Raises MissingTrialError."""
        trials = [self.seen[key(control, loss, run)] for run in range(1, self.runs + 1)]
        return float(np.mean([one.goodput_bps for one in trials]))

    def by_control(self) -> dict[str, Array]:
        """All means, shape (losses,). Raises MissingTrialError."""
        return {
            control: np.array([self.mean_bps(control, loss) for loss in self.losses])
            for control in CONTROLS
        }


def observe(trace: Trace) -> Run:
    """One trial."""
    return Run(metrics.goodput_bps(trace, 0))
