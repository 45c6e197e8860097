"""What has to be right before anything is imported: where output goes, and what Ctrl-C does."""

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
"""What stands for characters that an old terminal does not have; "?" for all others."""


def main() -> None:
    """Entry point of the ``headway`` command."""
    wrong = _streams() or _environment()
    if wrong is not None:
        print(f"headway: {wrong}", file=sys.stderr)
        sys.exit(2)
    if signal.getsignal(signal.SIGINT) is signal.default_int_handler:
        signal.signal(signal.SIGINT, _leave)
    from headway.cli.app import execute

    sys.exit(execute())


def commands_take_ctrl_c() -> None:
    """From here on Ctrl-C is a KeyboardInterrupt again, since there may be something to keep."""
    if signal.getsignal(signal.SIGINT) is _leave:
        signal.signal(signal.SIGINT, signal.default_int_handler)


def is_unicode(stream: TextIO) -> bool:
    """Whether all characters can be written to it."""
    return (stream.encoding or "").lower().replace("-", "").startswith("utf")


def give_up_output() -> None:
    """Write nothing more to standard output, also at exit: whatever took it is gone or full."""
    os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())


def _leave(*_: object) -> None:
    """Ctrl-C while modules load: nothing is there to keep, and not every module can be stopped."""
    os.write(2, b"headway: interrupted\n")
    os._exit(130)


def _streams() -> str | None:
    """Make the standard streams fit to be written to; what is wrong with them, if it matters."""
    for descriptor in range(3):
        try:
            os.fstat(descriptor)
        except OSError:
            os.open(os.devnull, os.O_RDWR)  # no file of ours may get its number
    # Python has None for a stream that was closed.
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
    if "\udc80" <= character <= "\udcff":  # a byte of a file's name that is no text
        return bytes([ord(character) - 0xDC00])
    return _PLAIN.get(character, "?").encode("ascii")


def _environment() -> str | None:
    """What would stop a library with a panic, in one line."""
    threads = os.environ.get(_POLARS_THREADS)
    if threads is None or (threads.isdecimal() and int(threads[:6]) > 0 and len(threads) < 6):
        return None
    return f"{_POLARS_THREADS}: {threads[:40]!r}; allowed: a whole number, 1 or more"
