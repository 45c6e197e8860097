"""Errors a person can act on: each is one line, and the command line prints it as such."""

from __future__ import annotations

import re

_LONG_WORD = re.compile(r"(\S{60})\S{20,}")


_LONGEST, _END = 1000, 200
"""Characters of a message, and of its end, that are kept."""


class HeadwayError(Exception):
    """Something the user can put right; its text is one line without a traceback."""

    def __init__(self, message: str) -> None:
        line = " ".join(message.split())
        if len(line) > _LONGEST:  # somebody's input is in it
            line = f"{line[: _LONGEST - _END]} ... {line[-_END:]}"
        super().__init__(line)


class ExperimentError(HeadwayError, ValueError):
    """A description that cannot be: its line names the field, the value and what is allowed.

    What was written may be anything: its words are cut where they are long, and it is printable.
    """

    def __init__(self, message: str) -> None:
        printable = "".join(
            c if c.isprintable() or c.isspace() else c.encode("ascii", "backslashreplace").decode()
            for c in message
        )
        super().__init__(_LONG_WORD.sub(r"\1...", printable))


class InterruptedRunError(HeadwayError):
    """A run was stopped on request; says how many trials were finished and where they are."""

    def __init__(self, finished: int, total: int, kept_in: str | None) -> None:
        self.finished = finished
        self.total = total
        where = f"kept in {kept_in}" if kept_in is not None and finished else "none saved"
        super().__init__(f"interrupted: {finished} of {total} trials finished, {where}")


class KernelCannotError(HeadwayError):
    """This machine's kernel, or a privilege that is missing, forbids it (exit status 3)."""
