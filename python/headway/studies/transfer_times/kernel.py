"""The study transfer-times on the kernel: its schemes compared with the simulator's linux-6.

Table 6.1 and the claims describe the thesis' Linux and a path without loss. This form measures how
closely the simulator matches this machine's Linux. A transfer starts as soon as the previous one is
over, because the kernel runs in real time.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING

import numpy as np
import polars as pl

from headway.claims import Evidence
from headway.experiment import Experiment
from headway.figures import Curve, curves, style_of
from headway.metrics.stats import Array
from headway.publish import Page
from headway.studies.common import lab
from headway.studies.common.in_turn import in_turn
from headway.studies.transfer_times.experiments import BUFFERS_PKTS, RTTS_MS
from headway.studies.transfer_times.observe import Transfers, transfers
from headway.studies.transfer_times.schemes import SCHEMES, flow
from headway.study import Agreement, Study, StudyContext
from headway.table import Cell, Table
from headway.trace import Trace

if TYPE_CHECKING:
    from matplotlib.figure import Figure

SIZES_BYTES = (
    *(1e3, 2e3, 5e3, 10e3, 20e3, 30e3, 50e3, 65e3),
    *(100e3, 150e3, 300e3, 500e3, 1e6, 3e6, 10e6),
)
QUICK_SIZES_BYTES = (1e3, 10e3, 50e3, 150e3, 1e6)
TITLE = "Response times in ms"
TOLERANCE_MS, TOLERANCE = 15.0, 0.08

AGREEMENTS = tuple(
    Agreement(
        f"kernel-{scheme}",
        f"{known.label}: every response time on the kernel is the simulator's.",
        table=TITLE,
        row=known.label,
        most=TOLERANCE_MS,
        unit="ms",
        relative=TOLERANCE,
    )
    for scheme, known in SCHEMES.items()
)


class TransferTimesOnKernel(Study[Transfers, Evidence[Transfers]]):
    """The form on the kernel; see the module."""

    name = "transfer-times"
    title = "Transfer times: one download with each startup"
    source = "Scharf, Fast Startup Internet Congestion Control (2011), section 6.4.2"
    only_backend = "kernel"
    agreements = AGREEMENTS
    choices = (
        "Table 6.1, the claims and other capacities need the simulator with the thesis' Linux. "
        "Here every scheme runs on this machine's kernel, one transfer after the other, and in the "
        "simulator with stack linux-6. The queue drops nothing: with the thesis' 1000 packets a "
        "single packet more could cause a timeout.",
    )

    def experiments(self, ctx: StudyContext) -> dict[str, Experiment]:
        """A trial per scheme and RTT with one flow per size, one after the other."""
        sizes = _sizes(ctx)
        trials = {}
        for scheme in SCHEMES:
            for rtt_ms in RTTS_MS:
                starts, end_s = in_turn(sizes, rtt_ms)
                flows = [
                    flow(scheme, size, start_s) for size, start_s in zip(sizes, starts, strict=True)
                ]
                trials[_key(scheme, rtt_ms)] = lab.experiment(
                    lab.path(rtt_ms=rtt_ms, buffer_pkts=BUFFERS_PKTS[1]),
                    flows,
                    duration_s=end_s,
                )
        return trials

    def observe(self, _key: str, trace: Trace) -> Transfers:
        """Response times."""
        return transfers(trace)

    def page(self, ctx: StudyContext, found: Evidence[Transfers]) -> Page:
        """Response times by scheme, size and RTT."""
        sizes = _sizes(ctx)
        times_ms = {
            (scheme, rtt_ms): 1e3 * found[_key(scheme, rtt_ms)].response_s
            for scheme in SCHEMES
            for rtt_ms in RTTS_MS
        }
        return Page(
            tables=[_table(times_ms, sizes)],
            figures={
                "response-times": (
                    "Response times",
                    "Without the handshake, by size, at 200 ms.",
                    _figure(times_ms, sizes),
                )
            },
            data={"response_times": _frame(times_ms, sizes)},
        )


def _sizes(ctx: StudyContext) -> tuple[float, ...]:
    return QUICK_SIZES_BYTES if ctx.quick else SIZES_BYTES


def _key(scheme: str, rtt_ms: int) -> str:
    return f"{scheme}-rtt{rtt_ms}"


def _table(times_ms: Mapping[tuple[str, int], Array], sizes: Sequence[float]) -> Table:
    rows: list[list[Cell]] = [
        [
            known.label,
            f"{size / 1e3:g} kB",
            *(_cell(times_ms[scheme, rtt_ms][number]) for rtt_ms in RTTS_MS),
        ]
        for scheme, known in SCHEMES.items()
        for number, size in enumerate(sizes)
    ]
    return Table(TITLE, ["scheme", "size", *(f"{rtt_ms} ms" for rtt_ms in RTTS_MS)], rows)


def _figure(times_ms: Mapping[tuple[str, int], Array], sizes: Sequence[float]) -> Figure:
    drawn = [
        Curve(
            known.label,
            np.array(sizes),
            times_ms[scheme, RTTS_MS[-1]],
            style_of(scheme),
            markers=True,
        )
        for scheme, known in SCHEMES.items()
    ]
    return curves(
        [("", drawn)],
        x_label="response size (bytes)",
        y_label="response time (ms)",
        x_scale="log",
        y_scale="log",
    )


def _cell(time_ms: float) -> Cell:
    return None if np.isnan(time_ms) else round(float(time_ms), 1)


def _frame(times_ms: Mapping[tuple[str, int], Array], sizes: Sequence[float]) -> pl.DataFrame:
    return pl.DataFrame(
        [
            {"scheme": scheme, "rtt_ms": rtt_ms, "size_bytes": size, "response_ms": float(time)}
            for (scheme, rtt_ms), own in times_ms.items()
            for size, time in zip(sizes, own, strict=True)
        ]
    )
