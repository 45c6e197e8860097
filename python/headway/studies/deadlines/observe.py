"""Run: what is kept of a trial."""

from __future__ import annotations

import math
from dataclasses import dataclass

import numpy as np

from headway import metrics
from headway.metrics.stats import Array
from headway.studies.common import lab
from headway.trace import Trace
from headway.units import NS_PER_S


@dataclass(frozen=True)
class Responses:
    """Of one startup: every flow's response times, or those of one target."""

    response_s: Array
    """From the request to the last byte, without the handshake; NaN where it did not come."""
    asked: float = math.nan
    """Requests for a rate that the link's router saw; NaN where none counts them."""


def observe(trace: Trace) -> Responses:
    """A trial with one object per flow, or with one flow of several; all open a connection."""
    rows = trace["responses"].sort("flow", "epoch")
    took_s = ((rows["end_ns"] - rows["start_ns"]) / NS_PER_S).to_numpy()
    flows = rows["flow"].to_numpy()
    idle_us = trace.experiment.base_rtt_ns // 1000  # where a trace does not have the handshake's
    if len(trace.flows) == 1:
        # it has that of one connection, and another's was not as late
        return Responses(np.asarray(took_s - idle_us / 1e6, dtype=np.float64), _asked(trace))
    handshakes_us = np.array([flow.handshake_rtt_us or idle_us for flow in trace.flows])
    times_s = took_s - handshakes_us[flows] / 1e6
    all_s = np.full(len(trace.flows), np.nan)
    all_s[flows] = times_s
    return Responses(all_s, _asked(trace))


def _asked(trace: Trace) -> float:
    rows = metrics.router_counters(trace, "quick-start")
    counted = rows.filter(rows["link"] == lab.DOWNLINK).sort("time_ns")
    return math.nan if counted.is_empty() else float(counted["requests"][-1])
