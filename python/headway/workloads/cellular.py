"""Synthetic traces of a cellular link, made from a seed, in Mahimahi's format.

No recorded trace is copied; the link is a model with four parts:

- The rate of each 20 ms is log-normal around ``mean``, and its logarithm follows a first-order
  autoregression with correlation time ``correlation``: shadow fading, whose autocorrelation falls
  off exponentially (Gudmundson, Electronics Letters 27(23), 1991). ``spread`` is the standard
  deviation of the logarithm.
- ``most`` limits the rate, as the modem's category does.
- Outages: the link goes down as a Poisson process, every ``outage_every`` on average, for an
  exponential time of mean ``outage`` (a handover, or no coverage).
- Deliveries of a packet are a Poisson process of that rate, as Winstein, Sivaraman and
  Balakrishnan model them (Sprout, NSDI 2013, section 3.1; so are the 20 ms).

The same parameters and seed give the same trace on every machine::

    python -m headway.workloads.cellular --mean 12Mbit/s --seed 1 > lte.trace
    headway try --vary mahimahi:lte.trace --rtt 40ms --buffer 100pkts --aqm codel --duration 30s
"""

from __future__ import annotations

import argparse
import sys
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from headway import units
from headway.errors import HeadwayError
from headway.experiment.vary import OPPORTUNITY_BYTES, Mahimahi
from headway.workloads.draws import Floats, Stream

_TICK_NS = 20_000_000
_NS_PER_MS = 1_000_000
_MOST_OPPORTUNITIES = 10_000_000


@dataclass(frozen=True)
class Cellular:
    """The parameters of a trace; see this module."""

    seed: int = 1
    mean: str = "12 Mbit/s"
    duration: str = "60 s"
    spread: float = 0.6
    correlation: str = "1 s"
    most: str = "50 Mbit/s"
    outage_every: str = "30 s"
    outage: str = "400 ms"

    def __post_init__(self) -> None:
        """Check the parameters; raises HeadwayError."""
        for name in ("mean", "most"):
            self._check(name, units.parse_rate)
        for name in ("duration", "correlation", "outage_every", "outage"):
            self._check(name, units.parse_positive_time)
        if not 0 <= self.spread <= 3:
            raise HeadwayError(f"spread: {self.spread} is not allowed; must be 0 to 3")
        packets = units.parse_rate(self.mean) * units.parse_time(self.duration)
        packets //= units.NS_PER_S * units.BITS_PER_BYTE * OPPORTUNITY_BYTES
        if packets > _MOST_OPPORTUNITIES:
            raise HeadwayError(
                f"duration: {self.duration} at {self.mean} is not allowed; "
                f"at most {_MOST_OPPORTUNITIES} packets in total"
            )

    def _check(self, name: str, parse: object) -> None:
        assert callable(parse)
        try:
            parse(getattr(self, name))
        except ValueError as error:
            raise HeadwayError(f"{name}: {error}") from None

    def rates_bps(self) -> Floats:
        """The rate in bit/s of each 20 ms, shape (n,)."""
        from scipy.special import ndtri

        ticks = max(1, units.parse_time(self.duration) // _TICK_NS)
        normal = np.asarray(ndtri(self._stream("rate").uniform(ticks)))
        keep = float(np.exp(-_TICK_NS / units.parse_time(self.correlation)))
        fading = np.empty(ticks)
        value = normal[0]
        for tick in range(ticks):
            if tick:
                value = keep * value + np.sqrt(1 - keep * keep) * normal[tick]
            fading[tick] = value
        # subtract spread²/2, so that ``mean`` is the mean of the log-normal rates and not their
        # median
        rates = units.parse_rate(self.mean) * np.exp(self.spread * fading - self.spread**2 / 2)
        rates = np.minimum(rates, units.parse_rate(self.most))
        return np.where(self._is_down(ticks), 0.0, rates)

    def _is_down(self, ticks: int) -> npt.NDArray[np.bool_]:
        """Whether each tick of 20 ms is in an outage."""
        down = np.zeros(ticks, dtype=np.bool_)
        draws = self._stream("outages")
        tick = 0.0
        while True:
            up, length = -np.log(draws.uniform(2))
            start = tick + up * units.parse_time(self.outage_every) / _TICK_NS
            tick = start + length * units.parse_time(self.outage) / _TICK_NS
            if start >= ticks:
                return down
            down[round(start) : max(round(tick), round(start) + 1)] = True

    def opportunities_ms(self) -> list[int]:
        """The times of deliveries in ms. The last one only marks the end of the trace."""
        rates = self.rates_bps()
        per_tick = rates * _TICK_NS / (units.NS_PER_S * units.BITS_PER_BYTE * OPPORTUNITY_BYTES)
        expected = np.concatenate([[0.0], np.cumsum(per_tick)])
        # draw a Poisson process of rate 1 whose time is the expected number of deliveries, then map
        # this time to seconds
        count = int(expected[-1] + 10 * np.sqrt(expected[-1]) + 20)
        at = np.cumsum(-np.log(self._stream("deliveries").uniform(count)))
        at = at[at < expected[-1]]
        ends_ns = np.arange(len(expected)) * float(_TICK_NS)
        times_ms = np.ceil(np.interp(at, expected, ends_ns) / _NS_PER_MS).astype(np.int64)
        last_ms = len(rates) * _TICK_NS // _NS_PER_MS
        return [*(int(ms) for ms in times_ms), last_ms]

    def trace(self) -> Mahimahi:
        """The trace, for the ``vary`` of a link."""
        return Mahimahi(opportunities_ms=self.opportunities_ms())

    def _stream(self, of: str) -> Stream:
        return Stream(f"{self.seed}/cellular/{of}")


def main(arguments: list[str] | None = None) -> int:
    """Write a trace to standard output."""
    parser = argparse.ArgumentParser(
        prog="python -m headway.workloads.cellular",
        description="Write a synthetic trace of a cellular link in Mahimahi's format.",
    )
    for name, field in Cellular.__dataclass_fields__.items():
        option = f"--{name.replace('_', '-')}"
        parser.add_argument(option, type=type(field.default), default=field.default)
    try:
        made = Cellular(**vars(parser.parse_args(arguments)))
    except HeadwayError as error:
        print(error, file=sys.stderr)
        return 2
    sys.stdout.writelines(f"{ms}\n" for ms in made.opportunities_ms())
    return 0


if __name__ == "__main__":
    sys.exit(main())
