"""Setup: Web users of paper 000 and of the thesis' section 6.4.4, on 10 Mbit/s with 200 ms.

A user fetches the files of a page one after the other, thinks, and goes on. With HTTP/1.0 every
file has its own connection. With HTTP/1.1 the user keeps a connection until the server, lighttpd
with its defaults, closes it. With pipelining the user requests all embedded files at once.

The paper's users run Reno and CUBIC of Linux 2.6.20 with its own quick ACKs, behind a router that
meters in slots of a second. The thesis' users run the CUBIC of its other studies and never delay
ACKs. Their router is that of section 6.4.3.

Run: the page times of each trial.
"""

import itertools
import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass

import numpy as np
import polars as pl

from headway import metrics
from headway.claims import Evidence
from headway.claims.why import Edit
from headway.experiment import BATCHES, Experiment, Flow, Pages, Vectors
from headway.metrics.stats import Array, Estimate, batch_means, confidence_interval, or_nan
from headway.studies.common import lab
from headway.studies.quickstart_linux.experiments import CONTROLS, QS_BPS, ROUTER
from headway.study import StudyContext
from headway.trace import Trace
from headway.units import NS_PER_S
from headway.workloads import surge, write_pages
from headway.workloads.pages import visited
from headway.workloads.surge import WebPage

MODELS: dict[surge.Model, str] = {"default": "SURGE default", "large": "large files"}
HTTP = {"1.0": "HTTP/1.0", "1.1": "HTTP/1.1", "1.1p": "HTTP/1.1 with pipelining"}
TODAY = {"six": "HTTP/1.1, six connections", "2": "HTTP/2"}
SLOW, QUICK, LATE, JUMP = "slow-start", "quick-start", "quick-start-late", "jump-start"
PAPER_SCHEMES = (SLOW, QUICK)
THESIS_SCHEMES = (SLOW, QUICK, JUMP)
LOAD_SCHEMES = (SLOW, QUICK, LATE, JUMP)
SHARES = (0.25, 0.5, 0.75)
"""Parts of the capacity that the router grants to Quick-Start. In all other trials it grants the
whole capacity."""

SAMPLE_S = 3600.0
"""The length of a trial."""
QUICK_PAPER_S = 180.0
"""The quick form's length with many users of the paper, whose differences are large. All other
differences need the hour."""
USERS: dict[surge.Model, tuple[int, ...]] = {"default": (100, 250), "large": (5, 10, 20)}
"""Numbers of users in trials with several users. With the largest number both models use most of
the link. The papers do not print their numbers."""
STAGGER_S = 7.0
"""Users start evenly within one mean think time."""

KEEP_ALIVE_REQUESTS, KEEP_ALIVE_US = 16, 5_000_000
"""lighttpd 1.4 ends a connection after this many requests, or when it is idle for longer."""
NGINX = {"keepalive_requests": 1000, "keepalive_timeout": "75 s"}
"""nginx 1.22 ends a connection after this many requests, or after this idle time."""
HANDSHAKE_BYTES = 3 * lab.MSS_BYTES
"""Volume that a host announces, so that it requests a rate in the handshake, before it knows what
it will send."""


@dataclass(frozen=True)
class Hosts:
    """The software of a user's hosts and their router; ``control`` has its options."""

    control: str
    delayed_ack: bool
    router: str


def paper_hosts(control: str, share: float = 1.0) -> Hosts:
    """The hosts of paper 000, with Reno or CUBIC, and a share of the capacity for Quick-Start."""
    limit = "" if share == 1 else f":threshold_permille={1000 * share:.0f}"
    return Hosts(CONTROLS[control], delayed_ack=True, router=ROUTER + limit)


THESIS_HOSTS = Hosts(lab.CONTROL, delayed_ack=False, router=lab.ROUTER)


def paper_key(
    model: str, control: str, http: str, scheme: str, users: int = 1, share: float = 1.0
) -> str:
    """The key of a trial with users of the paper; all but one user have large files."""
    if share < 1:
        return f"share-{100 * share:.0f}-{http}-{control}"
    if users > 1:
        return f"load-{http}-{control}-{scheme}-n{users}"
    return f"web-{model}-{http}-{control}-{scheme}"


def thesis_key(model: str, http: str, scheme: str, users: int = 1) -> str:
    """The key of a trial with users of the thesis, or with one who has a browser of today."""
    if http in TODAY:
        return f"today-{model}-{http}-{scheme}"
    return f"thesis-{model}-{http}-{scheme}-n{users}"


def users_of(model: surge.Model, *, quick: bool) -> tuple[int, ...]:
    """Numbers of users in trials; in the quick form one user and the two largest numbers."""
    return (1, *USERS[model][-2:]) if quick else (1, *USERS[model])


def experiments(ctx: StudyContext) -> dict[str, Experiment]:
    """Figures 12 to 14 of the paper, 6.48 and 6.49 of the thesis, and 6.48 today."""
    trials: dict[str, Experiment] = {}
    every = list(itertools.product(CONTROLS, PAPER_SCHEMES))
    for http in HTTP:
        for model in MODELS:
            wanted = {paper_key(model, c, http, s): (paper_hosts(c), s) for c, s in every}
            for share, c in itertools.product(SHARES if model == "large" else (), CONTROLS):
                hosts = paper_hosts(c, share)
                wanted[paper_key(model, c, http, QUICK, share=share)] = (hosts, QUICK)
            trials |= _trials(ctx, model, http, 1, wanted)
        for users in users_of("large", quick=ctx.quick)[1:]:
            wanted = {paper_key("large", c, http, s, users): (paper_hosts(c), s) for c, s in every}
            trials |= _trials(ctx, "large", http, users, wanted, quick_s=QUICK_PAPER_S)
    for model, http in (*itertools.product(MODELS, HTTP), *itertools.product(MODELS, TODAY)):
        schemes = LOAD_SCHEMES if http == "1.1" else THESIS_SCHEMES
        for users in users_of(model, quick=ctx.quick) if http == "1.1" else (1,):
            wanted = {thesis_key(model, http, s, users): (THESIS_HOSTS, s) for s in schemes}
            trials |= _trials(ctx, model, http, users, wanted)
    return trials


def visits_of(
    seed: int, model: surge.Model, users: int, length_s: float = SAMPLE_S
) -> list[list[WebPage]]:
    """The pages that the users of a server request."""
    server = surge.server(model, f"{seed}")
    return [server.visits(f"{seed}/{model}/user{number}", length_s) for number in range(users)]


def _trials(
    ctx: StudyContext,
    model: surge.Model,
    http: str,
    users: int,
    wanted: Mapping[str, tuple[Hosts, str]],
    *,
    quick_s: float = SAMPLE_S,
) -> dict[str, Experiment]:
    """Trials of the same users and requests, by key; ``wanted`` has their hosts and schemes."""
    length_s = quick_s if ctx.quick else SAMPLE_S
    visits = visits_of(ctx.seed, model, users, length_s)
    apps: list[Vectors | Pages]
    if http in TODAY:
        file = ctx.out_dir / "pages" / f"{model}.csv"
        file.parent.mkdir(exist_ok=True)
        write_pages(file, visited(visits[0], lab.REQUEST_BYTES))
        version = "2" if http == "2" else "1.1"
        apps = [Pages.model_validate({"file": file, "http": version, **NGINX})]
    else:
        apps = [requests(own, http) for own in visits]
    return {
        key: lab.experiment(
            lab.path(router=hosts.router),
            [user_of(app, hosts, scheme, _start(n, users)) for n, app in enumerate(apps)],
            duration_s=length_s,
            seed=ctx.seed,
        )
        for key, (hosts, scheme) in wanted.items()
    }


def _start(number: int, users: int) -> str:
    return f"{STAGGER_S * number / users:.6f} s"


def with_users(instead: Mapping[int, tuple[surge.Model, int]]) -> Edit:
    """Replace numbers of the thesis' users: each maps to its model and the new number."""

    def edit(experiment: Experiment) -> Experiment:
        model, users = instead[len(experiment.flows)]
        first = experiment.flows[0].model_dump()
        flows = tuple(
            Flow.model_validate(
                {**first, "app": requests(visits, "1.1"), "start": _start(number, users)}
            )
            for number, visits in enumerate(visits_of(experiment.seed, model, users))
        )
        return experiment.model_copy(update={"flows": flows})

    return edit


def user_of(
    app: Vectors | Pages, hosts: Hosts, scheme: str, start: str, wmem: str | None = None
) -> Flow:
    """A user's connections, with a scheme."""
    startup = scheme
    if scheme in (QUICK, LATE):
        startup = lab.quick_start(QS_BPS, early=scheme == QUICK).partition("+")[2]
    name, colon, options = hosts.control.partition(":")
    return Flow.model_validate(
        {
            "app": app,
            "control": f"{name}+{startup}{colon}{options}",
            "rmem": lab.RMEM,
            "wmem": wmem,
            "initial_rwnd": None if scheme == SLOW else lab.RECEIVE_WINDOW,
            "data_volume": f"{HANDSHAKE_BYTES} B" if scheme == QUICK else None,
            "delayed_ack": hosts.delayed_ack,
            "start": start,
        }
    )


def requests(visits: Sequence[WebPage], http: str) -> Vectors:
    """A user's requests, and the number of epochs on each connection.

    A think time follows the last epoch of a page.
    """
    most = 1 if http == "1.0" else KEEP_ALIVE_REQUESTS
    epochs: list[tuple[int, int, int]] = []
    connections: list[int] = []
    # The open connection: the number of its first exchange (epoch), and how many requests it has
    # carried.
    first = served = 0

    def close() -> None:
        nonlocal first, served
        if len(epochs) > first:
            connections.append(len(epochs) - first)
        first, served = len(epochs), 0

    for page in visits:
        base, *rest = page.files_bytes
        # The requests of a batch leave together. Without pipelining a batch is one file.
        batches = [[base], rest] if http == "1.1p" else [[size] for size in page.files_bytes]
        for batch in batches:
            done = 0
            while done < len(batch):
                if served == most:
                    close()
                together = batch[done : done + most - served]
                epochs.append((len(together) * lab.REQUEST_BYTES, sum(together), 0))
                served += len(together)
                done += len(together)
        asked, given, _ = epochs[-1]
        epochs[-1] = (asked, given, 1000 * page.think_us)
        if page.think_us > KEEP_ALIVE_US:
            close()
    close()
    # Built without validation: there are many values, and they are whole bytes and nanoseconds
    # already.
    return Vectors.model_construct(epochs=tuple(epochs), connections=tuple(connections))


# ---- Run ----

SMALL_BYTES = (5e3, 20e3)
"""Pages "of the order of 10 kB" (thesis, 6.4.4.2): half to twice as much."""
LARGE_BYTES = 50e3
"""Transfers "of the order of 100 kB or more": from half as much on."""


@dataclass(frozen=True)
class Loads:
    """Web pages that were loaded in a run, by all its users; NaN or empty: too few pages.

    The time of a page is that from the request for the base, or the opening of its connection, to
    the end of the last file. Small pages have SMALL_BYTES, large ones LARGE_BYTES or more.
    """

    count: int
    mean_s: float
    half_width_s: float
    """Half width of the mean's 95 % interval, from ten batches."""
    small_s: float
    large_s: float
    utilization: float
    approved: float
    """Part of the requests for a rate that were approved; NaN: no requests."""
    batches_s: tuple[float, ...] = ()
    """Means of ten consecutive batches of pages."""
    small_batches_s: tuple[float, ...] = ()
    large_batches_s: tuple[float, ...] = ()

    @property
    def time_s(self) -> Estimate:
        """The mean with its 95 % interval."""
        return Estimate(self.mean_s, None, self.half_width_s, self.count)


def observe(_key: str, trace: Trace, small_bytes: tuple[float, float] = SMALL_BYTES) -> Loads:
    """Observe the pages of a trial."""
    times_s, sizes = page_times(trace)
    small_s = times_s[(sizes >= small_bytes[0]) & (sizes <= small_bytes[1])]
    large_s = times_s[sizes >= LARGE_BYTES]
    batches_s = _batches(times_s)
    rows = metrics.router_counters(trace, "quick-start")
    last = rows.filter(rows["link"] == lab.DOWNLINK).sort("time_ns").tail(1)
    asked = 0 if last.is_empty() else last["requests"].item()
    return Loads(
        count=times_s.size,
        mean_s=_mean(times_s),
        half_width_s=or_nan(confidence_interval(batches_s).half_width if batches_s else None),
        small_s=_mean(small_s),
        large_s=_mean(large_s),
        utilization=metrics.utilization(trace, lab.DOWNLINK),
        approved=last["grants"].item() / asked if asked else math.nan,
        batches_s=batches_s,
        small_batches_s=_batches(small_s),
        large_batches_s=_batches(large_s),
    )


def _mean(times_s: Array) -> float:
    return float(times_s.mean()) if times_s.size else math.nan


def _batches(times_s: Array) -> tuple[float, ...]:
    return tuple(map(float, batch_means(times_s))) if times_s.size >= BATCHES else ()


def page_times(trace: Trace) -> tuple[Array, Array]:
    """Loading times in s and sizes in bytes of completely loaded pages, in the order of ends."""
    if isinstance(trace.experiment.flows[0].app, Pages):
        pages = metrics.page_loads(trace, (0, trace.experiment.duration))
        ended = pages["start_ns"] + (pages["seconds"] * NS_PER_S).round().cast(pl.Int64)
        pages = pages.with_columns(ended.alias("end_ns")).sort("end_ns", "flow", "page")
        return pages["seconds"].to_numpy(), pages["bytes"].cast(pl.Float64).to_numpy()
    rows = trace["responses"].sort("flow", "epoch")
    start_ns, end_ns = rows["start_ns"].to_numpy(), rows["end_ns"].to_numpy()
    bounds = np.searchsorted(rows["flow"].to_numpy(), np.arange(len(trace.flows) + 1))
    ends: list[Array] = []
    times: list[Array] = []
    sizes: list[Array] = []
    for flow, (begin, stop) in zip(trace.experiment.flows, itertools.pairwise(bounds), strict=True):
        assert isinstance(flow.app, Vectors)
        complete = flow.app.epochs[: stop - begin]
        given = np.fromiter((epoch[1] for epoch in complete), dtype=np.int64)
        # The last exchange of a page is the one after which its user thinks.
        last = np.flatnonzero(np.fromiter((epoch[2] for epoch in complete), dtype=np.int64))
        first = np.concatenate([[0], last[:-1] + 1])[: last.size]
        ends.append(end_ns[begin + last])
        times.append((end_ns[begin + last] - start_ns[begin + first]) / NS_PER_S)
        total = np.concatenate([[0], np.cumsum(given)])
        sizes.append((total[last + 1] - total[first]).astype(np.float64))
    order = np.argsort(np.concatenate(ends), kind="stable")
    return np.concatenate(times)[order], np.concatenate(sizes)[order]


@dataclass(frozen=True)
class Found:
    """All trials, and whether they are those of the quick form."""

    rows: Evidence[Loads]
    quick: bool

    def users(self, model: surge.Model) -> tuple[int, ...]:
        """Numbers of users in the trials that ran, in rising order."""
        return users_of(model, quick=self.quick)

    def paper(self, model: str, control: str, http: str, scheme: str, users: int = 1) -> Loads:
        """The pages of a trial with users of the paper."""
        return self.rows[paper_key(model, control, http, scheme, users)]

    def thesis(self, model: str, http: str, scheme: str, users: int = 1) -> Loads:
        """The pages of a trial with users of the thesis, or with a user of today's browser."""
        return self.rows[thesis_key(model, http, scheme, users)]

    def six(self, scheme: str, users: int = 1, share: float = 1.0) -> list[Loads]:
        """The pages of the paper's users with large files, by HTTP version and control."""
        return [
            self.rows[paper_key("large", control, http, scheme, users, share)]
            for http, control in itertools.product(HTTP, CONTROLS)
        ]

    def mean_of_six(self, scheme: str, users: int = 1, share: float = 1.0) -> Estimate:
        """Mean page time of the six combinations.

        The interval is that of a mean of independent trials.
        """
        six = self.six(scheme, users, share)
        half_width_s = math.hypot(*(one.half_width_s for one in six)) / len(six)
        return Estimate(float(np.mean([one.mean_s for one in six])), None, half_width_s, len(six))


def gather(ctx: StudyContext, rows: Mapping[str, Loads]) -> Found:
    """Join the observations of all trials with the form that ran."""
    return Found(Evidence(rows), ctx.quick)
