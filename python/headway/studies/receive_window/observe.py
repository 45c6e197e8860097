"""Run: reduce each case's transfers to windows and data over time."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Self

import numpy as np

from headway.metrics.stats import Array
from headway.studies.receive_window.experiments import BDP_BYTES, RTT_S

US = 1e-6


@dataclass(frozen=True)
class Transfer:
    """One transfer; times are from the request, or from the opening where the sender opens."""

    took_s: float
    times_s: Array
    """When the sender was sampled."""
    cwnd_bytes: Array
    window_bytes: Array
    """The receiver's last announced window that the sender had received by then."""
    arrived_s: Array
    """When the receiver read some data."""
    arrived_bytes: Array
    """Bytes that it had read by then."""
    window_limited_s: float
    """How long the window limited the sender; NaN where the kernel does not report it."""
    retransmits_pkts: float

    @classmethod
    def of(cls, measured: Mapping[str, Any]) -> Self:
        """Read one round of headwayctl's output."""
        windows = measured["windows"]
        arrived = np.array(measured["arrived"], dtype=np.float64)
        limited = measured["window_limited_us"]
        return cls(
            took_s=measured["took_us"] * US,
            times_s=np.array([one["time_us"] for one in windows]) * US,
            cwnd_bytes=np.array([one["cwnd_bytes"] for one in windows], dtype=np.float64),
            window_bytes=np.array([one["window_bytes"] for one in windows], dtype=np.float64),
            arrived_s=arrived[:, 0] * US,
            arrived_bytes=arrived[:, 1],
            window_limited_s=float("nan") if limited is None else limited * US,
            retransmits_pkts=measured["retransmits_pkts"],
        )

    def reached_s(self, share: float) -> float:
        """When this share of the data had arrived."""
        return float(np.interp(share * self.arrived_bytes[-1], self.arrived_bytes, self.arrived_s))

    def window_by_cwnd(self, before_s: float = 0.0) -> Array:
        """The window over cwnd, at the same moment or ``before_s`` earlier, while both grow.

        Both grow until cwnd is what a round trip of the path carries.
        """
        then_s = self.times_s - before_s + US / 2  # times are whole microseconds
        at = np.searchsorted(self.times_s, then_s, side="right") - 1
        cwnd = self.cwnd_bytes[np.maximum(at, 0)]
        growing = (at >= 0) & (cwnd < BDP_BYTES)
        return self.window_bytes[growing] / cwnd[growing]


@dataclass(frozen=True)
class Case:
    """All transfers of a case."""

    transfers: Sequence[Transfer]
    on_time: bool
    """Whether the emulated link kept time."""

    @classmethod
    def of(cls, measured: Mapping[str, Any]) -> Self:
        """Read headwayctl's output."""
        rounds = [Transfer.of(one) for one in measured["rounds"]]
        return cls(rounds, measured["on_time"])

    @property
    def took_s(self) -> float:
        """Median time until the last byte had arrived."""
        return float(np.median([one.took_s for one in self.transfers]))

    def reached_s(self, share: float) -> float:
        """Median time by which this share of the data had arrived."""
        return float(np.median([one.reached_s(share) for one in self.transfers]))

    def window_by_cwnd(self, *, as_announced: bool = False) -> Array:
        """The window over cwnd while both grow, of all transfers.

        ``as_announced``: over the cwnd of half a round trip before.
        """
        before_s = RTT_S / 2 if as_announced else 0.0
        return np.concatenate([one.window_by_cwnd(before_s) for one in self.transfers])
