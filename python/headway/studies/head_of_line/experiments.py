"""Setup: messages of 64 bytes, 10 ms apart on average, echoed over one connection.

Run: the response times of each trial.
"""

import math
from dataclasses import dataclass

import numpy as np

from headway import models
from headway.claims import Evidence
from headway.experiment import BATCHES, Dumbbell, Experiment, Flow, Pingpong
from headway.metrics.stats import Array, Estimate, batch_means, confidence_interval, or_nan
from headway.studies.common import lab
from headway.study import StudyContext
from headway.trace import Trace
from headway.units import NS_PER_S

CONTROLS = {"reno": "Reno", "cubic26": "CUBIC"}
LOSSES = (0.0, 1e-4, 3e-4, 1e-3, 3e-3, 1e-2, 2e-2, 3e-2, 5e-2)
RTT_MS = 50
"""Round-trip time: our choice. With it the window stays above the five messages in flight, as eq.
A.7 assumes."""
INTERVAL_S = 0.01
PROCESSING_S = 0.5e-3
"""Epsilon of eq. A.7 by section 6.2.3.2. Simulated hosts take no processing time."""
OTHER_STACK = "linux-6"
"""Today's Linux. Its window limits messages less than that of the thesis' Linux, so eq. A.7 holds
up to a larger loss."""


def key(control: str, loss: float, stack: str = lab.STACK) -> str:
    """A trial's name: "reno-p1e-2-linux-2.6"."""
    return f"{control}-p{loss:.0e}-{stack}".replace("e-0", "e-").replace("e+00", "")


def model_s(loss: float | Array, rtt_s: float = RTT_MS / 1e3, gap_s: float = INTERVAL_S) -> Array:
    """Eq. A.7, by default for this study's path and messages."""
    return models.response_time_s(loss, rtt_s=rtt_s, interval_s=gap_s, processing_s=PROCESSING_S)


def experiments(ctx: StudyContext) -> dict[str, Experiment]:
    """One trial per stack, control and loss."""
    app = {"kind": "pingpong", "request": "64 B", "mean_interval": f"{INTERVAL_S:g} s"}
    fields = {"app": app, "nodelay": True, "rmem": lab.RMEM, "start": "0 s"}
    return {
        key(control, loss, stack): lab.experiment(
            lab.path(rtt_ms=RTT_MS, loss=loss),
            [Flow.model_validate({"control": control, **fields})],
            duration_s=400 if ctx.quick else 3000,
            stack=stack,
            seed=ctx.seed,
        )
        for stack in (lab.STACK, OTHER_STACK)
        for control in CONTROLS
        for loss in LOSSES
    }


@dataclass(frozen=True)
class Times:
    """Observations of a trial: the response times."""

    mean_s: float
    half_width_s: float
    """Half width of the mean's 95 % interval, from ten batches; NaN: too few messages."""
    tail_s: Array
    """Some of the response times in rising order, most of them near the longest; shape (n,)."""
    tail_share: Array
    """Part of all messages that took at least as long as each of ``tail_s``."""
    slow_s: float
    """The 99.9 % quantile."""
    model_s: float
    """Eq. A.7 for this trial's path, loss and interval."""

    @property
    def time_s(self) -> Estimate:
        """The mean with its 95 % interval."""
        return Estimate(self.mean_s, None, self.half_width_s, BATCHES)


Found = Evidence[Times]


def observe(_key: str, trace: Trace) -> Times:
    """The response times of a trial, and what eq. A.7 predicts for it."""
    rows = trace["responses"]
    times_s = np.asarray((rows["end_ns"] - rows["start_ns"]).to_numpy() / NS_PER_S)
    ordered, number = np.sort(times_s), times_s.size
    steps = np.geomspace(1, number, 400).astype(np.intp)
    keep = np.unique(number - steps).clip(0)
    batches = [float(mean) for mean in batch_means(times_s)] if number >= BATCHES else [math.nan]
    topology, app = trace.experiment.topology, trace.experiment.flows[0].app
    assert isinstance(topology, Dumbbell)
    assert isinstance(app, Pingpong)
    model = model_s(topology.loss, topology.rtt / NS_PER_S, app.mean_interval / NS_PER_S)
    return Times(
        float(times_s.mean()),
        or_nan(confidence_interval(batches).half_width),
        ordered[keep],
        1 - keep / number,
        float(np.quantile(times_s, 0.999)),
        float(model),
    )
