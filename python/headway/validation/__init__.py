"""Runs the same experiments in the simulator and on the kernel, and compares the results."""

from headway.validation.compare import Comparison, Observed, compare, observe
from headway.validation.matrix import Scenario, matrix, quick_matrix

__all__ = [
    "Comparison",
    "Observed",
    "Scenario",
    "compare",
    "matrix",
    "observe",
    "quick_matrix",
]
