"""Web users of paper 000 and of the thesis' section 6.4.4: SURGE's pages as flows.

With HTTP/1.1 a user keeps one connection and asks for one file after the other; with pipelining it
asks for all embedded files of a page at once. With HTTP/1.0 every file has a new connection; a
single user's files never meet, so each is simulated by itself and a page's time is their sum.
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from headway.experiment import Experiment, Flow
from headway.metrics.stats import Array
from headway.studies.common import lab
from headway.studies.quickstart_linux.experiments import CONTROLS
from headway.study import StudyContext
from headway.trace import Trace
from headway.workloads import surge
from headway.workloads.surge import WebPage

MODELS: dict[surge.Model, str] = {"default": "SURGE default", "large": "large files"}
SCHEMES = ("slow-start", "quick-start", "jump-start")
LOAD_SCHEMES = ("slow-start", "quick-start", "quick-start-late", "jump-start")
LOAD_HTTP = ("1.1", "1.1p")
LOAD_USERS, QUICK_LOAD_USERS = (1, 2, 5, 10, 15, 20), (1, 5, 15)
SHARES = (0.25, 0.5, 0.75, 1.0)
PAGES, QUICK_PAGES = 200, 25
LOAD_S, QUICK_LOAD_S = 3600.0, 200.0
SHORTEST_THINK_S = 2.0
"""So a user asks for fewer pages than fit with this between them."""
STAGGER_S = 7.0
"""Users start within one think time."""
HTTP = ("1.0", "1.1", "1.1p")
LABELS = {"1.0": "HTTP/1.0", "1.1": "HTTP/1.1", "1.1p": "HTTP/1.1 with pipelining"}
FILE_SPACING_S = 30.0
"""Between the files of HTTP/1.0; the largest takes 9 s on this link."""
ANNOUNCED_BYTES = 1e6
"""The hosts' heuristics ask for a rate in every handshake, whatever will be sent."""


def one_key(model: str, http: str, control: str, scheme: str) -> str:
    """One user."""
    return f"web-{model}-{http}-{control}-{scheme}"


def load_key(http: str, scheme: str, users: int) -> str:
    """So many users of large files."""
    return f"load-{http}-{scheme}-n{users}"


def share_key(share: float) -> str:
    """One user, with so much of the capacity for Quick-Start."""
    return f"share-{100 * share:.0f}"


def experiments(ctx: StudyContext) -> dict[str, Experiment]:
    """One user in every combination, many users, and one with less capacity for Quick-Start."""
    count = QUICK_PAGES if ctx.quick else PAGES
    trials = {
        one_key(model, http, name, scheme): one_user(
            model, http, base, scheme, count=count, seed=ctx.seed
        )
        for model in MODELS
        for http in HTTP
        for name, base in CONTROLS.items()
        for scheme in SCHEMES
    }
    length_s = QUICK_LOAD_S if ctx.quick else LOAD_S
    for scheme in LOAD_SCHEMES:
        for http in LOAD_HTTP:
            for users in QUICK_LOAD_USERS if ctx.quick else LOAD_USERS:
                flows = [
                    user(
                        load_pages(ctx.seed, number, length_s),
                        http,
                        CONTROLS["cubic"],
                        scheme,
                        start_s=STAGGER_S * number / users,
                    )
                    for number in range(users)
                ]
                trials[load_key(http, scheme, users)] = lab.experiment(
                    lab.path(buffer_pkts=1000), flows, duration_s=length_s, seed=ctx.seed
                )
    for share in SHARES:
        made = one_user(
            "large", "1.1", CONTROLS["cubic"], "quick-start", count=count, seed=ctx.seed
        )
        router = f"{lab.ROUTER}:threshold_permille={1000 * share:.0f}"
        trials[share_key(share)] = made.model_copy(update={"topology": lab.path(router=router)})
    return trials


def load_pages(seed: int, number: int, length_s: float) -> list[WebPage]:
    """What a user of many may ask for in so much time."""
    return user_pages("large", seed, number, int(length_s / SHORTEST_THINK_S))


def control(base: str, scheme: str) -> str:
    """A user's control: "slow-start", "jump-start", "quick-start" or "quick-start-late"."""
    if scheme.startswith("quick-start"):
        startup = lab.quick_start(5.12e6, early=scheme == "quick-start").partition("+")[2]
    else:
        startup = scheme
    name, _, options = base.partition(":")
    return f"{name}+{startup}" + (f":{options}" if options else "")


def user(
    pages: Sequence[WebPage], http: str, base: str, scheme: str, *, start_s: float = 0.0
) -> Flow:
    """One user on one persistent connection."""
    request = lab.REQUEST_BYTES
    epochs: list[list[str]] = []
    for page in pages:
        first, *rest = page.files_bytes
        asked = [(1, first)]
        if rest and http == "1.1p":
            asked.append((len(rest), sum(rest)))
        else:
            asked += [(1, size) for size in rest]
        for number, (files, size) in enumerate(asked):
            think_us = page.think_us if number == len(asked) - 1 else 0
            epochs.append([f"{files * request} B", f"{size} B", f"{think_us} us"])
    return _flow(epochs, base, scheme, start_s)


def _flow(epochs: list[list[str]], base: str, scheme: str, start_s: float) -> Flow:
    early = scheme == "quick-start"
    return Flow.model_validate(
        {
            "app": {"kind": "vectors", "epochs": epochs},
            "control": control(base, scheme),
            "receive_buffer": lab.RECEIVE_BUFFER,
            "receive_window": None if scheme == "slow-start" else lab.RECEIVE_WINDOW,
            "data_volume": f"{ANNOUNCED_BYTES:.0f} B" if early else None,
            "start": f"{start_s:.6f} s",
        }
    )


def one_user(
    model: surge.Model, http: str, base: str, scheme: str, *, count: int, seed: int
) -> Experiment:
    """A trial of one user that asks for ``count`` pages on an otherwise idle link."""
    pages = user_pages(model, seed, 0, count)
    if http == "1.0":
        files = [size for page in pages for size in page.files_bytes]
        flows = [
            _flow(
                [[f"{lab.REQUEST_BYTES} B", f"{size} B", "0 s"]],
                base,
                scheme,
                FILE_SPACING_S * number,
            )
            for number, size in enumerate(files)
        ]
        return lab.experiment(lab.path(), flows, duration_s=FILE_SPACING_S * len(files), seed=seed)
    length_s = 60.0 + sum(page.think_us / 1e6 + 2 + page.bytes / 4e5 for page in pages)
    return lab.experiment(
        lab.path(), [user(pages, http, base, scheme)], duration_s=length_s, seed=seed
    )


def user_pages(model: surge.Model, seed: int, number: int, count: int) -> list[WebPage]:
    """The pages of one user, the same for every scheme."""
    return surge.pages(model, f"{seed}/{model}/user{number}", count)


def page_times_s(trace: Trace, pages: Sequence[WebPage], http: str, flow: int = 0) -> Array:
    """Download times of a user's complete pages, shape (n,), seconds."""
    rows = trace["responses"]
    if http == "1.0":
        rows = rows.sort("flow")
        spans = (rows["end_ns"] - rows["start_ns"]).to_numpy() / 1e9
        parts = [len(page.files_bytes) for page in pages]
    else:
        rows = rows.filter(rows["flow"] == flow).sort("epoch")
        spans = (rows["end_ns"] - rows["start_ns"]).to_numpy() / 1e9
        pipelined = http == "1.1p"
        parts = [min(len(p.files_bytes), 2) if pipelined else len(p.files_bytes) for p in pages]
    ends = np.cumsum(parts)
    complete = int(np.searchsorted(ends, spans.size, side="right"))
    if complete == 0:
        return np.empty(0)
    begins = np.concatenate([[0], ends[: complete - 1]])
    return np.asarray(np.add.reduceat(spans[: ends[complete - 1]], begins), dtype=np.float64)
