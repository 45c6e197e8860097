"""Plot: figures 9 to 14, and the numbers in them."""

from __future__ import annotations

import numpy as np
import polars as pl

from headway.figures import Bars, Curve, Panel, Series, curves, grouped_bars, style_of, timeseries
from headway.figures.style import BLACK, BLUE, GREEN, VERMILLION, Style
from headway.publish import Figures, Page
from headway.studies.common.cells import seconds
from headway.studies.quickstart_linux.experiments import (
    CONTROLS,
    LABELS,
    RTTS_MS,
    SIZES_BYTES,
    SPEEDUP_RTTS_MS,
    TRACES,
)
from headway.studies.quickstart_linux.observe import Found
from headway.studies.quickstart_linux.web import (
    HTTP,
    LOAD_HTTP,
    LOAD_SCHEMES,
    MODELS,
    SCHEMES,
    SHARES,
    one_key,
)
from headway.studies.quickstart_linux.web import LABELS as HTTP_LABELS
from headway.table import Cell, Table

CHOICES = (
    "Hosts are the stack linux-2.6 with 8 MB buffers; CUBIC is that of Linux 2.6.25 with the first "
    "ssthresh of 100 packets that 2.6.20 had. The router meters in slots of 200 ms.",
    "The papers print only some of SURGE's parameters. The default model's file sizes are those of "
    "SURGE's requests (Pareto, k = 1000 bytes, alpha = 1, cut off at 10 MB); a page has at most "
    "100 embedded files. Means of such tails depend on where they are cut.",
    "Users fetch one file after the other. With HTTP/1.0 each file has a connection of its own and "
    "is simulated by itself: a single user's files never share the link.",
    "Figure 13 of the paper is the mean over six combinations; here it is that of CUBIC and the "
    "two variants of HTTP/1.1, large files.",
)
_COLOURS = dict(zip(TRACES, (BLACK, BLUE, VERMILLION, GREEN), strict=True))


def page(found: Found) -> Page:
    """Tables, figures and data."""
    return Page(tables=_tables(found), figures=_figures(found), data={"web": _web(found)})


def _web(found: Found) -> pl.DataFrame:
    return pl.DataFrame(
        [
            {
                "model": model,
                "http": http,
                "control": control,
                "scheme": scheme,
                "pages": (row := found.pages(one_key(model, http, control, scheme))).count,
                "mean_s": row.mean_s,
            }
            for model in MODELS
            for http in HTTP
            for control in CONTROLS
            for scheme in SCHEMES
        ]
    )


def _tables(found: Found) -> list[Table]:
    full: list[list[Cell]] = [
        [
            f"{rtt} ms",
            LABELS[control],
            *(seconds(found.start(rtt, control, kind).full_after_s) for kind in TRACES),
        ]
        for rtt in RTTS_MS
        for control in CONTROLS
    ]
    pages: list[list[Cell]] = [
        [
            MODELS[model],
            HTTP_LABELS[http],
            LABELS[control],
            *(round(found.page_s(model, http, control, s), 3) for s in SCHEMES),
        ]
        for model in MODELS
        for http in HTTP
        for control in CONTROLS
    ]
    load: list[list[Cell]] = [
        [
            int(users),
            *(
                round(float(found.load_s(http, scheme)[index]), 2)
                for http in LOAD_HTTP
                for scheme in LOAD_SCHEMES
            ),
        ]
        for index, users in enumerate(found.users)
    ]
    short = dict(zip(LOAD_SCHEMES, ("SS", "QS", "late", "JS"), strict=True))
    return [
        Table(
            "Time from the request until the link is full, s",
            ["RTT", "control", "SS", "QS", "QS lowered", "QS 2.56 lowered"],
            full,
            "A dash: not within 25 s.",
        ),
        Table(
            "Mean download time of a page, one user, s",
            ["model", "protocol", "control", *(short[s] for s in SCHEMES)],
            pages,
        ),
        Table(
            "Mean download time of a page over the number of users, large files, CUBIC, s",
            ["users", *(f"{http} {short[s]}" for http in LOAD_HTTP for s in LOAD_SCHEMES)],
            load,
        ),
    ]


def _figures(found: Found) -> Figures:
    made: Figures = {}
    for number, rtt in (("9", 100), ("10", 200)):
        panels = [
            Panel(
                "rate (Mbit/s)",
                [
                    Series(
                        TRACES[kind],
                        found.start(rtt, control, kind).times_s,
                        found.start(rtt, control, kind).rates_bps / 1e6,
                        Style(_COLOURS[kind], "o"),
                        step=True,
                    )
                    for kind in TRACES
                    if kind != "qs-reduced-2"
                ],
                title=LABELS[control],
            )
            for control in CONTROLS
        ]
        made[f"figure-{number}"] = (
            f"Figure {number}",
            f"IP rate in slots of a round trip of {rtt} ms.",
            timeseries(panels, height_mm=48),
        )
    speedups = [
        (
            LABELS[control],
            [
                Curve(
                    f"{rtt} ms",
                    np.array(SIZES_BYTES),
                    found.speedup(rtt, control),
                    Style(colour, marker),
                    markers=True,
                )
                for rtt, colour, marker in zip(
                    SPEEDUP_RTTS_MS, (BLACK, BLUE, VERMILLION, GREEN), "os^v", strict=True
                )
            ],
        )
        for control in CONTROLS
    ]
    made["figure-11"] = (
        "Figure 11",
        "Slow start's response time over Quick-Start's.",
        curves(speedups, x_label="transfer size (bytes)", y_label="speedup", x_scale="log"),
    )
    made["figure-12"] = (
        "Figure 12 (thesis: 6.48)",
        "Mean download time of a page for one user, Reno.",
        grouped_bars(
            [
                (
                    MODELS[model],
                    [
                        Bars(
                            scheme,
                            scheme,
                            np.array([found.page_s(model, h, "reno", scheme) for h in HTTP]),
                        )
                        for scheme in SCHEMES
                    ],
                )
                for model in MODELS
            ],
            groups=["1.0", "1.1", "1.1, pipelining"],
            x_label="HTTP",
            y_label="page time (s)",
        ),
    )
    made["figure-13"] = (
        "Figure 13 (thesis: 6.49)",
        "Mean download time of a page over the number of users, large files.",
        curves(
            [
                (
                    HTTP_LABELS[http],
                    [
                        Curve(
                            scheme,
                            np.array(found.users),
                            found.load_s(http, scheme),
                            style_of(scheme),
                            markers=True,
                        )
                        for scheme in LOAD_SCHEMES
                    ],
                )
                for http in LOAD_HTTP
            ],
            x_label="users",
            y_label="page time (s)",
        ),
    )
    shares = np.array(SHARES)
    slow = found.page_s("large", "1.1", "cubic", "slow-start")
    made["figure-14"] = (
        "Figure 14",
        "Mean download time of a page over the part of the capacity for Quick-Start, one user.",
        curves(
            [
                (
                    "",
                    [
                        Curve(
                            "quick-start",
                            100 * shares,
                            np.array(list(found.shares_s().values())),
                            style_of("quick-start"),
                            markers=True,
                        ),
                        Curve(
                            "slow-start",
                            100 * shares,
                            np.full(shares.size, slow),
                            style_of("slow-start"),
                        ),
                    ],
                )
            ],
            x_label="part of the capacity (%)",
            y_label="page time (s)",
        ),
    )
    return made
