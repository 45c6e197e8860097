"""Applications that the traffic programs read as files of exchanges, which are made for a run.

The share of a pair in a workload, and vectors on several connections, are known before they are
played, so a file says the same. What it cannot say is refused here.
"""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path

import numpy as np

from headway import workloads
from headway.backends.kernel.records import Ints
from headway.errors import HeadwayError
from headway.experiment import Exchanges, Experiment, Flow, Sessions, Vectors
from headway.mechanisms import gateway
from headway.workloads.exchange_file import AFTER_NONE, ExchangeTable, write_exchanges

FIRST_PORT = 1 << 15
"""Of a client with several connections: the first one's, as in crates/kernel's programs."""
_MOST_CONNECTIONS = (1 << 16) - FIRST_PORT


def becomes_a_file(flow: Flow) -> bool:
    """Whether its application is played from a file that is made for the run."""
    if isinstance(flow.app, Vectors):
        return len(flow.app.connections or ()) > 1
    return isinstance(flow.app, Sessions)


def check(name: str, experiment: Experiment, flow: Flow) -> None:
    """Raises HeadwayError, naming the field, for what a file cannot say."""
    if isinstance(flow.app, Sessions):
        if flow.app.workload.persistent:
            raise HeadwayError(
                f"kernel backend: {name}: persistent: not possible; a file of exchanges says when "
                "a connection opens, not when a session begins on one that is open"
            )
        if gateway.is_between(experiment):
            raise HeadwayError(
                f"kernel backend: {name}: sessions: not possible with a gateway, from behind which "
                "the ends of handshakes are not seen; use a file of exchanges"
            )
    try:
        table = _table(flow, 0)
    except ValueError as error:
        raise HeadwayError(f"kernel backend: {name}: {flow.app.kind}: {error}") from None
    connections = table.exchanges.size
    if connections > _MOST_CONNECTIONS:
        raise HeadwayError(
            f"kernel backend: {name}: {flow.app.kind}: {connections} connections are not allowed; "
            f"at most {_MOST_CONNECTIONS}, one for each of the client's ports"
        )
    if connections > 1 and (flow.announces or flow.announces_first):
        raise HeadwayError(several_announce(name))


def several_announce(name: str) -> str:
    """What is said where a flow of several connections announces."""
    return (
        f"kernel backend: {name}: announces: with several connections not possible, a "
        "listening socket says the same of all"
    )


def lowered(experiment: Experiment, folder: Path) -> Experiment:
    """The experiment with files in ``folder`` for what the programs do not play otherwise."""
    if not any(map(becomes_a_file, experiment.flows)):
        return experiment
    flows = list(experiment.flows)
    starts_ns = experiment.start_times_ns()
    for index, flow in enumerate(flows):
        if becomes_a_file(flow):
            table = _table(flow, starts_ns[index])
            file = folder / f"exchanges{index}.csv"
            write_exchanges(file, table if len(table) else _never(experiment.duration))
            flows[index] = flow.model_copy(update={"app": Exchanges(file=file)})
    return experiment.model_copy(update={"flows": tuple(flows)})


def from_handshakes(rows: Ints, played: Flow, opened_ns: Mapping[int, int]) -> Ints:
    """Responses (exchange, start, end) of sessions, which begin when their connection is open.

    In a file a connection's first exchange begins when it is asked for. ``opened_ns`` has when
    the first packet came to each of the client's ports: the answer to its SYN.
    """
    assert isinstance(played.app, Exchanges)
    counts = played.app.table().exchanges.astype(np.int64)
    firsts = np.cumsum(counts) - counts
    ports = FIRST_PORT + np.arange(counts.size)
    if counts.size == 1:  # the only one has any port
        ports = np.array(list(opened_ns)[:1], dtype=np.int64)
    opened = np.array([opened_ns.get(port, 0) for port in ports.tolist()] or [0], dtype=np.int64)
    own = np.searchsorted(firsts, rows[:, 0], side="right") - 1
    begins = np.where(firsts[own] == rows[:, 0], np.maximum(rows[:, 1], opened[own]), rows[:, 1])
    return np.column_stack([rows[:, 0], begins, rows[:, 2]])


def _table(flow: Flow, start_ns: int) -> ExchangeTable:
    """What a flow that starts then exchanges; it may be nothing."""
    if isinstance(flow.app, Sessions):
        share = workloads.shares(flow.app.workload, flow.app.pairs)[flow.app.pair]
        return workloads.exchanges_of(share, start_ns)
    assert isinstance(flow.app, Vectors)
    return _in_turn(flow.app)


def _in_turn(app: Vectors) -> ExchangeTable:
    """Connections of which each opens when the one before is over."""
    epochs = np.array(app.epochs, dtype=np.uint64)
    counts = np.array(app.connections, dtype=np.int64)
    firsts = np.cumsum(counts) - counts
    after = np.full(len(epochs), AFTER_NONE, dtype=np.uint64)
    after[firsts[1:]] = firsts[1:] - 1
    none = np.zeros(0, dtype=np.uint64)
    return ExchangeTable(
        start_ns=np.zeros(counts.size, dtype=np.uint64),
        exchanges=counts.astype(np.uint64),
        request_bytes=epochs[:, 0],
        response_bytes=epochs[:, 1],
        serve_ns=none,
        think_ns=epochs[:, 2],
        deadline_ns=none,
        after=after,
    )


def _never(duration_ns: int) -> ExchangeTable:
    """Of a pair that has no session: a file needs an exchange, and this one never opens."""
    nothing = workloads.from_vectors([[(1, 0, 0)]], [duration_ns // 1000 + 1])
    return workloads.exchanges_of(nothing)
