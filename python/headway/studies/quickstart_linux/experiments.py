"""Setup: flows that start, and downloads of many sizes. Run: their rates and response times.

The paper's computers ran Linux 2.6.20 with its own quick ACKs (section 5.2): delayed ACKs are on.
"""

import math
from collections.abc import Mapping
from dataclasses import dataclass
from itertools import product

import numpy as np

from headway.claims import Evidence
from headway.experiment import Experiment, Flow
from headway.metrics.stats import Array
from headway.studies.common import lab
from headway.study import StudyContext
from headway.trace import Trace

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
FULL_SHARE = 0.95
"""The link counts as full in a slot of a round trip if it carries this part of its rate."""


def download(control: str, kind: str, size: float, start_s: float = 0.0) -> Flow:
    """A download of ``size`` bytes with a control and a kind of start (TRACES)."""
    name, _, options = CONTROLS[control].partition(":")
    startup = "slow-start"
    if kind != "ss":
        rate_bps = SMALL_QS_BPS if kind == "qs-reduced-2" else QS_BPS
        startup = lab.quick_start(rate_bps, early=True).partition("+")[2]
        startup += ":qs_ssthresh=1" if kind.startswith("qs-reduced") else ""
    return lab.requests(
        [size],
        control=f"{name}+{startup}" + (f":{options}" if options else ""),
        start_s=start_s,
        initial_rwnd=None if kind == "ss" else lab.RECEIVE_WINDOW,
        data_volume_bytes=None if kind == "ss" else size,
        delayed_ack=True,
    )


def experiments(ctx: StudyContext) -> dict[str, Experiment]:
    """Traces of figures 9 and 10 ("trace-100-reno-qs"), downloads of figure 11 ("sizes-...")."""
    trials = {
        f"trace-{rtt_ms}-{control}-{kind}": lab.experiment(
            lab.path(rtt_ms=rtt_ms, router=ROUTER),
            [download(control, kind, 20e6)],
            duration_s=TRACE_S,
            seed=ctx.seed,
            sample_s=rtt_ms / 1e3,
        )
        for rtt_ms, control, kind in product(RTTS_MS, CONTROLS, TRACES)
    }
    for rtt_ms, control, kind in product(SPEEDUP_RTTS_MS, CONTROLS, ("ss", "qs")):
        trials[f"sizes-{rtt_ms}-{control}-{kind}"] = lab.experiment(
            lab.path(rtt_ms=rtt_ms, router=ROUTER),
            [download(control, kind, size, SPACING_S * n) for n, size in enumerate(SIZES_BYTES)],
            duration_s=SPACING_S * len(SIZES_BYTES),
            seed=ctx.seed,
        )
    return trials


@dataclass(frozen=True)
class Start:
    """Observations of the first seconds of a flow."""

    times_s: Array
    """Ends of slots of a round trip since the end of the handshake, shape (slots,)."""
    rates_bps: Array
    """IP rate of the link towards the client in each slot."""
    full_after_s: float
    """End of the first full slot; NaN: never."""

    @property
    def full_s(self) -> float:
        """The time until the link is full, or the run's length where it never was."""
        return self.full_after_s if math.isfinite(self.full_after_s) else TRACE_S


@dataclass(frozen=True)
class Downloads:
    """Response times of SIZES_BYTES, s."""

    times_s: Array


def observe(key: str, trace: Trace) -> Start | Downloads:
    """Observe a flow's start, or a trial with downloads."""
    if key.startswith("sizes-"):
        numbers = range(len(SIZES_BYTES))
        return Downloads(np.array([lab.response_times_s(trace, n)[0] for n in numbers]))
    times, rates = lab.link_rate(trace)
    since = times - (trace.flows[0].handshake_rtt_us or 0) / 1e6
    return Start(since, rates, lab.first_above(since, rates, FULL_SHARE * lab.LINK_BPS))


@dataclass(frozen=True)
class Found:
    """All observations, looked up by trial."""

    starts: Evidence[Start]
    downloads: Evidence[Downloads]

    def start(self, rtt_ms: int, control: str, kind: str) -> Start:
        """The observations of a flow of figures 9 and 10."""
        return self.starts[f"trace-{rtt_ms}-{control}-{kind}"]

    def full_s(self, rtt_ms: int, kind: str) -> dict[str, float]:
        """The time until the link was full, by control."""
        return {control: self.start(rtt_ms, control, kind).full_s for control in CONTROLS}

    def times_s(self, rtt_ms: int, control: str, kind: str) -> Array:
        """Response times over SIZES_BYTES."""
        return self.downloads[f"sizes-{rtt_ms}-{control}-{kind}"].times_s

    def speedup(self, rtt_ms: int, control: str) -> Array:
        """Slow start's response times divided by Quick-Start's."""
        return self.times_s(rtt_ms, control, "ss") / self.times_s(rtt_ms, control, "qs")


def gather(_ctx: StudyContext, rows: Mapping[str, Start | Downloads]) -> Found:
    """Observations, grouped by the kind of trial."""
    return Found(Evidence.of(Start, rows), Evidence.of(Downloads, rows))
