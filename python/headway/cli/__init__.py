"""The command line. Its options and its JSON are a contract: docs/cli.md."""

from __future__ import annotations

import signal
import sys

from headway.cli.start import check_environment, exit_at_once, prepare_streams


def main() -> None:
    """Entry point of the ``headway`` command."""
    wrong = prepare_streams() or check_environment()
    if wrong is not None:
        print(f"headway: {wrong}", file=sys.stderr)
        sys.exit(2)
    if signal.getsignal(signal.SIGINT) is signal.default_int_handler:
        signal.signal(signal.SIGINT, exit_at_once)
    from headway.cli.app import execute

    sys.exit(execute())
