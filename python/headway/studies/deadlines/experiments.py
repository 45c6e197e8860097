"""Setup: one Web object after the other, each with its own target, by every startup.

Run: response times of the startups by target.
"""

import math
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path

import numpy as np

from headway import metrics
from headway.claims import Evidence
from headway.experiment import Experiment, Flow
from headway.figures import label_of
from headway.metrics.stats import Array
from headway.studies.common import lab
from headway.study import StudyContext
from headway.trace import Trace
from headway.units import NS_PER_S

SIZE_BYTES = 100e3
TARGETS_S = (0.1, 0.15, 0.21, 0.25, 0.27, 0.29, 0.3, 0.35, 0.4, 0.5, 0.6, 0.7, 1.0, 1.5, 2.0)
"""Response time targets. The smallest are below the RTT. For 0.21 s eq. 7.1 gives 83 Mbit/s on a
link of ten."""
FILES = Path(__file__).parent
"""Files of pages: once.csv has the object of 100 kB, smaller.csv an object of 99 kB. thrice.csv has
the object three times, each on its own connection, with 0.6 s between them."""
SPACING_S = 40.0
"""Time between transfers, so that each begins on an idle link."""

BASE, MEGA, LATE, CORRECTED = "slow-start", "mega-start", "quick-start-late", "quick-start"
BLIND = (BASE, "initial-start", "jump-start")
"""Startups that have no interface for a target."""
LABELS = {scheme: label_of(scheme) for scheme in (*BLIND, MEGA, LATE)}
LABELS[CORRECTED] = "Quick-Start, late, corrected"


def live_key(scheme: str, target_s: float) -> str:
    """A trial on the kernel: "mega-start-t290"."""
    return f"{scheme}-t{round(target_s * 1e3)}"


def startup(scheme: str) -> str:
    """The startup of a scheme with its options."""
    if scheme in BLIND:
        return scheme
    if scheme == MEGA:
        return "mega-start:ms_automatic=0"
    rules = {"qs_rules": 1 if scheme == LATE else 0}
    own = {"qs_activation": lab.LATE, "qs_min_bytes": 2 * lab.MSS_BYTES, **lab.HOSTS, **rules}
    return "quick-start:" + ":".join(f"{name}={value}" for name, value in own.items())


def download(
    control: str, target_s: float, start_s: float, file: str, wmem: str | None = None
) -> Flow:
    """A client of the lab, on a new connection for each object, with a target."""
    app = {"kind": "pages", "file": str(FILES / file), "http": "1.0", "connections": 1}
    receives = {"rmem": lab.RMEM, "initial_rwnd": lab.RECEIVE_WINDOW}
    at = {"start": f"{start_s:g} s", "deadline": f"{target_s:g} s"}
    own = {"app": app, "control": control, "wmem": wmem, "delayed_ack": False}
    return Flow.model_validate({**own, **receives, **at})


def in_turn(ctx: StudyContext) -> dict[str, Experiment]:
    """A trial per scheme with the thesis' hosts, its targets one after the other."""
    trials = {}
    for scheme in LABELS:
        control = f"{lab.CONTROL}+{startup(scheme)}"
        flows = [download(control, t, SPACING_S * i, "once.csv") for i, t in enumerate(TARGETS_S)]
        length_s = SPACING_S * len(TARGETS_S)
        trials[scheme] = lab.experiment(lab.path(), flows, duration_s=length_s, seed=ctx.seed)
    return trials


@dataclass(frozen=True)
class Responses:
    """Response times of a trial: of every flow, or of every download of its only flow."""

    response_s: Array
    """Time from the request to the response's last byte, without the handshake; NaN if it did not
    arrive."""
    asked: float = math.nan
    """Requests for a rate that the link's router counted; NaN without such a router."""


def observe(_key: str, trace: Trace) -> Responses:
    """Observe a trial with an object per flow, or with several objects in one flow."""
    rows = trace["responses"].sort("flow", "epoch")
    took_s = ((rows["end_ns"] - rows["start_ns"]) / NS_PER_S).to_numpy()
    counters = metrics.router_counters(trace, "quick-start")
    counted = counters.filter(counters["link"] == lab.DOWNLINK).sort("time_ns")
    asked = math.nan if counted.is_empty() else float(counted["requests"][-1])
    # A trace has the handshake time only of a flow's first connection. For the other connections
    # the base RTT is used, although their handshakes may be shorter.
    idle_us = trace.experiment.base_rtt_ns // 1000
    if len(trace.flows) == 1:
        return Responses(np.asarray(took_s - idle_us / 1e6, dtype=np.float64), asked)
    flows = rows["flow"].to_numpy()
    handshakes_us = np.array([flow.handshake_rtt_us or idle_us for flow in trace.flows])
    all_s = np.full(len(trace.flows), np.nan)
    all_s[flows] = took_s - handshakes_us[flows] / 1e6
    return Responses(all_s, asked)


@dataclass(frozen=True)
class Answers:
    """What a startup did with each of its targets, in arrays of shape (targets,)."""

    targets_s: Array
    times_s: Array
    """Response times; NaN for a response that did not arrive."""
    asked: Array
    """Requests for a rate; NaN if they were not counted by target."""

    def between(self, least_s: float, below_s: float = math.inf) -> "Answers":
        """The entries whose targets are at least ``least_s`` and below ``below_s``."""
        at = (self.targets_s >= least_s) & (self.targets_s < below_s)
        return Answers(self.targets_s[at], self.times_s[at], self.asked[at])

    @property
    def late_s(self) -> Array:
        """How much later than its target each response is."""
        return np.asarray(self.times_s - self.targets_s)

    def by_target(self) -> dict[float, float]:
        """Response times by target."""
        return dict(zip(self.targets_s.tolist(), self.times_s.tolist(), strict=True))


Found = Evidence[Answers]
"""Startups by name; the simulator's twins of trials on the kernel have the prefix SIMULATED."""


def gather(_ctx: StudyContext, rows: Mapping[str, Responses]) -> Found:
    """The startups' times in the simulator."""
    targets_s = np.array(TARGETS_S)
    unknown = np.full(targets_s.shape, np.nan)
    return Evidence({key: Answers(targets_s, row.response_s, unknown) for key, row in rows.items()})
