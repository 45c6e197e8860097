"""Tables, figures and the report of paper 001's study."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

import numpy as np
import polars as pl

from headway import metrics
from headway.figures import (
    QUEUE,
    VOIP,
    Bars,
    Panel,
    Sample,
    Series,
    cdf,
    grouped_bars,
    published_vs_measured,
    style_of,
    svg_text,
    timeseries,
)
from headway.files import save_text, saving
from headway.report import ReportCell, ReportFigure, ReportTable, ZoomChart
from headway.studies._collateral_damage_claims import cell_name
from headway.studies._collateral_damage_data import (
    CELLS,
    CONTROLS,
    DELAY,
    DELAY_LEVEL,
    DELAY_SD,
    FLOW_COUNTS,
    GOODPUT,
    GOODPUT_MEAN,
    LABELS,
    RTTS_MS,
    CellKey,
    Tolerance,
)
from headway.studies._collateral_damage_results import BOTTLENECK, NUMBERS, Results
from headway.table import Cell, Table
from headway.trace import Trace
from headway.units import NS_PER_S

if TYPE_CHECKING:
    from matplotlib.figure import Figure

_NS_PER_MS = 1e6
_KB = 1000.0

_STATISTICS = (
    ("median", "owd_median_ms", DELAY_LEVEL),
    ("mean", "owd_mean_ms", DELAY_LEVEL),
    ("sd", "owd_sd_ms", DELAY_SD),
)


@dataclass(frozen=True)
class Error:
    """How far one statistic of table 2 is from the paper over all 18 cells."""

    statistic: str
    mean_abs_ms: float
    largest_ms: float
    largest_relative: float
    """Largest |measured / published - 1|."""
    worst_cell: CellKey


def delay_errors(results: Results) -> list[Error]:
    """Errors of the medians, means and standard deviations of table 2."""
    errors = []
    for statistic, name, _ in _STATISTICS:
        published = np.array([getattr(DELAY[key], statistic) for key in CELLS])
        off = np.array([results[key].mean(name) for key in CELLS]) - published
        errors.append(
            Error(
                statistic,
                float(np.abs(off).mean()),
                float(np.abs(off).max()),
                float(np.abs(off / published).max()),
                CELLS[int(np.argmax(np.abs(off)))],
            )
        )
    return errors


def printed_tables(results: Results) -> list[Table]:
    """Tables 1 and 2 with published beside measured, and how far apart they are."""
    columns = ["RTT", "control"]
    for flows in FLOW_COUNTS:
        columns += [f"{flows}: paper", f"{flows}: ours"]
    goodput_rows: list[list[Cell]] = []
    delay_rows: list[list[Cell]] = []
    for rtt_ms in RTTS_MS:
        for control in CONTROLS:
            keys = [(rtt_ms, control, flows) for flows in FLOW_COUNTS]
            head: list[Cell] = [f"{rtt_ms} ms", LABELS[control]]
            row = list(head)
            for key in keys:
                row += [GOODPUT[key].mean, round(results[key].mean("goodput_kbytes_s"), 1)]
            goodput_rows.append(row)
            for statistic, name, _ in _STATISTICS:
                row = [*head, statistic]
                for key in keys:
                    row += [getattr(DELAY[key], statistic), round(results[key].mean(name), 1)]
                delay_rows.append(row)
    errors: list[list[Cell]] = [
        [
            error.statistic,
            round(error.mean_abs_ms, 2),
            round(error.largest_ms, 2),
            f"{100 * error.largest_relative:.1f} %",
            cell_name(error.worst_cell),
        ]
        for error in delay_errors(results)
    ]
    return [
        Table(
            "Table 1: goodput in kB/s, summed over 1, 2 and 5 flows",
            columns,
            goodput_rows,
            "Per-flow goodputs over each flow's own lifetime, as tcptrace gives them, then summed.",
        ),
        Table(
            "Table 2: one-way delay of the datagrams in ms, with 1, 2 and 5 flows",
            [*columns[:2], "", *columns[2:]],
            delay_rows,
        ),
        Table(
            "Distance from table 2 over its 18 cells, in ms",
            ["statistic", "mean error", "largest", "largest %", "where"],
            errors,
        ),
    ]


def report_tables(results: Results) -> list[ReportTable]:
    """The same tables for the report, every measured value marked by its tolerance."""
    groups = [("", 2)] + [(f"{n} flow{'s' if n > 1 else ''}", 4) for n in FLOW_COUNTS]
    goodput = ReportTable(
        "Table 1. Goodput summed over the flows, kB/s (1 kB = 1000 bytes)",
        ["RTT", "control"] + ["paper", "measured", "paper σ", "σ"] * len(FLOW_COUNTS),
        [
            [*_head(rtt_ms, control), *_goodput_cells(results, rtt_ms, control)]
            for rtt_ms in RTTS_MS
            for control in CONTROLS
        ],
        f"Mean of the middle trials; tolerance {GOODPUT_MEAN}. σ is over the same trials.",
        groups,
    )
    delay = ReportTable(
        "Table 2. One-way delay of the datagrams, ms",
        ["RTT", "control", "statistic"] + ["paper", "measured", "off"] * len(FLOW_COUNTS),
        [
            [
                *_head(rtt_ms, control),
                ReportCell(statistic),
                *_delay_cells(results, (rtt_ms, control), statistic, name, tolerance),
            ]
            for rtt_ms in RTTS_MS
            for control in CONTROLS
            for statistic, name, tolerance in _STATISTICS
        ],
        f"Base delay included, lost datagrams left out. Tolerance of medians and means "
        f"{DELAY_LEVEL}, the larger; of standard deviations {DELAY_SD}.",
        [("", 3)] + [(f"{n} flow{'s' if n > 1 else ''}", 3) for n in FLOW_COUNTS],
    )
    return [goodput, delay]


def _head(rtt_ms: int, control: str) -> list[ReportCell]:
    return [ReportCell(f"{rtt_ms} ms"), ReportCell(LABELS[control])]


def _checked(measured: float, published: float, tolerance: Tolerance) -> ReportCell:
    return ReportCell(
        f"{measured:.1f}",
        "holds" if tolerance.accepts(published, measured) else "fails",
        f"tolerance {tolerance}",
    )


def _goodput_cells(results: Results, rtt_ms: int, control: str) -> list[ReportCell]:
    cells = []
    for flows in FLOW_COUNTS:
        cell, published = results[rtt_ms, control, flows], GOODPUT[rtt_ms, control, flows]
        cells += [
            ReportCell(f"{published.mean:.1f}"),
            _checked(cell.mean("goodput_kbytes_s"), published.mean, GOODPUT_MEAN),
            ReportCell(f"{published.sd:.2f}"),
            ReportCell(f"{cell.sd('goodput_kbytes_s'):.2f}"),
        ]
    return cells


def _delay_cells(
    results: Results, row: tuple[int, str], statistic: str, name: str, tolerance: Tolerance
) -> list[ReportCell]:
    cells = []
    for flows in FLOW_COUNTS:
        measured = results[*row, flows].mean(name)
        published = getattr(DELAY[*row, flows], statistic)
        cells += [
            ReportCell(f"{published:.1f}"),
            _checked(measured, published, tolerance),
            ReportCell(f"{measured - published:+.1f}"),
        ]
    return cells


def lifetime_tables(results: Results, link_goodput_kbytes_s: float) -> list[ReportTable]:
    """Why five flows seem to get more than the link carries: one trial, and all cells."""
    key = (RTTS_MS[0], CONTROLS[-1], FLOW_COUNTS[-1])
    lives = results[key].trials[0].lifetimes
    rows = [
        [
            ReportCell(f"flow {number}"),
            ReportCell(f"{life.first_s:.2f}"),
            ReportCell(f"{life.last_s:.2f}"),
            ReportCell(f"{life.last_s - life.first_s:.2f}"),
            ReportCell(f"{life.unique_bytes / 1e6:.3f}"),
            ReportCell(f"{life.goodput_kbytes_s:.2f}"),
        ]
        for number, life in enumerate(lives, start=1)
    ]
    first, last = min(life.first_s for life in lives), max(life.last_s for life in lives)
    total = sum(life.unique_bytes for life in lives)
    summed = sum(life.goodput_kbytes_s for life in lives)
    names = ("sum of the column", "all bytes over the whole span")
    rows += [
        [ReportCell(name), *(ReportCell(text) for text in texts)]
        for name, texts in zip(
            names,
            (
                ("", "", "", f"{total / 1e6:.3f}", f"{summed:.2f}"),
                (
                    f"{first:.2f}",
                    f"{last:.2f}",
                    f"{last - first:.2f}",
                    f"{total / 1e6:.3f}",
                    f"{total / (last - first) / _KB:.2f}",
                ),
            ),
            strict=True,
        )
    ]
    one_trial = ReportTable(
        f"One trial: {cell_name(key)}",
        ["", "first packet (s)", "last packet (s)", "lifetime (s)", "MB", "kB/s"],
        rows,
    )
    parts = ReportTable(
        "All cells, kB/s",
        ["RTT", "control", "flows", "paper", "summed", "= link", "+ lost datagrams", "+ lifetimes"],
        [_excess_row(results, key, link_goodput_kbytes_s) for key in CELLS],
        "Link: what full-sized segments carry beside all the datagrams. Lost datagrams leave "
        "room for TCP. Lifetimes: what summing per-flow averages adds (or start, end and "
        "retransmissions take).",
    )
    return [one_trial, parts]


#: One datagram's share of the link, of what a segment carries: bytes per second per unit of loss.
def _excess_row(results: Results, key: CellKey, link: float) -> list[ReportCell]:
    cell = results[key]
    summed = cell.mean("goodput_kbytes_s")
    payload_share, datagrams_bytes_s = 1448 / 1500, 186 * 50
    room = cell.mean("voip_loss") * datagrams_bytes_s * payload_share / _KB
    return [
        *_head(key[0], key[1]),
        ReportCell(str(key[2])),
        ReportCell(f"{GOODPUT[key].mean:.1f}"),
        ReportCell(f"{summed:.2f}"),
        ReportCell(f"{link:.2f}"),
        ReportCell(f"{room:+.2f}"),
        ReportCell(f"{summed - link - room:+.2f}"),
    ]


def figures(
    results: Results, figure_2: Trace | None, epochs_shown: int = 3
) -> dict[str, tuple[str, str, Figure]]:
    """The paper's figures by file name: (title, caption, figure)."""
    made: dict[str, tuple[str, str, Figure]] = {}
    if figure_2 is not None:
        panels = _figure_2_panels(figure_2, epochs_shown)
        if panels:
            made["figure-2"] = (
                "Figure 2",
                f"Congestion window (above) and one-way delay (below) beside the queue, over "
                f"{epochs_shown} congestion epochs of one H-TCP flow at 100 ms RTT.",
                timeseries(panels, height_mm=62),
            )
    made["figure-3"] = (
        "Figure 3",
        "Distribution of the datagrams' one-way delay at 50 ms RTT, all trials.",
        cdf(
            [
                (
                    f"({letter}) {flows} flow{'s' if flows > 1 else ''}",
                    [
                        Sample(LABELS[c], c, results[RTTS_MS[0], c, flows].owd_ms())
                        for c in CONTROLS
                    ],
                )
                for letter, flows in zip("abc", FLOW_COUNTS, strict=True)
            ],
            x_label="one-way delay (ms)",
        ),
    )
    made["figure-4"] = (
        "Figure 4",
        "Queue-full events per minute in the minute in the middle of the trials. Bars: mean of "
        "the middle trials; lines: their standard deviation.",
        _bars(results, "queue_full_per_minute", "events per minute"),
    )
    made["figure-5"] = (
        "Figure 5",
        "Retransmitted packets of a trial, all flows together. Trials last until every flow has "
        "seen twenty epochs, so NewReno's single-flow trials are longer.",
        _bars(results, "retransmits_pkts", "retransmitted packets", "ab"),
    )
    made["table-2"] = (
        "Table 2 as a picture",
        "Median delays of all cells; on the dotted line both agree.",
        published_vs_measured(
            {c: np.array([DELAY[k].median for k in CELLS if k[1] == c]) for c in CONTROLS},
            {
                c: np.array([results[k].mean("owd_median_ms") for k in CELLS if k[1] == c])
                for c in CONTROLS
            },
            labels=LABELS,
            unit="ms",
            band=20.0,
            title="median one-way delay",
        ),
    )
    return made


def save_figures(
    directory: Path, made: Mapping[str, tuple[str, str, Figure]]
) -> tuple[list[ReportFigure], list[Path]]:
    """Save each figure as SVG; returns them for the report, and the files."""
    shown, files = [], []
    for name, (title, caption, figure) in made.items():
        svg = svg_text(figure)
        path = directory / f"{name}.svg"
        save_text(path, svg)
        files.append(path)
        shown.append(ReportFigure(title, svg, caption))
    return shown, files


def _bars(results: Results, name: str, y_label: str, letters: str = "") -> Figure:
    def bars(rtt_ms: int) -> list[Bars]:
        return [
            Bars(
                LABELS[control],
                control,
                np.array([results[rtt_ms, control, n].mean(name) for n in FLOW_COUNTS]),
                np.array([results[rtt_ms, control, n].sd(name) for n in FLOW_COUNTS]),
            )
            for control in CONTROLS
        ]

    titles = [
        f"({letters[i]}) {rtt} ms" if letters else f"{rtt} ms" for i, rtt in enumerate(RTTS_MS)
    ]
    return grouped_bars(
        [(title, bars(rtt)) for title, rtt in zip(titles, RTTS_MS, strict=True)],
        groups=[str(n) for n in FLOW_COUNTS],
        x_label="TCP flows",
        y_label=y_label,
    )


def _figure_2_panels(trace: Trace, epochs: int) -> list[Panel]:
    """Both panels over some whole epochs in the middle of the run; none if there are too few."""
    flow = trace.tcp_flows()[0]
    backoffs = metrics.backoff_times_ns(trace, flow, metrics.whole_run(trace))
    if len(backoffs) < epochs + 1:
        return []
    first = (len(backoffs) - epochs) // 2
    margin_ns = NS_PER_S // 2
    window = (backoffs[first] - margin_ns, backoffs[first + epochs] + margin_ns)
    queue = _queue(trace, window)
    return [
        Panel("cwnd (packets)", _cwnds(trace, window), "queue (kB)", [queue], "(a)"),
        Panel("one-way delay (ms)", [_owd(trace, window)], "queue (kB)", [queue], "(b)"),
    ]


def zoom_charts(traces: Sequence[tuple[CellKey, Trace]]) -> list[ZoomChart]:
    """Windows, queue and delays of some whole trials, to zoom into."""
    charts = []
    for key, trace in traces:
        window = metrics.whole_run(trace)
        charts.append(
            ZoomChart(
                cell_name(key),
                [
                    Panel("cwnd (packets)", _cwnds(trace, window)),
                    Panel(
                        "one-way delay (ms)",
                        [_owd(trace, window)],
                        "queue (kB)",
                        [_queue(trace, window)],
                    ),
                ],
            )
        )
    return charts


def _cwnds(trace: Trace, window: tuple[int, int]) -> list[Series]:
    rows = _between(trace["flow_state"], "time_ns", window)
    flows = trace.tcp_flows()
    return [
        Series(
            "cwnd" if len(flows) == 1 else f"cwnd of flow {number}",
            own["time_ns"].to_numpy() / NS_PER_S,
            own["cwnd_pkts"].to_numpy().astype(np.float64),
            style_of(trace.flows[flow].control or ""),
            step=True,
        )
        for number, flow in enumerate(flows, start=1)
        if not (own := rows.filter(pl.col("flow") == flow)).is_empty()
    ]


def _queue(trace: Trace, window: tuple[int, int]) -> Series:
    rows = _between(trace["queue"], "time_ns", window).filter(pl.col("link") == BOTTLENECK)
    return Series(
        "queue",
        rows["time_ns"].to_numpy() / NS_PER_S,
        rows["queue_bytes"].to_numpy() / _KB,
        QUEUE,
        step=True,
    )


def _owd(trace: Trace, window: tuple[int, int]) -> Series:
    rows = _between(trace["udp"], "sent_ns", window).drop_nulls("owd_ns")
    return Series(
        "one-way delay",
        rows["sent_ns"].to_numpy() / NS_PER_S,
        rows["owd_ns"].to_numpy() / _NS_PER_MS,
        VOIP,
    )


def _between(rows: pl.DataFrame, column: str, window: tuple[int, int]) -> pl.DataFrame:
    return rows.filter((pl.col(column) >= window[0]) & (pl.col(column) < window[1]))


def save_numbers(directory: Path, results: Results) -> list[Path]:
    """Every trial's numbers, and each cell's beside the published ones, as Parquet."""
    trials = [
        {
            "rtt_ms": key[0],
            "control": key[1],
            "flows": key[2],
            "trial": number,
            **{name: float(getattr(trial.numbers, name)) for name in NUMBERS},
        }
        for key, cell in results.items()
        for number, trial in enumerate(cell.trials, start=1)
    ]
    cells = [
        {
            "rtt_ms": key[0],
            "control": key[1],
            "flows": key[2],
            **{name: cell.mean(name) for name in NUMBERS},
            "goodput_sd_kbytes_s": cell.sd("goodput_kbytes_s"),
            "published_goodput_kbytes_s": GOODPUT[key].mean,
            "published_owd_median_ms": DELAY[key].median,
            "published_owd_mean_ms": DELAY[key].mean,
            "published_owd_sd_ms": DELAY[key].sd,
        }
        for key, cell in results.items()
    ]
    files = []
    for name, rows in (("trials", trials), ("cells", cells)):
        path = directory / f"{name}.parquet"
        with saving(path) as temporary, temporary.open("wb") as file:
            pl.DataFrame(rows).write_parquet(file, compression="zstd", compression_level=1)
        files.append(path)
    return files
