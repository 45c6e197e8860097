"""The command line. Its options and its JSON are a contract: docs/cli.md."""

from headway.cli.start import main

__all__ = ["main"]
