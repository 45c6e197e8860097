"""Runs that ended with an error while the others of a validation went on."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

from headway.errors import HeadwayError


@dataclass(frozen=True)
class Failed:
    """One of them: which, and what it ended with."""

    run: str
    error: str


class Failures:
    """Collects them, and tells of each in a line."""

    def __init__(self, tell: Callable[[str], None]) -> None:
        self._tell = tell
        self.runs: list[Failed] = []

    def add(self, run: str, error: HeadwayError) -> None:
        """Another one.

        Raises the error where no other run would do better: a kernel that cannot, an experiment
        that cannot be.
        """
        if type(error) is not HeadwayError:
            raise error
        self.runs.append(Failed(run, str(error)))
        self._tell(f"{run} failed: {error}")
