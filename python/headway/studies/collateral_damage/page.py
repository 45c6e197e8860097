"""Plot: what the report shows."""

from __future__ import annotations

import polars as pl

from headway.publish import Page
from headway.report import Section
from headway.studies.collateral_damage import figures, tables
from headway.studies.collateral_damage.cells import Found
from headway.studies.collateral_damage.experiments import (
    BUFFER,
    RATE,
    SETTINGS,
    START_SPREAD_RTTS,
    VOIP_LEAD_S,
)
from headway.studies.collateral_damage.observe import NUMBERS
from headway.studies.collateral_damage.published import CELLS, DELAY, GOODPUT, LABELS

FIVE_FLOWS = (
    "The paper's goodput of several flows can exceed what the link carries. It is a sum of "
    "averages, each over the lifetime of its own flow: a flow that ends early still counts as "
    "if it had run beside all others. Lifetimes that differ by some seconds in a trial of some "
    "minutes add about one per cent. Datagrams that the full queue drops add a little more."
)
TIME_SERIES = (
    "First trial of some cells. Drag to zoom into a time range, double arrows undo, a click on a "
    "legend entry hides its line."
)


def page(found: Found) -> Page:
    """Tables 1 and 2 beside the published ones, figures 2 to 5, time series, all numbers."""
    return Page(
        tables=tables.printed(found),
        figures=figures.figures(found),
        data=_data(found),
        summary=_summary(found),
        facts=_facts(found),
        report_tables=tables.marked(found),
        sections=(
            Section("Five flows", [FIVE_FLOWS], tables=tables.lifetimes(found)),
            Section("Time series", [TIME_SERIES], charts=figures.zoom_charts(found)),
        ),
    )


def _summary(found: Found) -> list[tuple[str, str]]:
    median, mean, sd = tables.errors(found)
    return [
        ("mean error of the 18 median delays", f"{median.mean_abs_ms:.1f} ms"),
        ("largest error of a median", f"{median.largest_ms:.1f} ms"),
        ("mean / largest error of the means", f"{mean.mean_abs_ms:.1f} / {mean.largest_ms:.1f} ms"),
        (
            "mean / largest error of the deviations",
            f"{sd.mean_abs_ms:.1f} ms / {100 * sd.largest_relative:.0f} %",
        ),
    ]


def _facts(found: Found) -> list[tuple[str, str]]:
    trials = list(found.rows.values())
    lengths = [trial.numbers.length_s for trial in trials]
    epochs = [trial.numbers.epochs for trial in trials]
    settings = "; ".join(
        f"{LABELS[name]}: {', '.join(f'{k} = {v}' for k, v in tunables.items()) or 'defaults'}"
        for name, tunables in SETTINGS.items()
    )
    return [
        ("Path", f"{RATE}, {BUFFER} drop-tail as in dummynet, both ways; half the RTT each way"),
        ("Hosts", f"{trials[0].hosts} on 1 Gbit/s access links"),
        ("Controls", settings),
        ("Datagrams", "186-byte IP packets every 20 ms, one way, from the start of the trial"),
        (
            "Lengths",
            f"{min(lengths):.0f} to {max(lengths):.0f} s; "
            f"{min(epochs):.0f} to {max(epochs):.0f} congestion epochs per flow",
        ),
        ("Statistics", "per quantity, highest and lowest trial dropped, mean of the others"),
        (
            "Delay statistics",
            "all datagrams sent after every flow's first congestion event and before the first "
            "flow stops",
        ),
        (
            "Starts and stops",
            f"starts at random within {START_SPREAD_RTTS:g} RTT, {VOIP_LEAD_S:g} s after the "
            "datagrams; each flow writes for the trial's length and then drains its send buffer",
        ),
    ]


def _data(found: Found) -> dict[str, pl.DataFrame]:
    """Every trial's numbers, and each cell's beside the published ones."""
    cells = {key: found[key] for key in CELLS}
    trials = [
        {
            "rtt_ms": key[0],
            "control": key[1],
            "flows": key[2],
            "trial": number,
            **{name: getattr(trial.numbers, name) for name in NUMBERS},
        }
        for key, cell in cells.items()
        for number, trial in enumerate(cell.trials, start=1)
    ]
    means = [
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
        for key, cell in cells.items()
    ]
    return {"trials": pl.DataFrame(trials), "cells": pl.DataFrame(means)}
