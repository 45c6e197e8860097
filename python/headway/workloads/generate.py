"""Computes the sessions of a workload.

    Workload(vectors=Campus(), load=0.35, rate="10 Mbit/s", until="3 h")

is a short description; its sessions are millions of numbers, the same on every machine.
"""

from __future__ import annotations

import functools
from collections.abc import Callable

import numpy as np

from headway.errors import HeadwayError
from headway.workloads import published, recorded, tmix
from headway.workloads.campus import campus_model
from headway.workloads.draws import Ints, Stream
from headway.workloads.session_table import SessionTable
from headway.workloads.workload import MOST_RESPONSES, Pareto, Recorded, Tmix, Workload

_AT_A_TIME = 1 << 20
"""Approximate number of sessions that are drawn at once from a file."""
_EXCHANGES = 3
"""Approximate mean number of exchanges of a connection that is drawn from the model."""


@functools.lru_cache(maxsize=4)
def sessions(workload: Workload) -> SessionTable:
    """All sessions of a workload, in the order of their starts.

    Raises HeadwayError if a tmix file is unreadable or has changed, or if the workload would need
    more than MOST_RESPONSES responses of the file's mean size.
    """
    drawn = _vectors(workload)
    starts = np.sort(
        np.floor(
            Stream(f"{workload.seed}/starts").uniform(len(drawn)) * (workload.until // 1000)
        ).astype(np.int64)
    )
    return drawn.starting(starts)


@functools.lru_cache(maxsize=4)
def shares(workload: Workload, parts: int) -> tuple[SessionTable, ...]:
    """The sessions of each of ``parts`` host pairs; sessions are assigned uniformly at random.

    Raises HeadwayError as ``sessions`` does.
    """
    everything = sessions(workload)
    owner = Stream(f"{workload.seed}/pairs").below(parts, len(everything))
    return tuple(everything.split(owner, parts))


def _vectors(workload: Workload) -> SessionTable:
    """Draw connection vectors until the sum of their responses reaches the load's bytes."""
    kind = workload.vectors
    if isinstance(kind, Tmix):
        return _repeat_shuffled(tmix.read(kind.path, sha256=kind.sha256), workload)
    name = f"{workload.seed}/{kind.kind}"
    if isinstance(kind, Recorded):
        return _with_replacement(recorded.table(kind.largest_request), workload, name)
    if isinstance(kind, Pareto):
        sizes = Stream(f"{name}/response")
        of = published.synthetic_responses(kind.mean)
        responses = _drawn_until(
            lambda count: np.maximum(sizes.draw(of, count), 1), workload.wanted_bytes, kind.mean
        )
        ones = np.ones(responses.size, dtype=np.int64)
        return SessionTable(0 * ones, ones, kind.request * ones, responses, 0 * ones, 0 * ones)
    return _campus(name, workload.wanted_bytes, kind.serve_factor)


def _campus(name: str, wanted_bytes: float, serve_factor: float) -> SessionTable:
    """Draw connections from the model until the sum of their responses reaches ``wanted_bytes``."""
    draw = campus_model().drawer(name)
    parts: list[SessionTable] = []
    reached = 0
    while reached < wanted_bytes or not parts:
        missing = (wanted_bytes - reached) / published.MEAN_RESPONSE_BYTES
        more = draw(int(missing / _EXCHANGES) + 100)
        sums = reached + np.cumsum(
            np.add.reduceat(more.response_bytes, more.ends - more.exchanges, dtype=np.int64)
        )
        kept = more.of(np.arange(min(int(np.searchsorted(sums, wanted_bytes)) + 1, len(more))))
        parts.append(kept)
        reached += int(kept.response_bytes.sum())

    def column(of: str) -> Ints:
        return np.concatenate([getattr(part, of) for part in parts])

    return SessionTable(
        column("start_us"),
        column("exchanges"),
        column("request_bytes"),
        column("response_bytes"),
        column("think_us"),
        np.rint(serve_factor * column("serve_us")).astype(np.int64),
    )


def _drawn_until(draw: Callable[[int], Ints], wanted: float, mean: float) -> Ints:
    """Draw values until their sum reaches ``wanted``; at least one value."""
    drawn: list[Ints] = []
    reached = 0
    while reached < wanted or not drawn:
        more = draw(int((wanted - reached) / mean) + 100)
        sums = reached + np.cumsum(more)
        kept = more[: int(np.searchsorted(sums, wanted)) + 1]
        drawn.append(kept)
        reached += int(kept.sum())
    return np.concatenate(drawn)


def _response_bytes(source: SessionTable, workload: Workload) -> Ints:
    """Response bytes of each session of a file. Raises HeadwayError if the load is too large."""
    # The constructor of Workload checks the load with the mean response of a model; a file's mean
    # response is known only here.
    mean_bytes = float(source.response_bytes.mean())
    if workload.wanted_bytes > mean_bytes * MOST_RESPONSES:
        raise HeadwayError(
            f"workload: its load of {workload.wanted_bytes:.3g} bytes needs "
            f"{workload.wanted_bytes / mean_bytes:.2g} responses of {mean_bytes:.3g} bytes on "
            f"average; at most {MOST_RESPONSES:,} are allowed"
        )
    return np.add.reduceat(source.response_bytes, source.ends - source.exchanges, dtype=np.int64)


def _with_replacement(source: SessionTable, workload: Workload, name: str) -> SessionTable:
    """Sessions drawn with replacement until their responses reach the wanted bytes."""
    per_session = _response_bytes(source, workload)
    mean_bytes, wanted = float(per_session.mean()), workload.wanted_bytes
    chosen = Stream(f"{name}/chosen")
    blocks: list[Ints] = []
    reached = 0
    while reached < wanted or not blocks:
        drawn = chosen.below(len(source), int((wanted - reached) / mean_bytes) + 100)
        sums = reached + np.cumsum(per_session[drawn])
        kept = drawn[: int(np.searchsorted(sums, wanted)) + 1]
        blocks.append(kept)
        reached += int(per_session[kept].sum())
    return source.starting(np.zeros(len(source), dtype=np.int64)).of(np.concatenate(blocks))


def _repeat_shuffled(source: SessionTable, workload: Workload) -> SessionTable:
    """A file's sessions in random order, repeated until they reach the wanted bytes."""
    per_session = _response_bytes(source, workload)
    order = Stream(f"{workload.seed}/order")
    blocks: list[Ints] = []
    reached, wanted, a_round = 0, workload.wanted_bytes, int(per_session.sum())
    while reached < wanted or not blocks:
        # Draw many rounds of a small file in one step; the result is the same as round by round.
        rounds = min(int((wanted - reached) / a_round) + 1, _AT_A_TIME // len(source) + 1)
        drawn = order.uniform(rounds * len(source)).reshape(rounds, len(source))
        shuffled = np.argsort(drawn, axis=1, kind="stable").ravel()
        sums = reached + np.cumsum(per_session[shuffled])
        kept = shuffled[: int(np.searchsorted(sums, wanted)) + 1]
        blocks.append(kept)
        reached += int(per_session[kept].sum())
    return source.starting(np.zeros(len(source), dtype=np.int64)).of(np.concatenate(blocks))
