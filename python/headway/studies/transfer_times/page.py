"""Plot: tables and figures 6.34 to 6.41; and the form on the kernel."""

from collections.abc import Sequence
from dataclasses import replace
from itertools import product
from operator import itemgetter

import numpy as np
import polars as pl

from headway.claims import Evidence
from headway.figures import PUBLISHED, Curve, style_of, variant_of
from headway.figures.style import LIGHT, Style
from headway.models import startup
from headway.models._checks import Floats
from headway.publish import Figures, Page
from headway.studies.common import lab, network
from headway.studies.common.shown import chart, curve, figures, table
from headway.studies.transfer_times.claims import TOLERANCE, TOLERANCE_S, least_s
from headway.studies.transfer_times.experiments import (
    BUFFERS_PKTS,
    CAPACITIES_BPS,
    CAPACITY_SCHEMES,
    JUMP,
    LABELS,
    LATE,
    LONG_RATES_BPS,
    LONG_SIZES_BYTES,
    RTTS_MS,
    Results,
    Transfers,
    experiments_on_kernel,
    kernel_sizes,
    model_s,
    transfers,
)
from headway.studies.transfer_times.gains import DERIVED
from headway.study import Agreement, StudyContext, declared
from headway.table import Cell, Table

_SIZE, _TIME = "response size (bytes)", "response time (s)"
_CAPACITY_LABELS = {
    **LABELS,
    "quick-start": "Quick-Start, requests the capacity",
    "quick-start-5": "requests 5.12 Mbit/s",
    "quick-start-b": "the same, ssthresh lowered (QS-b)",
}
"""Labels of figure 6.40, where the requested rate matters."""
_PUBLISHED = {
    JUMP: (startup.JUMP_START_DATA_BYTES, 0.4),
    "mega-start": (100e3, 0.285),
    "quick-start": (100e3, 0.362),
}
"""Transfer sizes and response times at 200 ms that the thesis prints (C-TH-120, 126 and 118)."""


def page(_ctx: StudyContext, found: Results) -> Page:
    """Response times compared with table 6.1."""
    times = [
        {
            "scheme": scheme,
            "rtt_ms": rtt_ms,
            "buffer_pkts": buffer_pkts,
            "size_bytes": size,
            "response_s": float(measured),
            "table_6_1_s": float(expected),
        }
        for scheme, rtt_ms, buffer_pkts in product(LABELS, RTTS_MS, BUFFERS_PKTS)
        for size, measured, expected in zip(
            found.sizes_bytes,
            found.times(scheme, rtt_ms, buffer_pkts),
            model_s(scheme, found.sizes_bytes, rtt_ms),
            strict=True,
        )
    ]
    # a requested rate of 0 stands for slow start
    by_rate = (found.long_slow_start(), *found.long_quick_start())
    long_path = [
        {"asked_bps": rate, "size_bytes": size, "response_s": float(time)}
        for rate, own in zip((0, *LONG_RATES_BPS), by_rate, strict=True)
        for size, time in zip(LONG_SIZES_BYTES, own, strict=True)
    ]
    return Page(
        tables=[_agreement(found), _times(found), _long(found)],
        figures=_figures(found),
        data={"response_times": pl.DataFrame(times), "long_path": pl.DataFrame(long_path)},
    )


def _agreement(found: Results) -> Table:
    """How many times agree with table 6.1, per scheme and round-trip time."""
    sizes = found.sizes_bytes

    def agree(cell: tuple[str, int], expected_s: Floats, buffer_pkts: int = BUFFERS_PKTS[1]) -> str:
        off_s = np.abs(found.times(*cell, buffer_pkts) - expected_s)
        good = off_s <= np.maximum(TOLERANCE * expected_s, TOLERANCE_S)
        return f"{int(good.sum())} of {good.size}"

    rows: list[list[Cell]] = []
    for cell in product(LABELS, RTTS_MS):
        scheme, rtt_ms = cell
        expected = model_s(scheme, sizes, rtt_ms)
        off = np.abs(found.times(*cell, BUFFERS_PKTS[1]) - expected)
        path = lab.model_path(rtt_ms=rtt_ms)
        timed = startup.timed_jump_start_response_s(sizes, path=path)
        rows.append(
            [
                LABELS[scheme],
                f"{rtt_ms} ms",
                agree(cell, expected),
                round(1e3 * float(off.mean()), 2),
                f"{100 * float((off / expected).max()):.2f} %",
                agree(cell, timed) if scheme == JUMP else "",
                agree(cell, expected, BUFFERS_PKTS[0]),
            ]
        )
    return Table(
        "Simulated response times compared with table 6.1: within 3 % or 5 ms",
        ["scheme", "RTT", "agree", "mean ms", "largest", "with timers", "1000 packets"],
        rows,
        "The queue of 10,000 packets drops nothing. The last column is for a queue of 1000 "
        "packets. With timers: table 6.1 with the bursts of eq. 5.1 instead of an even flow.",
    )


def _times(found: Results) -> Table:
    """Simulated and computed times at 200 ms."""
    sizes = [s for s in (10e3, 50e3, 100e3, 300e3, 1e6, 10e6) if s in found.sizes_bytes]
    rows = [
        [label, *(f"{found.at(name, s):.2f}/{model_s(name, np.array(s)):.2f}" for s in sizes)]
        for name, label in LABELS.items()
    ]
    rows += [
        [label, *(f"{found.at(scheme, size):.2f}" for size in sizes)]
        for scheme, label in network.SCHEMES.items()
    ]
    return Table(
        "Response times at 200 ms in s, simulated/table 6.1",
        ["scheme", *(f"{size / 1e3:g} kB" for size in sizes)],
        rows,
    )


def _long(found: Results) -> Table:
    """Response times and speedups on the long path by requested rate."""
    slow = found.long_slow_start()
    rows = [["Slow-Start", *(f"{time:.2f}" for time in slow)]]
    rows += [
        [f"{rate / 1e6:g}", *(f"{t:.2f} ({s / t:.1f})" for s, t in zip(slow, own, strict=True))]
        for rate, own in zip(LONG_RATES_BPS, found.long_quick_start(), strict=True)
    ]
    return Table(
        "Response times over 1 Gbit/s and 233 ms in s (speedup over slow start)",
        ["Mbit/s requested", *(f"{size / 1e6:g} MB" for size in LONG_SIZES_BYTES)],
        rows,
        "A queue of 50 packets. The router grants all rates, also those above the link's rate.",
    )


def _figures(found: Results) -> Figures:
    mbps = [bps / 1e6 for bps in CAPACITIES_BPS]
    by_capacity = [
        curve(_CAPACITY_LABELS[name], mbps, found.by_capacity(name), style_of(name))
        for name in CAPACITY_SCHEMES
    ]
    by_rate = []
    speedups = (found.long_slow_start() / found.long_quick_start()).T
    for number, (size, speedup) in enumerate(zip(LONG_SIZES_BYTES, speedups, strict=True)):
        style = replace(variant_of(style_of("quick-start"), number), marker="dos"[number])
        rates = [bps / 1e6 for bps in LONG_RATES_BPS]
        by_rate.append(curve(f"{size / 1e6:g} MB", rates, speedup, style))
    over_size = {
        "6.34": ("slow-start", JUMP),
        "6.35": ("slow-start", "initial-start", "mega-start"),
        "6.36": ("slow-start", "quick-start", "quick-start-late"),
    }
    return figures(
        *(
            (
                f"Figure {number}",
                "Response time over size at 200 ms. Lines: table 6.1; markers: simulation; "
                "crosses: values that the thesis prints.",
                chart(_over_sizes(found, schemes), _SIZE, _TIME, x_scale="log"),
            )
            for number, schemes in over_size.items()
        ),
        (
            "Figure 6.37",
            "Response time over size at 200 ms with XCP and RCP, late Quick-Start, and the "
            "theoretical minimum (a round trip plus the data at the link's rate).",
            chart(_guided(found), _SIZE, _TIME, x_scale="log"),
        ),
        *(
            (
                f"Figure {number}",
                f"Speedup of {LABELS[scheme]} over slow start, by response size.",
                chart(_speedup(found, scheme), _SIZE, "speedup", x_scale="log"),
            )
            for number, scheme in {"6.38": JUMP, "6.39": "quick-start"}.items()
        ),
        (
            "Figure 6.40",
            "Response time of 1 MB over the path's capacity, 200 ms.",
            chart(by_capacity, "path capacity (Mbit/s)", _TIME, x_scale="log"),
        ),
        (
            "Figure 6.41",
            "Speedup of Quick-Start over slow start on 1 Gbit/s and 233 ms, by the rate that is "
            "requested and granted.",
            chart(by_rate, "requested rate (Mbit/s)", "speedup", x_scale="log"),
        ),
    )


def _simulated(found: Results, label: str, scheme: str, *, line: bool) -> Curve:
    """Times at 200 ms, up to 2 MB."""
    shown = found.sizes_bytes <= 2e6
    times = found.times(scheme)[shown]
    return curve(label, found.sizes_bytes[shown], times, style_of(scheme), line=line)


def _over_sizes(found: Results, schemes: Sequence[str]) -> list[Curve]:
    fine = np.geomspace(found.sizes_bytes.min(), 2e6, 400)
    drawn = []
    for scheme in schemes:
        label = LABELS[scheme]
        drawn.append(Curve(f"{label}, table 6.1", fine, model_s(scheme, fine), style_of(scheme)))
        drawn.append(_simulated(found, f"{label}, simulated", scheme, line=False))
    size, time_s = np.array([_PUBLISHED[one] for one in schemes if one in _PUBLISHED]).T
    return [*drawn, curve("published", size, time_s, PUBLISHED, line=False)]


def _guided(found: Results) -> list[Curve]:
    fine = np.geomspace(found.sizes_bytes.min(), 2e6, 400)
    labels = {LATE: LABELS[LATE], **network.SCHEMES}
    return [
        Curve("theoretical minimum", fine, least_s(fine), Style(LIGHT, ".", ":")),
        *(_simulated(found, label, scheme, line=True) for scheme, label in labels.items()),
    ]


def _speedup(found: Results, scheme: str) -> list[Curve]:
    sizes = found.sizes_bytes
    fine = np.geomspace(sizes.min(), sizes.max(), 600)
    drawn = []
    for number, (rtt_ms, marker) in enumerate(zip((200, 100, 50, 10), "osv^", strict=True)):
        style = replace(variant_of(style_of(scheme), number), marker=marker)
        ratio = model_s("slow-start", fine, rtt_ms) / model_s(scheme, fine, rtt_ms)
        drawn.append(Curve(f"{rtt_ms} ms", fine, ratio, style))
        if rtt_ms in RTTS_MS:
            measured = found.speedup(scheme, rtt_ms)
            drawn.append(curve(f"{rtt_ms} ms, simulated", sizes, measured, style, line=False))
    published = [(rtt_ms, largest) for (own, rtt_ms), largest in DERIVED.items() if own == scheme]
    for number, (rtt_ms, largest) in enumerate(published):
        name, level = f"{rtt_ms} ms, largest published", np.full(fine.size, largest)
        drawn.append(Curve(name, fine, level, variant_of(PUBLISHED, number)))
    return drawn


_KERNEL_TABLE = "Response times in ms"


def _page_on_kernel(ctx: StudyContext, found: Evidence[Transfers]) -> Page:
    """Response times by scheme, size and RTT."""
    sizes = kernel_sizes(ctx)
    times_ms = {
        (scheme, rtt_ms): 1e3 * found[f"{scheme}-rtt{rtt_ms}"].response_s
        for scheme, rtt_ms in product(LABELS, RTTS_MS)
    }
    rows = [
        (LABELS[scheme], f"{size / 1e3:g} kB", *(times_ms[scheme, rtt][at] for rtt in RTTS_MS))
        for scheme, (at, size) in product(LABELS, enumerate(sizes))
    ]
    columns = {f"{rtt} ms": (itemgetter(at), 1) for at, rtt in enumerate(RTTS_MS, start=2)}
    lines = [
        curve(label, sizes, times_ms[scheme, RTTS_MS[-1]], style_of(scheme))
        for scheme, label in LABELS.items()
    ]
    data = [
        {"scheme": scheme, "rtt_ms": rtt_ms, "size_bytes": size, "response_ms": float(time)}
        for (scheme, rtt_ms), own in times_ms.items()
        for size, time in zip(sizes, own, strict=True)
    ]
    return Page(
        tables=[
            table(_KERNEL_TABLE, rows, {"scheme": itemgetter(0), "size": itemgetter(1), **columns})
        ],
        figures=figures(
            (
                "Response times",
                "Without the handshake, by size, at 200 ms.",
                chart(lines, _SIZE, "response time (ms)", x_scale="log", y_scale="log"),
            )
        ),
        data={"response_times": pl.DataFrame(data)},
    )


KERNEL = declared(
    __name__,
    form="kernel",
    experiments=experiments_on_kernel,
    observe=transfers,
    page=_page_on_kernel,
    only_backend="kernel",
    description="",
    agreements=Agreement.per_row(
        LABELS,
        "{}: every response time on the kernel agrees with the simulator's.",
        table=_KERNEL_TABLE, most=15.0, unit="ms", relative=0.08,
    ),
)  # fmt: skip
"""Every scheme compared with the simulator's linux-6. Table 6.1 and the claims describe the thesis'
Linux and a path without loss. This form measures how closely the simulator matches this machine's
Linux. A transfer starts when the previous one is over, because the kernel runs in real time."""
