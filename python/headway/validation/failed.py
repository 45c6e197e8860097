"""Collects the failed runs of a validation; the other runs continue."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

from headway.errors import HeadwayError


@dataclass(frozen=True)
class Failed:
    """A failed run and its error message."""

    run: str
    error: str


class Failures:
    """Collects failed runs and reports each in one line."""

    def __init__(self, tell: Callable[[str], None]) -> None:
        self._tell = tell
        self.runs: list[Failed] = []

    def add(self, run: str, error: HeadwayError) -> None:
        """Add a failed run.

        Raises the error if every other run would fail as well: the kernel backend is unsupported,
        or the experiment is invalid.
        """
        if type(error) is not HeadwayError:
            raise error
        self.runs.append(Failed(run, str(error)))
        self._tell(f"{run} failed: {error}")
