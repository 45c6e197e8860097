"""``headway pages``: completions for bash, zsh and fish, and a man page per command."""

from __future__ import annotations

import importlib.metadata
from dataclasses import dataclass
from pathlib import Path
from typing import Annotated

import typer

from headway import catalogue
from headway.backends import BACKENDS
from headway.cli.commands import COMMANDS, load
from headway.cli.options import AsJson
from headway.cli.paths import path
from headway.cli.show import print_json
from headway.files import save_text

_FILES = {"FILE", "[FILE]", "DIR", "DIR..."}
_KINDS = {"str": "TEXT", "int": "N", "range": "N", "path": "FILE"}
_STATUS = (
    (0, "success; claims that do not hold are not an error"),
    (1, "headway verdicts: a result differs from the locked one"),
    (2, "bad input, or a file could not be read or saved"),
    (3, "this machine's kernel lacks a feature, or a privilege is missing"),
    (130, "stopped with Ctrl-C"),
)


@dataclass(frozen=True)
class Option:
    """An option as its help shows it. ``value`` is its value's name, "" for a flag."""

    names: tuple[str, ...]
    value: str
    help: str


@dataclass(frozen=True)
class Page:
    """A command with its arguments (name and help) and its options."""

    name: str
    summary: str
    text: str
    arguments: tuple[tuple[str, str], ...]
    options: tuple[Option, ...]


def pages() -> list[Page]:
    """Every command, in the order of ``headway --help``."""
    return [_page(name) for name in COMMANDS]


def _page(name: str) -> Page:
    command = load(name)
    context = command.make_context(name, [], resilient_parsing=True)
    options, arguments = [], []
    for parameter in command.get_params(context):
        shown, help_text = parameter.get_help_record(context)
        if parameter.param_type_name == "argument":
            arguments.append((parameter.metavar or parameter.name.upper(), help_text))
            continue
        names = (*parameter.opts, *parameter.secondary_opts)
        takes_value = not parameter.is_flag
        kind = shown.split()[-1].strip("<>")
        value = (parameter.metavar or _KINDS.get(kind, kind.upper())) if takes_value else ""
        options.append(Option(names, value, help_text))
    return Page(name, COMMANDS[name].help, command.help or "", tuple(arguments), tuple(options))


def words_for(page: Page, option: Option | None) -> tuple[str, ...]:
    """The names that an option or argument accepts; () if it accepts other values."""
    if option is not None:
        stacks = tuple(stack["name"] for stack in catalogue.algorithms()["stacks"])
        return {"--backend": tuple(BACKENDS), "--stack": stacks}.get(option.names[0], ())
    studies = tuple(catalogue.studies())
    if page.name == "describe":
        known = catalogue.algorithms()
        return tuple(
            dict.fromkeys([*studies, *(one["name"] for of in known.values() for one in of)])
        )
    return studies if page.name in ("run", "verdicts") else ()


def bash(every: list[Page]) -> str:
    """The bash completion."""
    cases = []
    for page in every:
        values = "".join(
            f"            {'|'.join(option.names)}) {_bash_words(page, option)} ;;\n"
            for option in page.options
            if option.value
        )
        flags = " ".join(name for option in page.options for name in option.names)
        cases.append(
            f"    {page.name})\n        case $before in\n{values}            *)\n"
            f"            if [[ $word == -* ]]; then\n"
            f'                COMPREPLY=($(compgen -W "{flags}" -- "$word"))\n'
            f"            else {_bash_words(page, None)}; fi ;;\n        esac ;;\n"
        )
    names = " ".join([*COMMANDS, "--help", "--version"])
    return (
        "# bash completion of headway\n_headway() {\n"
        "    local word=${COMP_WORDS[COMP_CWORD]} before=${COMP_WORDS[COMP_CWORD-1]}\n"
        "    COMPREPLY=()\n    if ((COMP_CWORD == 1)); then\n"
        f'        COMPREPLY=($(compgen -W "{names}" -- "$word"))\n        return\n    fi\n'
        f"    case ${{COMP_WORDS[1]}} in\n{''.join(cases)}    esac\n}}\n"
        "complete -o filenames -F _headway headway\n"
    )


def _bash_words(page: Page, option: Option | None) -> str:
    if words := words_for(page, option):
        return f'COMPREPLY=($(compgen -W "{" ".join(words)}" -- "$word"))'
    return 'COMPREPLY=($(compgen -f -- "$word"))' if _wants_file(page, option) else ":"


def _wants_file(page: Page, option: Option | None) -> bool:
    if option is not None:
        return option.value in _FILES
    return any(name in _FILES for name, _ in page.arguments)


def zsh(every: list[Page]) -> str:
    """The zsh completion."""
    listed = "\n".join(f"        {_quoted(f'{p.name}:{p.summary}')}" for p in every)
    cases = []
    for page in every:
        specs = [_zsh_option(page, name, o) for o in page.options for name in o.names]
        if page.arguments:
            specs.append(_quoted(f"*:{_zsh_text(page.arguments[0][0])}:{_zsh_words(page, None)}"))
        lines = " \\\n            ".join(specs)
        cases.append(f"        {page.name})\n            _arguments {lines} ;;\n")
    return (
        "#compdef headway\n_headway() {\n    local -a commands\n"
        f"    commands=(\n{listed}\n    )\n"
        "    if ((CURRENT == 2)); then\n        _describe command commands\n"
        "        return\n    fi\n"
        "    local command=$words[2]\n    shift words\n    ((CURRENT--))\n"
        f"    case $command in\n{''.join(cases)}    esac\n}}\n"
        'if [ "$funcstack[1]" = _headway ]; then _headway "$@"; else compdef _headway headway; fi\n'
    )


def _zsh_option(page: Page, name: str, option: Option) -> str:
    value = f":{_zsh_text(option.value)}:{_zsh_words(page, option)}" if option.value else ""
    return _quoted(f"{name}[{_zsh_text(option.help)}]{value}")


def _zsh_words(page: Page, option: Option | None) -> str:
    if words := words_for(page, option):
        return f"({' '.join(words)})"
    return "_files" if _wants_file(page, option) else " "


def _zsh_text(text: str) -> str:
    return "".join(f"\\{c}" if c in "[]:\\" else c for c in text)


def _quoted(text: str) -> str:
    return "'" + text.replace("'", "'\\''") + "'"


def fish(every: list[Page]) -> str:
    """The fish completion."""
    lines = ["# fish completion of headway", "complete -c headway -f"]
    first = "__fish_use_subcommand"
    lines += [f"complete -c headway -n {first} -a {p.name} -d {_fish(p.summary)}" for p in every]
    lines.append(f"complete -c headway -n {first} -l version -d 'Print the version.'")
    for page in every:
        within = f"complete -c headway -n '__fish_seen_subcommand_from {page.name}'"
        for option in page.options:
            names = " ".join(f"-l {name.removeprefix('--')}" for name in option.names)
            lines.append(f"{within} {names}{_fish_value(page, option)} -d {_fish(option.help)}")
        if words := words_for(page, None):
            lines.append(f"{within} -a {_fish(' '.join(words))}")
        elif _wants_file(page, None):
            lines.append(f"{within} -F")
    return "\n".join([*lines, ""])


def _fish_value(page: Page, option: Option) -> str:
    if not option.value:
        return ""
    if words := words_for(page, option):
        return f" -x -a {_fish(' '.join(words))}"
    return " -r -F" if _wants_file(page, option) else " -x"


def _fish(text: str) -> str:
    return "'" + text.replace("\\", "\\\\").replace("'", "\\'") + "'"


def manual(page: Page) -> str:
    """The command's man page."""
    arguments = " ".join(f"\\fI{_roff(name)}\\fR" for name, _ in page.arguments)
    parts = [
        _head(f"headway-{page.name}", page.summary),
        ".SH SYNOPSIS",
        f"\\fBheadway {page.name}\\fR [\\fIoptions\\fR] {arguments}".rstrip(),
        ".SH DESCRIPTION",
        _paragraphs(page.text),
    ]
    if page.arguments:
        parts.append(".SH ARGUMENTS")
        parts += [
            f".TP\n\\fI{_roff(name)}\\fR\n{_roff(help_text)}" for name, help_text in page.arguments
        ]
    parts.append(".SH OPTIONS")
    for option in page.options:
        names = ", ".join(f"\\fB{_roff(name)}\\fR" for name in option.names)
        value = f" \\fI{_roff(option.value)}\\fR" if option.value else ""
        parts.append(f".TP\n{names}{value}\n{_roff(option.help)}")
    return "\n".join([*parts, *_tail(["headway"])])


def overview(every: list[Page]) -> str:
    """The man page headway(1), which lists the others."""
    parts = [
        _head("headway", "Run published TCP studies, and your own, in a simulator or on Linux."),
        ".SH SYNOPSIS",
        "\\fBheadway\\fR [\\fB\\-\\-version\\fR] \\fIcommand\\fR [\\fIarguments\\fR]",
        ".SH DESCRIPTION",
        "Studies how TCP congestion controls and router queues affect each other and all other "
        "traffic on the path. Results go to standard output, errors and progress to standard "
        "error.",
        ".SH COMMANDS",
        *(f".TP\n\\fBheadway\\-{page.name}\\fR(1)\n{_roff(page.summary)}" for page in every),
    ]
    return "\n".join([*parts, *_tail([f"headway-{page.name}" for page in every])])


def _head(name: str, summary: str) -> str:
    version = importlib.metadata.version("headway")
    about = summary[0].lower() + summary[1:].rstrip(".")
    title = f'.TH {_roff(name.upper())} 1 "" "headway {version}"'
    return f"{title}\n.SH NAME\n{_roff(name)} \\- {_roff(about)}"


def _tail(others: list[str]) -> list[str]:
    statuses = (f".TP\n\\fB{status}\\fR\n{_roff(help_text)}" for status, help_text in _STATUS)
    named = ", ".join(f"\\fB{_roff(name)}\\fR(1)" for name in others)
    return [".SH EXIT STATUS", *statuses, ".SH SEE ALSO", f"{named}, docs/cli.md", ""]


def _paragraphs(text: str) -> str:
    return "\n.PP\n".join(_roff(" ".join(part.split())) for part in text.split("\n\n"))


def _roff(text: str) -> str:
    escaped = text.replace("\\", "\\e").replace("-", "\\-").replace("`", "")
    return f"\\&{escaped}" if escaped.startswith((".", "'")) else escaped


def write(share: Path) -> list[Path]:
    """Write all completions and man pages below ``share``; returns the files.

    Raises HeadwayError if a file cannot be written.
    """
    every = pages()
    texts = {
        "bash-completion/completions/headway": bash(every),
        "zsh/site-functions/_headway": zsh(every),
        "fish/vendor_completions.d/headway.fish": fish(every),
        "man/man1/headway.1": overview(every),
        **{f"man/man1/headway-{page.name}.1": manual(page) for page in every},
    }
    for name, text in texts.items():
        save_text(share / name, text)
    return [share / name for name in texts]


def write_pages(
    directory: Annotated[
        Path,
        typer.Argument(parser=path, metavar="DIR", help="Share directory, such as ~/.local/share."),
    ],
    as_json: AsJson = False,
) -> None:
    """Write shell completions and man pages into a share directory, such as ~/.local/share."""
    written = [str(file) for file in write(directory)]
    if as_json:
        print_json({"files": written})
    else:
        print(*written, sep="\n")
