"""The digest of one trial: its metrics as plain Python numbers, for runs that keep no trace.

A digest is computed from a trace (``digest_of``), or by the engine while it runs, which then keeps
no tables (SimBackend.digest). Both give the same values, except that the engine's quantiles are
exact to 0.05 %. NumPy and Polars are imported only for traces.
"""

from __future__ import annotations

import itertools
import math
from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any, TypedDict

from headway.experiment import BATCHES, Bulk, Experiment
from headway.experiment.network import named_links
from headway.fairness import jain_index
from headway.units import BITS_PER_BYTE, NS_PER_S

if TYPE_CHECKING:
    from headway.trace import Trace

QUANTILE_RESOLUTION = 0.0005
"""Largest relative difference between a quantile in the engine's digest and the quantile from a
trace."""
_STUDENT_9 = 2.2621571627409915
"""97.5 % quantile of Student's t with BATCHES - 1 degrees of freedom."""
_NS_PER_US = 1000
_NS_PER_MINUTE = 60 * NS_PER_S

Spread = dict[str, float | None]
"""Statistics of samples by name: median, mean, sd, p95, p99, min, max; all None without samples."""
SPREAD = ("median", "mean", "sd", "p95", "p99", "min", "max")


_QUICK_START = "quick-start"


class FirstFlight(TypedDict):
    """Sums over a fast startup's first flights in the whole run, if the flight got an ACK."""

    asked_pkts: int
    """Packets that the startup's window (a grant, a rate or a jump) and the available data allowed.
    """
    largest_pkts: int
    """The largest value of ``asked_pkts`` of a single first flight."""
    sent_pkts: int
    """Packets sent before the first ACK of their flight."""
    rwnd_limited_pkts: int
    """Packets that were not sent because the peer's receive window had no room."""
    syn_limited_pkts: int
    """The part of ``rwnd_limited_pkts`` beyond 65,535 bytes, the largest window that a SYN-ACK can
    announce, because a SYN-ACK's window is not scaled."""
    sndbuf_limited_pkts: int
    """Packets that were not sent because the send buffer had no room."""
    growth_limited_pkts: int
    """Packets by which limited slow start (RFC 3742) grew the window less than standard slow start
    would have, until the window reached the intended size of the flight."""


class FlowDigest(TypedDict):
    """One TCP flow, over [warmup, end] unless stated otherwise. None means unknown."""

    cc: str
    startup: str | None
    name: str
    goodput_bps: float
    goodput_bps_batch_ci95: float | None
    """Half the width of the 95 % confidence interval of the goodput, from ten batch means."""
    goodput_tcptrace_bps: float | None
    """Unique bytes divided by the connection's lifetime, in the whole run."""
    sent_pkts: int
    """Data packets, retransmissions included."""
    retransmits_pkts: int
    rtos: int
    srtt_us: float | None
    """Mean over time; cwnd_pkts is a mean over time, too."""
    cwnd_pkts: float | None
    backoffs: int
    size_bytes: int | None
    """Size of a bulk transfer; None without a size."""
    delivered_bytes: int
    """New bytes in order at the receiver, in the whole run."""
    fct_us: float | None
    """Flow completion time: from the SYN until the last byte has arrived in order. None without a
    size, or if the transfer was not complete when the run ended."""
    slow_start_us: float | None
    """Time from the flow's first packet until ssthresh was finite. None if it stayed infinite."""
    quick_start_requests: int
    quick_start_grants: int
    quick_start_used: int | None
    """Number of Quick-Start grants that the startup used because they exceeded slow start's window.
    None means unknown."""
    fall_backs: int | None
    """How often the control fell back to working without its protocol's routers. None means
    unknown."""
    first_flight: FirstFlight | None
    """All numbers are 0 if no first flight of a fast startup began. None means unknown."""


class LinkDigest(TypedDict):
    """The link in one direction of a hop; values are over [warmup, end]."""

    name: str
    utilization: float
    throughput_bps: float
    drops_pkts: int
    drop_rate: float | None
    queue_full_events: int
    queue_full_per_minute: float
    queue_bytes: Spread
    """Quantiles and means over time."""
    routers: dict[str, dict[str, int]]
    """Counters and state of each router algorithm of the link at the end of the run, by its name
    and the names that it declares."""


class VoipDigest(TypedDict):
    """The datagrams that were sent in [warmup, end]."""

    owd_us: Spread
    lost_pkts: int


class TransferClass(TypedDict):
    """The complete transfers of a group whose size is from ``from_bytes`` to below ``below_bytes``.

    ``below_bytes`` None means no upper end. ``bytes`` is the sum of their sizes.
    """

    from_bytes: int
    below_bytes: int | None
    completed: int
    bytes: int
    fct_us: Spread
    """Time from the SYN until the last byte had arrived. It also has ``p999``, the 99.9 %
    quantile."""
    slowdown: Spread
    """``fct_us`` divided by the completion time on an empty path: the handshake, and all packets
    back to back. It also has ``p999``."""


class TransferCdf(TypedDict):
    """Points of the distribution functions of a group's complete transfers of all sizes."""

    share: list[float]
    fct_us: list[float | None]
    slowdown: list[float | None]


class TransferDigest(TypedDict):
    """A group of transfers: those that began in [warmup, end].

    A group has the transfers of all flows of one name. Flows without a name are grouped by their
    control.
    """

    group: str
    begun: int
    unfinished: int
    """Transfers that were not complete when the run ended; the other values leave them out."""
    all: TransferClass
    by_size: list[TransferClass]
    cdf: TransferCdf


class Digest(TypedDict):
    """One trial; ``link`` is the first of ``links``.

    Without a gateway that is the first hop in the direction of the data. With a gateway, the kernel
    backend records the links of one hop only.
    """

    flows: list[FlowDigest]
    link: LinkDigest
    links: list[LinkDigest]
    voip: VoipDigest | None
    transfers: list[TransferDigest]
    jain_index: float | None


def digest_of(trace: Trace) -> Digest:
    """The digest of a trace. Takes time linear in the trace's rows, for any number of flows."""
    from headway.metrics.totals import trace_totals

    return digest_of_totals(trace.experiment, trace_totals(trace))


def digest_of_totals(experiment: Experiment, totals: Mapping[str, Any]) -> Digest:
    """The digest of totals: {"flows", "links", "transfers": lists; "udp": {...} or None}.

    crates/sim/src/trace/digest defines the keys of flows, links, transfers and datagrams.
    """
    edges = experiment.batch_edges_ns()
    rates = {
        name: link.capacity_bps(edges[0], edges[-1])
        for name, link in named_links(experiment.topology).items()
    }
    flows = [
        _flow(experiment, edges, flow) for flow in totals["flows"] if flow["control"] is not None
    ]
    links = [_link(edges[-1] - edges[0], rates[link["name"]], link) for link in totals["links"]]
    return {
        "flows": flows,
        "link": links[0],
        "links": links,
        "voip": totals["udp"],
        "transfers": totals["transfers"],
        "jain_index": jain_index([flow["goodput_bps"] for flow in flows]),
    }


def _flow(experiment: Experiment, edges: Sequence[int], of: Mapping[str, Any]) -> FlowDigest:
    app = experiment.flows[of["flow"]].app
    delivered: Sequence[int] = of["delivered_bytes"]
    first_ns, last_ns, done_ns = of["first_packet_ns"], of["last_packet_ns"], of["done_ns"]
    tcptrace = None
    if None not in (of["unique_bytes"], first_ns, last_ns) and last_ns > first_ns:
        tcptrace = _bps(of["unique_bytes"], last_ns - first_ns)
    batches = [
        _bps(after - before, end_ns - start_ns)
        for (before, after), (start_ns, end_ns) in zip(
            itertools.pairwise(delivered), itertools.pairwise(edges), strict=False
        )
        if end_ns > start_ns  # a run of a few ns cannot be divided into ten parts
    ]
    quick_start = of["protocols"].get(_QUICK_START, {})
    return {
        "cc": of["control"],
        "startup": of["startup"],
        "name": of["name"],
        "goodput_bps": _bps(delivered[-1] - delivered[0], edges[-1] - edges[0]),
        "goodput_bps_batch_ci95": _half_width(batches) if len(batches) == BATCHES else None,
        "goodput_tcptrace_bps": tcptrace,
        "sent_pkts": of["sent_pkts"],
        "retransmits_pkts": of["retransmits_pkts"],
        "rtos": of["rtos"],
        "srtt_us": of["srtt_us"],
        "cwnd_pkts": of["cwnd_pkts"],
        "backoffs": of["backoffs"],
        "size_bytes": app.size if isinstance(app, Bulk) else None,
        "delivered_bytes": delivered[-1],
        "fct_us": _since_us(first_ns, done_ns),
        "slow_start_us": _since_us(first_ns, of["finite_ns"]),
        "quick_start_requests": quick_start.get("requests", 0),
        "quick_start_grants": quick_start.get("grants", 0),
        "quick_start_used": quick_start.get("used", 0),
        "fall_backs": of["protocols"].get(of["control"], {}).get("fall_backs", 0),
        "first_flight": _first_flight(of.get("first_flight", {})),
    }


def _first_flight(of: Mapping[str, int] | None) -> FirstFlight | None:
    if of is None:
        return None
    return {
        "asked_pkts": of.get("asked_pkts", 0),
        "largest_pkts": of.get("largest_pkts", 0),
        "sent_pkts": of.get("sent_pkts", 0),
        "rwnd_limited_pkts": of.get("rwnd_limited_pkts", 0),
        "syn_limited_pkts": of.get("syn_limited_pkts", 0),
        "sndbuf_limited_pkts": of.get("sndbuf_limited_pkts", 0),
        "growth_limited_pkts": of.get("growth_limited_pkts", 0),
    }


def _link(span_ns: int, rate_bps: float, of: Mapping[str, Any]) -> LinkDigest:
    throughput_bps = _bps(of["sent_bytes"], span_ns)
    arrived, dropped, full = of["arrived_pkts"], of["dropped_pkts"], of["queue_full_events"]
    return {
        "name": of["name"],
        "utilization": min(1.0, throughput_bps / rate_bps) if rate_bps else 0.0,
        "throughput_bps": throughput_bps,
        "drops_pkts": dropped,
        "drop_rate": dropped / arrived if arrived else None,
        "queue_full_events": full,
        "queue_full_per_minute": full * _NS_PER_MINUTE / span_ns,
        "queue_bytes": of["queue_bytes"],
        "routers": {router["algorithm"]: dict(router["counters"]) for router in of["routers"]},
    }


def _bps(amount_bytes: int, span_ns: int) -> float:
    return amount_bytes * BITS_PER_BYTE * NS_PER_S / span_ns


def _since_us(start_ns: int | None, end_ns: int | None) -> float | None:
    return None if start_ns is None or end_ns is None else (end_ns - start_ns) / _NS_PER_US


def _half_width(batches: Sequence[float]) -> float:
    mean = math.fsum(batches) / len(batches)
    squares = math.fsum((value - mean) ** 2 for value in batches)
    return _STUDENT_9 * math.sqrt(squares / (len(batches) - 1) / len(batches))


def average(trials: Sequence[Any]) -> Any:
    """The mean over trials of every number, for trials with the same JSON structure.

    A single trial is returned unchanged. Values that are None in some trials are averaged over the
    others.
    """
    known = [trial for trial in trials if trial is not None]
    if len(trials) == 1 or not known:
        return trials[0]
    first = known[0]
    if isinstance(first, str):
        return first
    if isinstance(first, dict):
        return {key: average([trial[key] for trial in known]) for key in first}
    if isinstance(first, list):
        return [average(list(items)) for items in zip(*known, strict=True)]
    return math.fsum(known) / len(known)
