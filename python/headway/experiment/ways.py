"""Which way a flow's data goes: what a client sends, or what a server answers."""

from __future__ import annotations

from collections.abc import Sequence

from headway.experiment.apps import Exchanges, Pages, Sessions, Site, Vectors
from headway.experiment.flow import Flow


def server_sends_more(flow: Flow) -> bool:
    """Whether the flow is recorded at its server, as the simulator does for such vectors."""
    if isinstance(flow.app, Site):
        return True
    both = epochs(flow)
    return sum(epoch[1] for epoch in both) > sum(epoch[0] for epoch in both)


def epochs(flow: Flow) -> Sequence[tuple[int, ...]]:
    """Request and response of each exchange, in bytes."""
    if isinstance(flow.app, Exchanges | Pages):
        table = flow.app.table()
        return list(zip(table.request_bytes.tolist(), table.response_bytes.tolist(), strict=True))
    if isinstance(flow.app, Sessions):
        from headway import workloads  # and NumPy

        share = workloads.shares(flow.app.workload, flow.app.pairs)[flow.app.pair]
        return list(zip(share.request_bytes.tolist(), share.response_bytes.tolist(), strict=True))
    return flow.app.epochs if isinstance(flow.app, Vectors) else ()
