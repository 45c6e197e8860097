"""Commands put together, and how every error ends: one line on stderr and a status."""

from __future__ import annotations

import os
import sys
from collections.abc import Sequence
from typing import Annotated

import typer
from pydantic import ValidationError
from typer.exceptions import TyperException

from headway.cli import adhoc, claims, listing, studies, validate, verdicts
from headway.errors import HeadwayError, InterruptedRunError, KernelCannotError
from headway.experiment import explain

EXIT_ERROR = 2
EXIT_KERNEL_CANNOT = 3
EXIT_INTERRUPTED = 130

app = typer.Typer(
    name="headway",
    help="Run published TCP studies, and your own, in a simulator that behaves like Linux.",
    add_completion=False,
    pretty_exceptions_enable=False,
    rich_markup_mode=None,
)
app.command("list")(listing.list_all)
app.command("describe")(listing.describe)
app.command("run")(studies.run)
app.command("try", cls=adhoc.Try)(adhoc.try_out)
app.command("report")(studies.report)
app.command("claims")(claims.claims)
app.command("verdicts")(verdicts.verdicts)
app.command("export")(studies.export)
app.command("validate")(validate.validate)


def _print_version(wanted: bool) -> None:
    if wanted:
        import importlib.metadata

        print(f"headway {importlib.metadata.version('headway')}")
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
    sys.stdout.flush()
    print(f"headway: {' '.join(message.split())}", file=sys.stderr)
    return status


def execute(arguments: Sequence[str] | None = None) -> int:
    """Run one command; returns its exit status.

    0; 1 where verdicts differ from those locked; 2 for any error; 3 where the kernel cannot; 130
    after Ctrl-C.
    """
    try:
        status = app(args=arguments, prog_name="headway", standalone_mode=False)
        sys.stdout.flush()
    except BrokenPipeError:
        # Whoever read our output has seen enough; nothing more may be written, even at exit.
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
        return 0
    except InterruptedRunError as error:
        return _fail(str(error), EXIT_INTERRUPTED)
    except KernelCannotError as error:
        return _fail(str(error), EXIT_KERNEL_CANNOT)
    except (HeadwayError, ValidationError, TyperException, OSError) as error:
        return _fail(_one_line(error))
    except KeyboardInterrupt:
        status = EXIT_INTERRUPTED
    if status == EXIT_INTERRUPTED:
        return _fail("interrupted", EXIT_INTERRUPTED)
    return status if isinstance(status, int) else 0


def _one_line(error: Exception) -> str:
    if isinstance(error, ValidationError):
        return explain(error).removeprefix("topology.")  # options do not say so
    if isinstance(error, TyperException):
        return f"{error.format_message()} (see headway --help)"
    if isinstance(error, OSError):
        return f"{error.filename}: {error.strerror}" if error.filename else str(error)
    return str(error)


def main() -> None:
    """Entry point of the ``headway`` command."""
    sys.exit(execute())
