"""What a trace's digest is made of, over all flows and links at once (see headway.digest)."""

from __future__ import annotations

from dataclasses import asdict
from typing import Any

import polars as pl

from headway.metrics.delay import lost_pkts, owd_distribution_us
from headway.metrics.flows import flow_totals
from headway.metrics.links import queue_bytes, queue_full_events
from headway.metrics.stats import Distribution
from headway.metrics.windows import counters_at, window_of
from headway.trace import Trace

_QUICK_START = ("requests", "grants", "lowered", "denials")
_OF_FLOW = (
    "name", "control", "startup", "first_packet_ns", "last_packet_ns", "unique_bytes", "done_ns",
    "quick_start_requests", "quick_start_grants", "quick_start_used",
)  # fmt: skip


def trace_totals(trace: Trace) -> dict[str, Any]:
    """The counts of :func:`headway.digest.digest_of_totals`."""
    flows = [
        {name: getattr(trace.flows[row["flow"]], name) for name in _OF_FLOW} | row
        for row in flow_totals(trace).iter_rows(named=True)
    ]
    udp = None
    if trace.udp_flows():
        udp = {"owd_us": _spread(owd_distribution_us(trace)), "lost_pkts": lost_pkts(trace)}
    return {"flows": flows, "links": _links(trace), "udp": udp}


def _links(trace: Trace) -> list[dict[str, Any]]:
    before, after = (
        counters_at(trace["link_counters"], "link", time_ns) for time_ns in window_of(trace)
    )
    grown = after.select(
        "link", *(after[name] - before[name] for name in after.columns if name != "link")
    )
    routers = {
        row["link"]: {name: row[name] for name in _QUICK_START}
        for row in trace["approval_counters"]
        .filter(pl.col("time_ns") == trace.duration_ns)
        .iter_rows(named=True)
    }
    return [
        {
            **row,
            "name": trace.links[row["link"]],
            "queue_full_events": queue_full_events(trace, row["link"]),
            "queue_bytes": _spread(queue_bytes(trace, row["link"])),
            "quick_start": routers.get(row["link"]),
        }
        for row in grown.iter_rows(named=True)
    ]


def _spread(values: Distribution) -> dict[str, float | None]:
    spread = asdict(values)
    del spread["count"]
    return spread
