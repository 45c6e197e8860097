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
from headway.trace import Trace
from headway.workloads import surge
from headway.workloads.surge import WebPage

HTTP = ("1.0", "1.1", "1.1p")
LABELS = {"1.0": "HTTP/1.0", "1.1": "HTTP/1.1", "1.1p": "HTTP/1.1 with pipelining"}
FILE_SPACING_S = 30.0
"""Between the files of HTTP/1.0; the largest takes 9 s on this link."""
ANNOUNCED_BYTES = 1e6
"""The hosts' heuristics ask for a rate in every handshake, whatever will be sent."""


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
