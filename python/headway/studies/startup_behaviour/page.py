"""Plot: figures 6.15 and 6.16, and a table of both downloads."""

import numpy as np
import polars as pl

from headway.figures import PUBLISHED, Panel, Series, style_of, timeseries
from headway.publish import Figures, Page
from headway.studies.common import lab, network
from headway.studies.common.shown import figures, table
from headway.studies.startup_behaviour.experiments import LABELS, RTT_S
from headway.studies.startup_behaviour.observe import Found
from headway.study import StudyContext

TIMES = "Response times in ms"
_PUBLISHED_FULL_S = {"slow-start": RTT_S + 2.0, "quick-start": 2 * RTT_S + 0.3}
"""Published times until the path is full, as seen at the client: 2 s from the request, which
follows the handshake (C-TH-070); 300 ms from the first data, a round trip after the request
(C-TH-079)."""


def page(_ctx: StudyContext, found: Found) -> Page:
    """The report's tables, figures and data."""
    seen = {name: found.schemes[name].downloads for name in LABELS if name in found.schemes}
    rows = [
        {"scheme": name, "download": number, **vars(download)}
        for name, own in seen.items()
        for number, download in enumerate(own, start=1)
    ]
    return Page(
        tables=[
            table(
                "Both downloads: response time in s, time to full speed in s, kB in the first "
                "round trip",
                seen,
                {
                    "scheme": LABELS.get,
                    "1st": (lambda name: seen[name][0].response_s, 3),
                    "2nd": (lambda name: seen[name][1].response_s, 3),
                    "1st full": (lambda name: seen[name][0].full_after_s, 2),
                    "2nd full": (lambda name: seen[name][1].full_after_s, 2),
                    "1st kB": (lambda name: seen[name][0].first_round_bytes / 1e3, 1),
                    "2nd kB": (lambda name: seen[name][1].first_round_bytes / 1e3, 1),
                },
            ),
            table(
                TIMES,
                seen,
                {
                    "scheme": LABELS.get,
                    "first": (lambda name: 1e3 * seen[name][0].response_s, 1),
                    "after idle": (lambda name: 1e3 * seen[name][1].response_s, 1),
                },
            ),
        ],
        figures=_figures(found),
        data={"schemes": pl.DataFrame(rows)},
    )


def _figures(found: Found) -> Figures:
    def panel(title: str, *schemes: str, full: str = "") -> Panel:
        lines = []
        for name in schemes:
            one = found.schemes[name]
            rates_mbps = one.rates_bps / 1e6
            lines.append(Series(LABELS[name], one.slots_s, rates_mbps, style_of(name), step=True))
        if full:
            at, mbps = np.array([_PUBLISHED_FULL_S[full]]), np.array([lab.LINK_BPS / 1e6])
            lines.append(
                Series(f"{LABELS[full]} full, published", at, mbps, PUBLISHED, points=True)
            )
        return Panel("rate (Mbit/s)", lines, title=title)

    ends = [
        panel("(a)", "slow-start", "jump-start", full="slow-start"),
        panel("(b)", "mega-start", "initial-start"),
    ]
    guided = [name for name in network.SCHEMES if name in found.schemes]
    routed = [
        panel("", "slow-start", "quick-start", full="quick-start"),
        *([panel("", *guided)] if guided else []),
    ]
    what = "IP rate at the client in slots of 200 ms,"
    return figures(
        ("Figure 6.15", f"{what} end-to-end schemes.", timeseries(ends, height_mm=48)),
        ("Figure 6.16", f"{what} Quick-Start, XCP and RCP.", timeseries(routed, height_mm=48)),
    )
