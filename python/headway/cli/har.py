"""``headway har``: convert what a browser recorded into a file of Web pages."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from headway.cli.options import AsJson
from headway.cli.paths import path
from headway.cli.show import console, number_of, print_json
from headway.errors import HeadwayError
from headway.units import format_size, parse_time


def har(
    file: Annotated[
        Path, typer.Argument(parser=path, metavar="FILE", help="A HAR file, as browsers export it.")
    ],
    pages: Annotated[
        Path,
        typer.Option("--pages", parser=path, metavar="FILE", help="The file of pages to write."),
    ],
    rtt: Annotated[
        str | None,
        typer.Option(
            "--rtt",
            metavar="TIME",
            help="Round-trip time of the recorded path, subtracted from each server's time "
            "[the shortest time in which a connection opened].",
        ),
    ] = None,
    as_json: AsJson = False,
) -> None:
    """Convert a HAR file into pages that flows can load."""
    from headway.workloads import write_pages
    from headway.workloads.har import read_har

    try:
        rtt_ns = None if rtt is None else parse_time(rtt)
    except ValueError as error:
        raise HeadwayError(f"--rtt: {error}") from None
    archive = read_har(file, rtt_ns)
    table = archive.table
    write_pages(pages, table)
    objects, total = int(table.objects.sum()), int(table.response_bytes.sum())
    if as_json:
        print_json(
            {
                "pages": len(table),
                "objects": objects,
                "bytes": total,
                "hosts": archive.hosts,
                "left_out": archive.left_out,
            }
        )
        return
    text = f"{number_of(len(table), 'page')}, {number_of(objects, 'object')}, {format_size(total)}"
    if archive.left_out:
        text += f"; {archive.left_out} left out that used no network"
    if archive.hosts > 1:
        text += f"; {archive.hosts} hosts, treated as one"
    console().print(f"{pages}: {text}", markup=False, soft_wrap=True)
