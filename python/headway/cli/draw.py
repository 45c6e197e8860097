"""``headway draw``: a picture of an experiment's network."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from headway.cli.options import AsJson
from headway.cli.paths import check_file, path
from headway.cli.show import console, print_json
from headway.errors import HeadwayError
from headway.files import save_text
from headway.report import sketches
from headway.try_experiment import from_file


def draw(
    experiment: Annotated[
        Path,
        typer.Argument(
            parser=path, metavar="EXPERIMENT", help="A whole experiment, as .json or .toml."
        ),
    ],
    out: Annotated[
        Path | None,
        typer.Option(
            "--out",
            parser=path,
            metavar="FILE",
            help="The picture to write [the experiment's name with .svg].",
            show_default=False,
        ),
    ] = None,
    as_json: AsJson = False,
) -> None:
    """Draw an experiment's network as SVG: nodes, links and routes of flows."""
    file = out or Path(experiment.with_suffix(".svg").name)
    if file.suffix.lower() != ".svg":
        raise HeadwayError(f"out: {file}: name a file that ends in .svg")
    check_file("out", file)
    [sketch] = sketches([from_file(experiment)])
    save_text(file, sketch.svg + "\n")
    if as_json:
        print_json({"file": str(file), "caption": sketch.caption})
    else:
        console().print(f"{file}: {sketch.caption}", markup=False, soft_wrap=True)
