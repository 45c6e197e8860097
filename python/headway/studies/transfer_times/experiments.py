"""Setup: the trials of the simulator's form."""

from __future__ import annotations

import numpy as np

from headway.experiment import Experiment, Flow
from headway.models._checks import Floats
from headway.studies.common import lab
from headway.studies.transfer_times.schemes import BASE, QS_RATE_BPS, SCHEMES, flow
from headway.study import StudyContext

RTTS_MS = (50, 100, 200)
"""Of the simulations; figures 6.38 and 6.39 have more lines from the equations."""
SIZES_BYTES = tuple(
    float(size)
    for size in (
        *(1e3, 1.5e3, 2e3, 3e3, 5e3, 7e3, 10e3, 14e3, 20e3, 30e3, 40e3, 50e3, 65e3, 80e3),
        *(100e3, 115e3, 135e3, 150e3, 200e3, 300e3, 500e3, 700e3),
        *(1e6, 1.5e6, 2e6, 3e6, 5e6, 7e6, 10e6),
    )
)
QUICK_SIZES_BYTES = (1e3, 5e3, 10e3, 30e3, 50e3, 100e3, 115e3, 135e3, 150e3, 300e3, 1e6, 5e6, 10e6)

BUFFERS_PKTS = (1000, 10_000)
"""The thesis' queue, and one that holds all: the equations know no loss, and with the first slow
start overshoots at the end of some of the largest transfers."""

SPACING_S = 40.0
"""Transfers of one trial follow each other on an idle link; the longest takes 10 s."""

TARGET_SIZE_BYTES = 100e3
TARGETS_S = (0.1, 0.15, 0.25, 0.27, 0.3, 0.35, 0.4, 0.5, 0.7, 1.0, 1.5, 2.0)
TARGET_SCHEMES = (BASE, "initial-start", "jump-start", "mega-start", "quick-start-late")
"""Figure 7.4."""

CAPACITY_SIZE_BYTES = 1e6
"""Of figure 6.40; the thesis does not print its own. Slow start takes "of the order of 2 s"."""
CAPACITIES_BPS = (2e6, 5e6, 10e6, 20e6, 39e6, 43e6, 47e6, 79e6, 90e6, 200e6, 500e6, 1000e6)
CAPACITY_SCHEMES = (BASE, "jump-start", "quick-start", "quick-start-5", "quick-start-b")
"""Figure 6.40. Quick-Start asks for the capacity, or for 5.12 Mbit/s; with QS-b, too."""
CAPACITY_WINDOW = "1100000 B"
"""Announced from the start there: the whole transfer."""

WINDOW_3 = f"{lab.CONTROL}+initial-start:is_window_pkts=3"
"""Slow start from the initial window of Linux 2.6.24; that of 2.6.18, and so of the stack, is 2."""

PIECES_BYTES = (100_000, 10_000, 4_000)
"""What an application writes at a time, the first all of what is timed."""
PIECES_SCHEMES = (BASE, "jump-start")
PIECES_GAP = "100 us"

MECHANICS_PKTS = 20
"""Queue that a Jump-Start of 45 packets overflows when it leaves at once."""


def sizes(ctx: StudyContext) -> Floats:
    """Response sizes of this form, bytes."""
    return np.array(QUICK_SIZES_BYTES if ctx.quick else SIZES_BYTES)


def experiments(ctx: StudyContext) -> dict[str, Experiment]:
    """A trial per scheme, RTT and queue with one flow per size; then targets, capacities."""
    return {
        **_over_sizes(ctx),
        **_over_capacities(),
        **_over_targets(),
        **_pieces(),
        **_mechanics(),
    }


def over_sizes_key(scheme: str, rtt_ms: int, buffer_pkts: int) -> str:
    """A trial of all sizes: "jump-start-rtt200-b1000"."""
    return f"{scheme}-rtt{rtt_ms}-b{buffer_pkts}"


def capacity_key(scheme: str, rate_bps: float) -> str:
    """A trial of figure 6.40: "capacity-slow-start-43"."""
    return f"capacity-{scheme}-{rate_bps / 1e6:g}"


def pieces_key(scheme: str, piece_bytes: int) -> str:
    """An upload written piece by piece: "pieces-jump-start-4000"."""
    return f"pieces-{scheme}-{piece_bytes}"


def _over_sizes(ctx: StudyContext) -> dict[str, Experiment]:
    trials = {}
    for scheme in SCHEMES:
        for rtt_ms in RTTS_MS:
            for buffer_pkts in BUFFERS_PKTS:
                flows = [flow(scheme, s, SPACING_S * i) for i, s in enumerate(sizes(ctx))]
                trials[over_sizes_key(scheme, rtt_ms, buffer_pkts)] = lab.experiment(
                    lab.path(rtt_ms=rtt_ms, buffer_pkts=buffer_pkts),
                    flows,
                    duration_s=SPACING_S * len(flows),
                )
    flows = [
        lab.requests([size], control=WINDOW_3, start_s=SPACING_S * i)
        for i, size in enumerate(sizes(ctx))
    ]
    trials["window3"] = lab.experiment(lab.path(), flows, duration_s=SPACING_S * len(flows))
    return trials


def _over_capacities() -> dict[str, Experiment]:
    return {
        capacity_key(scheme, rate_bps): lab.experiment(
            lab.path(rate_bps=rate_bps),
            [_capacity_flow(scheme, rate_bps)],
            duration_s=SPACING_S,
        )
        for scheme in CAPACITY_SCHEMES
        for rate_bps in CAPACITIES_BPS
    }


def _capacity_flow(scheme: str, rate_bps: float) -> Flow:
    early = scheme.startswith("quick-start")
    asked_bps = rate_bps if scheme == "quick-start" else min(QS_RATE_BPS, rate_bps)
    control = SCHEMES[scheme].control if not early else lab.quick_start(asked_bps, early=True)
    return lab.requests(
        [CAPACITY_SIZE_BYTES],
        control=control + (":qs_ssthresh=1" if scheme == "quick-start-b" else ""),
        receive_window=None if scheme == BASE else CAPACITY_WINDOW,
        data_volume_bytes=CAPACITY_SIZE_BYTES if early else None,
    )


def target_rate_bps(target_s: float) -> float | None:
    """Eq. 7.1: the IP rate that meets a target, Q = s / (T - d); None if no rate can."""
    path = lab.model_path()
    if target_s <= path.rtt_s:
        return None
    return TARGET_SIZE_BYTES / (target_s - path.rtt_s) * 8 * path.mtu_bytes / path.mss_bytes


def _target_control(scheme: str, target_s: float) -> str:
    """The control of a transfer whose application has a target for its response time."""
    rate_bps = target_rate_bps(target_s)
    if scheme == "mega-start":
        if rate_bps is None:
            return SCHEMES[BASE].control
        return f"{SCHEMES[scheme].control}:ms_rate_kbps={max(rate_bps / 1e3, 1):.0f}"
    if scheme == "quick-start-late":
        if rate_bps is None:
            return SCHEMES[BASE].control
        return lab.quick_start(rate_bps, early=False)
    return SCHEMES[scheme].control


def _over_targets() -> dict[str, Experiment]:
    trials = {}
    for scheme in TARGET_SCHEMES:
        flows = [
            lab.requests(
                [TARGET_SIZE_BYTES],
                control=_target_control(scheme, target_s),
                start_s=SPACING_S * i,
                receive_window=lab.RECEIVE_WINDOW,
            )
            for i, target_s in enumerate(TARGETS_S)
        ]
        trials[f"target-{scheme}"] = lab.experiment(
            lab.path(), flows, duration_s=SPACING_S * len(flows)
        )
    return trials


def _pieces() -> dict[str, Experiment]:
    return {
        pieces_key(scheme, piece): lab.experiment(
            lab.path(), [_pieces_flow(scheme, piece)], duration_s=3, sample_s=0.001
        )
        for scheme in PIECES_SCHEMES
        for piece in PIECES_BYTES
    }


def _pieces_flow(scheme: str, piece_bytes: int) -> Flow:
    """An upload written piece by piece. Small pieces go on until the end, each echoed."""
    app: dict[str, str] = {"kind": "bulk", "size": f"{piece_bytes} B"}
    if piece_bytes < PIECES_BYTES[0]:
        app = {"kind": "pingpong", "request": f"{piece_bytes} B", "mean_interval": PIECES_GAP}
    return Flow.model_validate(
        {
            "app": app,
            "control": SCHEMES[scheme].control,
            "receive_buffer": lab.RECEIVE_BUFFER,
            "receive_window": lab.RECEIVE_WINDOW,
            "extra_ack": True,
            "start": "0 s",
        }
    )


def _mechanics() -> dict[str, Experiment]:
    """Uploads, whose sender is recorded: the bursts of a Jump-Start, and one that loses packets."""
    upload = {
        "app": {"kind": "bulk", "size": "65160 B"},
        "control": f"{lab.CONTROL}+jump-start",
        "receive_buffer": lab.RECEIVE_BUFFER,
        "receive_window": lab.RECEIVE_WINDOW,
        "extra_ack": True,
        "start": "0 s",
    }
    lossy = {**upload, "control": f"{upload['control']}:pacing_chunk_pkts=64"}
    flows = {"bursts": upload, "loss": {**lossy, "app": {"kind": "bulk", "size": "2 MB"}}}
    queues = {"bursts": 1000, "loss": MECHANICS_PKTS}
    return {
        f"mechanics-{name}": Experiment.model_validate(
            {
                "topology": lab.path(buffer_pkts=queues[name]),
                "flows": [fields],
                "duration": "20 s",
                "stack": lab.STACK,
                "record": ["queue", "flows"],
            }
        )
        for name, fields in flows.items()
    }
