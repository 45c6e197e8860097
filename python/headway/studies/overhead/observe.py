"""Run: what is kept of what headwayctl printed, and how four routers compare by it.

The four are measured in turns, so that what slows the machine for a while slows all of them: a
ratio is the median over the turns, each against the other router of its own turn.
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
    """Of a packet's processor time, what is not forwarding."""
    delays_us: Sequence[float]
    """Mean delay, by turn."""
    quantiles_us: Sequence[tuple[int, float]]
    """Part of the packets, in 1/10^6, and the delay that they do not exceed."""

    @classmethod
    def of(cls, measured: Mapping[str, Any], side: str) -> Self:
        """Of one side of what headwayctl printed."""
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
        """The delay that so many of 10^6 packets do not exceed."""
        return dict(self.quantiles_us)[part]


@dataclass(frozen=True)
class Load:
    """One share of requests.

    ``plain`` is an unmodified router that no request passes, as in table 6.4, and ``empty`` the
    same with a program that does nothing; ``without`` is unmodified too and gets the packets that
    the one with the program gets.
    """

    plain: Router
    empty: Router
    without: Router
    with_: Router
    program_ns: float | None
    """Time in the program per packet, by the kernel's count, which is part of it."""

    @classmethod
    def of(cls, measured: Mapping[str, Any]) -> Self:
        """From what headwayctl printed."""
        return cls(
            plain=Router.of(measured, "plain"),
            empty=Router.of(measured, "empty"),
            without=Router.of(measured, "without"),
            with_=Router.of(measured, "with"),
            program_ns=measured["program_ns"],
        )

    def rate_ratio(self, router: Router, than: Router | None = None) -> Estimate:
        """A router's peak rate by that of another one; without one, the plain router."""
        return _paired(router.rates_pps, (than or self.plain).rates_pps)

    def effort_ratio(self, router: Router, than: Router | None = None) -> Estimate:
        """The same of the effort of forwarding."""
        return _paired(router.efforts_ns, (than or self.plain).efforts_ns)

    def delay_ratio(self, router: Router, than: Router | None = None) -> Estimate:
        """The same of mean delays."""
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
    """Processor time of a packet with the empty program, less that of the same turn without."""
    return _median(
        [
            one - other
            for load in loads
            for one, other in zip(load.empty.efforts_ns, load.plain.efforts_ns, strict=True)
        ]
    )
