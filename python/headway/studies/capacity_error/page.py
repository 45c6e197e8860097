"""Plot: figures 6.60 to 6.62."""

from collections.abc import Sequence
from itertools import product

import polars as pl

from headway.figures import Curve, Panel, Series, style_of, timeseries, variant_of
from headway.publish import Figures, Page
from headway.studies.capacity_error.experiments import GUIDED, LONG_SCHEMES, SIZES, TODAY, long_key
from headway.studies.capacity_error.observe import Found
from headway.studies.common import network
from headway.studies.common.runs import values
from headway.studies.common.shown import chart, curve, figures, table
from headway.study import StudyContext

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


def page(_ctx: StudyContext, found: Found) -> Page:
    """Rates over time, transfer times over size."""
    cases = {label: found.cases[name] for name, label in LABELS.items()}
    guided = {
        (scheme, name): found.guided[f"{scheme}-{name}"]
        for scheme, name in product(network.SCHEMES, GUIDED)
    }
    rows = _long_rows(found)
    tables = [
        table(
            "A long transfer",
            LABELS.values(),
            {
                "router": str,
                "granted (Mbit/s)": (lambda label: cases[label].granted_bps / 1e6, 2),
                "full after (s)": (lambda label: cases[label].full_after_s, 2),
                "1 MB after (s)": (lambda label: cases[label].megabyte_after_s, 2),
                "drops": lambda label: cases[label].drops_s.size,
                "timeouts": lambda label: round(cases[label].timeouts),
            },
            "Full: a slot of 200 ms and all slots of the next second at 95 % of the rate. Drops in "
            "30 s, timeouts until the link is full.",
        ),
        table(
            "XCP and RCP: an unlimited flow",
            guided,
            {
                "": lambda key: network.SCHEMES[key[0]],
                "c/r": lambda key: f"{GUIDED[key[1]].ratio:g}",
                "queue limit": lambda key: _limit(GUIDED[key[1]].buffer_pkts),
                "carried (Mbit/s)": (lambda key: guided[key].late_mean("rates_bps") / 1e6, 2),
                "queue (packets)": (lambda key: guided[key].late_mean("queue_pkts"), 1),
                "lost (%)": (lambda key: 100 * float(guided[key].loss().mean()), 1),
            },
            "Means of the second half of the run; loss in its last two thirds. Where c/r is above "
            "1.565 and the queue is unlimited, the queue grows until the run ends.",
        ),
        table(
            "Transfers over 1 Gbit/s and 233 ms with a grant of 1.31 Gbit/s",
            rows.to_dicts(),
            [
                ("size (kB)", lambda row: row["size_bytes"] // 1000),
                ("Slow-Start (s)", (lambda row: row["slow_start_s"], 2)),
                ("Quick-Start (s)", (lambda row: row["quick_start_s"], 2)),
                ("drops", lambda row: round(row["slow_start_drops"])),
                ("drops", lambda row: round(row["quick_start_drops"])),
            ],
            "From the opening of the connection until a short response to the whole transfer "
            "arrives.",
        ),
    ]
    return Page(tables=tables, figures=_figures(found, rows), data={"long_path": rows})


def _limit(buffer_pkts: int) -> str | int:
    return "none" if buffer_pkts == network.UNLIMITED_PKTS else buffer_pkts


def _long_rows(found: Found) -> pl.DataFrame:
    columns: dict[str, Sequence[float]] = {"size_bytes": SIZES}
    for scheme in LONG_SCHEMES:
        own, name = [found.long[long_key(scheme, size)] for size in SIZES], scheme.replace("-", "_")
        columns |= {f"{name}_s": values(own, "took_s"), f"{name}_drops": values(own, "drops")}
    return pl.DataFrame(columns)


def _figures(found: Found, rows: pl.DataFrame) -> Figures:
    names = ("right", "under", "over")
    # Each assumed capacity is a shade of Quick-Start's color.
    shades = {
        name: variant_of(style_of("quick-start"), number) for number, name in enumerate(names)
    }
    cases = [
        Curve(LABELS[name], one.times_s, one.rates_bps / 1e6, style)
        for name, style in {"slow-start": style_of("slow-start"), **shades}.items()
        for one in [found.cases[name]]
    ]
    sizes_mb = rows["size_bytes"].to_numpy() / 1e6
    slow_s, quick_s = rows["slow_start_s"].to_numpy(), rows["quick_start_s"].to_numpy()
    long = [
        curve("Slow-Start", sizes_mb, slow_s, style_of("slow-start")),
        curve("Quick-Start, too much", sizes_mb, quick_s, style_of("quick-start")),
    ]

    def series(what: str, scale: float) -> list[Series]:
        return [
            Series(
                f"{label}, c/r = {GUIDED[name].ratio:g}",
                one.times_s,
                getattr(one, what) / scale,
                variant_of(style_of(scheme), number),
            )
            for scheme, label in network.SCHEMES.items()
            for number, name in enumerate(("right", "under", "double"))
            for one in [found.guided[f"{scheme}-{name}"]]
        ]

    guided = [
        Panel("rate (Mbit/s)", series("rates_bps", 1e6)),
        Panel("queue (packets)", series("queue_pkts", 1.0)),
    ]
    return figures(
        (
            "Figure 6.61",
            "XCP and RCP by the capacity that their routers assume: rate of one flow, and the "
            "unlimited queue. The thesis shows its overestimate only in the figure.",
            timeseries(guided, height_mm=55),
        ),
        (
            "Figure 6.60",
            "Rate of a long transfer by the capacity that the router assumes.",
            chart(cases, "time (s)", "rate (Mbit/s)"),
        ),
        (
            "Figure 6.62",
            "Transfer time on a long path, with a grant above its rate.",
            chart(long, "size (MB)", "transfer time (s)", x_scale="log"),
        ),
    )
