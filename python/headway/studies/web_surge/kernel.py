"""The study on the kernel: pages of both models from nginx, compared with the simulator's linux-6.

A kernel runs in real time. Users therefore load a few pages each, one user after the other. The
time of a page does not depend on how long its reader thinks. Check: what the thesis' section 6.4.4
says of one user, over every variant of HTTP. All startups load the same pages, so that their times
are compared page by page.
"""

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import partial
from itertools import product

import numpy as np
import polars as pl

from headway import metrics
from headway.claims import Claims, Evidence, MissingTrialError, Seen, replaced, scaled, words
from headway.claims.spoil import Spoil
from headway.claims.why import Change, edited
from headway.experiment import Experiment, Pages
from headway.figures import label_of
from headway.metrics.stats import Array, Estimate
from headway.models import startup
from headway.publish import Page
from headway.studies.common import lab
from headway.studies.common.beside import BesideSimulator, agreed, as_simulated, simulated
from headway.studies.common.runs import listed
from headway.studies.web_surge import claims
from headway.studies.web_surge import experiments as web
from headway.studies.web_surge.experiments import MODELS, SLOW, THESIS_HOSTS, THESIS_SCHEMES
from headway.studies.web_surge.page import bars
from headway.study import Agreement, StudyContext, declared
from headway.table import Cell, Table
from headway.trace import Trace
from headway.units import fixed_memory
from headway.workloads import surge, write_pages
from headway.workloads.pages import PageTable, visited

CLAIMS: Claims["Found"] = Claims(__name__, "kernel")
WAYS: dict[str, tuple[str, int]] = {
    "HTTP/1.0": ("1.0", 1),
    "HTTP/1.0, six": ("1.0", 6),
    "HTTP/1.1": ("1.1", 1),
    "HTTP/1.1, six": ("1.1", 6),
    "pipelining": ("1.1-pipelined", 1),
    "pipelining, six": ("1.1-pipelined", 6),
    "HTTP/2": ("2", 1),
}
"""How pages are fetched: the version, and the number of parallel connections."""
QUICK_WAYS = ("HTTP/1.1, six", "HTTP/2")
PAGES, QUICK_PAGES = 5, 1
TITLE = "Page times in s"
FEWEST_FILES, MOST_FILES, MOST_BYTES = 3, 12, 1e6
"""Numbers of files that a page may have. With fewer files HTTP versions hardly differ; with more a
page takes long over HTTP/1.0.
"""
THINK_US = 1_000_000
WMEM = fixed_memory(f"{4 << 20} B")
"""Linux's largest send buffer."""


def experiments(ctx: StudyContext) -> dict[str, Experiment]:
    """A trial per startup, in which the users of both models take turns."""
    folder = ctx.out_dir / "pages"
    folder.mkdir(exist_ok=True)
    turns: list[tuple[Pages, float]] = []
    now_s = 0.3
    for model in MODELS:
        file = folder / f"kernel-{model}.csv"
        pages = _pages(ctx, model)
        write_pages(file, pages)
        for way in QUICK_WAYS if ctx.quick else WAYS:
            http, connections = WAYS[way]
            fields = {"file": file, "http": http, "connections": connections}
            turns.append((Pages.model_validate(fields), now_s))
            now_s += _longest_s(pages, way)
    return {
        scheme: lab.experiment(
            lab.path(router=THESIS_HOSTS.router),
            [web.user_of(app, THESIS_HOSTS, scheme, f"{at_s:.6f} s", WMEM) for app, at_s in turns],
            duration_s=now_s,
            seed=ctx.seed,
        )
        for scheme in THESIS_SCHEMES
    }


def _pages(ctx: StudyContext, model: surge.Model) -> PageTable:
    """The pages that every user requests."""
    [visits] = web.visits_of(ctx.seed, model, 1)
    fit = [
        replace(page, think_us=THINK_US)
        for page in visits
        if FEWEST_FILES <= len(page.files_bytes) <= MOST_FILES
        and sum(page.files_bytes) <= MOST_BYTES
    ]
    return visited(fit[: QUICK_PAGES if ctx.quick else PAGES], lab.REQUEST_BYTES)


def _longest_s(pages: PageTable, way: str) -> float:
    """The time after which a user is done, so that the next may begin.

    A page takes at most 1.3 times slow start's time by table 6.1.
    """
    path = lab.model_path()

    def slow_start_s(sizes_bytes: np.ndarray) -> Array:
        sizes = sizes_bytes.astype(np.float64)
        return startup.slow_start_response_s(sizes, path=path, window_pkts=10)

    if WAYS[way] in (("1.0", 1), ("1.1", 1)):  # each file takes a handshake
        own_s = slow_start_s(pages.response_bytes) + path.rtt_s
    else:  # one response for the base file, then one for all embedded files
        firsts = (np.cumsum(pages.objects) - pages.objects).astype(np.intp)
        wholes = np.add.reduceat(pages.response_bytes, firsts)
        own_s = slow_start_s(pages.response_bytes[firsts]) + slow_start_s(wholes) + 2 * path.rtt_s
    return 1.3 * float(own_s.sum()) + (len(pages) - 1) * THINK_US / 1e6 + 0.5


@dataclass(frozen=True)
class Times:
    """Page times of each user of a trial in s, in the order of the pages."""

    pages_s: tuple[tuple[float, ...], ...]


def observe(_key: str, trace: Trace) -> Times:
    """The pages of every user."""
    loads = metrics.page_loads(trace, (0, trace.experiment.duration))
    users = [loads.filter(pl.col("flow") == flow).sort("page") for flow in range(len(trace.flows))]
    return Times(tuple(tuple(own["seconds"].to_list()) for own in users))


@dataclass(frozen=True)
class Found:
    """Page times by startup, model and way; those of the simulator's twins have a prefix."""

    pages: Evidence[Array]
    ways: Sequence[str]
    """The ways of fetching pages that this form of the study runs."""

    def mean(self, model: str, way: str, scheme: str) -> Estimate:
        """The mean over a user's pages; NaN if not all were loaded. Raises MissingTrialError."""
        if way not in self.ways:
            raise MissingTrialError(f"This run has no {way}.")
        own = self.pages[f"{scheme} {model} {way}"]
        return Estimate(float(own.mean()), None, None, own.size)

    def twins(self) -> "Found | None":
        """The times of the twins; None if none ran."""
        twins = simulated(self.pages)
        return Found(Evidence(twins), self.ways) if twins else None


def gather(ctx: StudyContext, rows: Mapping[str, Times]) -> Found:
    """Page times of the users of every trial."""
    ways = QUICK_WAYS if ctx.quick else tuple(WAYS)
    none = np.full(QUICK_PAGES if ctx.quick else PAGES, np.nan)
    pages = {
        f"{key} {model} {way}": np.array(own) if len(own) == none.size else none
        for key, row in rows.items()
        for (model, way), own in zip(product(MODELS, ways), row.pages_s, strict=True)
    }
    return Found(Evidence(pages), ways)


def _pairs(
    found: Found, model: surge.Model, ways: Iterable[str], schemes: Iterable[str] = claims.FAST
) -> claims.Pairs:
    """Mean page times of a faster start and of slow start, by "scheme model way"."""
    return {
        f"{label_of(scheme)} {MODELS[model]} {way}": (
            found.mean(model, way, scheme),
            found.mean(model, way, SLOW).mean,
        )
        for scheme, way in product(schemes, ways)
    }


def _spread(found: Found, model: surge.Model, ways: Iterable[str]) -> str:
    saved = {label_of(s): claims.spread(_pairs(found, model, ways, [s])) for s in claims.FAST}
    return listed(saved, "{}")


def _taking(slow_s: float, fast_s: float) -> list[Spoil]:
    """Replace all page times of slow start and of the faster startups."""
    times_s = {SLOW: slow_s, **dict.fromkeys(claims.FAST, fast_s)}
    return [replaced(scheme, own_s, "pages_s.*.*") for scheme, own_s in times_s.items()]


_GAIN, _LOSS = _taking(3.0, 1.0), _taking(1.0, 3.0)


def _pipelined(experiment: Experiment) -> Experiment:
    """Change: users fetch pages with pipelining instead of HTTP/2."""
    data = experiment.model_dump(mode="json")
    for flow in data["flows"]:
        if flow["app"]["http"] == "2":
            flow["app"]["http"] = "1.1-pipelined"
    return Experiment.model_validate(data)


_CLOSED = edited({"flows.*.app.keepalive_timeout": "500 ms"})
_TRIES = [
    Change("pipelining instead of HTTP/2", _pipelined),
    Change(
        "pipelining instead of HTTP/2, and a server that closes connections after 0.5 s of "
        "idleness, before the next page",
        lambda experiment: _CLOSED(_pipelined(experiment)),
    ),
]


@CLAIMS.judge("web-surge-live-all", spoil=_LOSS, mend=_GAIN, tries=_TRIES)
def _all_gain(found: Found) -> Seen:
    pairs = [_pairs(found, model, found.ways) for model in MODELS]
    checks = {name: words.less(*pair) for own in pairs for name, pair in own.items()}
    slower = [name for name, check in checks.items() if not check.holds]
    saved = [f"{MODELS[model]}: {_spread(found, model, found.ways)}" for model in MODELS]
    note = f"Time saved: {'; '.join(saved)}." + (
        f" Not faster: {', '.join(slower)}." if slower else ""
    )
    shown = f"{len(checks) - len(slower)} of {len(checks)}"
    return Seen.by(shown, words.every(checks), note=note)


@CLAIMS.judge("web-surge-live-default", spoil=_GAIN, mend=_taking(1.0, 0.9))
def _rather_small(found: Found) -> Seen:
    checks = claims.at_most_half_a_second(_pairs(found, "default", found.ways))
    return Seen.by(_spread(found, "default", found.ways), *checks)


@CLAIMS.judge("web-surge-live-large", spoil=_LOSS, mend=_GAIN)
def _over_a_second(found: Found) -> Seen:
    checks = claims.over_a_second(_pairs(found, "large", ["HTTP/1.0"]))
    return Seen.by(_spread(found, "large", ["HTTP/1.0"]), *checks)


@CLAIMS.judge("web-surge-live-kept", spoil=_LOSS, mend=_GAIN, tries=_TRIES[::-1])
def _persistent(found: Found) -> Seen:
    kept = [way for way in found.ways if WAYS[way][0] != "1.0"]
    pairs = _pairs(found, "large", kept)
    percent = [100 * (1 - fast.mean / slow) for fast, slow in pairs.values()]
    note = f"Jump- and Quick-Start save {min(percent):.0f} to {max(percent):.0f} % of the time."
    return Seen.by(_spread(found, "large", kept), claims.significantly(pairs), note=note)


def _table(found: Found) -> Table:
    """Mean page times."""
    rows: list[list[Cell]] = []
    for scheme, model in product(THESIS_SCHEMES, MODELS):
        means_s = [found.mean(model, way, scheme).mean for way in found.ways]
        cells = [None if np.isnan(mean_s) else round(mean_s, 3) for mean_s in means_s]
        rows.append([label_of(scheme), MODELS[model], *cells])
    return Table(TITLE, ["start", "model", *found.ways], rows)


def _tables(found: Found) -> tuple[list[Table], list[Table]]:
    twins = found.twins()
    return [_table(found)], [_table(twins)] if twins else []


def page(_ctx: StudyContext, found: Found) -> Page:
    """Mean page times by startup, model and way; figures also have those of the twins."""
    twins = found.twins()
    panels = {"kernel": found, "simulator": twins} if twins else {"": found}
    caption = "Mean page time of one user over the same pages, like figure 6.48 of the thesis."
    ways = {way: f"{WAYS[way][0]} ×{WAYS[way][1]}".removesuffix(" ×1") for way in found.ways}
    groups = {way: short.replace("1.1-pipelined", "p.") for way, short in ways.items()}
    figures = {}
    for model, label in MODELS.items():
        times_s = {title: partial(own.mean, model) for title, own in panels.items()}
        figure = bars(times_s, THESIS_SCHEMES, groups)
        figures[f"page-times-{model}"] = (f"Page times, {label}", caption, figure)
    return Page(tables=[_table(found)], figures=figures)


AGREEMENTS = Agreement.per_row(
    {scheme: label_of(scheme) for scheme in THESIS_SCHEMES},
    "{}: every mean page time on the kernel agrees with the simulator's.",
    table=TITLE, most=0.02, unit="s", relative=0.05,
)  # fmt: skip
KERNEL = declared(
    __name__,
    form="kernel",
    base=BesideSimulator,
    experiments=experiments,
    observe=observe,
    gather=gather,
    page=page,
    agreements=AGREEMENTS,
    statements=(
        *CLAIMS.statements(),
        *(
            agreed("web-surge", one, _tables, scaled(s, 1.5, "pages_s"), as_simulated(s))
            for s, one in zip(THESIS_SCHEMES, AGREEMENTS, strict=True)
        ),
    ),
)
