"""Observations by the parameter that was varied, for statements and the page."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from headway.claims import Evidence
from headway.metrics.stats import Array
from headway.models._checks import Floats
from headway.studies.transfer_times.experiments import (
    BUFFERS_PKTS,
    CAPACITIES_BPS,
    LONG_RATES_BPS,
    capacity_key,
    long_key,
    over_sizes_key,
)
from headway.studies.transfer_times.first_flights import (
    PIECES_BYTES,
    flight_key,
    pieces_key,
    recovery_key,
)
from headway.studies.transfer_times.observe import FirstFlight, Pieces, Recovery, Row, Transfers
from headway.studies.transfer_times.schemes import BASE


@dataclass(frozen=True)
class Results:
    """Response times are in seconds, NaN where a transfer did not complete.

    Every method raises MissingTrialError where the run does not have its trial.
    """

    trials: Evidence[Row]
    sizes_bytes: Floats

    def times(self, scheme: str, rtt_ms: int = 200, buffer_pkts: int = BUFFERS_PKTS[0]) -> Array:
        """Times over the sizes."""
        return self._response_s(over_sizes_key(scheme, rtt_ms, buffer_pkts))

    def at(self, scheme: str, size_bytes: float, rtt_ms: int = 200) -> float:
        """The time of one size."""
        (index,) = np.flatnonzero(self.sizes_bytes == size_bytes)
        return float(self.times(scheme, rtt_ms)[index])

    def speedup(self, scheme: str, rtt_ms: int = 200) -> Array:
        """Slow start's times over this scheme's."""
        return self.times(BASE, rtt_ms) / self.times(scheme, rtt_ms)

    def window3(self) -> Array:
        """Slow start from the 3 packets of Linux 2.6.24 at 200 ms, over the sizes."""
        return self._response_s("window3")

    def by_capacity(self, scheme: str) -> Array:
        """Times over CAPACITIES_BPS."""
        return np.array(
            [self._response_s(capacity_key(scheme, rate))[0] for rate in CAPACITIES_BPS]
        )

    def long_slow_start(self) -> Array:
        """Slow start's times on the long path, over LONG_SIZES_BYTES."""
        return self._response_s(long_key(None))

    def long_quick_start(self) -> Array:
        """Times over (LONG_RATES_BPS, LONG_SIZES_BYTES)."""
        return np.array([self._response_s(long_key(rate)) for rate in LONG_RATES_BPS])

    def by_piece(self, scheme: str) -> Array:
        """Time from the first write until PIECES_BYTES[0] are delivered, over PIECES_BYTES."""
        rows = [self.trials[pieces_key(scheme, piece)] for piece in PIECES_BYTES]
        return np.array([row.delivered_s for row in rows if isinstance(row, Pieces)])

    def flight(self, name: str) -> FirstFlight:
        """A first flight by its name in FLIGHTS."""
        row = self.trials[flight_key(name)]
        assert isinstance(row, FirstFlight)
        return row

    def recovery(self, buffer_pkts: int) -> Recovery:
        """A Jump-Start of 45 packets that left at once, into a queue of ``buffer_pkts``."""
        row = self.trials[recovery_key(buffer_pkts)]
        assert isinstance(row, Recovery)
        return row

    def _response_s(self, key: str) -> Array:
        row = self.trials[key]
        assert isinstance(row, Transfers)
        return row.response_s
