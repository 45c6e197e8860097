"""Plot: figures 5.11 and 5.12, and the response times."""

from __future__ import annotations

import math

import numpy as np
import polars as pl

from headway.claims import Evidence
from headway.figures import Panel, Series, Style, one_of, style_of, timeseries
from headway.figures.style import ORANGE
from headway.publish import Figures, Page
from headway.report import Edge, Node, Sketch, row
from headway.studies.receive_window.experiments import (
    BEYOND_WINDOW,
    BOTH_ENDS,
    EXTRA_ACK,
    FIRST_WINDOW_PKTS,
    INITIATOR,
    RATE_BPS,
    RTT_S,
    SENDER_ONLY,
    SLOW_START,
)
from headway.studies.receive_window.observe import Case
from headway.table import Cell, Table

TITLES = {
    SLOW_START: "slow start",
    SENDER_ONLY: "sender alone",
    BOTH_ENDS: "both ends",
    BEYOND_WINDOW: "beyond window",
    INITIATOR: "initiator",
    EXTRA_ACK: "initiator, extra ACK",
}
DOWNLOADS = {
    SLOW_START: style_of("slow-start"),
    SENDER_ONLY: one_of(style_of("jump-start"), 1),
    BOTH_ENDS: style_of("jump-start"),
    BEYOND_WINDOW: one_of(style_of("jump-start"), 2),
}
"""The cases of figure 5.12."""


def page(found: Evidence[Case]) -> Page:
    """Table, figures and data."""
    return Page(tables=[_table(found)], figures=_figures(found), data={"transfers": _data(found)})


def sketch() -> Sketch:
    """Two hosts and the path between them."""
    return row(
        [
            Node(["sender:", "slow start or", "Jump-Start"]),
            Node(router=True),
            Node(["receiver: first", f"window {FIRST_WINDOW_PKTS} packets", "or large"]),
        ],
        [
            Edge(),
            Edge(
                [f"{RATE_BPS / 1e6:g} Mbit/s", f"{1e3 * RTT_S:g} ms round trip", "1000 pkts"],
                ["time, cwnd, window"],
            ),
        ],
        "Hosts in network namespaces of this machine's kernel; the sender obeys the window that "
        "the receiver announces, or ignores it for a round trip.",
    )


def _table(found: Evidence[Case]) -> Table:
    size = found[SLOW_START].transfers[0].arrived_bytes[-1]
    return Table(
        f"{size / 1e6:g} MB over 10 Mbit/s and 200 ms: time until the last byte, and the "
        "receiver's window",
        [
            "case",
            "s",
            "least",
            "most",
            "window kB",
            "by cwnd",
            "announced",
            "held ms",
            "on time",
        ],
        [_row(TITLES[key], case) for key, case in found.items()],
        note="Jump-Start at the sender alone, with support at both ends (a large first window), "
        "and beyond the window; the initiator's without a bound in bytes. Median, least and most "
        "of the transfers. Window: the first that the sender knew. Its ratio to the cwnd of the "
        "same moment, and to that of when it was announced: medians while cwnd grows to what a "
        "round trip carries. Held: how long the window limited the sender, median, as the kernel "
        "counts it. On time: whether the emulated link kept time.",
    )


def _row(title: str, case: Case) -> list[Cell]:
    took_s = [one.took_s for one in case.transfers]
    limited_ms = 1e3 * float(np.median([one.window_limited_s for one in case.transfers]))
    return [
        title,
        round(case.took_s, 3),
        round(min(took_s), 3),
        round(max(took_s), 3),
        round(float(case.transfers[0].window_bytes[0]) / 1e3, 1),
        round(float(np.median(case.window_by_cwnd())), 2),
        round(float(np.median(case.window_by_cwnd(as_announced=True))), 2),
        round(limited_ms) if math.isfinite(limited_ms) else None,
        "yes" if case.on_time else "no",
    ]


def _figures(found: Evidence[Case]) -> Figures:
    grown = found[SLOW_START].transfers[0]
    windows = [
        Series(
            "announced window", grown.times_s, grown.window_bytes / 1e3, Style(ORANGE, "s", "--")
        ),
        Series("cwnd", grown.times_s, grown.cwnd_bytes / 1e3, style_of("slow-start")),
    ]
    arrived = []
    for key, style in DOWNLOADS.items():
        one = found[key].transfers[0]
        arrived.append(Series(TITLES[key], one.arrived_s, one.arrived_bytes / 1e3, style))
    return {
        "figure-5-11": (
            "Figure 5.11",
            "Slow start: cwnd and the announced window at the sender.",
            timeseries([Panel("kB", windows)], height_mm=75),
        ),
        "figure-5-12": (
            "Figure 5.12",
            "Arrived data over time since the request: slow start, Jump-Start at the sender alone, "
            "with a large first window, and beyond a small one.",
            timeseries([Panel("kB", arrived)], height_mm=75),
        ),
    }


def _data(found: Evidence[Case]) -> pl.DataFrame:
    return pl.DataFrame(
        [
            {
                "case": key,
                "transfer": number,
                "took_s": one.took_s,
                "window_limited_s": one.window_limited_s,
                "retransmits_pkts": one.retransmits_pkts,
            }
            for key, case in found.items()
            for number, one in enumerate(case.transfers)
        ]
    )
