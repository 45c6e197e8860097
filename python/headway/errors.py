"""Errors that a user can act on. Each is one line, which the command line prints."""

from __future__ import annotations

import re

_LONG_WORD = re.compile(r"(\S{60})\S{20,}")


_LONGEST, _END = 1000, 200
"""The maximum length of a message in characters. If a message is longer, its middle is cut out and
its last ``_END`` characters are kept."""


class HeadwayError(Exception):
    """An error that the user can fix; its message is one line."""

    def __init__(self, message: str) -> None:
        line = " ".join(message.split())
        if len(line) > _LONGEST:  # so long only if it quotes user input
            line = f"{line[: _LONGEST - _END]} ... {line[-_END:]}"
        super().__init__(line)


class ExperimentError(HeadwayError, ValueError):
    """An invalid description. The message names the field, the value and what is allowed.

    Quoted input is made printable, and long words are cut.
    """

    def __init__(self, message: str) -> None:
        printable = "".join(
            c if c.isprintable() or c.isspace() else c.encode("ascii", "backslashreplace").decode()
            for c in message
        )
        super().__init__(_LONG_WORD.sub(r"\1...", printable))


class InterruptedRunError(HeadwayError):
    """Ctrl-C stopped a run; the message tells how many trials were finished and where they are."""

    def __init__(self, finished: int, total: int, kept_in: str | None) -> None:
        self.finished = finished
        self.total = total
        where = f"kept in {kept_in}" if kept_in is not None and finished else "none saved"
        super().__init__(f"interrupted: {finished} of {total} trials finished, {where}")


class KernelCannotError(HeadwayError):
    """This machine's kernel lacks a feature, or a privilege is missing (exit status 3)."""
