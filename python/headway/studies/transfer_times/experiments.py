"""Setup: the trials of the simulator's form over sizes, capacities and the long path."""

from __future__ import annotations

import numpy as np

from headway.experiment import Experiment, Flow
from headway.models._checks import Floats
from headway.models.quick_start import RATES_BPS
from headway.studies.common import lab, network
from headway.studies.transfer_times.first_flights import flights, pieces, recoveries
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
"""The thesis' queue, and one that never overflows. The equations assume no loss, but with the
thesis' queue slow start overshoots at the end of some of the largest transfers."""

SPACING_S = 40.0
"""Transfers of one trial follow each other on an idle link; the longest takes 10 s."""

CAPACITY_SIZE_BYTES = 1e6
"""Of figure 6.40; the thesis does not print its own. Slow start takes "of the order of 2 s"."""
AROUND_CODES_MBPS = ((39.0, 43.0, 47.0), (79.0, 83.0, 87.0))
"""Below a rate that can be requested, above it, and further above by the same distance."""
CAPACITIES_BPS = (
    *(2e6, 5e6, 10e6, 20e6),
    *(1e6 * mbps for around in AROUND_CODES_MBPS for mbps in around),
    *(90e6, 200e6, 500e6, 1000e6),
)
CAPACITY_SCHEMES = (BASE, "jump-start", "quick-start", "quick-start-5", "quick-start-b")
"""Figure 6.40. Quick-Start requests the capacity, or 5.12 Mbit/s without and with QS-b."""
CAPACITY_WINDOW = "1100000 B"
"""Announced from the start in the trials of figure 6.40: the whole transfer."""

LONG_SIZES_BYTES = (100e3, 1e6, 10e6)
LONG_RATES_BPS = RATES_BPS[1:]
"""Every rate that can be requested, 80 kbit/s to 1.31 Gbit/s."""
LONG_WINDOW = "8388480 B"
"""Announced from the start on the long path: the largest scaled window below 8 MiB."""
LONG_ROUTER = {"capacity_kbps": 2 * lab.LONG_BPS // 1000, "interval_ms": lab.LONG_RTT_MS}
"""Grants every rate that can be requested."""
LONG_SPACING_S = 120.0

WINDOW_3 = f"{lab.CONTROL}+initial-start:is_window_pkts=3"
"""Slow start from the initial window of Linux 2.6.24; that of 2.6.18, and so of the stack, is 2."""


def sizes(ctx: StudyContext) -> Floats:
    """Response sizes of this form, bytes."""
    return np.array(QUICK_SIZES_BYTES if ctx.quick else SIZES_BYTES)


def experiments(ctx: StudyContext) -> dict[str, Experiment]:
    """Trials over sizes, capacities and requested rates, and trials of first flights."""
    return {
        **_over_sizes(ctx),
        **_guided_over_sizes(ctx),
        **_over_capacities(ctx),
        **_long_path(ctx),
        **pieces(ctx),
        **flights(ctx),
        **recoveries(ctx),
    }


def over_sizes_key(scheme: str, rtt_ms: int, buffer_pkts: int) -> str:
    """Key of a trial over all sizes: "jump-start-rtt200-b1000"."""
    return f"{scheme}-rtt{rtt_ms}-b{buffer_pkts}"


def capacity_key(scheme: str, rate_bps: float) -> str:
    """Key of a trial of figure 6.40: "capacity-slow-start-43"."""
    return f"capacity-{scheme}-{rate_bps / 1e6:g}"


def long_key(rate_bps: int | None) -> str:
    """Key of a trial of figure 6.41: "long-quick-start-80kbps", or that of slow start."""
    return f"long-{BASE}" if rate_bps is None else f"long-quick-start-{rate_bps // 1000}kbps"


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
                    seed=ctx.seed,
                )
    flows = [
        lab.requests([size], control=WINDOW_3, start_s=SPACING_S * i)
        for i, size in enumerate(sizes(ctx))
    ]
    trials["window3"] = lab.experiment(
        lab.path(), flows, duration_s=SPACING_S * len(flows), seed=ctx.seed
    )
    return trials


def _guided_over_sizes(ctx: StudyContext) -> dict[str, Experiment]:
    """XCP and RCP on the thesis' path (figure 6.37)."""
    trials = {}
    for scheme in network.SCHEMES:
        flows = [
            lab.requests(
                [size],
                control=network.control(scheme),
                start_s=SPACING_S * i,
                receive_window=network.WINDOW,
            )
            for i, size in enumerate(sizes(ctx))
        ]
        path = network.guided(lab.path(buffer_pkts=BUFFERS_PKTS[0]), scheme)
        trials[over_sizes_key(scheme, lab.RTT_MS, BUFFERS_PKTS[0])] = lab.experiment(
            path, flows, duration_s=SPACING_S * len(flows), seed=ctx.seed
        )
    return trials


def _over_capacities(ctx: StudyContext) -> dict[str, Experiment]:
    return {
        capacity_key(scheme, rate_bps): lab.experiment(
            lab.path(rate_bps=rate_bps),
            [_capacity_flow(scheme, rate_bps)],
            duration_s=SPACING_S,
            seed=ctx.seed,
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


def _long_path(ctx: StudyContext) -> dict[str, Experiment]:
    """Transfers over the long path, one after the other, for each requested rate."""
    return {
        long_key(rate_bps): lab.experiment(
            lab.long_path(router=LONG_ROUTER),
            [
                lab.requests(
                    [size],
                    control=SCHEMES[BASE].control
                    if rate_bps is None
                    else lab.quick_start(rate_bps, early=True),
                    start_s=LONG_SPACING_S * i,
                    receive_window=None if rate_bps is None else LONG_WINDOW,
                    data_volume_bytes=None if rate_bps is None else size,
                )
                for i, size in enumerate(LONG_SIZES_BYTES)
            ],
            duration_s=LONG_SPACING_S * len(LONG_SIZES_BYTES),
            seed=ctx.seed,
        )
        for rate_bps in (None, *LONG_RATES_BPS)
    }
