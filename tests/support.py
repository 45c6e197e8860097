"""Traces made by hand, so that metrics can be checked by hand."""

from __future__ import annotations

import os
import subprocess
import sys
from collections.abc import Callable, Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any

import polars as pl
import pytest

from headway.backends.kernel import headwayctl
from headway.experiment import Experiment
from headway.trace import SCHEMA, FlowSummary, Trace

S = 1_000_000_000
ROOT = Path(__file__).resolve().parent.parent
HANGS_S = 1500
"""A command that takes longer than this has hung. No result depends on this limit."""


def experiment(**changes: Any) -> Experiment:
    """A small experiment: one Reno flow and a call, 10 s, of which 2 s are warm-up."""
    return Experiment.model_validate(
        {
            "topology": {
                "kind": "dumbbell",
                "rate": "1Mbit/s",
                "rtt": "50 ms",
                "buffer": "60000 B",
            },
            "flows": "1xreno,1xvoip",
            "duration": "10 s",
            "warmup": "2 s",
            **changes,
        }
    )


def frame(name: str, rows: Sequence[Sequence[Any]] = ()) -> pl.DataFrame:
    """Make the table ``name`` of a trace's schema from rows."""
    return pl.DataFrame(list(rows), schema=SCHEMA[name], orient="row")


def trace(
    tables: Mapping[str, Sequence[Sequence[Any]]] | None = None,
    *,
    of: Experiment | None = None,
    flows: Sequence[FlowSummary] | None = None,
    capture: bytes | None = None,
) -> Trace:
    """Make a trace with these rows in these tables; all other tables are empty."""
    of = of or experiment()
    if flows is None:
        flows = [
            FlowSummary(
                name=name,
                kind=flow.app.kind,
                control=flow.control.name if flow.control else None,
                first_packet_ns=0,
                last_packet_ns=of.duration,
                unique_bytes=1_000_000 if flow.is_tcp else None,
            )
            for flow, name in zip(of.flows, of.flow_names(), strict=True)
        ]
    return Trace(
        tables={name: frame(name, (tables or {}).get(name, ())) for name in SCHEMA},
        flows=tuple(flows),
        links=("forward0", "reverse0"),
        meta={"experiment": of.model_dump(mode="json"), "seed": of.seed, "versions": {}},
        capture=capture,
    )


HEADWAY = [
    sys.executable,
    "-c",
    "import sys; from headway.cli import main; sys.argv[0] = 'headway'; main()",
]


def headway(*arguments: str, **options: Any) -> subprocess.CompletedProcess[str]:
    """Run the command as a person does, in a process of its own."""
    options.setdefault("env", {**os.environ, "COLUMNS": "100", "NO_COLOR": "1"})
    return subprocess.run(
        [*HEADWAY, *arguments],
        capture_output=True,
        text=True,
        timeout=HANGS_S,
        check=False,
        stdin=subprocess.DEVNULL,
        **options,
    )


def beside(one: Any, other: Any, path: str = "") -> Iterator[tuple[str, Any, Any]]:
    """For each path in two JSON documents of equal structure: the path and both values."""
    if isinstance(one, dict):
        assert one.keys() == other.keys()
        for key in one:
            yield from beside(one[key], other[key], f"{path}.{key}")
    elif isinstance(one, list):
        assert len(one) == len(other)
        for index, pair in enumerate(zip(one, other, strict=True)):
            yield from beside(*pair, f"{path}[{index}]")
    else:
        yield path, one, other


BUILT = [ROOT / "target" / profile / "headwayctl" for profile in ("release", "debug")]
for built in BUILT:
    if built.exists():  # `make test` has built headwayctl
        os.environ.setdefault(headwayctl.VARIABLE, str(built))
REASON = headwayctl.unusable()


def on_kernel(test: Callable[..., None]) -> Callable[..., None]:
    """Marks a test that needs the running kernel and root: slow, skipped if it cannot run."""
    skip = pytest.mark.skipif(REASON is not None, reason=f"kernel backend: {REASON}")
    return pytest.mark.slow(pytest.mark.kernel(skip(test)))
