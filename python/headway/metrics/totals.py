"""The totals of all flows and links from which headway.digest computes a trace's digest."""

from __future__ import annotations

from typing import Any

from headway.metrics.delay import lost_pkts, owd_distribution_us
from headway.metrics.flows import flow_totals
from headway.metrics.links import queue_bytes, queue_full_events
from headway.metrics.routers import router_counters
from headway.metrics.stats import as_spread
from headway.metrics.transfers import transfer_totals
from headway.metrics.windows import counters_at, window_of
from headway.trace import Trace

_OF_FLOW = (
    "name", "control", "startup", "first_packet_ns", "last_packet_ns", "unique_bytes", "done_ns",
    "protocols", "first_flight",
)  # fmt: skip


def trace_totals(trace: Trace) -> dict[str, Any]:
    """A trace's totals in the format of ``headway.digest.digest_of_totals``."""
    flows = [
        {name: getattr(trace.flows[row["flow"]], name) for name in _OF_FLOW} | row
        for row in flow_totals(trace).iter_rows(named=True)
    ]
    udp = None
    if trace.udp_flows():
        udp = {"owd_us": as_spread(owd_distribution_us(trace)), "lost_pkts": lost_pkts(trace)}
    return {
        "flows": flows,
        "links": _links(trace),
        "udp": udp,
        "transfers": transfer_totals(trace),
    }


def _links(trace: Trace) -> list[dict[str, Any]]:
    before, after = (
        counters_at(trace["link_counters"], "link", time_ns) for time_ns in window_of(trace)
    )
    grown = after.select(
        "link", *(after[name] - before[name] for name in after.columns if name != "link")
    )
    routers: dict[int, list[dict[str, Any]]] = {}
    for router in trace.routers:
        for last in router_counters(trace, router.name).iter_rows(named=True):
            link, time_ns = last.pop("link"), last.pop("time_ns")
            if time_ns == trace.duration_ns:
                routers.setdefault(link, []).append({"algorithm": router.name, "counters": last})
    return [
        {
            **row,
            "name": trace.links[row["link"]],
            "queue_full_events": queue_full_events(trace, row["link"]),
            "queue_bytes": as_spread(queue_bytes(trace, row["link"])),
            "routers": routers.get(row["link"], []),
        }
        for row in grown.iter_rows(named=True)
    ]
