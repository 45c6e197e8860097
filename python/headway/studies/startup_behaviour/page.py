"""Plot: figures 6.15 and 6.16, and a table of both downloads."""

from __future__ import annotations

import numpy as np
import polars as pl

from headway.figures import PUBLISHED, Panel, Series, style_of, timeseries
from headway.publish import Figures, Page
from headway.studies.common import lab, network
from headway.studies.startup_behaviour.experiments import RTT_S, SCHEMES
from headway.studies.startup_behaviour.observe import Found, Scheme
from headway.table import Cell, Table

TIMES = "Response times in ms"


def page(found: Found) -> Page:
    """Tables, figures and data."""
    labels = {**SCHEMES, **{k: v for k, v in network.SCHEMES.items() if k in found.schemes}}
    seen = {name: found.schemes[name] for name in labels}
    shown: list[list[Cell]] = [
        [
            label,
            *(round(d.response_s, 3) for d in seen[name].downloads),
            *(round(d.full_after_s, 2) for d in seen[name].downloads),
            *(round(d.first_round_bytes / 1e3, 1) for d in seen[name].downloads),
        ]
        for name, label in labels.items()
    ]
    times: list[list[Cell]] = [
        [label, *(round(1e3 * d.response_s, 1) for d in seen[name].downloads)]
        for name, label in labels.items()
    ]
    rows = [
        {"scheme": name, "download": number, **vars(download)}
        for name, own in seen.items()
        for number, download in enumerate(own.downloads, start=1)
    ]
    return Page(
        tables=[
            Table(
                "Both downloads: response time in s, time to full speed in s, kB in the first "
                "round trip",
                ["scheme", "1st", "2nd", "1st full", "2nd full", "1st kB", "2nd kB"],
                shown,
            ),
            Table(TIMES, ["scheme", "first", "after idle"], times),
        ],
        figures=_figures(found),
        data={"schemes": pl.DataFrame(rows)},
    )


def _figures(found: Found) -> Figures:
    def panel(title: str, schemes: tuple[str, ...], *beside: Series) -> Panel:
        lines = [_rate(found.schemes[name], name) for name in schemes]
        return Panel("rate (Mbit/s)", [*lines, *beside], title=title)

    guided = tuple(name for name in network.SCHEMES if name in found.schemes)
    return {
        "figure-6-15": (
            "Figure 6.15",
            "IP rate at the client in slots of 200 ms, end-to-end schemes.",
            timeseries(
                [
                    panel("(a)", ("slow-start", "jump-start"), _full("slow-start")),
                    panel("(b)", ("mega-start", "initial-start")),
                ],
                height_mm=48,
            ),
        ),
        "figure-6-16": (
            "Figure 6.16",
            "IP rate at the client in slots of 200 ms, Quick-Start, XCP and RCP.",
            timeseries(
                [
                    panel("", ("slow-start", "quick-start"), _full("quick-start")),
                    *([panel("", guided)] if guided else []),
                ],
                height_mm=48,
            ),
        ),
    }


_PUBLISHED_FULL_S = {"slow-start": RTT_S + 2.0, "quick-start": 2 * RTT_S + 0.3}
"""At the client: 2 s from the request, which follows the handshake (C-TH-070); 300 ms from the
first data, a round trip after the request (C-TH-079)."""


def _full(scheme: str) -> Series:
    at = np.array([_PUBLISHED_FULL_S[scheme]])
    full_mbps = np.array([lab.LINK_BPS / 1e6])
    return Series(f"{SCHEMES[scheme]} full, published", at, full_mbps, PUBLISHED, points=True)


def _rate(one: Scheme, name: str) -> Series:
    label = {**SCHEMES, **network.SCHEMES}[name]
    return Series(label, one.slots_s, one.rates_bps / 1e6, style_of(name), step=True)
