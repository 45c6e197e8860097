"""Setup: the paths on which controls are compared with their laws, and the laws themselves.

Run: reduce each trial to a few numbers.
"""

import math
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from headway import metrics, models
from headway.claims import Evidence
from headway.experiment import Dumbbell, Experiment, Record
from headway.metrics.stats import or_nan, weighted_distribution
from headway.metrics.windows import values_with_durations
from headway.models._checks import Floats
from headway.study import StudyContext
from headway.trace import Trace
from headway.units import NS_PER_S, fixed_memory, growing_memory

LOSER = "periodic-loss"
WIDE = "10 Gbit/s"
"""Rate of a link that never limits a flow: the RTT is the propagation delay, and loss limits the
window."""
SEND_BUFFER_PER_PKT, RECEIVE_BUFFER_PER_PKT = 4608, 2 * 1448
"""Bytes of buffer for each packet of window. Stacks reserve a part of a buffer."""
MOST_RECEIVE_BYTES = {"linux-2.6": 4 << 20, "linux-6": 6 << 20}
"""Size to which each stack's receive buffer grows by default."""
ROOM = 1.6
"""Buffers hold this multiple of the expected mean window, which limits slow start's overshoot. A
window that a loss halves has its peak at 1.33 times the mean."""
LEFT_OVER = 0.01
"""When the measurement begins, slow start's overshoot may still be this part of the window."""

RTT_MS = 100.0
SCALABLE_LOSSES = (3e-4, 3e-5)
HIGHSPEED_PKTS = {1e-4: 263.0, 1e-5: 1795.0}
"""HighSpeed's average window at a loss ratio (RFC 3649, section 5)."""
BIC_LOSSES = (1e-4, 3e-5)
RTT0_MS = 25.0
HYBLA: dict[float, tuple[str, tuple[float, ...]]] = {
    1e-4: ("hybla", (200,)),
    3e-5: ("hybla:growth_bits=16", (50, 200, 400)),
}
"""Hybla's tunables and round-trip times in ms by loss ratio; Reno runs with RTT0 and the same
loss."""
WESTWOOD = {
    "westwood-10": ("10 Mbit/s", "1 BDP", "linux-6"),
    "westwood-20": ("20 Mbit/s", "0.5 BDP", "linux-6"),
    "westwood-small-buffer": ("20 Mbit/s", "0.2 BDP", "linux-6"),
    "westwood26-small-buffer": ("20 Mbit/s", "0.2 BDP", "linux-2.6"),
}
COMPOUND_PKTS = {1e-3: 64.0, 1e-4: 404.0}
"""Compound's mean windows, 0.255/p^0.8. The first is in the draft's own table."""
GROWTH_PKTS, LOST_PART = 10.0, 1 / 8
"""Illinois' growth and decrease where nothing is queued."""
SHARED = {
    "fast": ["fast"],
    "fast-four": ["fast"] * 4,
    "fast-alphas": ["fast:alpha=10", "fast:alpha=30"],
    "fast-far": ["fast", "fast"],
    "vegas": ["vegas"],
    "vegas-five": ["vegas"] * 5,
    "vegas-far": ["vegas", "vegas"],
}


def reno_pkts(loss: float, segments_per_ack: float = 1.0) -> float:
    """Reno's mean window by the square-root model, at a round trip of 1 s and segments of 1 bit."""
    return float(
        models.reno_sqrt_bps(loss, mss_bytes=1 / 8, rtt_s=1.0, segments_per_ack=segments_per_ack)
    )


def scalable_pkts(loss: float) -> float:
    """Scalable's mean window by the law with a round trip of recovery."""

    def growth(windows_pkts: Floats, _last_max: float) -> Floats:
        return np.maximum(0.01 * windows_pkts, 1.0)  # or Reno's

    return models.cycle(loss, growth, kept=7 / 8, pause_rounds=1).mean_pkts


def scalable_26_pkts(loss: float) -> float:
    """Scalable's mean window as Linux 2.6.24 computes it with delayed ACKs."""
    return models.cycle(loss, lambda pkts, _: pkts / 2 / 51, kept=7 / 8, pause_rounds=2).mean_pkts


def bic_pkts(loss: float) -> float:
    """BIC's mean window by BIC's constants, with one round trip of recovery per loss."""
    return models.cycle(loss, models.bic_growth, kept=819 / 1024, pause_rounds=1).mean_pkts


def compound_pkts(loss: float) -> float:
    """Compound's mean window by the law with a round trip of recovery."""

    def growth(windows_pkts: Floats, _last_max: float) -> Floats:
        return np.maximum(np.asarray(windows_pkts) ** 0.75 / 8, 1.0)  # or Reno's

    return models.cycle(loss, growth, kept=0.5, pause_rounds=1).mean_pkts


def illinois_pkts(loss: float) -> float:
    """The mean window of additive increase by 10 and decrease by an eighth."""
    return math.sqrt(GROWTH_PKTS * (2 - LOST_PART) / (2 * LOST_PART * loss))


def illinois_cycle_pkts(loss: float) -> float:
    """Illinois' mean window by the law with a round trip of recovery, where nothing is queued."""

    def growth(windows_pkts: Floats, _last_max: float) -> Floats:
        return np.full_like(np.asarray(windows_pkts), GROWTH_PKTS)

    return models.cycle(loss, growth, kept=1 - LOST_PART, pause_rounds=1).mean_pkts


def loss_name(loss: float) -> str:
    """A loss ratio in keys of trials: "p3e-5"."""
    return f"p{loss:.0e}".replace("e-0", "e-")


def experiments(ctx: StudyContext) -> dict[str, Experiment]:
    """A few trials per control."""
    old: dict[str, Any] = {"stack": "linux-2.6", "delayed_ack": True}
    trials = {
        "reno-p1e-3": periodic(ctx, "reno", 1e-3, reno_pkts(1e-3), kept=0.5),
        "reno26-p1e-3": periodic(ctx, "reno", 1e-3, reno_pkts(1e-3, 2), kept=0.5, **old),
    }
    for loss in SCALABLE_LOSSES:
        for name, hosts in {"scalable": {}, "scalable26": old}.items():
            trials[f"{name}-{loss_name(loss)}"] = periodic(
                ctx, "scalable", loss, scalable_pkts(loss), kept=7 / 8, **hosts
            )
    for loss, pkts in HIGHSPEED_PKTS.items():
        trials[f"highspeed-{loss_name(loss)}"] = periodic(ctx, "highspeed", loss, pkts, kept=0.67)
    for loss in BIC_LOSSES:
        window = bic_pkts(loss)
        trials[f"bic-{loss_name(loss)}"] = periodic(ctx, "bic", loss, window, kept=0.8, **old)
    for loss, (control, rtts_ms) in HYBLA.items():
        window = reno_pkts(loss)
        trials[f"reno-25ms-{loss_name(loss)}"] = periodic(
            ctx, "reno", loss, window, kept=0.5, rtt_ms=RTT0_MS
        )
        for rtt_ms in rtts_ms:
            trials[f"hybla-{rtt_ms:g}ms-{loss_name(loss)}"] = periodic(
                ctx, control, loss, window * rtt_ms / RTT0_MS, kept=0.5, rtt_ms=rtt_ms
            )
    for name, (rate, buffer, stack) in WESTWOOD.items():
        length_s = 120 if ctx.quick else 600
        trials[name] = _experiment(
            ctx,
            {"rate": rate, "rtt": f"{RTT_MS:g} ms", "buffer": buffer},
            [{"control": "westwood", "start": "0 s"}],
            warmup_s=30,
            length_s=length_s,
            stack=stack,
            record=("flows",),
        )
    for loss, pkts in COMPOUND_PKTS.items():
        trials[f"compound-{loss_name(loss)}"] = periodic(ctx, "compound", loss, pkts, kept=0.5)
        trials[f"illinois-{loss_name(loss)}"] = periodic(
            ctx, "illinois", loss, illinois_pkts(loss), kept=1 - LOST_PART
        )
    for name, controls in SHARED.items():
        trials[name] = _shared(ctx, controls, far_ms=100 if name.endswith("-far") else 0)
    return trials


def periodic(
    ctx: StudyContext,
    control: str,
    loss: float,
    window_pkts: float,
    *,
    kept: float,
    rtt_ms: float = RTT_MS,
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
    receive, send = (
        round(max(ROOM * window_pkts * per_pkt, 1e6))
        for per_pkt in (RECEIVE_BUFFER_PER_PKT, SEND_BUFFER_PER_PKT)
    )
    buffers = {
        "rmem": growing_memory(receive, MOST_RECEIVE_BYTES[stack]),
        "wmem": fixed_memory(f"{send} B"),
    }
    flow = {"control": control, "start": "0 s", "delayed_ack": delayed_ack, **buffers}
    first = math.ceil(math.log((ROOM - 1) / LEFT_OVER) / -math.log(kept))
    counted = 8 if ctx.quick else 60
    cycle_s = every / window_pkts * rtt_ms / 1e3
    return _experiment(
        ctx, topology, [flow], warmup_s=first * cycle_s, length_s=counted * cycle_s, stack=stack
    )


def lost_every(experiment: Experiment) -> int | None:
    """Of this many data packets one is lost; None without periodic loss."""
    forward, _ = experiment.topology.links()[0]
    for router in forward.routers:
        if router.name == LOSER:
            return router.tunables["every_pkts"]
    return None


def _shared(ctx: StudyContext, controls: Sequence[str], *, far_ms: float) -> Experiment:
    """Flows over 10 Mbit/s with a large queue; all but the first have ``far_ms`` more."""
    flows = [
        {
            "control": control,
            # Flows start within a round trip, so that the first data of each flow meets an empty
            # queue.
            "start": f"{number * 0.02:g} s",
            "delay": f"{far_ms / 2 if number else 0:g} ms",
            "delayed_ack": False,
        }
        for number, control in enumerate(controls)
    ]
    return _experiment(
        ctx,
        {"rate": "10000000 bit/s", "rtt": f"{RTT_MS:g} ms", "buffer": "1000 pkts"},
        flows,
        warmup_s=120,  # Vegas reduces slow start's overshoot by only a packet per round trip
        length_s=30 if ctx.quick else 200,
        record=("queue",),
    )


def _experiment(
    ctx: StudyContext,
    topology: dict[str, Any],
    flows: Sequence[dict[str, Any]],
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
            "flows": flows,
            "warmup": f"{warmup_s:.6g} s",
            "duration": f"{warmup_s + length_s:.6g} s",
            "stack": stack,
            "seed": ctx.seed,
            "record": record,
        }
    )


@dataclass(frozen=True)
class Run:
    """Numbers after the warm-up. NaN: not recorded in this trial, or no value."""

    utilization: float
    """Utilization of the bottleneck."""
    queue_pkts: float
    """Mean over time of the bottleneck's queue."""
    ssthresh_pkts: float
    """The first flow's ssthresh, median over time."""
    first_share: float
    """The first flow's share of the total goodput."""
    window_pkts: float
    """The first flow's mean window with periodic loss: packets per round trip, from the time
    between reductions over whole cycles."""


Found = Evidence[Run]


def observe(_key: str, trace: Trace) -> Run:
    """Reduce a trial to its numbers."""
    goodputs_bps = [metrics.goodput_bps(trace, n) for n in range(len(trace.experiment.flows))]
    goodput_bps = float(np.sum(goodputs_bps))
    window = metrics.window_of(trace)
    queue = values_with_durations(trace.rows_of("queue", "link", 0), "queue_pkts", window)
    ssthresh = values_with_durations(
        trace.rows_of("flow_state", "flow", 0), "ssthresh_pkts", window
    )
    return Run(
        utilization=metrics.utilization(trace),
        queue_pkts=or_nan(weighted_distribution(*queue).mean),
        ssthresh_pkts=or_nan(weighted_distribution(*ssthresh).median),
        first_share=goodputs_bps[0] / goodput_bps if goodput_bps else math.nan,
        window_pkts=_window_pkts(trace),
    )


def _window_pkts(trace: Trace) -> float:
    every = lost_every(trace.experiment)
    epochs_s = metrics.congestion_epochs_s(trace, 0)
    if every is None or not epochs_s.size:
        return math.nan
    rtt_s = trace.experiment.base_rtt_ns / NS_PER_S
    return (every - 1) * rtt_s / float(epochs_s.mean())
