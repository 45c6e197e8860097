"""The thesis' laboratory: its 10 Mbit/s path, hosts and startups, and its measurements.

Scharf (2011), sections 6.1 and B.2. Paper 000 used the same computers. A client sends a request and
a server responds, so the data is sent over the reverse link.
"""

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np

from headway.experiment import Dumbbell, Experiment, Flow, Record
from headway.metrics.stats import Array
from headway.models.quick_start import RATES_BPS, rate_code
from headway.models.startup import StartupPath
from headway.registry import registry
from headway.trace import Trace
from headway.units import BITS_PER_BYTE, NS_PER_S, fixed_memory

LINK_BPS = 9_760_000
"""Rate of IP packets of 1500 bytes on 10 Mbit/s Ethernet, as the thesis rounds it."""
RTT_MS = 200
MSS_BYTES, MTU_BYTES = 1448, 1500
REQUEST_BYTES = 100
RMEM = fixed_memory("8388608 B")
"""Receive buffers of appendix B.2 and paper 000: windows that limit no flow and keep quick ACKs
active."""
SMALL_BUFFER_PKTS = 50
"""The bottleneck's queue in all simulations that the thesis does not compare with its testbed
(6.1.1.1).
"""
ROUTER = "algorithm=target:interval_ms=200"
"""The Quick-Start router of sections 6.3.1 and 6.4.2: the whole link, slots of a round trip."""
RECEIVE_WINDOW = "625000 B"
"""Receive window that hosts with a fast startup announce at first: 10 Mbit/s over 500 ms
(5.2.3)."""
STACK = "linux-2.6"
CONTROL = "cubic26"
EARLY, LATE, EARLY_OR_LATE = 2, 3, 4
"""When hosts send a Quick-Start request: in the handshake, with data, or in the handshake only if
the data is known by then.
"""
LONG_BPS, LONG_RTT_MS = 10**9, 233
"""The thesis' real path, of "about 1 Gbit/s" (section 6.1.3, l. 2870)."""
DOWNLINK = 1
"""The number of the reverse link, where responses queue."""

SLOW_START = "slow-start"

HOSTS = {
    # The thesis' transfers request the full rate, even if their data needs only a part of it.
    "qs_fit_data": 0,
    # RFC 4782 limits slow start after a grant, the thesis does not.
    "qs_max_ssthresh_pkts": 0,
    # "each data transfer issues a request" (6.4.5.2), also after a loss. After a denial the window
    # is as before the request (4.5.3.1), so that Quick-Start can be slower than slow start.
    "qs_rules": 1,
}
"""How the hosts of the thesis and of paper 000 differ from RFC 4782; all their studies use this."""


def path(
    *,
    rate_bps: float = LINK_BPS,
    rtt_ms: float = RTT_MS,
    buffer_pkts: int = 1000,
    loss: float = 0.0,
    router: str | None = ROUTER,
) -> Dumbbell:
    """One bottleneck with the same queue, loss and Quick-Start router in both directions."""
    link = {
        "rate": f"{rate_bps:.0f} bit/s",
        "delay": f"{rtt_ms / 2:g} ms",
        "buffer": f"{buffer_pkts} pkts",
        "loss": loss,
        "quick_start": router,
    }
    forward = {k: v for k, v in link.items() if k != "delay"}
    return Dumbbell.model_validate({**forward, "rtt": f"{rtt_ms:g} ms", "reverse": link})


def long_path(
    *, buffer_pkts: int = SMALL_BUFFER_PKTS, router: Mapping[str, int] | None = None
) -> Dumbbell:
    """The thesis' path through a research network, for figures 6.41 and 6.62.

    Section 6.1.3 (l. 2870): about 1 Gbit/s and 233 ms. The thesis does not print the routers'
    buffers. It uses 50 packets by default and calls them realistic (6.1.1.1, l. 2818). Other
    traffic hardly loaded the path, and requests count as approved (6.4.2.2, l. 3288), so
    ``router`` is a router that grants them. Access links are ten times as fast, so that they are
    not the bottleneck.
    """
    made = path(rate_bps=LONG_BPS, rtt_ms=LONG_RTT_MS, buffer_pkts=buffer_pkts, router=None)
    fields = made.model_dump(mode="json")
    fields["quick_start"] = fields["reverse"]["quick_start"] = router and dict(router)
    fields["access_rate"] = f"{10 * LONG_BPS} bit/s"
    return Dumbbell.model_validate(fields)


def model_path(*, rate_bps: float = LINK_BPS, rtt_ms: float = RTT_MS) -> StartupPath:
    """The thesis' path as parameters of the equations of table 6.1."""
    return StartupPath(
        rate_bps=rate_bps, rtt_s=rtt_ms / 1e3, mss_bytes=MSS_BYTES, mtu_bytes=MTU_BYTES
    )


def quick_start(rate_bps: float, *, early: bool) -> str:
    """The control of a flow that requests a rate, rounded down to a rate code.

    As in the thesis, ssthresh is unchanged, slow start is not limited after a grant, and every
    transfer that needs more than its first window sends a request.
    """
    code_bps = RATES_BPS[max(rate_code(rate_bps), 1)]
    settings = {
        "qs_rate_kbps": f"{code_bps / 1e3:.0f}",
        "qs_activation": EARLY if early else LATE,
        "qs_min_bytes": 2 * MSS_BYTES,
        **HOSTS,
    }
    options = ":".join(f"{name}={value}" for name, value in settings.items())
    return f"{CONTROL}+quick-start:{options}"


def asking(rate_kbps: int, *, ssthresh: int = 0) -> dict[str, Any]:
    """The control of a flow that requests a rate for every message longer than REQUEST_BYTES.

    The handshake carries the request if the data is known by then. Otherwise data carries it.
    """
    return {
        "name": CONTROL,
        "startup": "quick-start",
        "tunables": {
            "qs_rate_kbps": rate_kbps,
            "qs_activation": EARLY_OR_LATE,
            "qs_min_bytes": REQUEST_BYTES,
            "qs_ssthresh": ssthresh,
            **HOSTS,
        },
    }


def has_startup(name: str) -> bool:
    """Whether this build includes the startup."""
    return any(startup.name == name for startup in registry().startups)


def requests(
    sizes_bytes: Sequence[float],
    *,
    control: str | Mapping[str, Any] = f"{CONTROL}+{SLOW_START}",
    idle_s: float = 0.0,
    name: str | None = None,
    start_s: float = 0.0,
    initial_rwnd: str | None = None,
    data_volume_bytes: float | None = None,
    delayed_ack: bool = False,
) -> Flow:
    """A connection that requests responses one after the other, with ``idle_s`` between them.

    The application announces ``data_volume_bytes``, so that the server can request a rate in the
    handshake. The thesis prolonged quick ACKs, so that no ACKs were delayed while a flow starts
    (section 6.1.1.2).
    """
    last = len(sizes_bytes) - 1
    epochs = [
        [f"{REQUEST_BYTES} B", f"{size:.0f} B", f"{idle_s if i < last else 0:g} s"]
        for i, size in enumerate(sizes_bytes)
    ]
    return Flow.model_validate(
        {
            "app": {"kind": "vectors", "epochs": epochs},
            "control": control,
            "name": name,
            "start": f"{start_s:g} s",
            "rmem": RMEM,
            "initial_rwnd": initial_rwnd,
            "data_volume": data_volume_bytes and f"{data_volume_bytes:.0f} B",
            "delayed_ack": delayed_ack,
        }
    )


def experiment(
    topology: Dumbbell,
    flows: Sequence[Flow],
    *,
    duration_s: float,
    stack: str = STACK,
    seed: int = 1,
    sample_s: float | None = None,
    record: tuple[Record, ...] = (),
    **more: Any,
) -> Experiment:
    """An experiment with the thesis' stack; counters are read every ``sample_s``.

    ``more`` are other fields of the experiment.
    """
    return Experiment.model_validate(
        {
            **more,
            "topology": topology,
            "flows": tuple(flows),
            "duration": f"{duration_s:.9g} s",
            "stack": stack,
            "seed": seed,
            "sample": None if sample_s is None else f"{sample_s:.9g} s",
            "record": record,
        }
    )


def response_times_s(trace: Trace, flow: int = 0) -> Array:
    """Server response times of a flow's requests, shape (n,), seconds.

    The first counts from the end of the handshake, as the thesis counts (6.4.2.1).
    """
    rows = trace["responses"].filter(trace["responses"]["flow"] == flow).sort("epoch")
    times_s = (rows["end_ns"] - rows["start_ns"]).to_numpy() / NS_PER_S
    if times_s.size and rows["epoch"][0] == 0:
        times_s = times_s.copy()
        times_s[0] -= (trace.flows[flow].handshake_rtt_us or 0) / 1e6
    return np.asarray(times_s, dtype=np.float64)


def link_rate(trace: Trace, link: int = DOWNLINK) -> tuple[Array, Array]:
    """IP rate of a link between readings of its counters: (ends of slots in s, bit/s)."""
    rows = trace["link_counters"].filter(trace["link_counters"]["link"] == link).sort("time_ns")
    return _slopes(rows["time_ns"].to_numpy(), rows["sent_bytes"].to_numpy())


def flow_rate(trace: Trace, flow: int) -> tuple[Array, Array]:
    """A bulk flow's goodput between readings of its counters: (ends of slots in s, bit/s)."""
    rows = trace["flow_counters"].filter(trace["flow_counters"]["flow"] == flow).sort("time_ns")
    return _slopes(rows["time_ns"].to_numpy(), rows["delivered_bytes"].to_numpy())


def _slopes(time_ns: Array, total_bytes: Array) -> tuple[Array, Array]:
    times = np.concatenate([[0], time_ns.astype(np.float64)]) / NS_PER_S
    totals = np.concatenate([[0.0], total_bytes.astype(np.float64)])
    keep = np.concatenate([[True], np.diff(times) > 0])
    times, totals = times[keep], totals[keep]
    return times[1:], np.diff(totals) * BITS_PER_BYTE / np.diff(times)


def first_above(times_s: Array, values: Array, level: float, *, after_s: float = 0.0) -> float:
    """The first time after ``after_s`` at which a slot's rate reaches ``level``; else NaN."""
    hits = np.flatnonzero((values >= level) & (times_s > after_s))
    return float(times_s[hits[0]]) if hits.size else float("nan")


def first_below(times_s: Array, values: Array, level: float, *, after_s: float = 0.0) -> float:
    """The first time after ``after_s`` at which a slot's rate is below ``level``; else NaN."""
    return first_above(times_s, -values, -level, after_s=after_s)
