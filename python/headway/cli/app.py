"""The ``headway`` application. Every error ends as one line on stderr and an exit status."""

from __future__ import annotations

import sys
from collections.abc import Sequence
from typing import Annotated

import typer
from typer.exceptions import TyperException

from headway.cli.commands import OnDemand
from headway.cli.start import give_up_output
from headway.errors import ExperimentError, HeadwayError, InterruptedRunError, KernelCannotError

EXIT_ERROR = 2
EXIT_KERNEL_CANNOT = 3
EXIT_INTERRUPTED = 130

app = typer.Typer(
    name="headway",
    cls=OnDemand,
    help="Run published TCP studies, and your own, in a simulator that behaves like Linux.",
    add_completion=False,
    pretty_exceptions_enable=False,
    rich_markup_mode=None,
)


def _print_version(wanted: bool) -> None:
    if wanted:
        import importlib.metadata

        from headway.commit import commit

        found = commit()
        print(f"headway {importlib.metadata.version('headway')}{f' ({found})' if found else ''}")
        raise typer.Exit


@app.callback(invoke_without_command=True)
def _root(
    context: typer.Context,
    _version: Annotated[
        bool,
        typer.Option(
            "--version", callback=_print_version, is_eager=True, help="Print the version."
        ),
    ] = False,
) -> None:
    if context.invoked_subcommand is None:
        print(context.get_help())


def _fail(message: str, status: int = EXIT_ERROR) -> int:
    try:
        sys.stdout.flush()
    except OSError:
        give_up_output()
    print(f"headway: {' '.join(message.split())}", file=sys.stderr)
    return status


def execute(arguments: Sequence[str] | None = None) -> int:
    """Run one command and return its exit status.

    The status is 0 for success, 1 if verdicts differ from the locked ones or a script fails, 2 for
    any error, 3 if the kernel lacks a feature or a privilege is missing, and 130 after Ctrl-C.
    """
    try:
        status = app(args=arguments, prog_name="headway", standalone_mode=False)
        sys.stdout.flush()
    except BrokenPipeError:
        # The reader closed the pipe. Python must not write the remaining output at exit.
        give_up_output()
        return 0
    except InterruptedRunError as error:
        return _fail(str(error), EXIT_INTERRUPTED)
    except KernelCannotError as error:
        return _fail(str(error), EXIT_KERNEL_CANNOT)
    except KeyboardInterrupt:
        status = EXIT_INTERRUPTED
    except Exception as error:
        line = _one_line(error)
        if line is None:
            raise
        return _fail(line)
    if status == EXIT_INTERRUPTED:
        return _fail("interrupted", EXIT_INTERRUPTED)
    return status if isinstance(status, int) else 0


def _one_line(error: Exception) -> str | None:
    """The message of an error that a user can act on; None for a bug in Headway."""
    if isinstance(error, ExperimentError):
        return str(error).removeprefix("topology.")  # the command-line option's name
    if isinstance(error, HeadwayError):
        return str(error)
    if isinstance(error, TyperException):
        return f"{error.format_message()} (see headway --help)"
    if isinstance(error, MemoryError):
        return f"not enough memory: {error}" if str(error) else "not enough memory"
    if isinstance(error, OSError):
        return f"{error.filename or 'output'}: {error.strerror or error}"
    return None
