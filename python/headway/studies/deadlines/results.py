"""What the statements and the page look at: response times by scheme and target."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from headway.claims import Evidence, MissingTrialError
from headway.metrics.stats import Array
from headway.studies.common import beside
from headway.studies.deadlines.experiments import SCHEMES, TARGETS_S
from headway.studies.deadlines.observe import Responses


@dataclass(frozen=True)
class Found:
    """Times in seconds. Every method raises MissingTrialError where the run has no such trial."""

    trials: Evidence[Responses]
    is_live: bool = False
    """A trial per target, its object several times, instead of all targets in one."""

    def targets_s(self, scheme: str) -> Array:
        """Those that a scheme was tried with."""
        if not self.is_live:
            return np.array(TARGETS_S)
        tried = [target for target in TARGETS_S if live_key(scheme, target) in self.trials]
        if not tried:
            raise MissingTrialError(f"This run has no trial of {scheme}.")
        return np.array(tried)

    def times_s(self, scheme: str) -> Array:
        """Response times over its targets, of several the median; NaN where one did not come."""
        if not self.is_live:
            return self.trials[scheme].response_s
        runs = [self.trials[live_key(scheme, t)].response_s for t in self.targets_s(scheme)]
        return np.array([np.median(own) if own.size else np.nan for own in runs])

    def all_s(self) -> dict[str, tuple[Array, Array]]:
        """Targets and times of every scheme."""
        return {name: (self.targets_s(name), self.times_s(name)) for name in SCHEMES}

    def asked(self, scheme: str) -> Array:
        """Requests for a rate over its targets, of a trial each."""
        targets = self.targets_s(scheme)
        return np.array([self.trials[live_key(scheme, t)].asked for t in targets])

    def simulated(self) -> Found | None:
        """The same of the twins; None where none ran."""
        twins = beside.simulated(self.trials)
        return Found(Evidence(twins), is_live=True) if twins else None


def live_key(scheme: str, target_s: float) -> str:
    """A trial on the kernel: "mega-start-t290"."""
    return f"{scheme}-t{round(target_s * 1e3)}"
