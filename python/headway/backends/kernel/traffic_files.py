"""Applications that the kernel backend converts to files of exchanges for the traffic programs.

These applications are ``sessions`` (a host pair's part of a workload) and ``vectors`` on several
connections. Their exchanges are known before the run, so a file can describe them. This module
rejects what a file cannot express.
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
"""First port of a client with several connections, as in crates/kernel's programs."""
_MOST_CONNECTIONS = (1 << 16) - FIRST_PORT


def needs_file(flow: Flow) -> bool:
    """Whether the flow's application is converted to a file for the run."""
    if isinstance(flow.app, Vectors):
        return len(flow.app.connections or ()) > 1
    return isinstance(flow.app, Sessions)


def check(name: str, experiment: Experiment, flow: Flow) -> None:
    """Raise HeadwayError, naming the field, for what a file cannot express."""
    if isinstance(flow.app, Sessions):
        if flow.app.workload.persistent:
            raise HeadwayError(
                f"kernel backend: {name}: persistent: not possible; a file of exchanges has times "
                "of connections, not of sessions that begin on an open connection"
            )
        if gateway.has_gateway(experiment):
            raise HeadwayError(
                f"kernel backend: {name}: sessions: not possible with a gateway, since the log "
                "behind it lacks the ends of handshakes; use a file of exchanges"
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
        raise HeadwayError(announces_error(name))


def announces_error(name: str) -> str:
    """The error for a flow of several connections that announces volumes."""
    return (
        f"kernel backend: {name}: announces: not possible with several connections, since all "
        "inherit the same volume from the listening socket"
    )


def with_exchange_files(experiment: Experiment, folder: Path) -> Experiment:
    """The experiment with sessions and vectors replaced by files of exchanges in ``folder``."""
    if not any(map(needs_file, experiment.flows)):
        return experiment
    flows = list(experiment.flows)
    starts_ns = experiment.start_times_ns()
    for index, flow in enumerate(flows):
        if needs_file(flow):
            table = _table(flow, starts_ns[index])
            file = folder / f"exchanges{index}.csv"
            write_exchanges(file, table if len(table) else _no_exchange(experiment.duration))
            flows[index] = flow.model_copy(update={"app": Exchanges(file=file)})
    return experiment.model_copy(update={"flows": tuple(flows)})


def start_after_handshake(rows: Ints, played: Flow, opened_ns: Mapping[int, int]) -> Ints:
    """Correct the start times of sessions' responses: a session begins after the handshake.

    ``rows`` are (exchange, start, end). In a file of exchanges, a connection's first exchange
    begins with connect(), before the handshake. ``opened_ns`` has for each of the client's ports
    the time at which the first packet arrived, the SYN-ACK.
    """
    assert isinstance(played.app, Exchanges)
    counts = played.app.table().exchanges.astype(np.int64)
    firsts = np.cumsum(counts) - counts
    ports = FIRST_PORT + np.arange(counts.size)
    if counts.size == 1:  # a client with a single connection uses an arbitrary port
        ports = np.array(list(opened_ns)[:1], dtype=np.int64)
    opened = np.array([opened_ns.get(port, 0) for port in ports.tolist()] or [0], dtype=np.int64)
    own = np.searchsorted(firsts, rows[:, 0], side="right") - 1
    begins = np.where(firsts[own] == rows[:, 0], np.maximum(rows[:, 1], opened[own]), rows[:, 1])
    return np.column_stack([rows[:, 0], begins, rows[:, 2]])


def _table(flow: Flow, start_ns: int) -> ExchangeTable:
    """The exchanges of a flow that starts at ``start_ns``; may be empty."""
    if isinstance(flow.app, Sessions):
        share = workloads.shares(flow.app.workload, flow.app.pairs)[flow.app.pair]
        return workloads.exchanges_of(share, start_ns)
    assert isinstance(flow.app, Vectors)
    return _sequential_connections(flow.app)


def _sequential_connections(app: Vectors) -> ExchangeTable:
    """The file for successive connections: each opens when the previous one's exchanges end."""
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


def _no_exchange(duration_ns: int) -> ExchangeTable:
    """The file of a host pair without sessions.

    A file needs at least one exchange, so this file has an exchange that begins after the run's
    end.
    """
    nothing = workloads.from_vectors([[(1, 0, 0)]], [duration_ns // 1000 + 1])
    return workloads.exchanges_of(nothing)
