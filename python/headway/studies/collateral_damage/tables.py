"""Plot: tables 1 and 2 beside the published ones, for the terminal and for the report."""

from __future__ import annotations

from headway.report import ReportCell, ReportTable
from headway.studies.collateral_damage.cells import Found
from headway.studies.collateral_damage.errors import Error, delay_errors
from headway.studies.collateral_damage.experiments import (
    DATAGRAMS_BPS,
    LINK_GOODPUT_KBYTES_S,
    PAYLOAD_SHARE,
)
from headway.studies.collateral_damage.published import (
    CELLS,
    CONTROLS,
    DELAY,
    DELAY_TOLERANCES,
    FLOW_COUNTS,
    GOODPUT,
    GOODPUT_MEAN,
    LABELS,
    RTTS_MS,
    CellKey,
    Tolerance,
    cell_name,
    flows_name,
)
from headway.table import Cell, Table
from headway.units import BITS_PER_BYTE

_KB = 1000.0


def errors(found: Found) -> list[Error]:
    """How far each statistic of table 2 is off."""
    return delay_errors(lambda cell, statistic: found[cell].mean(f"owd_{statistic}_ms"))


def printed(found: Found) -> list[Table]:
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
                row += [GOODPUT[key].mean, round(found[key].mean("goodput_kbytes_s"), 1)]
            goodput_rows.append(row)
            for statistic in DELAY_TOLERANCES:
                row = [*head, statistic]
                for key in keys:
                    measured = found[key].mean(f"owd_{statistic}_ms")
                    row += [getattr(DELAY[key], statistic), round(measured, 1)]
                delay_rows.append(row)
    off: list[list[Cell]] = [
        [
            error.statistic,
            round(error.mean_abs_ms, 2),
            round(error.largest_ms, 2),
            f"{100 * error.largest_relative:.1f} %",
            cell_name(error.worst_cell),
        ]
        for error in errors(found)
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
            off,
        ),
    ]


def marked(found: Found) -> list[ReportTable]:
    """The same tables for the report, every measured value marked by its tolerance."""
    groups = [("", 2)] + [(flows_name(n), 4) for n in FLOW_COUNTS]
    goodput = ReportTable(
        "Table 1. Goodput summed over the flows, kB/s (1 kB = 1000 bytes)",
        ["RTT", "control"] + ["paper", "measured", "paper σ", "σ"] * len(FLOW_COUNTS),
        [
            [*_head(rtt_ms, control), *_goodput_cells(found, rtt_ms, control)]
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
                *_delay_cells(found, (rtt_ms, control), statistic, tolerance),
            ]
            for rtt_ms in RTTS_MS
            for control in CONTROLS
            for statistic, tolerance in DELAY_TOLERANCES.items()
        ],
        "Base delay included, lost datagrams left out. Tolerances, the larger margin: "
        + ", ".join(f"{statistic} {margin}" for statistic, margin in DELAY_TOLERANCES.items())
        + ".",
        [("", 3)] + [(flows_name(n), 3) for n in FLOW_COUNTS],
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


def _goodput_cells(found: Found, rtt_ms: int, control: str) -> list[ReportCell]:
    cells = []
    for flows in FLOW_COUNTS:
        cell, published = found[rtt_ms, control, flows], GOODPUT[rtt_ms, control, flows]
        cells += [
            ReportCell(f"{published.mean:.1f}"),
            _checked(cell.mean("goodput_kbytes_s"), published.mean, GOODPUT_MEAN),
            ReportCell(f"{published.sd:.2f}"),
            ReportCell(f"{cell.sd('goodput_kbytes_s'):.2f}"),
        ]
    return cells


def _delay_cells(
    found: Found, row: tuple[int, str], statistic: str, tolerance: Tolerance
) -> list[ReportCell]:
    cells = []
    for flows in FLOW_COUNTS:
        measured = found[*row, flows].mean(f"owd_{statistic}_ms")
        published = getattr(DELAY[*row, flows], statistic)
        cells += [
            ReportCell(f"{published:.1f}"),
            _checked(measured, published, tolerance),
            ReportCell(f"{measured - published:+.1f}"),
        ]
    return cells


def lifetimes(found: Found) -> list[ReportTable]:
    """Why five flows seem to get more than the link carries: one trial, and all cells."""
    key = (RTTS_MS[0], CONTROLS[-1], FLOW_COUNTS[-1])
    lives = found[key].trials[0].lifetimes
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
        [_excess_row(found, key) for key in CELLS],
        "Link: what full-sized segments carry beside all the datagrams. Lost datagrams leave "
        "room for TCP. Lifetimes: what summing per-flow averages adds (or start, end and "
        "retransmissions take).",
    )
    return [one_trial, parts]


def _excess_row(found: Found, key: CellKey) -> list[ReportCell]:
    cell = found[key]
    summed, link = cell.mean("goodput_kbytes_s"), LINK_GOODPUT_KBYTES_S
    room = cell.mean("voip_loss") * DATAGRAMS_BPS / BITS_PER_BYTE * PAYLOAD_SHARE / _KB
    return [
        *_head(key[0], key[1]),
        ReportCell(str(key[2])),
        ReportCell(f"{GOODPUT[key].mean:.1f}"),
        ReportCell(f"{summed:.2f}"),
        ReportCell(f"{link:.2f}"),
        ReportCell(f"{room:+.2f}"),
        ReportCell(f"{summed - link - room:+.2f}"),
    ]
