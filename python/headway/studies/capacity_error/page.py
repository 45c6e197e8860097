"""Plot: figures 6.60 to 6.62."""

from __future__ import annotations

import math

import polars as pl

from headway.figures import Curve, Panel, Series, curves, one_of, style_of, timeseries
from headway.publish import Figures, Page
from headway.studies.capacity_error.experiments import (
    GUIDED,
    LONG_SCHEMES,
    SIZES,
    TODAY,
    long_key,
)
from headway.studies.capacity_error.observe import Found
from headway.studies.common import network
from headway.studies.common.cells import seconds
from headway.table import Cell, Table

LABELS = {
    "slow-start": "Slow-Start",
    "right": "c = r",
    "under": "c = r/10",
    "over": "c = 10 r",
    TODAY: "c = 10 r, hosts of linux-6",
    "over-small": "c = 10 r, 5.12 Mbit/s requested",
    "half": "c = r, θ = 0.5",
    "shared": "100 Mbit/s link, θ c = 10 Mbit/s",
}


_STYLES = {
    "slow-start": style_of("slow-start"),
    "right": style_of("quick-start"),
    "under": one_of(style_of("quick-start"), 1),
    "over": one_of(style_of("quick-start"), 2),
}
"""Each assumed capacity is a shade of Quick-Start's color."""


def page(found: Found) -> Page:
    """Tables, figures and data."""
    rows = _long_rows(found)
    return Page(
        tables=[_table(found), _guided_table(found), _long_table(rows)],
        figures=_figures(found, rows),
        data={"long_path": rows},
    )


def _table(found: Found) -> Table:
    return Table(
        "A long transfer",
        ["router", "granted (Mbit/s)", "full after (s)", "1 MB after (s)", "drops", "timeouts"],
        [
            [
                label,
                None if math.isnan(one.granted_bps) else round(one.granted_bps / 1e6, 2),
                seconds(one.full_after_s),
                seconds(one.delivered_after_s(1_000_000)),
                one.drops_s.size,
                round(one.timeouts),
            ]
            for label, one in ((label, found.cases[name]) for name, label in LABELS.items())
        ],
        "Full: a slot of 200 ms and all slots of the next second at 95 % of the rate. Drops in 30 "
        "s, timeouts until the link is full.",
    )


def _guided_table(found: Found) -> Table:
    """XCP and RCP with a wrong capacity."""
    rows: list[list[Cell]] = []
    for scheme, label in network.SCHEMES.items():
        for name, case in GUIDED.items():
            one = found.guided[f"{scheme}-{name}"]
            rows.append(
                [
                    label,
                    f"{case.ratio:g}",
                    "none" if case.buffer_pkts == network.UNLIMITED_PKTS else case.buffer_pkts,
                    round(float(one.late(one.rates_bps).mean()) / 1e6, 2),
                    round(float(one.late(one.queue_pkts).mean()), 1),
                    round(100 * float(one.loss().mean()), 1),
                ]
            )
    return Table(
        "XCP and RCP: an unlimited flow",
        ["", "c/r", "queue limit", "carried (Mbit/s)", "queue (packets)", "lost (%)"],
        rows,
        "Means of the second half of the run; loss in its last two thirds. Where c/r is above "
        "1.565 and the queue is unlimited, the queue grows until the run ends.",
    )


def _long_rows(found: Found) -> pl.DataFrame:
    rows = []
    for size in SIZES:
        row: dict[str, float] = {"size_bytes": size}
        for scheme in LONG_SCHEMES:
            one, name = found.long[long_key(scheme, size)], scheme.replace("-", "_")
            row |= {f"{name}_s": one.took_s, f"{name}_drops": one.drops}
        rows.append(row)
    return pl.DataFrame(rows)


def _long_table(rows: pl.DataFrame) -> Table:
    return Table(
        "Transfers over 1 Gbit/s and 233 ms with a grant of 1.31 Gbit/s",
        ["size (kB)", "Slow-Start (s)", "Quick-Start (s)", "drops", "drops"],
        [
            [
                row["size_bytes"] // 1000,
                seconds(row["slow_start_s"]),
                seconds(row["quick_start_s"]),
                round(row["slow_start_drops"]),
                round(row["quick_start_drops"]),
            ]
            for row in rows.to_dicts()
        ],
        "From the opening of the connection until a short response to the whole transfer arrives.",
    )


def _figures(found: Found, rows: pl.DataFrame) -> Figures:
    drawn = []
    for name in ("slow-start", "right", "under", "over"):
        one = found.cases[name]
        drawn.append(Curve(LABELS[name], one.times_s, one.rates_bps / 1e6, _STYLES[name]))
    long = [
        Curve(
            label,
            rows["size_bytes"].to_numpy() / 1e6,
            rows[f"{name.replace('-', '_')}_s"].to_numpy(),
            style_of(name),
            markers=True,
        )
        for name, label in (("slow-start", "Slow-Start"), ("quick-start", "Quick-Start, too much"))
    ]
    guided = {
        (scheme, name): found.guided[f"{scheme}-{name}"]
        for scheme in network.SCHEMES
        for name in ("right", "under", "double")
    }

    def series(what: str, scale: float) -> list[Series]:
        return [
            Series(
                f"{network.SCHEMES[scheme]}, c/r = {GUIDED[name].ratio:g}",
                one.times_s,
                getattr(one, what) / scale,
                one_of(style_of(scheme), number),
            )
            for scheme in network.SCHEMES
            for number, name in enumerate(("right", "under", "double"))
            for one in [guided[scheme, name]]
        ]

    return {
        "figure-6-61": (
            "Figure 6.61",
            "XCP and RCP by the capacity that their routers assume: rate of one flow, and the "
            "unlimited queue. The thesis shows its overestimate only in the figure.",
            timeseries(
                [
                    Panel("rate (Mbit/s)", series("rates_bps", 1e6)),
                    Panel("queue (packets)", series("queue_pkts", 1.0)),
                ],
                height_mm=55,
            ),
        ),
        "figure-6-60": (
            "Figure 6.60",
            "Rate of a long transfer by the capacity that the router assumes.",
            curves([("", drawn)], x_label="time (s)", y_label="rate (Mbit/s)"),
        ),
        "figure-6-62": (
            "Figure 6.62",
            "Transfer time on a long path, with a grant above its rate.",
            curves(
                [("", long)],
                x_label="size (MB)",
                y_label="transfer time (s)",
                x_scale="log",
            ),
        ),
    }
