"""The study on the kernel: pages of both models from nginx, beside the simulator's linux-6.

A kernel's seconds are real ones, so that users load a few pages one after the other, and one user
after the other; a page's time does not depend on how long its reader thinks.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

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
from headway.studies.common.beside import BesideSimulator
from headway.studies.web_surge import live
from headway.studies.web_surge.experiments import (
    MODELS,
    THESIS_HOSTS,
    THESIS_SCHEMES,
    user_of,
    visits_of,
)
from headway.studies.web_surge.live import PAGES, QUICK_PAGES, QUICK_WAYS, WAYS, Found, Times
from headway.study import Study, StudyContext
from headway.trace import Trace
from headway.workloads import surge, write_pages
from headway.workloads.pages import PageTable, visited

if TYPE_CHECKING:
    from matplotlib.figure import Figure

FILES = (3, 12)
"""Of a page: fewer say nothing of connections, more take long over HTTP/1.0."""
MOST_BYTES = 1e6
THINK_US = 1_000_000
SEND_BUFFER = f"{4 << 20} B"
"""Linux's largest."""
_FIRST_S, _GAP_S = 0.3, 0.5
_LONGEST = 1.3
"""A page is over after so many times what slow start takes by table 6.1."""


class OnKernel(BesideSimulator[Times, Found]):
    """One user after the other, each over another HTTP."""

    choices = (
        "The claims are judged in the simulator with hour-long visits. Here nginx serves the first "
        f"{PAGES} pages of a user's visits that have {FILES[0]} to {FILES[1]} files and at most "
        f"{MOST_BYTES / 1e6:g} MB, with a second of thinking between them, on this machine's "
        "kernel, and the simulator with linux-6 does the same. Connections stay open.",
        "Slow-Start begins with the ten packets of today's Linux. All startups load the same "
        "pages, and what one saves is the mean over them. Users take turns: figure 6.49, of many "
        "at once for an hour, stays the simulator's.",
        "Servers have Linux's largest send buffer. Decided after results were known: an automatic "
        "buffer delayed the simulator's HTTP/2 server by 0.1 s. It no longer does.",
        "Mean page times agree within 20 ms or 5 %. Decided after results were known; it was 0.1 "
        "s or 10 %.",
    )
    statements = live.STATEMENTS
    agreements = live.AGREEMENTS

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

    def gather(self, ctx: StudyContext, rows: Mapping[str, Times]) -> Found:
        """By startup; the twins among them."""
        return Found(Evidence(rows), ctx.quick)

    def page(self, _ctx: StudyContext, found: Found) -> Page:
        """Mean page times by startup, model and HTTP."""
        return Page(
            tables=[found.table()],
            figures={
                f"page-times-{model}": (
                    f"Page times, {name}",
                    "Mean page time of one user over the same pages, like figure 6.48 of the "
                    "thesis.",
                    _figure(found, model),
                )
                for model, name in MODELS.items()
            },
        )


def _figure(found: Found, model: surge.Model) -> Figure:
    """The kernel's, and the simulator's beside it."""
    twins = found.simulated()
    panels = [("", found)] if twins is None else [("kernel", found), ("simulator", twins)]
    return grouped_bars(
        [
            (title, [_bars(own, model, scheme) for scheme in THESIS_SCHEMES])
            for title, own in panels
        ],
        groups=[_short(way) for way in found.ways],
        x_label="HTTP",
        y_label="page time (s)",
    )


def _bars(found: Found, model: surge.Model, scheme: str) -> Bars:
    means = [found.pages_s(model, way, scheme).mean() for way in found.ways]
    return Bars(label_of(scheme), scheme, np.array(means))


def pages(ctx: StudyContext, model: surge.Model) -> PageTable:
    """What every user asks for."""
    count = QUICK_PAGES if ctx.quick else PAGES
    [seen] = visits_of(ctx.seed, model, 1, 3600.0)
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
    return user_of(app, THESIS_HOSTS, scheme, start=f"{start_s:.6f} s", send_buffer=SEND_BUFFER)
