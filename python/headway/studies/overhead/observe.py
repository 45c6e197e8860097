"""Run: read headwayctl's output, and compare four routers.

The four are measured in turns, so that a temporary slowdown of the machine affects all of them. A
ratio is the median over the turns, each compared with the other router of the same turn.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from statistics import median
from typing import Any, Self

from headway.metrics.stats import Estimate


@dataclass(frozen=True)
class Router:
    """A router's turns: packets per second of a processor, and processor time of a packet."""

    turns: Sequence[Mapping[str, float]]
    sending_ns: float
    """The part of a packet's processor time that is not forwarding."""
    delays_us: Sequence[float]
    """Mean delay, by turn."""
    quantiles_us: Sequence[tuple[int, float]]
    """Part of the packets, in 1/10^6, and the delay that they do not exceed."""

    @classmethod
    def of(cls, measured: Mapping[str, Any], side: str) -> Self:
        """Read one side of headwayctl's output."""
        return cls(
            turns=[turn[side] for turn in measured["rounds"]],
            sending_ns=measured["sending_cpu_ns"],
            delays_us=[turn[side] for turn in measured["delay_rounds_us"]],
            quantiles_us=[(part, us) for part, us in measured["delays"][side]["quantiles_us"]],
        )

    @property
    def rates_pps(self) -> list[float]:
        """Packets per second of a processor, by turn."""
        return [turn["rate_pps"] for turn in self.turns]

    @property
    def efforts_ns(self) -> list[float]:
        """Processor time of forwarding a packet, by turn."""
        return [turn["cpu_ns"] - self.sending_ns for turn in self.turns]

    def quantile_us(self, part: int) -> float:
        """The delay that ``part`` of 10^6 packets do not exceed."""
        return dict(self.quantiles_us)[part]


@dataclass(frozen=True)
class Load:
    """One share of requests.

    ``plain`` is an unmodified router that gets no requests, as in table 6.4, and ``empty`` the same
    with a program that does nothing. ``without`` is unmodified, too, and gets the same packets as
    the router with the program.
    """

    plain: Router
    empty: Router
    without: Router
    with_: Router
    program_ns: float | None
    """Time in the program per packet as the kernel counts it, which includes the counting."""

    @classmethod
    def of(cls, measured: Mapping[str, Any]) -> Self:
        """Read headwayctl's output."""
        return cls(
            plain=Router.of(measured, "plain"),
            empty=Router.of(measured, "empty"),
            without=Router.of(measured, "without"),
            with_=Router.of(measured, "with"),
            program_ns=measured["program_ns"],
        )

    def rate_ratio(self, router: Router, than: Router | None = None) -> Estimate:
        """A router's peak rate over that of another, by default the plain router."""
        return _paired(router.rates_pps, (than or self.plain).rates_pps)

    def effort_ratio(self, router: Router, than: Router | None = None) -> Estimate:
        """A router's effort of forwarding over that of another, by default the plain router."""
        return _paired(router.efforts_ns, (than or self.plain).efforts_ns)

    def delay_ratio(self, router: Router, than: Router | None = None) -> Estimate:
        """A router's mean delay over that of another, by default the plain router."""
        return _paired(router.delays_us, (than or self.plain).delays_us)


def _paired(ours: Sequence[float], than: Sequence[float]) -> Estimate:
    return _median([one / other for one, other in zip(ours, than, strict=True)])


def _median(values: Sequence[float]) -> Estimate:
    """The median with its 95 % interval, whose ends are order statistics: turns have outliers."""
    from scipy.stats import binom  # loads slowly

    ranked = sorted(values)
    middle, skipped = median(ranked), max(int(binom.ppf(0.025, len(ranked), 0.5)) - 1, 0)
    low, high = ranked[skipped], ranked[-1 - skipped]
    return Estimate(middle, None, (high - low) / 2, len(ranked))


def empty_ns(loads: Sequence[Load]) -> Estimate:
    """Processor time of a packet with the empty program, minus that without, by turn."""
    return _median(
        [
            one - other
            for load in loads
            for one, other in zip(load.empty.efforts_ns, load.plain.efforts_ns, strict=True)
        ]
    )
