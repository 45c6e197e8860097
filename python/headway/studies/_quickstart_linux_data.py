"""Flows, sizes and results of the study quickstart-linux."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

import numpy as np

from headway.metrics.stats import Array
from headway.studies.common import lab
from headway.workloads import surge

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

SIZES_BYTES = (1e3, 2.8e3, 5e3, 10e3, 20e3, 50e3, 100e3, 200e3, 500e3, 1e6, 2e6, 5e6, 12e6)
MODELS: tuple[surge.Model, ...] = ("default", "large")
WEB_SCHEMES = ("slow-start", "quick-start", "jump-start")
LOAD_SCHEMES = ("slow-start", "quick-start", "quick-start-late", "jump-start")
LOAD_HTTP = ("1.1", "1.1p")
LOAD_USERS, QUICK_LOAD_USERS = (1, 2, 5, 10, 15, 20), (1, 5, 15)
SHARES = (0.25, 0.5, 0.75, 1.0)
FULL_SHARE = 0.95


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


@dataclass(frozen=True)
class Results:
    """Everything that was measured; times in s, rates in IP bit/s."""

    rates: Mapping[tuple[int, str, str], tuple[Array, Array]]
    """(ends of slots, rates) by RTT in ms, control and kind."""
    times_s: Mapping[tuple[int, str, str], Array]
    """Response times over SIZES_BYTES by RTT in ms, control and kind."""
    pages_s: Mapping[tuple[surge.Model, str, str, str], Array]
    """Page times of one user by model, HTTP, control and scheme."""
    page_bytes: Mapping[surge.Model, Array]
    users: Array
    load_s: Mapping[tuple[str, str], Array]
    """Mean page times over the users by HTTP and scheme, large files."""
    share_s: Mapping[float, float]
    """Mean page time by part of the capacity for Quick-Start."""

    def full_s(self, rtt_ms: int, control: str, kind: str) -> float:
        """Time from the request until a slot carries 95 % of the link; NaN: never."""
        times, rates = self.rates[rtt_ms, control, kind]
        return lab.first_above(times, rates, FULL_SHARE * lab.LINK_BPS)

    def speedup(self, rtt_ms: int, control: str) -> Array:
        """Slow start's response times over Quick-Start's."""
        return self.times_s[rtt_ms, control, "ss"] / self.times_s[rtt_ms, control, "qs"]

    def page_s(self, model: surge.Model, http: str, control: str, scheme: str) -> float:
        """Mean page time of one user."""
        return float(np.mean(self.pages_s[model, http, control, scheme]))
