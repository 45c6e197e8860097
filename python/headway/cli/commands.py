"""The commands. Each is loaded only when called, since most need slow imports."""

from __future__ import annotations

import importlib
from dataclasses import dataclass
from typing import Any

import typer
from typer.core import TyperCommand, TyperGroup

from headway.cli.start import restore_ctrl_c


@dataclass(frozen=True)
class Command:
    """Where a command's function is, and its help: the first line of the docstring."""

    module: str
    function: str
    help: str
    command_class: str | None = None
    """The name of the command's class in ``module``; None for typer's default class."""


COMMANDS = {
    "list": Command(
        "listing",
        "list_all",
        "List studies, controls, startups, router algorithms, stacks and backends.",
    ),
    "describe": Command(
        "describe",
        "describe",
        "Describe one study or algorithm: source, state and tunables.",
    ),
    "run": Command(
        "studies", "run", "Run a study: all trials, then make its tables, claims and report."
    ),
    "try": Command(
        "adhoc",
        "try_out",
        "Try flows on a dumbbell or a chain; the default is a 1 Mbit/s home link with one CUBIC "
        "flow.",
        command_class="Try",
    ),
    "sweep": Command(
        "sweep",
        "sweep",
        "Run an experiment for all combinations of its fields' values, on one machine or a "
        "cluster.",
    ),
    "draw": Command(
        "draw",
        "draw",
        "Draw an experiment's network as SVG: nodes, links and routes of flows.",
    ),
    "report": Command(
        "studies",
        "report",
        "Rebuild a study's report, claims and tables from the trials saved in DIR.",
    ),
    "claims": Command(
        "claims",
        "claims",
        "Count the claims of several studies' results by basis, and list those that do not hold.",
    ),
    "why": Command(
        "why",
        "why",
        "Judge one claim, then judge it again with each change that may explain its failure.",
    ),
    "verdicts": Command(
        "verdicts",
        "verdicts",
        "Run studies' quick form and compare verdicts and measured values with the locked ones.",
    ),
    "export": Command(
        "studies",
        "export",
        "Export a trial's trace as a Flent data file, or its page loads as a HAR file.",
    ),
    "har": Command(
        "har",
        "har",
        "Convert a HAR file into pages that flows can load.",
    ),
    "tmix": Command(
        "tmix",
        "tmix",
        "Convert a tmix file into a file of exchanges that flows can play.",
    ),
    "import": Command(
        "measured",
        "import_measured",
        "Import a capture or the results of another tool as a trace.",
    ),
    "compare": Command(
        "measured",
        "compare",
        "Compare a measurement with the simulation of an experiment.",
    ),
    "fit": Command(
        "measured",
        "fit",
        "Fit the simplest path to a capture: rate, round trip, queue and loss.",
    ),
    "cite": Command(
        "cite",
        "cite",
        "Print BibTeX entries of Headway and of the sources of algorithms.",
    ),
    "conform": Command(
        "conform",
        "conform",
        "Play packetdrill scripts against the TCP endpoint: pass, fail or not applicable.",
    ),
    "pages": Command(
        "pages",
        "write_pages",
        "Write shell completions and man pages into a share directory, such as ~/.local/share.",
    ),
    "validate": Command(
        "validate",
        "validate",
        "Run a matrix of scenarios on both backends and report how far they differ.",
    ),
    "web-proxy": Command(
        "web_proxy",
        "web_proxy",
        "Reverse proxy that passes clients' deadlines to TCP.",
    ),
}


class OnDemand(TyperGroup):
    """The group of all commands. Its help lists them without loading them."""

    def __init__(self, **attributes: Any) -> None:
        super().__init__(**attributes)
        for name, command in COMMANDS.items():
            self.add_command(TyperCommand(name, help=command.help, rich_markup_mode=None))

    def resolve_command(self, ctx: Any, args: list[str]) -> Any:
        """Load the command that was called; returns its name, the command and its arguments."""
        name, named, rest = super().resolve_command(ctx, args)
        loaded = named and load(name or "")
        restore_ctrl_c()
        return name, loaded, rest


def load(name: str) -> Any:
    """Build one command from its function."""
    command = COMMANDS[name]
    module = importlib.import_module(f"headway.cli.{command.module}")
    app = typer.Typer(add_completion=False, rich_markup_mode=None)
    command_class = getattr(module, command.command_class) if command.command_class else None
    app.command(name, cls=command_class)(getattr(module, command.function))
    return typer.main.get_command(app)
