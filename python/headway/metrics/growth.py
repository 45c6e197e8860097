"""Growth of the congestion window between two losses."""

from __future__ import annotations

import itertools
from dataclasses import dataclass

import numpy as np

from headway.metrics.flows import backoff_times_ns
from headway.metrics.stats import Array
from headway.metrics.windows import Window, whole_run
from headway.trace import Trace
from headway.units import NS_PER_S

_OPEN = 0
_US_PER_S = 1e6


@dataclass(frozen=True)
class GrowthEpoch:
    """One epoch's growth after its recovery; arrays of shape (n,), one entry per new window."""

    cwnd_before_pkts: int
    """The window at the backoff that began the epoch."""
    time_s: Array
    """Time since the backoff that began the epoch."""
    cwnd_pkts: Array
    srtt_s: Array

    @property
    def increase_s(self) -> Array:
        """Sum of (window growth × smoothed RTT), shape (n,): packets per round trip, over time.

        For a flow that adds a packets per round trip this is a × time, at any round-trip time.
        """
        grown = np.diff(self.cwnd_pkts, prepend=self.cwnd_pkts[0])
        return np.asarray(np.cumsum(grown * self.srtt_s), dtype=np.float64)


def growth_epochs(trace: Trace, flow: int, window: Window | None = None) -> list[GrowthEpoch]:
    """The flow's growth in each complete congestion epoch of the window (default: whole run).

    Only states recorded without loss or reordering ("open") count. Epochs with fewer than two such
    states are left out. The list is empty if flow states were not recorded.
    """
    rows = trace.numpy("flow_state")
    usable = (rows["flow"] == flow) & (rows["state"] == _OPEN) & (rows["srtt_us"] > 0)
    time_ns = rows["time_ns"][usable]
    cwnd = rows["cwnd_pkts"][usable].astype(np.float64)
    srtt_s = rows["srtt_us"][usable].astype(np.float64) / _US_PER_S
    backoffs = trace.rows_of("backoffs", "flow", flow)
    before = dict(backoffs.select("time_ns", "cwnd_pkts").iter_rows())
    epochs: list[GrowthEpoch] = []
    for start_ns, end_ns in itertools.pairwise(
        backoff_times_ns(trace, flow, window or whole_run(trace))
    ):
        first, last = np.searchsorted(time_ns, [start_ns, end_ns])
        part = slice(first, last)
        if last - first < 2:
            continue
        changed = np.append(True, np.diff(cwnd[part]) != 0)
        epochs.append(
            GrowthEpoch(
                before[start_ns],
                (time_ns[part][changed] - start_ns) / NS_PER_S,
                cwnd[part][changed],
                srtt_s[part][changed],
            )
        )
    return epochs
