"""Thesis, section 6.6, and paper 000, section 3.3: what Quick-Start costs a router.

Claim: a router that meters every packet and answers requests forwards as many packets as before,
with the same delay; metering takes a few percent of the forwarding effort, one request in a hundred
packets hardly more, one in two packets several times as much. Setup: a router of network namespaces
in this machine's kernel, packets of 50 bytes, 0, 1 and 50 % of them requests; with the program and
without, in turns. Run: headwayctl router bench. Check: rates, delays, effort.  Plot: figure 6.65
and table 6.4.

Scharf, Fast Startup Internet Congestion Control (2011); Scharf, Strotbek (2008).
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np
import polars as pl

from headway.figures import Curve, curves, style_of
from headway.figures.style import BLACK, GREEN, ORANGE, VERMILLION, Style
from headway.publish import Page
from headway.studies import _overhead_claims as verdicts
from headway.studies.common.legacy_page import Figures, Findings, publish
from headway.studies.common.measured import MeasuredStudy, Measurement
from headway.study import StudyContext, StudyResult
from headway.sweep import Observed
from headway.table import Table

PACKET_BYTES = 50
"""Of table 6.4: so small that the processor limits, not the link."""
SHARES = (0, 1, 50)
"""Packets of a hundred with a request."""
DELAY_PPS = 100_000
"""Delays are measured below the peak rate, as the thesis does."""
INTERVALS_MS = (100, 2000)
"""Slots of metering: figure 6.65 has them below and above one second."""


def _bench(ctx: StudyContext, share: int, *settings: str) -> list[str]:
    rounds, time = ("3", "150ms") if ctx.quick else ("15", "400ms")
    return [
        *("router", "bench", "--packet-bytes", str(PACKET_BYTES), "--requests", str(share)),
        *("--rounds", rounds, "--time", time, "--delays", str(DELAY_PPS)),
        *(part for setting in settings for part in ("--set", setting)),
    ]


class Overhead(MeasuredStudy[Mapping[str, Measurement]]):
    """The study; see the module."""

    name = "overhead"
    title = "What Quick-Start costs a router"
    source = (
        "Scharf, Fast Startup Internet Congestion Control (2011), tables 5.2 and 6.4, section 6.6; "
        "Scharf, Strotbek (2008), section 3.3"
    )
    description = (
        "A router of network namespaces in this machine's kernel, packets of 50 bytes: rate, "
        "delay and processor time without Quick-Start and with it, for 0, 1 and 50 % requests. "
        "Needs root and headwayctl."
    )

    def commands(self, ctx: StudyContext) -> dict[str, Sequence[str]]:
        """One per share of requests, and one per length of the metering's slots."""
        return {
            **{f"requests-{share}": _bench(ctx, share, "interval_ms=1000") for share in SHARES},
            **{f"slots-{ms}ms": _bench(ctx, 1, f"interval_ms={ms}") for ms in INTERVALS_MS},
        }

    def page(self, _ctx: StudyContext, _found: Mapping[str, Measurement]) -> Page:
        """Not asked for."""
        raise NotImplementedError

    def conclude(self, ctx: StudyContext, seen: Observed[Measurement]) -> StudyResult:
        """Table 6.4 with this machine's numbers, figure 6.65, and the claims."""
        measured = seen.rows
        loads = {share: verdicts.Load.of(measured[f"requests-{share}"]) for share in SHARES}
        slots = {ms: verdicts.Load.of(measured[f"slots-{ms}ms"]) for ms in INTERVALS_MS}
        findings = Findings(
            claims=verdicts.all_claims(loads, slots),
            tables=[_table(loads)],
            figures=_figures(loads, slots),
            data={"rounds": _rounds(measured)},
            choices=[
                "Rates are packets per second of one processor's time: a packet is sent, forwarded "
                "and dropped by the receiving host within one system call. What is not forwarding "
                "is measured with packets that the router drops at once, and taken off for the "
                "effort.",
                "All requests are answered (max_requests=0) by the target algorithm on 10 Gbit/s; "
                "packets with a request are as long as those without.",
                f"Delays are from the system call that sends a packet to the receiving device, at "
                f"{DELAY_PPS} packets per second.",
            ],
        )
        return publish(self, ctx, {}, findings)


def _table(loads: dict[int, verdicts.Load]) -> Table:
    rows: list[list[str | int | float | None]] = []
    for share, load in loads.items():
        for title, side in (("unmodified", load.without), ("Quick-Start", load.with_)):
            rows.append(
                [
                    title,
                    share,
                    round(side.rate_pps / 1e6, 3),
                    round(side.delay_us, 2),
                    round(side.effort_ns),
                    round(load.program_ns) if title == "Quick-Start" and load.program_ns else None,
                ]
            )
    return Table(
        "A router's packets per second of a processor, delay and effort",
        ["router", "requests in %", "Mpps", "mean delay in us", "effort in ns", "in program in ns"],
        rows,
        note="Medians of the rounds; the kernel's count of the time in the program is part of it.",
    )


def _figures(loads: dict[int, verdicts.Load], slots: dict[int, verdicts.Load]) -> Figures:
    def panel(sides: list[tuple[str, verdicts.Side, Style]]) -> list[Curve]:
        drawn = []
        for label, side, style in sides:
            parts = np.array([1 - part / 1e6 for part, _ in side.quantiles_us])
            times = np.array([us for _, us in side.quantiles_us])
            keep = parts > 0
            drawn.append(Curve(label, times[keep], parts[keep], style))
        return drawn

    plain, quick_start = style_of("slow-start"), style_of("quick-start")
    colours = {0: quick_start, 1: Style(GREEN, "^"), 50: Style(VERMILLION, "s")}
    shares = [("unmodified", loads[0].without, plain)] + [
        (f"Quick-Start, {share} %", load.with_, colours[share]) for share, load in loads.items()
    ]
    lengths = [("unmodified", slots[INTERVALS_MS[0]].without, Style(BLACK, "o"))] + [
        (f"slots of {ms} ms", load.with_, Style(colour, "d"))
        for (ms, load), colour in zip(slots.items(), (ORANGE, GREEN), strict=True)
    ]
    efforts = np.array([load.with_.effort_ns for load in loads.values()])
    without = np.array([load.without.effort_ns for load in loads.values()])
    at = np.array(list(loads), dtype=np.float64)
    return {
        "figure-6-65": (
            "Figure 6.65",
            "Part of the packets that take longer through the router.",
            curves(
                [("requests", panel(shares)), ("length of slots, 1 % requests", panel(lengths))],
                x_label="delay (us)",
                y_label="part of packets",
                x_scale="log",
                y_scale="log",
            ),
        ),
        "table-6-4-effort": (
            "Table 6.4: effort of forwarding",
            "Processor time of one packet, without what sending it takes.",
            curves(
                [
                    (
                        "",
                        [
                            Curve("unmodified", at, without, plain, markers=True),
                            Curve("Quick-Start", at, efforts, quick_start, markers=True),
                        ],
                    )
                ],
                x_label="packets with a request (%)",
                y_label="time per packet (ns)",
            ),
        ),
    }


def _rounds(measured: Mapping[str, Measurement]) -> pl.DataFrame:
    rows: list[dict[str, Any]] = [
        {"measurement": key, "round": number, "router": router, **one[side]}
        for key, outcome in measured.items()
        for number, one in enumerate(outcome["rounds"])
        for side, router in (("without", "unmodified"), ("with", "Quick-Start"))
    ]
    return pl.DataFrame(rows)


STUDY = Overhead()
