"""Setup: Web users of paper 000 and of the thesis' section 6.4.4, on 10 Mbit/s with 200 ms.

A user fetches the files of a page one after the other, thinks, and goes on. With HTTP/1.0 every
file has its own connection. With HTTP/1.1 the user keeps a connection until the server, lighttpd
with its defaults, closes it. With pipelining the user requests all embedded files at once.

The paper's users run Reno and CUBIC of Linux 2.6.20 with its own quick ACKs, behind a router that
meters in slots of a second. The thesis' users run the CUBIC of its other studies and never delay
ACKs. Their router is that of section 6.4.3.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace

from headway.claims.why import Edit
from headway.experiment import Experiment, Flow, Pages, Vectors
from headway.studies.common import lab
from headway.studies.quickstart_linux.experiments import CONTROLS, QS_BPS, ROUTER
from headway.study import StudyContext
from headway.workloads import surge, write_pages
from headway.workloads.pages import visited
from headway.workloads.surge import WebPage

MODELS: dict[surge.Model, str] = {"default": "SURGE default", "large": "large files"}
HTTP = {"1.0": "HTTP/1.0", "1.1": "HTTP/1.1", "1.1p": "HTTP/1.1 with pipelining"}
TODAY = {"six": "HTTP/1.1, six connections", "2": "HTTP/2"}
PAPER_SCHEMES = ("slow-start", "quick-start")
THESIS_SCHEMES = ("slow-start", "quick-start", "jump-start")
LOAD_SCHEMES = ("slow-start", "quick-start", "quick-start-late", "jump-start")
SHARES = (0.25, 0.5, 0.75)
"""Parts of the capacity for Quick-Start. The other trials have all of it."""

SAMPLE_S = 3600.0
"""One hour per sample."""
QUICK_PAPER_S = 180.0
"""The quick form's length with many users of the paper, whose differences are large. All other
differences need the hour."""
USERS: dict[surge.Model, tuple[int, ...]] = {"default": (100, 250), "large": (5, 10, 20)}
"""Numbers of users besides one. With the largest number both models use most of the link. The
papers do not print their numbers."""
STAGGER_S = 7.0
"""Users start within one mean think time."""

KEEP_ALIVE_REQUESTS, KEEP_ALIVE_US = 16, 5_000_000
"""lighttpd 1.4 ends a connection after this many requests, or when it is idle for longer."""
NGINX = {"keepalive_requests": 1000, "keepalive_timeout": "75 s"}
"""The limits of nginx 1.22."""
HANDSHAKE_BYTES = 3 * lab.MSS_BYTES
"""The volume that makes a host ask for a rate in the handshake, before it knows what it will
send."""


@dataclass(frozen=True)
class Hosts:
    """The software of a user's hosts and their router."""

    control: str
    """The control with its options."""
    delayed_ack: bool
    router: str


def paper_hosts(control: str) -> Hosts:
    """The hosts of paper 000, with Reno or CUBIC."""
    return Hosts(CONTROLS[control], delayed_ack=True, router=ROUTER)


THESIS_HOSTS = Hosts(lab.CONTROL, delayed_ack=False, router=lab.ROUTER)


def alone_key(model: str, http: str, control: str, scheme: str) -> str:
    """The key of a trial with one user of the paper."""
    return f"web-{model}-{http}-{control}-{scheme}"


def load_key(http: str, control: str, scheme: str, users: int) -> str:
    """The key of a trial with several users of the paper, large files."""
    if users == 1:
        return alone_key("large", http, control, scheme)
    return f"load-{http}-{control}-{scheme}-n{users}"


def share_key(share: float, http: str, control: str) -> str:
    """The key of a trial with one user of the paper, large files, and a part of the capacity."""
    if share == 1:
        return alone_key("large", http, control, "quick-start")
    return f"share-{100 * share:.0f}-{http}-{control}"


def thesis_key(model: str, http: str, scheme: str, users: int = 1) -> str:
    """The key of a trial with users of the thesis."""
    return f"thesis-{model}-{http}-{scheme}-n{users}"


def today_key(model: str, how: str, scheme: str) -> str:
    """The key of a trial with one user of the thesis and one of today's browsers."""
    return f"today-{model}-{how}-{scheme}"


def users_of(model: surge.Model, *, quick: bool) -> tuple[int, ...]:
    """How many users there are, from one on; quick: one, and the two largest numbers."""
    return (1, *USERS[model][-2:]) if quick else (1, *USERS[model])


def experiments(ctx: StudyContext) -> dict[str, Experiment]:
    """Figures 12 to 14 of the paper, 6.48 and 6.49 of the thesis, and 6.48 today."""
    return {**_paper(ctx), **_thesis(ctx), **_today(ctx)}


def _paper(ctx: StudyContext) -> dict[str, Experiment]:
    trials = {}
    every = [(control, scheme) for control in CONTROLS for scheme in PAPER_SCHEMES]
    for http in HTTP:
        for model in MODELS:
            wanted = {
                alone_key(model, http, control, scheme): (paper_hosts(control), scheme)
                for control, scheme in every
            }
            if model == "large":
                wanted |= {
                    share_key(share, http, control): (_limited(control, share), "quick-start")
                    for share in SHARES
                    for control in CONTROLS
                }
            trials.update(_trials(ctx, model, http, 1, wanted))
        for users in users_of("large", quick=ctx.quick)[1:]:
            wanted = {
                load_key(http, control, scheme, users): (paper_hosts(control), scheme)
                for control, scheme in every
            }
            trials.update(_trials(ctx, "large", http, users, wanted, quick_s=QUICK_PAPER_S))
    return trials


def _limited(control: str, share: float) -> Hosts:
    hosts = paper_hosts(control)
    return replace(hosts, router=f"{hosts.router}:threshold_permille={1000 * share:.0f}")


def _thesis(ctx: StudyContext) -> dict[str, Experiment]:
    trials = {}
    for model in MODELS:
        for http in HTTP:
            for users in users_of(model, quick=ctx.quick) if http == "1.1" else (1,):
                schemes = LOAD_SCHEMES if http == "1.1" else THESIS_SCHEMES
                wanted = {
                    thesis_key(model, http, scheme, users): (THESIS_HOSTS, scheme)
                    for scheme in schemes
                }
                trials.update(_trials(ctx, model, http, users, wanted))
    return trials


def _today(ctx: StudyContext) -> dict[str, Experiment]:
    folder = ctx.out_dir / "pages"
    folder.mkdir(exist_ok=True)
    trials = {}
    for model in MODELS:
        file = folder / f"{model}.csv"
        [visits] = visits_of(ctx.seed, model, 1, SAMPLE_S)
        write_pages(file, visited(visits, lab.REQUEST_BYTES))
        for how in TODAY:
            http = "2" if how == "2" else "1.1"
            app = Pages.model_validate({"file": file, "http": http, **NGINX})
            for scheme in THESIS_SCHEMES:
                trials[today_key(model, how, scheme)] = lab.experiment(
                    lab.path(router=THESIS_HOSTS.router),
                    [user_of(app, THESIS_HOSTS, scheme, start="0 s")],
                    duration_s=SAMPLE_S,
                    seed=ctx.seed,
                )
    return trials


def visits_of(seed: int, model: surge.Model, users: int, length_s: float) -> list[list[WebPage]]:
    """The pages that the users of a server request."""
    server = surge.server(model, f"{seed}")
    names = [f"{seed}/{model}/user{number}" for number in range(users)]
    return [server.visits(name, length_s) for name in names]


def with_users(instead: Mapping[int, tuple[surge.Model, int]]) -> Edit:
    """Replace numbers of the thesis' users: each maps to its model and the new number."""

    def edit(experiment: Experiment) -> Experiment:
        model, users = instead[len(experiment.flows)]
        first = experiment.flows[0].model_dump()
        asked = [requests(own, "1.1") for own in visits_of(experiment.seed, model, users, SAMPLE_S)]
        flows = [
            Flow.model_validate({**first, "app": app, "start": _start(number, users)})
            for number, app in enumerate(asked)
        ]
        return experiment.model_copy(update={"flows": tuple(flows)})

    return edit


def _start(number: int, users: int) -> str:
    """Users start evenly within STAGGER_S."""
    return f"{STAGGER_S * number / users:.6f} s"


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
    asked = [requests(visits, http) for visits in visits_of(ctx.seed, model, users, length_s)]
    return {
        key: lab.experiment(
            lab.path(router=hosts.router),
            [
                user_of(app, hosts, scheme, start=_start(number, users))
                for number, app in enumerate(asked)
            ],
            duration_s=length_s,
            seed=ctx.seed,
        )
        for key, (hosts, scheme) in wanted.items()
    }


def user_of(
    app: Vectors | Pages,
    hosts: Hosts,
    scheme: str,
    *,
    start: str,
    send_buffer: str | None = None,
) -> Flow:
    """A user's connections, with a scheme."""
    return Flow.model_validate(
        {
            "app": app,
            "control": _control(hosts.control, scheme),
            "receive_buffer": lab.RECEIVE_BUFFER,
            "send_buffer": send_buffer,
            "receive_window": None if scheme == "slow-start" else lab.RECEIVE_WINDOW,
            "data_volume": f"{HANDSHAKE_BYTES} B" if scheme == "quick-start" else None,
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
    # The open connection: the number of its first epoch, and its requests.
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
    # not validated: many values, which are whole bytes and nanoseconds already
    return Vectors.model_construct(epochs=tuple(epochs), connections=tuple(connections))


def _control(base: str, scheme: str) -> str:
    """A user's control: "slow-start", "jump-start", "quick-start" or "quick-start-late"."""
    if scheme.startswith("quick-start"):
        startup = lab.quick_start(QS_BPS, early=scheme == "quick-start").partition("+")[2]
    else:
        startup = scheme
    name, _, options = base.partition(":")
    return f"{name}+{startup}" + (f":{options}" if options else "")
