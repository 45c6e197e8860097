"""Plot: figures 6.23 and 6.24, and when each link was full."""

import polars as pl

from headway.figures import Panel, Series, label_of, style_of, timeseries, variant_of
from headway.publish import Page
from headway.studies.common.shown import figures, table
from headway.studies.ssthresh_strategies.experiments import (
    APPROVED_MBPS,
    RATES_BPS,
    RTT_S,
    Found,
    rate_bps,
)
from headway.study import StudyContext

_STYLES = {"a": style_of("quick-start"), "b": style_of("quick-start-b")}
"""Styles of the strategies QS-a and QS-b, as in figure 6.40, which compares them, too."""


def page(_ctx: StudyContext, found: Found) -> Page:
    """The report's table, figures and data."""
    full = {"flow": list(found), "full_after_s": [one.full_after_s for one in found.values()]}
    return Page(
        tables=[
            table(
                "Time from the request until a slot of 200 ms is full, and data carried",
                found,
                {
                    "flow": str,
                    "full after s": (lambda name: found[name].full_after_s, 2),
                    "MB in 5 s": (lambda name: found[name].mbytes(5), 2),
                    "MB in 20 s": (lambda name: found[name].mbytes(20), 2),
                },
                "Flows are named qs-STRATEGY-LINK-RATE, in Mbit/s. A dash: not within 20 s.",
            )
        ],
        figures=figures(
            *(
                (
                    f"Figure {number}",
                    f"IP rate in slots of 200 ms on {link} Mbit/s. QS-a: ssthresh kept; QS-b: "
                    "ssthresh set to the window of Quick-Start.",
                    timeseries([Panel("rate (Mbit/s)", _lines(found, link))], height_mm=75),
                )
                for number, link in (("6.23", "10"), ("6.24", "100"))
            )
        ),
        data={"full": pl.DataFrame(full)},
    )


def _lines(found: Found, link: str) -> list[Series]:
    """The flows on a link; Quick-Start has a shade per granted rate."""
    lines = []
    for name in filter(lambda name: rate_bps(name) == RATES_BPS[link], found):
        label, style = label_of("slow-start"), style_of("slow-start")
        if name.startswith("qs"):
            _, strategy, _, mbps = name.split("-")
            label = f"QS-{strategy}, {mbps} Mbit/s"
            style = variant_of(_STYLES[strategy], APPROVED_MBPS[link].index(mbps))
        one = found[name]
        shown = one.times_s <= (10 if link == "100" else 12)
        times_s, rates_mbps = one.times_s[shown] - RTT_S, one.rates_bps[shown] / 1e6
        lines.append(Series(label, times_s, rates_mbps, style, step=True))
    return lines
