"""Runs many experiments: sweeps over the fields of an experiment, and trials of studies.

``Sweep`` describes a sweep, as a file of ``headway sweep`` does. ``plan`` has its rows, ``fields``
and ``values`` what varies, ``conditions`` which combinations are dropped, ``metrics`` what is
measured. ``work`` makes one run and ``results`` keeps it in a folder; ``pool`` and ``cluster`` run
many. ``collect`` makes a table of them, ``report`` a page.

``trials`` runs experiments of a program, for example of ``grid``, and saves their traces.
"""

from typing import TYPE_CHECKING

from headway.lazy import lazily

if TYPE_CHECKING:
    from headway.sweep.sweep import Sweep
    from headway.sweep.trials import (
        Notice,
        Observed,
        Progress,
        grid,
        no_notice,
        no_progress,
        observed,
        run_trials,
    )

__all__ = [
    "Notice",
    "Observed",
    "Progress",
    "Sweep",
    "grid",
    "no_notice",
    "no_progress",
    "observed",
    "run_trials",
]

_TRIALS = (
    "Notice", "Observed", "Progress", "grid", "no_notice", "no_progress", "observed", "run_trials",
)  # fmt: skip
__getattr__ = lazily(
    "headway.sweep",
    {"Sweep": "headway.sweep.sweep", **dict.fromkeys(_TRIALS, "headway.sweep.trials")},
)
