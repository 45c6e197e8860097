"""``headway tmix``: convert the connections of a tmix file into a file of exchanges."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from headway.cli.options import AsJson
from headway.cli.paths import path
from headway.cli.show import console, number_of, print_json
from headway.errors import HeadwayError
from headway.units import format_size


def tmix(
    file: Annotated[
        Path,
        typer.Argument(parser=path, metavar="FILE", help="A tmix file, of either format."),
    ],
    exchanges: Annotated[
        Path,
        typer.Option(
            "--exchanges", parser=path, metavar="FILE", help="The file of exchanges to write."
        ),
    ],
    as_json: AsJson = False,
) -> None:
    """Convert a tmix file into a file of exchanges that flows can play."""
    from headway.workloads import exchanges_of, write_exchanges
    from headway.workloads.tmix import load, sessions_of

    found, _ = load(file)
    if not found.connections:
        raise HeadwayError(f"{file}: has no sequential connection")
    try:
        table = exchanges_of(sessions_of(found.connections))
    except ValueError as error:
        raise HeadwayError(f"{file}: {error}") from None
    write_exchanges(exchanges, table)
    requests_bytes, responses_bytes = (
        int(table.request_bytes.sum()),
        int(table.response_bytes.sum()),
    )
    if as_json:
        print_json(
            {
                "connections": len(found.connections),
                "exchanges": len(table),
                "request_bytes": requests_bytes,
                "response_bytes": responses_bytes,
                "left_out": found.concurrent,
            }
        )
        return
    text = (
        f"{number_of(len(found.connections), 'connection')}, {number_of(len(table), 'exchange')}, "
    )
    text += f"requests {format_size(requests_bytes)}, responses {format_size(responses_bytes)}"
    if found.concurrent:
        text += f"; {number_of(found.concurrent, 'concurrent connection')} left out"
    console().print(f"{exchanges}: {text}", markup=False, soft_wrap=True)
