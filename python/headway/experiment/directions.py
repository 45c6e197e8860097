"""The direction of most of a flow's data: from the client, or from the server."""

from __future__ import annotations

from collections.abc import Sequence

from headway.experiment.apps import Exchanges, Pages, Sessions, Site, Vectors
from headway.experiment.flow import Flow


def server_sends_more(flow: Flow) -> bool:
    """Whether the server sends more data than the client, so that traces record the server."""
    if isinstance(flow.app, Site):
        return True
    both = epochs(flow)
    return sum(epoch[1] for epoch in both) > sum(epoch[0] for epoch in both)


def epochs(flow: Flow) -> Sequence[tuple[int, ...]]:
    """Bytes of request and response of each exchange; empty for applications without exchanges."""
    if isinstance(flow.app, Exchanges | Pages):
        table = flow.app.table()
        return list(zip(table.request_bytes.tolist(), table.response_bytes.tolist(), strict=True))
    if isinstance(flow.app, Sessions):
        from headway import workloads  # and NumPy

        share = workloads.shares(flow.app.workload, flow.app.pairs)[flow.app.pair]
        return list(zip(share.request_bytes.tolist(), share.response_bytes.tolist(), strict=True))
    return flow.app.epochs if isinstance(flow.app, Vectors) else ()
