"""Settings that no paper prints, fitted to baseline numbers of the same paper.

Four rules apply. A setting is fitted only to baseline numbers of its own paper, which the study
names before the fit. The fit is code with a grid and an objective, and a test checks that the value
in use is the best of the grid in the quick form. A statement that a setting was fitted to is
``calibrated`` and counts in no tally. All other statements judged with the fitted value are
predictions.
"""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Generic, TypeVar

from headway.experiment import Experiment
from headway.study import StudyContext
from headway.sweep import observed
from headway.trace import Trace

Point = TypeVar("Point")


@dataclass(frozen=True)
class Fit(Generic[Point]):
    """A fit: runs every point of the grid and takes the one with the least objective.

    ``trials`` makes the experiments of a point by key. ``number`` extracts one number from each.
    ``objective`` takes a point's numbers by key; an infinite objective excludes the point. Of
    points with the same objective the first is taken.
    """

    setting: str
    fitted_to: str
    grid: Sequence[Point]
    trials: Callable[[StudyContext, Point], Mapping[str, Experiment]]
    number: Callable[[str, Trace], float]
    objective: Callable[[Mapping[str, float]], float]

    def numbers(self, ctx: StudyContext) -> dict[Point, dict[str, float]]:
        """Run all points of the grid. Raises HeadwayError."""
        experiments = {
            f"{at}/{key}": one
            for at, point in enumerate(self.grid)
            for key, one in self.trials(ctx, point).items()
        }
        rows = observed(experiments, self.number, None, ctx.backend, ctx.threads, ctx.progress).rows
        found: dict[Point, dict[str, float]] = {point: {} for point in self.grid}
        for name, value in rows.items():
            at, _, key = name.partition("/")
            found[self.grid[int(at)]][key] = value
        return found

    def objectives(self, ctx: StudyContext) -> dict[Point, float]:
        """The objective at each point."""
        return {point: self.objective(own) for point, own in self.numbers(ctx).items()}

    def best(self, ctx: StudyContext) -> Point:
        """The point with the least objective."""
        found = self.objectives(ctx)
        return min(found, key=found.__getitem__)
