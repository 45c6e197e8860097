"""The command line. Its options and its JSON are a contract: docs/cli.md."""

import sys


def main() -> None:
    """Entry point of the ``headway`` command."""
    try:
        from headway.cli.app import execute
    except KeyboardInterrupt:
        print("headway: interrupted", file=sys.stderr)
        sys.exit(130)
    sys.exit(execute())


__all__ = ["main"]
