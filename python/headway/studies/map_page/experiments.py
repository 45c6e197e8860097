"""Setup: the map with each startup, and by target. Run: the loading times of the visits."""

from dataclasses import dataclass
from typing import Any

import numpy as np

from headway.claims import Evidence
from headway.experiment import Experiment
from headway.metrics.stats import Array
from headway.studies.common import sites
from headway.study import StudyContext
from headway.trace import Trace

VISITS, TARGET_VISITS = 10, 5
TARGET_MS = 250
"""The response time target with which startups are compared."""
TARGETS_MS = (205, 225, TARGET_MS, 300, 350, 500, 1000)
OLD, BASE, EARLY = "slow-start-3", "slow-start", "quick-start-early"
CONTROLS = {
    OLD: ("Slow-Start, 3 packets", "cubic+initial-start:is_window_pkts=3"),
    BASE: ("Slow-Start", "cubic+slow-start"),
    "initial-start": ("Initial-Start", "cubic+initial-start"),
    "jump-start": ("Jump-Start", "cubic+jump-start"),
    "quick-start": ("Quick-Start", sites.quick_start()),
    EARLY: ("Quick-Start, early", sites.quick_start("early")),
    "mega-start": ("Mega-Start", "cubic+mega-start:ms_automatic=0"),
}
LABELS = {name: label for name, (label, _) in CONTROLS.items()}
TARGETED = ("quick-start", "mega-start")
NAMED: dict[str, Any] = {"initial_rate": f"{sites.ASKED_BPS} bit/s", "data_volume": "1.5 MB"}
"""The rate that a server names for every connection, so that the handshake can ask for it."""


@dataclass(frozen=True)
class Loads:
    """Loading times in s as the browser measures them, a visit's volume, and a picture."""

    load_s: Array
    volume_bytes: float
    picture: str = ""

    @property
    def median_s(self) -> float:
        """Median over the visits."""
        return float(np.median(self.load_s)) if self.load_s.size else float("nan")

    @property
    def interval_s(self) -> tuple[float, float]:
        """The median's interval: second to ninth of ten visits (98 %), else the range."""
        if not self.load_s.size:
            return float("nan"), float("nan")
        ordered = np.sort(self.load_s)
        inner = 1 if ordered.size >= 10 else 0
        return float(ordered[inner]), float(ordered[-1 - inner])


Found = Evidence[Loads]


def key(scheme: str, target_ms: int) -> str:
    """A trial's key: "jump-start", or "mega-start-500" with another target than TARGET_MS."""
    return scheme if target_ms == TARGET_MS else f"{scheme}-{target_ms}"


def experiments(ctx: StudyContext) -> dict[str, Experiment]:
    """A trial per startup with the same target, then trials with the other targets."""
    if ctx.quick:
        return {name: _trial(ctx, name, TARGET_MS, 1) for name in (BASE, *TARGETED)}
    trials = {name: _trial(ctx, name, TARGET_MS, VISITS) for name in CONTROLS}
    for name in TARGETED:
        for target_ms in TARGETS_MS:
            trials.setdefault(key(name, target_ms), _trial(ctx, name, target_ms, TARGET_VISITS))
    return trials


def _trial(ctx: StudyContext, name: str, target_ms: int, visits: int) -> Experiment:
    return sites.trial(
        {"site": "map", "visits": visits, "keep_alive": False},
        CONTROLS[name][1],
        seed=ctx.seed,
        deadline=f"{target_ms} ms",
        **(NAMED if name == EARLY else {}),
    )


def observe(_key: str, trace: Trace) -> Loads:
    """One trial."""
    flow = trace.meta["visits"]["0"]
    loads = np.array([visit["load_ms"] / 1e3 for visit in flow["visits"]], dtype=np.float64)
    delivered = trace["flow_counters"].sort("time_ns")["delivered_bytes"][-1]
    return Loads(loads, delivered / max(len(loads), 1), flow["picture"])
