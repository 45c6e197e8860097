"""Setup: headwayctl's window bench, one command per case.  Run: windows and data over time."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Self

import numpy as np

from headway.claims import Evidence
from headway.metrics.stats import Array
from headway.studies.common.appendix_b import BUFFERS_BYTES
from headway.studies.common.measured import Commands, Measurement
from headway.studies.common.runs import values
from headway.study import StudyContext

RATE_BPS, RTT_S = 10e6, 0.2
FIRST_WINDOW_PKTS = 4
"""The window that Linux 2.6.24 announces first, for segments of up to 1460 bytes."""
_SMALL = ("--first-window", str(FIRST_WINDOW_PKTS))
_OPENS = ("--sender-connects", "--set", "js_max_bytes=0")
CASES: dict[str, tuple[str, str, tuple[str, ...]]] = {
    "slow-start": ("slow start", "slow-start", _SMALL),
    "sender-only": ("sender alone", "jump-start", _SMALL),
    "both-ends": ("both ends", "jump-start", ()),
    "beyond-window": ("beyond window", "jump-start", (*_SMALL, "--ignore-peer", "1MB")),
    "initiator": ("initiator", "jump-start", _OPENS),
    "initiator-extra-ack": ("initiator, extra ACK", "jump-start", (*_OPENS, "--extra-ack", "1MB")),
}
"""Label, startup and options by case."""
US = 1e-6


def commands(ctx: StudyContext) -> Commands:
    """Arguments of headwayctl by case. The initial window is that of figure 5.11."""
    size = 500_000 if ctx.quick else 1_000_000
    return {
        case: [
            *("host", "window-bench", "--control", f"cubic+{startup}", *options),
            *("--initial-window", "2", "--buffers", *map(str, BUFFERS_BYTES)),
            *("--bytes", f"{size}B", "--rate", f"{RATE_BPS:.0f}bit", "--rtt", f"{RTT_S:g}s"),
            *("--buffer", "1000pkts", "--rounds", "2" if ctx.quick else "5"),
        ]
        for case, (_, startup, options) in CASES.items()
    }


@dataclass(frozen=True)
class Transfer:
    """One transfer; times are from the request, or from the opening where the sender opens."""

    took_s: float
    times_s: Array
    """Times at which the sender's windows were sampled."""
    cwnd_bytes: Array
    window_bytes: Array
    """The last window that the sender had received from the receiver at each sample."""
    arrived_s: Array
    """Times at which the receiver read data."""
    arrived_bytes: Array
    """Bytes that the receiver had read at each of these times."""
    window_limited_s: float
    """How long the receive window limited the sender; NaN if the kernel does not report it."""
    retransmits_pkts: float

    @classmethod
    def of(cls, measured: Mapping[str, Any]) -> Self:
        """Read one round of headwayctl's output."""
        columns = ("time_us", "cwnd_bytes", "window_bytes")
        samples = [[sample[name] for name in columns] for sample in measured["windows"]]
        time_us, cwnd_bytes, window_bytes = np.array(samples, dtype=np.float64).T
        arrived = np.array(measured["arrived"], dtype=np.float64)
        limited_us = measured["window_limited_us"]
        return cls(
            took_s=measured["took_us"] * US,
            times_s=time_us * US,
            cwnd_bytes=cwnd_bytes,
            window_bytes=window_bytes,
            arrived_s=arrived[:, 0] * US,
            arrived_bytes=arrived[:, 1],
            window_limited_s=float("nan") if limited_us is None else limited_us * US,
            retransmits_pkts=measured["retransmits_pkts"],
        )

    def reached_s(self, share: float) -> float:
        """Time at which this part of the data had arrived."""
        return float(np.interp(share * self.arrived_bytes[-1], self.arrived_bytes, self.arrived_s))

    def window_by_cwnd(self, before_s: float = 0.0) -> Array:
        """Announced window divided by the cwnd of the same moment or of ``before_s`` earlier.

        Only times while both grow, that is, until cwnd is what a round trip of the path carries.
        """
        then_s = self.times_s - before_s + US / 2  # times are whole microseconds
        at = np.searchsorted(self.times_s, then_s, side="right") - 1
        cwnd = self.cwnd_bytes[np.maximum(at, 0)]
        growing = (at >= 0) & (cwnd < RATE_BPS * RTT_S / 8)
        return self.window_bytes[growing] / cwnd[growing]


@dataclass(frozen=True)
class Case:
    """Observations of all transfers of a case."""

    transfers: Sequence[Transfer]
    on_time: bool
    """Whether the emulated link sent all packets at the right time."""

    @property
    def took_s(self) -> float:
        """Median time until the last byte had arrived."""
        return float(np.median(values(self.transfers, "took_s")))

    def reached_s(self, share: float) -> float:
        """Median time at which this part of the data had arrived."""
        return float(np.median([one.reached_s(share) for one in self.transfers]))

    def window_by_cwnd(self, *, as_announced: bool = False) -> Array:
        """Announced window divided by cwnd while both grow, of all transfers.

        ``as_announced``: divided by the cwnd of half a round trip earlier.
        """
        before_s = RTT_S / 2 if as_announced else 0.0
        return np.concatenate([one.window_by_cwnd(before_s) for one in self.transfers])


Found = Evidence[Case]


def gather(_ctx: StudyContext, rows: Mapping[str, Measurement]) -> Found:
    """The transfers of each case, of headwayctl's output."""
    cases = {}
    for case, row in rows.items():
        cases[case] = Case([Transfer.of(one) for one in row["rounds"]], row["on_time"])
    return Evidence(cases)
