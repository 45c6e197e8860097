"""Options that several commands have."""

from __future__ import annotations

from typing import Annotated

import typer

AsJson = Annotated[bool, typer.Option("--json", help="Print JSON for scripts.")]
BackendName = Annotated[str, typer.Option("--backend", help="Backend to run on: sim, kernel.")]
Threads = Annotated[
    int, typer.Option("--threads", min=0, help="Threads that run trials; 0 means one per core.")
]
REPEATS = 2
Repeats = Annotated[
    int,
    typer.Option("--repeats", min=0, help="Repeat a disturbed kernel run at most this often."),
]
