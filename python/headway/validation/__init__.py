"""How far the simulator and the kernel differ: the same experiments on both, compared."""

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
