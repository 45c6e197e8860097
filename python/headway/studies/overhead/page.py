"""Plot: table 6.4 with this machine's numbers, figure 6.65, and the effort of forwarding."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from statistics import median
from typing import Any

import numpy as np
import polars as pl

from headway.claims import Evidence
from headway.figures import PUBLISHED, Curve, Style, curves, style_of, variant_of
from headway.publish import Figures, Page
from headway.report import Edge, Node, Sketch, row
from headway.studies.overhead.experiments import PACKET_BYTES, SHARES, SLOTS_MS, requests, slots
from headway.studies.overhead.observe import Load, Router
from headway.table import Cell, Table

RATIOS = ("rate ratio", "effort ratio", "delay ratio")
_QUICK_START = style_of("quick-start")
COLOURS = {
    share: variant_of(style_of("quick-start"), number) for number, share in enumerate(SHARES)
}
"""Colours of the router with the program, by requests in %."""


def page(found: Evidence[Load]) -> Page:
    """Table, figures and data."""
    loads = {share: found[requests(share)] for share in SHARES}
    return Page(
        tables=[_table(loads)], figures=_figures(found, loads), data={"turns": _turns(found)}
    )


def sketch() -> Sketch:
    """Three network namespaces. The one in the middle is measured."""
    shares = f"{', '.join(map(str, SHARES[:-1]))} or {SHARES[-1]} %"
    return row(
        [
            Node(["sending host"]),
            Node(["router of this", "machine's kernel"]),
            Node(["receiving host,", "drops"]),
        ],
        [
            Edge([f"packets of {PACKET_BYTES} B,", f"{shares} requests"]),
            Edge(["packets/s, delay,", "processor time"]),
        ],
        "The router in the middle forwards within one processor: unmodified, with a program that "
        "does nothing, or with that of Quick-Start, which meters packets and answers requests, in "
        "turns.",
    )


def _table(loads: Mapping[int, Load]) -> Table:
    rows: list[list[Cell]] = []
    for share, load in loads.items():
        if share == 0:
            rows.append(_row("unmodified", share, load, load.plain))
            rows.append(_row("empty program", share, load, load.empty))
        name = "unmodified, again" if share == 0 else "unmodified"
        rows.append(_row(name, share, load, load.without))
        rows.append(_row("Quick-Start", share, load, load.with_))
    return Table(
        "A router's packets per second of a processor, delay and effort",
        ["router", "requests %", "Mpps", "delay us", "effort ns", "program ns", *RATIOS],
        rows,
        note="Medians of the turns. Ratios are to an unmodified router without requests in the "
        "same turn. The row 'unmodified, again' shows the scatter of the measurement. The time in "
        "the program includes the kernel's counting.",
    )


def _row(name: str, share: int, load: Load, router: Router) -> list[Cell]:
    in_program = router is load.with_ and load.program_ns is not None
    return [
        name,
        share,
        round(median(router.rates_pps) / 1e6, 3),
        round(median(router.delays_us), 2),
        round(median(router.efforts_ns)),
        round(load.program_ns) if in_program and load.program_ns else None,
        round(load.rate_ratio(router).mean, 3),
        round(load.effort_ratio(router).mean, 2),
        round(load.delay_ratio(router).mean, 3),
    ]


def _figures(found: Evidence[Load], loads: Mapping[int, Load]) -> Figures:
    plain = style_of("slow-start")
    by_slot = {ms: found[slots(ms)] for ms in SLOTS_MS}
    shares = [_delays("unmodified", loads[0].plain, plain)] + [
        _delays(f"Quick-Start, {share} %", load.with_, COLOURS[share])
        for share, load in loads.items()
    ]
    lengths = [_delays("unmodified", by_slot[SLOTS_MS[0]].plain, plain)] + [
        _delays(f"Quick-Start, slots of {ms} ms", load.with_, variant_of(_QUICK_START, 3 + number))
        for number, (ms, load) in enumerate(by_slot.items())
    ]
    at = np.array(list(loads), dtype=np.float64)
    without = np.array([median(load.without.efforts_ns) for load in loads.values()])
    efforts = np.array([median(load.with_.efforts_ns) for load in loads.values()])
    return {
        "figure-6-65": (
            "Figure 6.65",
            "Part of the packets that take longer through the router.",
            curves(
                [("requests", shares), ("length of slots, 1 % requests", lengths)],
                x_label="delay (us)",
                y_label="part of packets",
                x_scale="log",
                y_scale="log",
            ),
        ),
        "table-6-4": (
            "Table 6.4",
            "Ratios of a router with the program to an unmodified one, over the part of packets "
            "with a request: medians of the turns with minimum and maximum, and the published "
            "values.",
            curves(
                [(title, _ratio(loads, of, published)) for title, of, published in _RATIOS],
                x_label="requests (%)",
                y_label="ratio",
                share_y=False,
            ),
        ),
        "table-6-4-effort": (
            "Table 6.4: effort of forwarding",
            "Processor time of one packet, without the time of sending it.",
            curves(
                [
                    (
                        "",
                        [
                            Curve("unmodified", at, without, plain, markers=True),
                            Curve("Quick-Start", at, efforts, COLOURS[0], markers=True),
                        ],
                    )
                ],
                x_label="packets with a request (%)",
                y_label="time per packet (ns)",
            ),
        ),
    }


def _ratio(
    loads: Mapping[int, Load], of: Callable[[Load], Sequence[float]], published: Mapping[int, float]
) -> list[Curve]:
    at = np.array(list(loads), dtype=np.float64)
    turns = [of(load) for load in loads.values()]
    middle = np.array([median(one) for one in turns])
    low, high = np.array([min(one) for one in turns]), np.array([max(one) for one in turns])
    return [
        Curve("Quick-Start", at, middle, _QUICK_START, markers=True, low=low, high=high),
        Curve(
            "published",
            np.array(list(published)),
            np.array(list(published.values())),
            PUBLISHED,
            line=False,
            markers=True,
        ),
    ]


def _turns_by_plain(of: Callable[[Router], Sequence[float]]) -> Callable[[Load], list[float]]:
    """Each turn's number over the unmodified router's in the same turn."""
    return lambda load: [
        one / plain for one, plain in zip(of(load.with_), of(load.plain), strict=True)
    ]


_RATIOS = (
    ("peak rate", _turns_by_plain(lambda one: one.rates_pps), {0: 1.0, 1: 1.0, 50: 1.0}),
    ("mean delay", _turns_by_plain(lambda one: one.delays_us), {0: 1.0, 1: 1.0, 50: 1.0}),
    ("effort", _turns_by_plain(lambda one: one.efforts_ns), {0: 1.04, 1: 1.12, 50: 3.24}),
)
"""Titles, our ratios, and table 6.4's Linux by requests in %: C-TH-223 to 225, 228 to 230, 233 to
235."""


def _delays(label: str, router: Router, style: Style) -> Curve:
    parts = np.array([1 - part / 1e6 for part, _ in router.quantiles_us])
    times = np.array([us for _, us in router.quantiles_us])
    keep = parts > 0
    return Curve(label, times[keep], parts[keep], style)


def _turns(found: Evidence[Load]) -> pl.DataFrame:
    rows: list[dict[str, Any]] = [
        {"measurement": key, "turn": number, "router": router, **one}
        for key, load in found.items()
        for router, own in (
            ("unmodified, no requests", load.plain),
            ("empty program, no requests", load.empty),
            ("unmodified", load.without),
            ("Quick-Start", load.with_),
        )
        for number, one in enumerate(own.turns)
    ]
    return pl.DataFrame(rows)
