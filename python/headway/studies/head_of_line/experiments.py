"""Setup: messages of 64 bytes, 10 ms apart on average, echoed over one connection."""

from __future__ import annotations

from headway import models
from headway.experiment import Experiment, Flow
from headway.metrics.stats import Array
from headway.studies.common import lab
from headway.study import StudyContext

CONTROLS = {"reno": "Reno", "cubic26": "CUBIC"}
LOSSES = (0.0, 1e-4, 3e-4, 1e-3, 3e-3, 1e-2, 2e-2, 3e-2, 5e-2)
RTT_MS = 50
"""Not given in the thesis. The window stays above the five messages in flight, as eq. A.7
assumes."""
INTERVAL_S = 0.01
PROCESSING_S = 0.5e-3
"""Epsilon of eq. A.7 by section 6.2.3.2. Simulated hosts take no processing time."""
LENGTH_S, QUICK_LENGTH_S = 3000.0, 400.0
OTHER_STACK = "linux-6"
"""Compared with the thesis' Linux: its window limits less, so that eq. A.7 holds up to more
loss."""


def key(control: str, loss: float, stack: str = lab.STACK) -> str:
    """A trial's name: "reno-p1e-2-linux-2.6"."""
    return f"{control}-p{loss:.0e}-{stack}".replace("e-0", "e-").replace("e+00", "")


def model_s(loss: float | Array) -> Array:
    """Eq. A.7 for this path."""
    return models.response_time_s(
        loss, rtt_s=RTT_MS / 1e3, interval_s=INTERVAL_S, processing_s=PROCESSING_S
    )


def experiments(ctx: StudyContext) -> dict[str, Experiment]:
    """One trial per stack, control and loss."""
    return {
        key(control, loss, stack): lab.experiment(
            lab.path(rtt_ms=RTT_MS, loss=loss),
            [_messages(control)],
            duration_s=QUICK_LENGTH_S if ctx.quick else LENGTH_S,
            stack=stack,
            seed=ctx.seed,
        )
        for stack in (lab.STACK, OTHER_STACK)
        for control in CONTROLS
        for loss in LOSSES
    }


def _messages(control: str) -> Flow:
    return Flow.model_validate(
        {
            "app": {"kind": "pingpong", "request": "64 B", "mean_interval": f"{INTERVAL_S:g} s"},
            "control": control,
            "nodelay": True,
            "receive_buffer": lab.RECEIVE_BUFFER,
            "start": "0 s",
        }
    )
