"""The commands, each loaded when it is asked for: most need what takes long to import."""

from __future__ import annotations

import importlib
from dataclasses import dataclass
from typing import Any

import typer
from typer.core import TyperCommand, TyperGroup

from headway.cli.start import commands_take_ctrl_c


@dataclass(frozen=True)
class Command:
    """Where a command's function is, and the first line of what it says of itself."""

    module: str
    function: str
    help: str
    made_as: str | None = None
    """The class of the command in that module, where typer's own will not do."""


COMMANDS = {
    "list": Command(
        "listing",
        "list_all",
        "List studies, controls, startups, router algorithms, stacks and backends.",
    ),
    "describe": Command(
        "describe",
        "describe",
        "Describe one study or algorithm: its source, its state and its tunables.",
    ),
    "run": Command(
        "studies", "run", "Run a study: all trials, then its tables, claims and report."
    ),
    "try": Command(
        "adhoc",
        "try_out",
        "Try flows on a dumbbell or a chain; the default is a 1 Mbit/s home link with one CUBIC "
        "flow.",
        made_as="Try",
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
        "Judge one claim, then judge it again with each change that explains why it fails.",
    ),
    "verdicts": Command(
        "verdicts",
        "verdicts",
        "Run studies' quick form and compare every verdict and measured value with those locked.",
    ),
    "export": Command(
        "studies",
        "export",
        "Export a trial's trace as a Flent data file, or its page loads as a HAR file.",
    ),
    "har": Command(
        "har",
        "har",
        "Make a file of Web pages, for flows to load, of what a browser recorded.",
    ),
    "tmix": Command(
        "tmix",
        "tmix",
        "Make a file of exchanges, for flows to play, of a tmix file.",
    ),
    "pages": Command(
        "pages",
        "write_pages",
        "Write shell completions and man pages into a share directory, such as ~/.local/share.",
    ),
    "validate": Command(
        "validate",
        "validate",
        "Run a matrix of scenarios on both backends and say how far they differ.",
    ),
    "web-proxy": Command(
        "web_proxy",
        "web_proxy",
        "Stand before a Web server and have TCP hear the deadlines that clients state.",
    ),
}


class OnDemand(TyperGroup):
    """The group of all commands. Its help names them; only the one that is called is loaded."""

    def __init__(self, **attributes: Any) -> None:
        super().__init__(**attributes)
        for name, command in COMMANDS.items():
            self.add_command(TyperCommand(name, help=command.help, rich_markup_mode=None))

    def resolve_command(self, ctx: Any, args: list[str]) -> Any:
        """The command that is called, with its options, and what is left for it."""
        name, named, rest = super().resolve_command(ctx, args)
        loaded = named and load(name or "")
        commands_take_ctrl_c()
        return name, loaded, rest


def load(name: str) -> Any:
    """One command, made of its function."""
    command = COMMANDS[name]
    module = importlib.import_module(f"headway.cli.{command.module}")
    alone = typer.Typer(add_completion=False, rich_markup_mode=None)
    made_as = getattr(module, command.made_as) if command.made_as else None
    alone.command(name, cls=made_as)(getattr(module, command.function))
    return typer.main.get_command(alone)
