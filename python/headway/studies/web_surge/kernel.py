"""The study on the kernel: pages of both models from nginx, beside the simulator's linux-6.

A kernel's seconds are real ones, so that users load a few pages one after the other, and one user
after the other; a page's time does not depend on how long its reader thinks.
"""

from __future__ import annotations

import itertools
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt
import polars as pl

from headway import metrics
from headway.claims import Evidence
from headway.experiment import Experiment, Flow, Pages
from headway.figures import Bars, grouped_bars, label_of
from headway.metrics.stats import Array
from headway.models import startup
from headway.publish import Page
from headway.studies.common import lab
from headway.studies.web_surge.experiments import (
    MODELS,
    THESIS_HOSTS,
    THESIS_SCHEMES,
    user_of,
    visits_of,
)
from headway.study import Agreement, Study, StudyContext
from headway.table import Table
from headway.trace import Trace
from headway.workloads import surge, write_pages
from headway.workloads.pages import PageTable, visited

WAYS: dict[str, tuple[str, int]] = {
    "HTTP/1.0": ("1.0", 1),
    "HTTP/1.0, six": ("1.0", 6),
    "HTTP/1.1": ("1.1", 1),
    "HTTP/1.1, six": ("1.1", 6),
    "pipelining": ("1.1-pipelined", 1),
    "pipelining, six": ("1.1-pipelined", 6),
    "HTTP/2": ("2", 1),
}
"""How pages are fetched: the version, and connections side by side."""
QUICK_WAYS = ("HTTP/1.1, six", "HTTP/2")
PAGES, QUICK_PAGES = 5, 1
FILES = (3, 12)
"""Of a page: fewer say nothing of connections, more take long over HTTP/1.0."""
MOST_BYTES = 1e6
THINK_US = 1_000_000
TITLE = "Page times in s"
TOLERANCE_S, TOLERANCE = 0.1, 0.1
_FIRST_S, _GAP_S = 0.3, 0.5
_LONGEST = 1.3
"""A page is over after so many times what slow start takes by table 6.1."""


@dataclass(frozen=True)
class Times:
    """Of a trial: how long the pages of each user took, s, in their order."""

    pages_s: tuple[tuple[float, ...], ...]


class OnKernel(Study[Times, Evidence[Times]]):
    """One user after the other, each over another HTTP."""

    choices = (
        "The claims are judged in the simulator with hour-long visits. Here nginx serves the first "
        f"{PAGES} pages of a user's visits that have {FILES[0]} to {FILES[1]} files and at most "
        f"{MOST_BYTES / 1e6:g} MB, with a second of thinking between them, on this machine's "
        "kernel, and the simulator with linux-6 does the same. Connections stay open.",
    )
    agreements = tuple(
        Agreement(
            f"kernel-{scheme}",
            f"{label_of(scheme)}: every mean page time on the kernel is the simulator's.",
            table=TITLE,
            row=label_of(scheme),
            most=TOLERANCE_S,
            unit="s",
            relative=TOLERANCE,
        )
        for scheme in THESIS_SCHEMES
    )

    def __init__(self, of: Study[Any, Any]) -> None:
        """The kernel's form of a study."""
        self.name, self.title, self.source = of.name, of.title, of.source
        self.description = of.description

    def experiments(self, ctx: StudyContext) -> dict[str, Experiment]:
        """A trial per startup, in which the users of both models take turns."""
        folder = ctx.out_dir / "pages"
        folder.mkdir(exist_ok=True)
        turns: list[tuple[Path, str, float]] = []
        now_s = _FIRST_S
        for model in MODELS:
            file = folder / f"kernel-{model}.csv"
            table = pages(ctx, model)
            write_pages(file, table)
            for way in _ways(ctx):
                turns.append((file, way, now_s))
                now_s += _longest_s(table, way)
        return {
            scheme: lab.experiment(
                lab.path(router=THESIS_HOSTS.router),
                [_user(file, way, scheme, start_s) for file, way, start_s in turns],
                duration_s=now_s,
                seed=ctx.seed,
            )
            for scheme in THESIS_SCHEMES
        }

    def observe(self, _key: str, trace: Trace) -> Times:
        """The pages of every user."""
        loads = metrics.page_loads(trace, (0, trace.experiment.duration))
        return Times(
            tuple(
                tuple(loads.filter(pl.col("flow") == flow).sort("page")["seconds"].to_list())
                for flow in range(len(trace.flows))
            )
        )

    def page(self, ctx: StudyContext, found: Evidence[Times]) -> Page:
        """Mean page times by startup, model and HTTP."""
        ways = len(_ways(ctx))
        means = {
            (model, scheme): [_mean_s(ctx, own) for own in found[scheme].pages_s[first:][:ways]]
            for first, model in zip(itertools.count(0, ways), MODELS, strict=False)
            for scheme in THESIS_SCHEMES
        }
        return Page(
            tables=[_table(_ways(ctx), means)],
            figures={
                "page-times": (
                    "Page times",
                    "Mean page time of one user, like figure 6.48 of the thesis.",
                    grouped_bars(
                        [
                            (
                                name,
                                [
                                    Bars(label_of(s), s, np.array(means[model, s]))
                                    for s in THESIS_SCHEMES
                                ],
                            )
                            for model, name in MODELS.items()
                        ],
                        groups=[_short(way) for way in _ways(ctx)],
                        x_label="HTTP",
                        y_label="page time (s)",
                    ),
                )
            },
        )


def pages(ctx: StudyContext, model: surge.Model) -> PageTable:
    """What every user asks for."""
    count = QUICK_PAGES if ctx.quick else PAGES
    [seen] = visits_of(ctx, model, 1, 3600.0)
    fit = [
        replace(page, think_us=THINK_US)
        for page in seen
        if FILES[0] <= len(page.files_bytes) <= FILES[1] and sum(page.files_bytes) <= MOST_BYTES
    ]
    return visited(fit[:count], lab.REQUEST_BYTES)


def _ways(ctx: StudyContext) -> Sequence[str]:
    return QUICK_WAYS if ctx.quick else tuple(WAYS)


def _short(way: str) -> str:
    http, connections = WAYS[way]
    return http.replace("1.1-pipelined", "p.") + (f" ×{connections}" if connections > 1 else "")


def _longest_s(table: PageTable, way: str) -> float:
    """After how long a user is done, and the next may begin."""
    path = lab.model_path()

    def took_s(sizes_bytes: npt.NDArray[np.uint64]) -> Array:
        return startup.slow_start_response_s(
            sizes_bytes.astype(np.float64), path=path, window_pkts=10
        )

    if WAYS[way] in (("1.0", 1), ("1.1", 1)):  # a handshake for each file
        own_s = took_s(table.response_bytes) + path.rtt_s
    else:  # one for the base, and one for all that it reveals
        firsts = (np.cumsum(table.objects) - table.objects).astype(np.intp)
        wholes = np.add.reduceat(table.response_bytes, firsts)
        own_s = took_s(table.response_bytes[firsts]) + took_s(wholes) + 2 * path.rtt_s
    return _LONGEST * float(own_s.sum()) + (len(table) - 1) * THINK_US / 1e6 + _GAP_S


def _user(file: Path, way: str, scheme: str, start_s: float) -> Flow:
    http, connections = WAYS[way]
    app = Pages.model_validate({"file": file, "http": http, "connections": connections})
    return user_of(app, THESIS_HOSTS, scheme, start_s=start_s)


def _mean_s(ctx: StudyContext, own: Sequence[float]) -> float:
    """Of all pages; NaN: not all were loaded in the run."""
    count = QUICK_PAGES if ctx.quick else PAGES
    return float(np.mean(own)) if len(own) == count else float("nan")


def _table(ways: Sequence[str], means: Mapping[tuple[surge.Model, str], Sequence[float]]) -> Table:
    return Table(
        TITLE,
        ["start", "model", *ways],
        [
            [
                label_of(scheme),
                label,
                *(None if np.isnan(mean) else round(mean, 3) for mean in means[model, scheme]),
            ]
            for scheme in THESIS_SCHEMES
            for model, label in MODELS.items()
        ],
    )
