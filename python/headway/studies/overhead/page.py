"""Plot: table 6.4 with this machine's numbers, figure 6.65, and the effort of forwarding."""

from collections.abc import Mapping
from statistics import median

import numpy as np
import polars as pl

from headway.figures import PUBLISHED, Curve, Style, curves, style_of, variant_of
from headway.publish import Figures, Page
from headway.report import Edge, Node, Sketch, row
from headway.studies.common.shown import chart, table
from headway.studies.overhead.experiments import (
    PACKET_BYTES,
    SHARES,
    SLOTS_MS,
    Found,
    Load,
    Metric,
    Router,
    requests,
    slots,
    turn_ratios,
)
from headway.study import StudyContext
from headway.table import Table

_PLAIN, _QUICK_START = style_of("slow-start"), style_of("quick-start")
_RATIOS: tuple[tuple[str, Metric, tuple[float, ...]], ...] = (
    ("peak rate", "rates_pps", (1.0, 1.0, 1.0)),
    ("mean delay", "delays_us", (1.0, 1.0, 1.0)),
    ("effort", "efforts_ns", (1.04, 1.12, 3.24)),
)
"""Titles, our numbers, and table 6.4's ratios of Linux by SHARES: C-TH-223 to 225, 228 to 230, 233
to 235."""


def page(_ctx: StudyContext, found: Found) -> Page:
    """Table 6.4 with this machine's numbers, and figure 6.65."""
    loads = {share: found[requests(share)] for share in SHARES}
    turns = [
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
    return Page(
        tables=[_table(loads)], figures=_figures(found, loads), data={"turns": pl.DataFrame(turns)}
    )


def sketches(_ctx: StudyContext) -> list[Sketch]:
    """Three network namespaces. The one in the middle is measured."""
    shares = f"{', '.join(map(str, SHARES[:-1]))} or {SHARES[-1]} %"
    nodes = (["sending host"], ["router of this", "machine's kernel"], ["receiving host,", "drops"])
    edges = (
        [f"packets of {PACKET_BYTES} B,", f"{shares} requests"],
        ["packets/s, delay,", "processor time"],
    )
    caption = (
        "The router in the middle forwards within one processor: unmodified, with a program that "
        "does nothing, or with that of Quick-Start, which meters packets and answers requests, in "
        "turns."
    )
    return [row(list(map(Node, nodes)), list(map(Edge, edges)), caption)]


def _table(loads: Mapping[int, Load]) -> Table:
    rows: list[tuple[str, int, Load, Router]] = []
    for share, load in loads.items():
        if share == 0:
            rows += [("unmodified", 0, load, load.plain), ("empty program", 0, load, load.empty)]
        name = "unmodified, again" if share == 0 else "unmodified"
        rows += [(name, share, load, load.without), ("Quick-Start", share, load, load.with_)]
    return table(
        "A router's packets per second of a processor, delay and effort",
        rows,
        {
            "router": lambda one: one[0],
            "requests %": lambda one: one[1],
            "Mpps": (lambda one: median(one[3].rates_pps) / 1e6, 3),
            "delay us": (lambda one: median(one[3].delays_us), 2),
            "effort ns": (lambda one: median(one[3].efforts_ns), None),
            "program ns": (
                lambda one: (one[2].program_ns or None) if one[3] is one[2].with_ else None,
                None,
            ),
            "rate ratio": (lambda one: one[2].ratio("rates_pps", one[3]).mean, 3),
            "effort ratio": (lambda one: one[2].ratio("efforts_ns", one[3]).mean, 2),
            "delay ratio": (lambda one: one[2].ratio("delays_us", one[3]).mean, 3),
        },
        "Medians of the turns. Ratios are to an unmodified router without requests in the "
        "same turn. The row 'unmodified, again' shows the scatter of the measurement. The time in "
        "the program includes the kernel's counting.",
    )


def _figures(found: Found, loads: Mapping[int, Load]) -> Figures:
    by_slot = {ms: found[slots(ms)] for ms in SLOTS_MS}
    shares = [_delays("unmodified", loads[0].plain, _PLAIN)] + [
        _delays(f"Quick-Start, {share} %", load.with_, variant_of(_QUICK_START, number))
        for number, (share, load) in enumerate(loads.items())
    ]
    lengths = [_delays("unmodified", by_slot[SLOTS_MS[0]].plain, _PLAIN)] + [
        _delays(f"Quick-Start, slots of {ms} ms", load.with_, variant_of(_QUICK_START, 3 + number))
        for number, (ms, load) in enumerate(by_slot.items())
    ]
    at = np.array(SHARES, dtype=np.float64)
    without = np.array([median(load.without.efforts_ns) for load in loads.values()])
    efforts = np.array([median(load.with_.efforts_ns) for load in loads.values()])
    effort_lines = [
        Curve("unmodified", at, without, _PLAIN, markers=True),
        Curve("Quick-Start", at, efforts, variant_of(_QUICK_START, 0), markers=True),
    ]
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
                [(title, _ratio(loads, metric, printed)) for title, metric, printed in _RATIOS],
                x_label="requests (%)",
                y_label="ratio",
                share_y=False,
            ),
        ),
        "table-6-4-effort": (
            "Table 6.4: effort of forwarding",
            "Processor time of one packet, without the time of sending it.",
            chart(effort_lines, "packets with a request (%)", "time per packet (ns)"),
        ),
    }


def _ratio(loads: Mapping[int, Load], metric: Metric, published: tuple[float, ...]) -> list[Curve]:
    at = np.array(SHARES, dtype=np.float64)
    turns = [turn_ratios(metric, load.with_, load.plain) for load in loads.values()]
    middle, low, high = (np.array([of(one) for one in turns]) for of in (median, min, max))
    printed = np.array(published)
    return [
        Curve("Quick-Start", at, middle, _QUICK_START, markers=True, low=low, high=high),
        Curve("published", at, printed, PUBLISHED, line=False, markers=True),
    ]


def _delays(label: str, router: Router, style: Style) -> Curve:
    parts = np.array([1 - part / 1e6 for part, _ in router.quantiles_us])
    times = np.array([us for _, us in router.quantiles_us])
    keep = parts > 0
    return Curve(label, times[keep], parts[keep], style)
