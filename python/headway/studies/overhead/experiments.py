"""Setup: headwayctl's router bench, one command per share of requests and per length of slots.

Run: four routers are measured in turns, so that a temporary slowdown of the machine affects all of
them. A ratio is the median over the turns, each compared with the other router of the same turn.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from statistics import median
from typing import Any, Literal

from headway.claims import Evidence
from headway.metrics.stats import Estimate
from headway.studies.common.measured import Commands, Measurement
from headway.study import StudyContext

PACKET_BYTES = 50
"""Packet size of table 6.4, so small that the processor limits the rate, not the link."""
SHARES = (0, 1, 50)
"""Packets with a request in a hundred packets."""
DELAY_PPS = 100_000
"""The rate at which delays are measured, below the peak rate as in the thesis."""
SLOTS_MS = (100, 2000)
"""Lengths of the metering's slots. Figure 6.65 has lengths below and above one second."""
Side = Literal["plain", "empty"]
"""Routers with which the router is compared: an unmodified one, or one with an empty program."""
Metric = Literal["rates_pps", "delays_us", "efforts_ns"]


def commands(ctx: StudyContext) -> Commands:
    """Arguments of headwayctl by key."""
    shares = {requests(share): _bench(ctx, share, 1000) for share in SHARES}
    return shares | {slots(ms): _bench(ctx, 1, ms) for ms in SLOTS_MS}


def requests(share: int) -> str:
    """The key of a measurement with ``share`` requests in a hundred packets."""
    return f"requests-{share}"


def slots(ms: int) -> str:
    """The key of a measurement with slots of ``ms``, and 1 % requests."""
    return f"slots-{ms}ms"


def _bench(ctx: StudyContext, share: int, slot_ms: int) -> list[str]:
    rounds, time = ("7", "60ms") if ctx.quick else ("31", "150ms")
    return [
        *("router", "bench", "--packet-bytes", str(PACKET_BYTES), "--requests", str(share)),
        *("--rounds", rounds, "--time", time, "--delays", str(DELAY_PPS)),
        *("--set", f"interval_ms={slot_ms}"),
    ]


@dataclass(frozen=True)
class Router:
    """A router's turns: packets per second of a processor, and processor time of a packet."""

    turns: Sequence[Mapping[str, float]]
    sending_ns: float
    """Processor time of a packet that is not spent on forwarding."""
    delays_us: Sequence[float]
    """Mean delay, by turn."""
    quantiles_us: Sequence[tuple[int, float]]
    """Quantiles of the delay: the part of the packets in 1/10^6, and the delay that they do not
    exceed."""

    @property
    def rates_pps(self) -> list[float]:
        """Packets per second of a processor, by turn."""
        return [turn["rate_pps"] for turn in self.turns]

    @property
    def efforts_ns(self) -> list[float]:
        """Processor time of forwarding a packet, by turn."""
        return [turn["cpu_ns"] - self.sending_ns for turn in self.turns]


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
    """Processor time in the program per packet, as the kernel measures it, including the
    measurement."""

    def ratio(self, metric: Metric, router: Router, than: Side = "plain") -> Estimate:
        """A router's rate, delay or effort divided by another router's in the same turn."""
        return _median(turn_ratios(metric, router, getattr(self, than)))


Found = Evidence[Load]


def gather(_ctx: StudyContext, rows: Mapping[str, Measurement]) -> Found:
    """Read headwayctl's output."""
    return Found({key: _load(row) for key, row in rows.items()})


def _load(measured: Mapping[str, Any]) -> Load:
    plain, empty, without, with_ = (
        Router(
            turns=[turn[side] for turn in measured["rounds"]],
            sending_ns=measured["sending_cpu_ns"],
            delays_us=[turn[side] for turn in measured["delay_rounds_us"]],
            quantiles_us=[(part, us) for part, us in measured["delays"][side]["quantiles_us"]],
        )
        for side in ("plain", "empty", "without", "with")
    )
    return Load(plain, empty, without, with_, measured["program_ns"])


def turn_ratios(metric: Metric, router: Router, other: Router) -> list[float]:
    """Each turn's number over another router's in the same turn."""
    numbers = zip(getattr(router, metric), getattr(other, metric), strict=True)
    return [one / than for one, than in numbers]


def empty_ns(loads: Sequence[Load]) -> Estimate:
    """Processor time of a packet with the empty program, minus that without, by turn."""
    pairs = [zip(load.empty.efforts_ns, load.plain.efforts_ns, strict=True) for load in loads]
    return _median([one - other for turns in pairs for one, other in turns])


def _median(values: Sequence[float]) -> Estimate:
    """The median with its 95 % interval, whose ends are order statistics: turns have outliers."""
    from scipy.stats import binom  # loads slowly

    ranked = sorted(values)
    middle, skipped = median(ranked), max(int(binom.ppf(0.025, len(ranked), 0.5)) - 1, 0)
    low, high = ranked[skipped], ranked[-1 - skipped]
    return Estimate(middle, None, (high - low) / 2, len(ranked))
