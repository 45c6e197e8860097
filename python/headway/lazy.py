"""Names of a package that are imported at first use (PEP 562).

NumPy, SciPy and Polars take longer to import than most commands take to run, so packages import
modules that need them only on demand.
"""

from __future__ import annotations

import importlib
import sys
from collections.abc import Callable, Mapping
from typing import Any


def lazily(package: str, where: Mapping[str, str]) -> Callable[[str], Any]:
    """Return the function ``__getattr__`` for a package, which imports names at first use.

    ``where`` maps each name to its module, and the name of a module to that module. For type
    checkers, the package imports the same names under TYPE_CHECKING.
    """

    def get(name: str) -> Any:
        if name not in where:
            raise AttributeError(f"module {package!r} has no attribute {name!r}")
        module = importlib.import_module(where[name])
        value = module if where[name] == f"{package}.{name}" else getattr(module, name)
        setattr(sys.modules[package], name, value)
        return value

    return get
