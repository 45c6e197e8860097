"""Setup: flows that start, and downloads of many sizes.

The paper's computers ran Linux 2.6.20 with its own quick ACKs (section 5.2): delayed ACKs are on.
"""

from __future__ import annotations

from headway.experiment import Experiment
from headway.studies.common import lab
from headway.study import StudyContext

RTTS_MS = (100, 200)
SPEEDUP_RTTS_MS = (10, 50, 100, 200)
CONTROLS = {"reno": "reno", "cubic": "cubic26:initial_ssthresh=100"}
"""CUBIC of Linux 2.6.20 began with an ssthresh of 100 packets."""
LABELS = {"reno": "Reno", "cubic": "CUBIC"}

TRACES = {
    "ss": "Slow-Start",
    "qs": "Quick-Start",
    "qs-reduced": "Quick-Start, ssthresh lowered",
    "qs-reduced-2": "Quick-Start 2.56 Mbit/s, ssthresh lowered",
}
QS_BPS, SMALL_QS_BPS = 5.12e6, 2.56e6
ROUTER = "algorithm=target:interval_ms=1000:estimator=last"
"""The paper's router meters "the current traffic" in slots of a second and remembers the grants of
two slots (sections 3.2 and 5.3)."""
TRACE_S = 25.0

SIZES_BYTES = (1e3, 2.8e3, 5e3, 10e3, 20e3, 50e3, 100e3, 200e3, 500e3, 1e6, 2e6, 5e6, 12e6)
SPACING_S = 40.0


def experiments(ctx: StudyContext) -> dict[str, Experiment]:
    """The trials of figures 9 to 11 by key."""
    return {**_traces(ctx), **_sizes(ctx)}


def trace_key(rtt_ms: int, control: str, kind: str) -> str:
    """The key of a flow whose rate is traced."""
    return f"trace-{rtt_ms}-{control}-{kind}"


def sizes_key(rtt_ms: int, control: str, kind: str) -> str:
    """The key of downloads of SIZES_BYTES."""
    return f"sizes-{rtt_ms}-{control}-{kind}"


def control_of(control: str, kind: str) -> str:
    """The control of a flow of figures 9 to 11."""
    name, _, options = CONTROLS[control].partition(":")
    if kind == "ss":
        startup = "slow-start"
    else:
        rate = SMALL_QS_BPS if kind == "qs-reduced-2" else QS_BPS
        startup = lab.quick_start(rate, early=True).partition("+")[2]
        startup += ":qs_ssthresh=1" if kind.startswith("qs-reduced") else ""
    return f"{name}+{startup}" + (f":{options}" if options else "")


def _traces(ctx: StudyContext) -> dict[str, Experiment]:
    trials = {}
    for rtt_ms in RTTS_MS:
        for control in CONTROLS:
            for kind in TRACES:
                flow = lab.requests(
                    [20e6],
                    control=control_of(control, kind),
                    receive_window=None if kind == "ss" else lab.RECEIVE_WINDOW,
                    data_volume_bytes=None if kind == "ss" else 20e6,
                    delayed_ack=True,
                )
                trials[trace_key(rtt_ms, control, kind)] = lab.experiment(
                    lab.path(rtt_ms=rtt_ms, router=ROUTER),
                    [flow],
                    duration_s=TRACE_S,
                    seed=ctx.seed,
                    sample_s=rtt_ms / 1e3,
                )
    return trials


def _sizes(ctx: StudyContext) -> dict[str, Experiment]:
    trials = {}
    for rtt_ms in SPEEDUP_RTTS_MS:
        for control in CONTROLS:
            for kind in ("ss", "qs"):
                flows = [
                    lab.requests(
                        [size],
                        control=control_of(control, kind),
                        start_s=SPACING_S * number,
                        receive_window=None if kind == "ss" else lab.RECEIVE_WINDOW,
                        data_volume_bytes=None if kind == "ss" else size,
                        delayed_ack=True,
                    )
                    for number, size in enumerate(SIZES_BYTES)
                ]
                trials[sizes_key(rtt_ms, control, kind)] = lab.experiment(
                    lab.path(rtt_ms=rtt_ms, router=ROUTER),
                    flows,
                    duration_s=SPACING_S * len(flows),
                    seed=ctx.seed,
                )
    return trials
