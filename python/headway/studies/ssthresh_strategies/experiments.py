"""Setup: the first seconds of a response of 100 MB over 10 and 100 Mbit/s, 200 ms."""

from __future__ import annotations

from headway.experiment import Experiment
from headway.studies.common import lab
from headway.study import StudyContext

SIZE_BYTES = 100e6
LENGTH_S = 20.0
RTT_S = lab.RTT_MS / 1e3
FAST_BPS = 100e6
RATES_BPS = {"10": lab.LINK_BPS, "100": FAST_BPS}
APPROVED_BPS = {"10": (5.12e6,), "100": (5.12e6, 20.48e6, 81.92e6)}
STRATEGIES = {"a": "ssthresh kept", "b": "ssthresh set to the Quick-Start window"}
SSTHRESH = {"a": 0, "b": 1}
RECEIVE_WINDOW = "4000000 B"
"""Announced from the start: more than 100 Mbit/s over a round trip."""


def experiments(ctx: StudyContext) -> dict[str, Experiment]:
    """A trial per link, strategy and approved rate, and slow start on each link."""
    trials = {}
    for link, rate_bps in RATES_BPS.items():
        controls = {f"ss-{link}": f"{lab.CONTROL}+slow-start"}
        for approved in APPROVED_BPS[link]:
            for strategy in STRATEGIES:
                name = f"qs-{strategy}-{link}-{approved / 1e6:g}"
                controls[name] = quick_start(strategy, approved)
        for name, control in controls.items():
            flow = lab.requests(
                [SIZE_BYTES],
                control=control,
                receive_window=None if name.startswith("ss") else RECEIVE_WINDOW,
                data_volume_bytes=None if name.startswith("ss") else SIZE_BYTES,
            )
            trials[name] = lab.experiment(
                lab.path(rate_bps=rate_bps),
                [flow],
                duration_s=LENGTH_S,
                seed=ctx.seed,
                sample_s=RTT_S,
            )
    return trials


def quick_start(strategy: str, approved_bps: float) -> str:
    """The control of a flow with a strategy and a request that will be approved."""
    return f"{lab.quick_start(approved_bps, early=True)}:qs_ssthresh={SSTHRESH[strategy]}"


def rate_bps(name: str) -> float:
    """The rate of a trial's link."""
    return RATES_BPS[name.split("-")[1 if name.startswith("ss") else 2]]
