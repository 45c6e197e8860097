"""Set-up before any other import: the standard streams, the environment and Ctrl-C."""

from __future__ import annotations

import codecs
import os
import signal
import sys
from typing import TextIO

_POLARS_THREADS = "POLARS_MAX_THREADS"
_PLAIN = {
    "–": "-", "−": "-", "±": "+-", "µ": "u", "μ": "u", "·": "*", "×": "x", "≤": "<=", "≥": ">=",
    "→": "->", "…": "...", "─": "-", "²": "2", "“": '"', "”": '"', "’": "'",
}  # fmt: skip
"""Replaces characters that the terminal's encoding lacks; all characters not listed become "?"."""


def restore_ctrl_c() -> None:
    """Let Ctrl-C raise KeyboardInterrupt again, so that commands can save what they have."""
    if signal.getsignal(signal.SIGINT) is exit_at_once:
        signal.signal(signal.SIGINT, signal.default_int_handler)


def is_unicode(stream: TextIO) -> bool:
    """Whether the stream's encoding has all characters."""
    return (stream.encoding or "").lower().replace("-", "").startswith("utf")


def give_up_output() -> None:
    """Discard further output, also at exit: the pipe's reader has ended, or the disk is full."""
    os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())


def exit_at_once(*_: object) -> None:
    """Exit at Ctrl-C while modules load.

    No result exists yet, and some modules cannot be interrupted by an exception.
    """
    os.write(2, b"headway: interrupted\n")
    os._exit(130)


def prepare_streams() -> str | None:
    """Prepare the standard streams for writing; returns an error text, or None."""
    for descriptor in range(3):
        try:
            os.fstat(descriptor)
        except OSError:
            # if the descriptor stayed closed, the next file to be opened would get this number
            os.open(os.devnull, os.O_RDWR)
    # Python sets sys.stdout or sys.stderr to None if its descriptor was closed at the start.
    streams: list[TextIO | None] = [sys.stdout, sys.stderr]
    if streams[1] is None:
        sys.stderr = open(2, "w", encoding="utf-8", closefd=False)  # noqa: SIM115
    if streams[0] is None:
        return "standard output is closed; give it a file, or /dev/null"
    codecs.register_error("headway", _plainly)
    for stream in streams:
        if stream is not None and hasattr(stream, "reconfigure"):
            stream.reconfigure(errors="headway")
    return None


def _plainly(error: UnicodeError) -> tuple[bytes, int]:
    if not isinstance(error, UnicodeEncodeError):
        raise error
    lost = error.object[error.start : error.end]
    return b"".join(map(_plain, lost)), error.end


def _plain(character: str) -> bytes:
    if "\udc80" <= character <= "\udcff":  # an undecodable byte of a file name
        return bytes([ord(character) - 0xDC00])
    return _PLAIN.get(character, "?").encode("ascii")


def check_environment() -> str | None:
    """Check environment variables that can make a library panic; returns an error line, or None."""
    threads = os.environ.get(_POLARS_THREADS)
    if threads is None or (threads.isdecimal() and int(threads[:6]) > 0 and len(threads) < 6):
        return None
    return f"{_POLARS_THREADS}: {threads[:40]!r}; allowed: a whole number, 1 or more"
