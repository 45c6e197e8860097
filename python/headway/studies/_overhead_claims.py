"""Verdicts of the study overhead, from what headwayctl measured."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from statistics import median
from typing import Any, Self

from headway.claims import Claim
from headway.studies.common import legacy_claims as claim

LINUX_PPS = 300_000
"""Load of table 6.4 for delays and effort."""

_PATCH = "A property of the authors' patch of Linux 2.6.24, which needs none here."
_NETWORK_PROCESSOR = "Needs the IXP2400 network processor that it was measured on."
_SERVER = (
    "Needs the profile of a server with 200 clients' sessions, which the kernel backend does not "
    "run; docs/validation.md has each control's time per ACK."
)


@dataclass(frozen=True)
class Side:
    """The router with the program, or without it: medians of the rounds.

    ``effort_ns`` is processor time of a packet less that of sending it.
    """

    rate_pps: float
    cpu_ns: float
    effort_ns: float
    delay_us: float
    quantiles_us: Sequence[tuple[int, float]]

    @classmethod
    def of(cls, rounds: Sequence[Mapping[str, float]], sending_ns: float, delays: Any) -> Self:
        """From headwayctl's rounds and delays of this side."""
        cpu_ns = median(one["cpu_ns"] for one in rounds)
        return cls(
            rate_pps=median(one["rate_pps"] for one in rounds),
            cpu_ns=cpu_ns,
            effort_ns=cpu_ns - sending_ns,
            delay_us=delays["mean_us"],
            quantiles_us=[(part, us) for part, us in delays["quantiles_us"]],
        )

    def quantile_us(self, part: int) -> float:
        """The delay that so many of 10^6 packets do not exceed."""
        return dict(self.quantiles_us)[part]


@dataclass(frozen=True)
class Load:
    """One share of requests: both sides, and time in the program per packet."""

    without: Side
    with_: Side
    program_ns: float | None

    @classmethod
    def of(cls, measured: Mapping[str, Any]) -> Self:
        """From what headwayctl printed."""
        sending_ns = measured["sending_cpu_ns"]
        without, with_ = (
            Side.of([one[name] for one in measured["rounds"]], sending_ns, delays)
            for name, delays in zip(("without", "with"), measured["delays"], strict=True)
        )
        return cls(without, with_, measured["program_ns"])

    @property
    def rate_ratio(self) -> float:
        """Rate with the program by that without."""
        return self.with_.rate_pps / self.without.rate_pps

    @property
    def delay_ratio(self) -> float:
        """The same of mean delays."""
        return self.with_.delay_us / self.without.delay_us


def all_claims(loads: Mapping[int, Load], slots: Mapping[int, Load]) -> list[Claim]:
    """Every claim of the study. ``loads`` by share of requests in %, ``slots`` by length in ms."""
    return [*_paper(loads), *_table_6_4(loads), *_delta(slots), *_not_checked(loads[0])]


def _effort_ratio(loads: Mapping[int, Load], share: int) -> float:
    """Effort with Quick-Start by that of an unmodified router without requests."""
    return loads[share].with_.effort_ns / loads[0].without.effort_ns


def _paper(loads: Mapping[int, Load]) -> list[Claim]:
    more = {share: 100 * (_effort_ratio(loads, share) - 1) for share in loads}
    return [
        claim.in_range(
            "C-QSL-027",
            "more effort of forwarding by metering alone",
            "measurable but rather small",
            more[0],
            "%",
            -math.inf,
            10,
        ),
        claim.in_range(
            "C-QSL-028",
            "more effort of forwarding with 1 % requests",
            "few percent",
            more[1],
            "%",
            -math.inf,
            10,
        ),
        claim.in_range(
            "C-QSL-029",
            "peak rate with 1 % requests by that of an unmodified router",
            "not significantly decreased",
            loads[1].rate_ratio,
            None,
            0.97,
            1.03,
            note=_FLOOR,
        ),
        claim.in_range(
            "C-QSL-030",
            "delay with 1 % requests by that in an unmodified router",
            "not increased",
            loads[1].delay_ratio,
            None,
            0.95,
            1.05,
        ),
        claim.shown(
            "C-QSL-031",
            "load with very many requests",
            "considerably more",
            f"{loads[50].with_.effort_ns:.0f} ns per packet with 50 %, "
            f"{loads[1].with_.effort_ns:.0f} ns with 1 %",
            loads[50].with_.effort_ns > loads[1].with_.effort_ns,
        ),
    ]


_FLOOR = (
    "A program at a device has a price of its own, whatever it does: an empty one took 43 to 64 ns "
    "of 1.85 us per packet where this was written, ours 80."
)


def _table_6_4(loads: Mapping[int, Load]) -> list[Claim]:
    rows = []
    for first, share, margin in ((223, 0, 0.05), (228, 1, 0.10), (233, 50, 0.10)):
        load = loads[share]
        what = f"Linux, {share} % requests, by an unmodified router"
        rows += [
            claim.in_range(
                f"C-TH-{first}",
                f"peak rate: {what}",
                1.0,
                load.rate_ratio,
                None,
                1 - margin,
                1 + margin,
            ),
            claim.in_range(
                f"C-TH-{first + 1}",
                f"mean delay: {what}",
                1.0,
                load.delay_ratio,
                None,
                1 - margin,
                1 + margin,
            ),
        ]
    for name, share, published, low, high in (
        ("C-TH-225", 0, 2.6 / 2.5, 0.95 * 2.6 / 2.5, 1.05 * 2.6 / 2.5),
        ("C-TH-230", 1, 2.8 / 2.5, 0.90 * 2.8 / 2.5, 1.10 * 2.8 / 2.5),
        ("C-TH-235", 50, 8.1 / 2.5, 2.0, 4.0),
    ):
        rows.append(
            claim.in_range(
                name,
                f"effort of forwarding: Linux, {share} % requests, by an unmodified router without",
                round(published, 2),
                _effort_ratio(loads, share),
                None,
                low,
                high,
            )
        )
    time_ns = loads[50].program_ns
    rows.append(
        claim.in_range(
            "C-TH-238",
            "part of a processor that Quick-Start takes at 0.3 Mpps with 50 % requests",
            4.0,
            None if time_ns is None else time_ns * LINUX_PPS / 1e7,
            "%",
            2,
            6,
            note="Time in the program by the kernel's count, which is part of it.",
        )
    )
    return rows


def _delta(slots: Mapping[int, Load]) -> list[Claim]:
    short, long = (slots[ms].with_ for ms in sorted(slots))
    tails = f"{short.quantile_us(999_000):.1f} and {long.quantile_us(999_000):.1f} us"
    return [
        claim.in_range(
            "C-TH-239",
            "mean delay with short slots by that with long ones",
            "unchanged",
            short.delay_us / long.delay_us,
            None,
            0.95,
            1.05,
            note=f"99.9 % of the packets take at most {tails}.",
        )
    ]


def _not_checked(load: Load) -> list[Claim]:
    here = (
        f"Depends on the machine. Here {load.without.rate_pps / 1e6:.2f} Mpps of a processor, "
        f"{load.without.delay_us:.1f} us, {load.without.effort_ns:.0f} ns per packet."
    )
    listed: list[tuple[str, str, float | str, str]] = [
        ("C-QSL-032", "lines of the patch", "< 2000; < 5 % of TCP and IPv4", _PATCH),
        ("C-QSL-033", "load of pacing's timers", "not significant", _SERVER),
        ("C-TH-043", "lines of code, Jump-Start", 600, _PATCH),
        ("C-TH-044", "lines of code, Quick-Start", 2200, _PATCH),
        ("C-TH-045", "files, Jump-Start", 11, _PATCH),
        ("C-TH-046", "files, Quick-Start", 24, _PATCH),
        ("C-TH-047", "variables per connection, Jump-Start", 9, _PATCH),
        ("C-TH-048", "variables per connection, Quick-Start", 19, _PATCH),
        ("C-TH-049", "variables per device, Jump-Start", "none", _PATCH),
        ("C-TH-050", "variables per device, Quick-Start", "10 or more", _PATCH),
        ("C-TH-051", "parameters, Jump-Start", 4, _PATCH),
        ("C-TH-052", "parameters, Quick-Start", 13, _PATCH),
        ("C-TH-053", "part of TCP and IPv4 that the patch changes", "< 5 %", _PATCH),
        ("C-TH-215", "a server's TCP/IP processor share over load", "increases", _SERVER),
        ("C-TH-216", "more of it with Jump-Start", "negligible", _SERVER),
        ("C-TH-217", "more of it with Quick-Start", "about 1 %", _SERVER),
        ("C-TH-218", "peak rate of the unmodified Linux router", "0.33 Mpps", here),
        ("C-TH-219", "its mean delay at 0.3 Mpps", "50 us", here),
        ("C-TH-220", "its processor share of forwarding", "2.5 %", here),
        ("C-TH-243", "lines of Firefox and lighttpd", "20 and 70", "A patch that is not public."),
        ("C-TH-265", "default of tcp_js_ignore_rwnd", "10000000 byte/s", _PATCH),
        ("C-TH-269", "default buffers of tcp_rmem and tcp_wmem", "8388608", "A setting of theirs."),
        ("C-TH-288", "load of pacing with Jump-Start", "no significant problem", _SERVER),
    ]
    processor = {
        221: ("peak rate, unmodified", "3.9 Mpps"),
        222: ("mean delay, unmodified", "16 us"),
        226: ("peak rate, Quick-Start, 0 %", "3.9 Mpps"),
        227: ("mean delay, Quick-Start, 0 %", "16 us"),
        231: ("peak rate, Quick-Start, 1 %", "3.9 Mpps"),
        232: ("mean delay, Quick-Start, 1 %", "16 us"),
        236: ("peak rate, Quick-Start, 50 %", "3.8 Mpps"),
        237: ("mean delay, Quick-Start, 50 %", "17 us"),
        240: ("peak rate by that of Linux", "about 10"),
    }
    listed += [
        (f"C-TH-{number}", f"network processor: {what}", published, _NETWORK_PROCESSOR)
        for number, (what, published) in processor.items()
    ]
    return [claim.unchecked(*one) for one in listed]
