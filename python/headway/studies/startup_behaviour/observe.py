"""Run: each download on the link, and the data that an upload sends before its first ACK."""

import math
from collections.abc import Mapping
from dataclasses import dataclass

import numpy as np

from headway.claims import Evidence
from headway.metrics.stats import Array, or_nan
from headway.studies.common import lab
from headway.studies.startup_behaviour.experiments import RTT_S, SAMPLE_S, SMALL, UPLOAD
from headway.study import StudyContext
from headway.trace import Trace
from headway.units import NS_PER_S

FULL_SHARE = 0.95
"""Part of the link's rate at which a slot counts as full."""
_UPLINK = 0
_RESTART_PKTS, _RESTART_PKTS_NOW = 3, 10
"""The window after an idle time, of the thesis' Linux and of today's."""


@dataclass(frozen=True)
class Download:
    """One response of a scheme. Times in s, data in payload bytes."""

    response_s: float
    first_round_bytes: float
    """Data sent within one round trip after the response's first packet."""
    full_after_s: float
    """Time from the response's first packet to the end of the first full slot."""
    full_after_request_s: float
    """Time from the request to the end of the first full slot."""
    fast_after_request_s: float
    """Time from the request until more than a restart window has been sent."""
    paced_bps: float
    """IP rate in the half round trip after a restart window has been sent, before ACKs of this data
    can arrive."""


@dataclass(frozen=True)
class Scheme:
    """Both downloads of a scheme, and its rate over time."""

    downloads: tuple[Download, Download]
    grants: float
    """Granted requests for a rate; NaN where the host did not count them."""
    slots_s: Array
    """Starts of slots of a round trip at the client, shape (slots,)."""
    rates_bps: Array
    """IP rate towards the client in each slot."""


@dataclass(frozen=True)
class Response:
    """Observations of one response over the smaller queue."""

    response_s: float


@dataclass(frozen=True)
class Upload:
    """Data that the initiator of a connection sent."""

    first_round_bytes: float
    """Payload bytes between the end of the handshake and the first ACK of data."""
    paced_pkts: float
    """The window while the sender paces at the granted rate."""
    after_pacing_pkts: float
    """The window after the first ACK of data."""


Row = Scheme | Response | Upload


@dataclass(frozen=True)
class Found:
    """Observations, grouped by the kind of trial."""

    schemes: Evidence[Scheme]
    small: Evidence[Response]
    """Responses over the smaller queue, with slow start and with each initial window in packets."""
    uploads: Evidence[Upload]


def gather(_ctx: StudyContext, rows: Mapping[str, Row]) -> Found:
    """Observations, grouped by the kind of trial."""
    return Found(
        Evidence.of(Scheme, rows),
        Evidence({k.removeprefix(SMALL): r for k, r in rows.items() if isinstance(r, Response)}),
        Evidence.of(Upload, rows),
    )


def observe(key: str, trace: Trace) -> Row:
    """One trial."""
    if key.startswith(SMALL):
        return Response(float(lab.response_times_s(trace)[0]))
    if key.startswith(UPLOAD):
        return upload(trace)
    return scheme(trace)


def upload(trace: Trace) -> Upload:
    """The first round trips of an upload. The trace begins with its handshake."""
    windows = trace["flow_state"]
    times_s = windows["time_ns"].to_numpy() / NS_PER_S
    pacing = (times_s >= RTT_S) & (times_s < 2 * RTT_S)
    # ACKs arrive from two round trips on and let the window grow from its minimum.
    acked = (times_s >= 2 * RTT_S) & (times_s < 3 * RTT_S)
    cwnd_pkts = windows["cwnd_pkts"].to_numpy().astype(np.float64)
    return Upload(
        _payload(_sent_in(trace, _UPLINK, RTT_S, 2 * RTT_S - SAMPLE_S)),
        float(cwnd_pkts[pacing].max(initial=0.0)),
        float(cwnd_pkts[acked].min(initial=math.inf)),
    )


def scheme(trace: Trace) -> Scheme:
    """Observe both downloads of a trial."""
    rows = trace["responses"].sort("epoch")
    times_s = lab.response_times_s(trace)
    begins = rows["start_ns"].to_numpy() / NS_PER_S
    handshake_s = (trace.flows[0].handshake_rtt_us or 0) / 1e6
    is_old = trace.experiment.stack == lab.STACK and trace.meta.get("backend") != "kernel"
    restart_pkts = _RESTART_PKTS if is_old else _RESTART_PKTS_NOW
    made = []
    for number, begin_s in enumerate(begins):
        asked_s = begin_s + (handshake_s if number == 0 else 0.0)
        # The request arrives after half a round trip. Small packets before the data are handshake
        # packets and ACKs.
        first_s = _first_data_s(trace, asked_s + RTT_S / 4)
        fast_s = _sent_s(trace, first_s, (restart_pkts + 1) * lab.MTU_BYTES)
        made.append(
            Download(
                response_s=float(times_s[number]),
                first_round_bytes=_payload(_sent_in(trace, lab.DOWNLINK, first_s, first_s + RTT_S)),
                full_after_s=_full_s(trace, first_s) - first_s,
                full_after_request_s=_full_s(trace, first_s) - asked_s + RTT_S / 2,
                fast_after_request_s=fast_s - asked_s,
                paced_bps=_sent_in(trace, lab.DOWNLINK, fast_s, fast_s + RTT_S / 2) * 16 / RTT_S,
            )
        )
    times, totals = _totals(trace)
    edges = np.arange(0, times[-1] + 1e-9, RTT_S)
    carried_bps = np.diff(np.interp(edges, times, totals)) * 8 / RTT_S
    grants = or_nan(trace.flows[0].counted("quick-start", "grants"))
    # Data arrives at the client half a round trip later.
    return Scheme((made[0], made[1]), grants, edges[:-1] + RTT_S / 2, carried_bps)


def _totals(trace: Trace, link: int = lab.DOWNLINK) -> tuple[Array, Array]:
    rows = trace["link_counters"].filter(trace["link_counters"]["link"] == link).sort("time_ns")
    times = np.concatenate([[0.0], rows["time_ns"].to_numpy() / NS_PER_S])
    return times, np.concatenate([[0.0], rows["sent_bytes"].to_numpy()])


def _sent_in(trace: Trace, link: int, start_s: float, end_s: float) -> float:
    times, totals = _totals(trace, link)
    return float(np.interp(end_s, times, totals) - np.interp(start_s, times, totals))


def _payload(ip_bytes: float) -> float:
    return ip_bytes * lab.MSS_BYTES / lab.MTU_BYTES


def _first_data_s(trace: Trace, after_s: float) -> float:
    """The last reading before the first full packet leaves."""
    times, totals = _totals(trace)
    sent = np.diff(totals)
    hits = np.flatnonzero((sent >= lab.MSS_BYTES) & (times[:-1] >= after_s))
    return float(times[hits[0]])


def _full_s(trace: Trace, first_s: float) -> float:
    """The end of the first full slot of a round trip. The first slot begins with the response."""
    times, totals = _totals(trace)
    for slot in range(int((times[-1] - first_s) / RTT_S)):
        ends = first_s + RTT_S * np.array([slot, slot + 1])
        low, high = np.interp(ends, times, totals)
        if (high - low) * 8 / RTT_S >= FULL_SHARE * lab.LINK_BPS:
            return float(ends[1])
    return float("nan")


def _sent_s(trace: Trace, first_s: float, ip_bytes: float) -> float:
    """Time at which ``ip_bytes`` have been sent since ``first_s``."""
    times, totals = _totals(trace)
    goal = float(np.interp(first_s, times, totals)) + ip_bytes
    index = int(np.searchsorted(totals, goal))
    return float(times[min(index, len(times) - 1)])
