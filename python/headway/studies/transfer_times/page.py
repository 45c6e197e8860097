"""Plot: tables, and figures 6.34 to 6.41 and 7.4."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from typing import TYPE_CHECKING

import numpy as np
import polars as pl

from headway.figures import PUBLISHED, Curve, curves, label_of, one_of, style_of
from headway.figures.style import LIGHT, Style
from headway.models import startup
from headway.publish import Figures, Page
from headway.studies.common import lab, network
from headway.studies.transfer_times.claims_gains import DERIVED
from headway.studies.transfer_times.claims_network import least_s
from headway.studies.transfer_times.claims_transfers import agreement
from headway.studies.transfer_times.experiments import (
    BUFFERS_PKTS,
    CAPACITIES_BPS,
    CAPACITY_SCHEMES,
    LONG_RATES_BPS,
    LONG_SIZES_BYTES,
    RTTS_MS,
)
from headway.studies.transfer_times.results import Results
from headway.studies.transfer_times.schemes import LATE, SCHEMES, agrees, model_s
from headway.table import Cell, Table

if TYPE_CHECKING:
    from matplotlib.figure import Figure


def page(found: Results) -> Page:
    """Tables, figures and data."""
    return Page(
        tables=[_agreement_table(found), _times_table(found), _long_table(found)],
        figures=_figures(found),
        data={"response_times": _frame(found), "long_path": _long_frame(found)},
    )


def _agreement_table(results: Results) -> Table:
    """How many times agree with table 6.1, per scheme and round-trip time."""
    rows: list[list[Cell]] = []
    for scheme, known in SCHEMES.items():
        for rtt_ms in RTTS_MS:
            expected = model_s(scheme, results.sizes_bytes, rtt_ms)
            measured = results.times(scheme, rtt_ms, BUFFERS_PKTS[1])
            off = np.abs(measured - expected)
            good, count = agreement(results, [scheme], BUFFERS_PKTS[1], [rtt_ms])
            with_loss, _ = agreement(results, [scheme], BUFFERS_PKTS[0], [rtt_ms])
            rows.append(
                [
                    known.label,
                    f"{rtt_ms} ms",
                    f"{good} of {count}",
                    round(1e3 * float(off.mean()), 2),
                    f"{100 * float((off / expected).max()):.2f} %",
                    _timed(results, scheme, rtt_ms),
                    f"{with_loss} of {count}",
                ]
            )
    return Table(
        "Simulated response times compared with table 6.1: within 3 % or 5 ms",
        ["scheme", "RTT", "agree", "mean ms", "largest", "with timers", "1000 packets"],
        rows,
        "The queue of 10,000 packets drops nothing. The last column is for a queue of 1000 "
        "packets. With timers: table 6.1 with the bursts of eq. 5.1 instead of an even flow.",
    )


def _timed(results: Results, scheme: str, rtt_ms: int) -> str:
    if scheme != "jump-start":
        return ""
    expected = startup.timed_jump_start_response_s(
        results.sizes_bytes, path=lab.model_path(rtt_ms=rtt_ms)
    )
    good = agrees(results.times(scheme, rtt_ms, BUFFERS_PKTS[1]), expected)
    return f"{int(good.sum())} of {good.size}"


def _times_table(results: Results) -> Table:
    """Simulated and computed times at 200 ms."""
    sizes = [s for s in (10e3, 50e3, 100e3, 300e3, 1e6, 10e6) if s in results.sizes_bytes]
    rows: list[list[Cell]] = []
    for scheme, known in SCHEMES.items():
        row: list[Cell] = [known.label]
        for size in sizes:
            expected = float(model_s(scheme, np.array(size), 200))
            row.append(f"{results.at(scheme, size):.2f}/{expected:.2f}")
        rows.append(row)
    for scheme, label in network.SCHEMES.items():
        rows.append([label, *(f"{results.at(scheme, size):.2f}" for size in sizes)])
    return Table(
        "Response times at 200 ms in s, simulated/table 6.1",
        ["scheme", *(f"{size / 1e3:g} kB" for size in sizes)],
        rows,
    )


def _long_table(results: Results) -> Table:
    """Response times and speedups on the long path by requested rate."""
    slow, quick = results.long_slow_start(), results.long_quick_start()
    rows: list[list[Cell]] = [["Slow-Start", *(f"{time:.2f}" for time in slow)]]
    rows += [
        [f"{rate / 1e6:g}", *(f"{t:.2f} ({s / t:.1f})" for s, t in zip(slow, own, strict=True))]
        for rate, own in zip(LONG_RATES_BPS, quick, strict=True)
    ]
    return Table(
        "Response times over 1 Gbit/s and 233 ms in s (speedup over slow start)",
        ["Mbit/s requested", *(f"{size / 1e6:g} MB" for size in LONG_SIZES_BYTES)],
        rows,
        "A queue of 50 packets. The router grants all rates, also those above the link's rate.",
    )


def _long_frame(results: Results) -> pl.DataFrame:
    """Every time on the long path; rate 0 is slow start."""
    times = [results.long_slow_start(), *results.long_quick_start()]
    return pl.DataFrame(
        [
            {"asked_bps": rate, "size_bytes": size, "response_s": float(time)}
            for rate, own in zip((0, *LONG_RATES_BPS), times, strict=True)
            for size, time in zip(LONG_SIZES_BYTES, own, strict=True)
        ]
    )


def _frame(results: Results) -> pl.DataFrame:
    """Every time of the sweep over sizes."""
    return pl.DataFrame(
        [
            {
                "scheme": scheme,
                "rtt_ms": rtt_ms,
                "buffer_pkts": buffer_pkts,
                "size_bytes": size,
                "response_s": float(measured),
                "table_6_1_s": float(expected),
            }
            for scheme in SCHEMES
            for rtt_ms in RTTS_MS
            for buffer_pkts in BUFFERS_PKTS
            for size, measured, expected in zip(
                results.sizes_bytes,
                results.times(scheme, rtt_ms, buffer_pkts),
                model_s(scheme, results.sizes_bytes, rtt_ms),
                strict=True,
            )
        ]
    )


def _figures(results: Results) -> Figures:
    """Figures 6.34 to 6.41."""
    made: Figures = {}
    for number, schemes in (
        ("6.34", ("slow-start", "jump-start")),
        ("6.35", ("slow-start", "initial-start", "mega-start")),
        ("6.36", ("slow-start", "quick-start", "quick-start-late")),
    ):
        made[f"figure-{number.replace('.', '-')}"] = (
            f"Figure {number}",
            "Response time over size at 200 ms. Lines: table 6.1; markers: simulation; crosses: "
            "values that the thesis prints.",
            curves(
                [("", [*_over_sizes(results, schemes), *_published(schemes)])],
                x_label="response size (bytes)",
                y_label="response time (s)",
                x_scale="log",
            ),
        )
    made["figure-6-37"] = (
        "Figure 6.37",
        "Response time over size at 200 ms with XCP and RCP, late Quick-Start, and the theoretical "
        "minimum (a round trip plus the data at the link's rate).",
        curves(
            [("", _guided_over_sizes(results))],
            x_label="response size (bytes)",
            y_label="response time (s)",
            x_scale="log",
        ),
    )
    for number, scheme in (("6.38", "jump-start"), ("6.39", "quick-start")):
        made[f"figure-{number.replace('.', '-')}"] = (
            f"Figure {number}",
            f"Speedup of {SCHEMES[scheme].label} over slow start, by response size.",
            _speedup_figure(results, scheme),
        )
    made["figure-6-40"] = (
        "Figure 6.40",
        "Response time of 1 MB over the path's capacity, 200 ms.",
        curves(
            [
                (
                    "",
                    [
                        Curve(
                            _CAPACITY_LABELS.get(name) or label_of(name),
                            np.array(CAPACITIES_BPS) / 1e6,
                            results.by_capacity(name),
                            style_of(name),
                            markers=True,
                        )
                        for name in CAPACITY_SCHEMES
                    ],
                )
            ],
            x_label="path capacity (Mbit/s)",
            y_label="response time (s)",
            x_scale="log",
        ),
    )
    made["figure-6-41"] = (
        "Figure 6.41",
        "Speedup of Quick-Start over slow start on 1 Gbit/s and 233 ms, by the rate that is "
        "requested and granted.",
        curves(
            [
                (
                    "",
                    [
                        Curve(
                            f"{size / 1e6:g} MB",
                            np.array(LONG_RATES_BPS) / 1e6,
                            speedup,
                            replace(one_of(style_of("quick-start"), number), marker="dos"[number]),
                            markers=True,
                        )
                        for number, (size, speedup) in enumerate(
                            zip(
                                LONG_SIZES_BYTES,
                                (results.long_slow_start() / results.long_quick_start()).T,
                                strict=True,
                            )
                        )
                    ],
                )
            ],
            x_label="requested rate (Mbit/s)",
            y_label="speedup",
            x_scale="log",
        ),
    )
    return made


_LIMIT = Style(LIGHT, ".", ":")
_CAPACITY_LABELS = {
    "quick-start": "Quick-Start, requests the capacity",
    "quick-start-5": "requests 5.12 Mbit/s",
    "quick-start-b": "the same, ssthresh lowered (QS-b)",
}
"""Labels of figure 6.40, where the requested rate matters."""


_PUBLISHED: dict[str, tuple[float, float]] = {
    "jump-start": (startup.JUMP_START_DATA_BYTES, 0.4),
    "mega-start": (100e3, 0.285),
    "quick-start": (100e3, 0.362),
}
"""Size and response time at 200 ms that the thesis prints: C-TH-120, 126 and 118."""


def _published(schemes: Sequence[str]) -> list[Curve]:
    size, time_s = np.array([_PUBLISHED[one] for one in schemes if one in _PUBLISHED]).T
    return [Curve("published", size, time_s, PUBLISHED, line=False, markers=True)]


def _over_sizes(results: Results, schemes: Sequence[str]) -> list[Curve]:
    fine = np.geomspace(results.sizes_bytes.min(), 2e6, 400)
    shown = results.sizes_bytes <= 2e6
    drawn: list[Curve] = []
    for scheme in schemes:
        style = style_of(scheme)
        label = SCHEMES[scheme].label
        drawn.append(Curve(f"{label}, table 6.1", fine, model_s(scheme, fine, 200), style))
        drawn.append(
            Curve(
                f"{label}, simulated",
                results.sizes_bytes[shown],
                results.times(scheme)[shown],
                style,
                line=False,
                markers=True,
            )
        )
    return drawn


def _guided_over_sizes(results: Results) -> list[Curve]:
    fine = np.geomspace(results.sizes_bytes.min(), 2e6, 400)
    shown = results.sizes_bytes <= 2e6
    labels = {LATE: SCHEMES[LATE].label, **network.SCHEMES}
    return [
        Curve("theoretical minimum", fine, least_s(fine), _LIMIT),
        *(
            Curve(
                label,
                results.sizes_bytes[shown],
                results.times(scheme)[shown],
                style_of(scheme),
                markers=True,
            )
            for scheme, label in labels.items()
        ),
    ]


def _speedup_figure(results: Results, scheme: str) -> Figure:
    fine = np.geomspace(results.sizes_bytes.min(), results.sizes_bytes.max(), 600)
    drawn: list[Curve] = []
    for number, (rtt_ms, marker) in enumerate(zip((200, 100, 50, 10), "osv^", strict=True)):
        style = replace(one_of(style_of(scheme), number), marker=marker)
        ratio = model_s("slow-start", fine, rtt_ms) / model_s(scheme, fine, rtt_ms)
        drawn.append(Curve(f"{rtt_ms} ms", fine, ratio, style))
        if rtt_ms in RTTS_MS:
            drawn.append(
                Curve(
                    f"{rtt_ms} ms, simulated",
                    results.sizes_bytes,
                    results.speedup(scheme, rtt_ms),
                    style,
                    line=False,
                    markers=True,
                )
            )
    published = ((rtt_ms, largest) for (own, rtt_ms), largest in DERIVED.items() if own == scheme)
    for number, (rtt_ms, largest) in enumerate(published):
        name, level = f"{rtt_ms} ms, largest published", np.full(fine.size, largest)
        drawn.append(Curve(name, fine, level, one_of(PUBLISHED, number)))
    return curves(
        [("", drawn)],
        x_label="response size (bytes)",
        y_label="speedup",
        x_scale="log",
    )
