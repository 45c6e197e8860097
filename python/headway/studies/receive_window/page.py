"""Plot: figures 5.11 and 5.12, and the response times."""

import numpy as np
import polars as pl

from headway.figures import Panel, Series, Style, style_of, timeseries, variant_of
from headway.figures.style import ORANGE
from headway.publish import Page
from headway.report import Edge, Node, Sketch, row
from headway.studies.common.runs import values
from headway.studies.common.shown import figures, table
from headway.studies.receive_window.experiments import (
    CASES,
    FIRST_WINDOW_PKTS,
    RATE_BPS,
    RTT_S,
    Found,
)
from headway.study import StudyContext
from headway.table import Table

_STYLES = {
    "slow-start": style_of("slow-start"),
    "sender-only": variant_of(style_of("jump-start"), 1),
    "both-ends": style_of("jump-start"),
    "beyond-window": variant_of(style_of("jump-start"), 2),
}
"""The cases of figure 5.12."""


def page(_ctx: StudyContext, found: Found) -> Page:
    """The report's table, figures and data."""
    slow = found["slow-start"].transfers[0]
    announced = Style(ORANGE, "s", "--")
    windows = [
        Series("announced window", slow.times_s, slow.window_bytes / 1e3, announced),
        Series("cwnd", slow.times_s, slow.cwnd_bytes / 1e3, style_of("slow-start")),
    ]
    arrived = [
        Series(CASES[case][0], one.arrived_s, one.arrived_bytes / 1e3, style)
        for case, style in _STYLES.items()
        for one in found[case].transfers[:1]
    ]
    names = ("took_s", "window_limited_s", "retransmits_pkts")
    transfers = [
        {"case": case, "transfer": number, **{name: getattr(one, name) for name in names}}
        for case, own in found.items()
        for number, one in enumerate(own.transfers)
    ]
    return Page(
        tables=[_table(found)],
        figures=figures(
            (
                "Figure 5.11",
                "Slow start: cwnd and the announced window at the sender.",
                timeseries([Panel("kB", windows)], height_mm=75),
            ),
            (
                "Figure 5.12",
                "Arrived data over time since the request: slow start, Jump-Start at the sender "
                "alone, with a large first window, and beyond a small one.",
                timeseries([Panel("kB", arrived)], height_mm=75),
            ),
        ),
        data={"transfers": pl.DataFrame(transfers)},
    )


def _table(found: Found) -> Table:
    size = found["slow-start"].transfers[0].arrived_bytes[-1]

    def window_by_cwnd(case: str, *, as_announced: bool = False) -> float:
        return float(np.median(found[case].window_by_cwnd(as_announced=as_announced)))

    def held_ms(case: str) -> float:
        return 1e3 * float(np.median(values(found[case].transfers, "window_limited_s")))

    return table(
        f"{size / 1e6:g} MB over 10 Mbit/s and 200 ms: time until the last byte, and the "
        "receiver's window",
        found,
        {
            "case": lambda case: CASES[case][0],
            "s": (lambda case: found[case].took_s, 3),
            "least": (lambda case: min(values(found[case].transfers, "took_s")), 3),
            "most": (lambda case: max(values(found[case].transfers, "took_s")), 3),
            "window kB": (lambda case: found[case].transfers[0].window_bytes[0] / 1e3, 1),
            "by cwnd": (window_by_cwnd, 2),
            "announced": (lambda case: window_by_cwnd(case, as_announced=True), 2),
            "held ms": (held_ms, None),
            "on time": lambda case: "yes" if found[case].on_time else "no",
        },
        "Jump-Start at the sender alone, with support at both ends (a large first window), "
        "and beyond the window; the initiator's without a bound in bytes. Median, smallest and "
        "largest value of the transfers. Window: the first that the sender knew. Its ratio to the "
        "cwnd of the "
        "same moment, and to that of when it was announced: medians while cwnd grows to what a "
        "round trip carries. Held: how long the window limited the sender, median, as the kernel "
        "counts it. On time: whether the emulated link kept time.",
    )


def sketches(_ctx: StudyContext) -> list[Sketch]:
    """A sender and a receiver with a first window."""
    window = f"window {FIRST_WINDOW_PKTS} packets"
    path = [f"{RATE_BPS / 1e6:g} Mbit/s", f"{1e3 * RTT_S:g} ms round trip", "1000 pkts"]
    hosts = (
        Node(["sender:", "slow start or", "Jump-Start"]),
        Node(router=True),
        Node(["receiver: first", window, "or large"]),
    )
    caption = (
        "Hosts in network namespaces of this machine's kernel; the sender obeys the window that "
        "the receiver announces, or ignores it for a round trip."
    )
    return [row(hosts, [Edge(), Edge(path, ["time, cwnd, window"])], caption)]
