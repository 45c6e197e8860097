"""Names of a package that are imported when they are first asked for (PEP 562).

NumPy, SciPy and Polars take longer to import than most commands take to run, so a package that
has names of modules with such imports gives them only on demand.
"""

from __future__ import annotations

import importlib
import sys
from collections.abc import Callable, Mapping
from typing import Any


def lazily(package: str, where: Mapping[str, str]) -> Callable[[str], Any]:
    """A package's ``__getattr__``. ``where`` has the module of each name; modules are their own.

    The package imports the same names under TYPE_CHECKING, for those who read types.
    """

    def get(name: str) -> Any:
        if name not in where:
            raise AttributeError(f"module {package!r} has no attribute {name!r}")
        module = importlib.import_module(where[name])
        value = module if where[name] == f"{package}.{name}" else getattr(module, name)
        setattr(sys.modules[package], name, value)
        return value

    return get
