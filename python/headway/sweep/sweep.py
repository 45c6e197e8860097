"""A sweep that a program can run."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import TYPE_CHECKING

from headway.sweep.plan import Plan
from headway.sweep.run import run_sweep
from headway.sweep.trials import Progress

if TYPE_CHECKING:
    import polars as pl


class Sweep(Plan):
    """A sweep over the fields of an experiment, as a file of ``headway sweep`` describes it.

    ``experiment`` has options of ``headway try`` (or the fields of an experiment's ``file``) that
    all runs share. The fields of ``cross`` vary independently, those of each block of ``zip``
    together. Blocks of ``sample`` are random samples; ``tables`` are CSV files whose header names
    fields. All blocks cross. A combination is kept if all conditions of ``where`` hold.

    The runs of a combination have the seeds seed, seed + 1, ... A result has ``metrics`` and what
    ``functions`` ("module:function") make of the run's trace. Raises ExperimentError.
    """

    def run(
        self, folder: Path | str, workers: int = 0, progress: Progress | None = None
    ) -> Mapping[str, int]:
        """Run what is not done, in ``workers`` processes (0: one per core), into a results folder.

        Returns the numbers of rows by state: "done", "failed", and "kept" from before. Raises
        HeadwayError, also for the folder of another sweep.
        """
        self.check()
        return run_sweep(self, Path(folder), workers=workers, progress=progress)

    def collect(self, folder: Path | str) -> pl.DataFrame:
        """The results in a folder: one row per run and class of flows, in the plan's order."""
        from headway.sweep.collect import table_of

        return table_of(self, Path(folder)).frame
