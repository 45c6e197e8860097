"""Setup: the paths on which controls are compared with their laws."""

from __future__ import annotations

import math
from typing import Any

from headway.experiment import Dumbbell, Experiment, Flow, Record
from headway.study import StudyContext

FORWARD = 0
"""The link that the data takes."""
LOSER = "periodic-loss"
MSS_BYTES = 1448
WIDE = "10 Gbit/s"
"""A link that never limits: the RTT is the propagation delay, and loss decides the window."""
SEND_BUFFER_PER_PKT, RECEIVE_BUFFER_PER_PKT = 4608, 2 * MSS_BYTES
"""Bytes of buffer for each packet of window. Stacks reserve a part of a buffer."""
ROOM = 1.6
"""Buffers hold this multiple of the expected mean window, which limits slow start's overshoot. A
window that a loss halves has its peak at 1.33 times the mean."""
LEFT_OVER = 0.01
"""The part of the window that may remain of the overshoot when the measurement begins."""
LOSSES, QUICK_LOSSES = 60, 8


def periodic(
    ctx: StudyContext,
    control: str,
    loss: float,
    *,
    rtt_ms: float,
    window_pkts: float,
    kept: float,
    stack: str = "linux-6",
    delayed_ack: bool = False,
) -> Experiment:
    """One greedy flow that loses every (1/``loss``)th packet and has no other limit.

    ``window_pkts`` is the expected window, and ``kept`` the part that a loss leaves of it. They set
    the length and the buffers. Without delayed ACKs, laws that are written per ACK apply per
    packet.
    """
    every = round(1 / loss)
    topology = {
        "rate": WIDE,
        "rtt": f"{rtt_ms:g} ms",
        "buffer": f"{ROOM * window_pkts + 1000:.0f} pkts",
        "routers": [{"name": LOSER, "tunables": {"every_pkts": every}}],
        "reverse": {"rate": WIDE, "delay": f"{rtt_ms / 2:g} ms", "buffer": "1000000 pkts"},
        "access_rate": WIDE,
    }
    flow = Flow.model_validate(
        {
            "control": control,
            "start": "0 s",
            "delayed_ack": delayed_ack,
            "receive_buffer": f"{_bytes(window_pkts, RECEIVE_BUFFER_PER_PKT)} B",
            "send_buffer": f"{_bytes(window_pkts, SEND_BUFFER_PER_PKT)} B",
        }
    )
    first = math.ceil(math.log((ROOM - 1) / LEFT_OVER) / -math.log(kept))
    counted = QUICK_LOSSES if ctx.quick else LOSSES
    cycle_s = every / window_pkts * rtt_ms / 1e3
    return experiment(
        ctx, topology, [flow], warmup_s=first * cycle_s, length_s=counted * cycle_s, stack=stack
    )


def _bytes(window_pkts: float, per_pkt: int) -> int:
    return round(max(ROOM * window_pkts * per_pkt, 1e6))


def lost_every(experiment: Experiment) -> int | None:
    """The data loses one packet in this many; None without periodic loss."""
    forward, _ = experiment.topology.links()[0]
    for router in forward.routers:
        if router.name == LOSER:
            return router.tunables["every_pkts"]
    return None


def experiment(
    ctx: StudyContext,
    topology: dict[str, Any],
    flows: list[Flow],
    *,
    warmup_s: float,
    length_s: float,
    stack: str = "linux-6",
    record: tuple[Record, ...] = (),
) -> Experiment:
    """Flows on a dumbbell, measured from ``warmup_s`` on."""
    return Experiment.model_validate(
        {
            "topology": Dumbbell.model_validate(topology),
            "flows": tuple(flows),
            "warmup": f"{warmup_s:.6g} s",
            "duration": f"{warmup_s + length_s:.6g} s",
            "stack": stack,
            "seed": ctx.seed,
            "record": record,
        }
    )


def bdp_pkts(rate_bps: float, rtt_ms: float, ip_bytes: int = 1500) -> float:
    """Packets that a path holds: rate times RTT, including a packet's own transmission."""
    return rate_bps * rtt_ms / 1e3 / (8 * ip_bytes) + 1
