"""Plot: figures 6.9 to 6.11, and goodputs compared with the equations."""

from __future__ import annotations

from collections.abc import Mapping

import numpy as np
import polars as pl

from headway.figures import Curve, curves, style_of
from headway.metrics.stats import Array
from headway.publish import Figures, Page
from headway.studies.response_functions.experiments import (
    CAPACITY_BPS,
    CONTROLS,
    compound_bps,
    cubic_bps,
    reno_bps,
)
from headway.studies.response_functions.observe import Goodputs
from headway.table import Cell, Table


def page(found: Goodputs) -> Page:
    """Table, figures and data."""
    losses, goodput = np.array(found.losses), found.by_control()
    return Page(
        tables=[_table(losses, goodput)],
        figures=_figures(losses, goodput),
        data={"goodput": pl.DataFrame({"loss": losses, **goodput})},
    )


def _table(losses: Array, goodput: Mapping[str, Array]) -> Table:
    rows: list[list[Cell]] = []
    for i, loss in enumerate(losses):
        model = min(float(reno_bps(loss)), CAPACITY_BPS)
        cubic, compound = float(cubic_bps(loss)), float(compound_bps(loss))
        rows.append(
            [
                f"{loss:.0e}",
                round(model / 1e6, 3),
                round(float(goodput["reno"][i]) / 1e6, 3),
                round(min(max(cubic, model), CAPACITY_BPS) / 1e6, 3),
                round(float(goodput["cubic26"][i]) / 1e6, 3),
                round(min(max(compound, model), CAPACITY_BPS) / 1e6, 3),
                round(float(goodput["compound"][i]) / 1e6, 3),
            ]
        )
    return Table(
        "Goodput in Mbit/s, equations and simulation",
        [
            "loss",
            "Reno, eq. 4.7",
            "simulated",
            "CUBIC, eq. 4.9",
            "simulated ",
            "Compound, eq. 4.10",
            "simulated  ",
        ],
        rows,
        "Equations are limited to the link's rate. Where Reno's equation gives more than CUBIC's "
        "or Compound's, the table shows Reno's. Compound's has the constant 0.255 (C-TH-011).",
    )


def _figures(losses: Array, goodput: Mapping[str, Array]) -> Figures:
    p = np.geomspace(losses.min(), losses.max(), 200)
    renos = np.minimum(reno_bps(p), CAPACITY_BPS)
    cubics = np.minimum(np.maximum(cubic_bps(p), renos), CAPACITY_BPS)
    compounds = np.minimum(np.maximum(compound_bps(p), renos), CAPACITY_BPS)
    made: Figures = {}
    for number, control, model, equation in (
        ("6-9", "reno", renos, "eq. 4.7"),
        ("6-10", "cubic26", cubics, "eq. 4.9"),
        ("6-11", "compound", compounds, "eq. 4.10"),
    ):
        style = style_of(control)
        drawn = [
            Curve(equation, p, model / 1e6, style),
            Curve("simulation", losses, goodput[control] / 1e6, style, line=False, markers=True),
        ]
        title = f"Figure {number.replace('-', '.')}"
        name = CONTROLS[control]
        figure = curves(
            [(name, drawn)],
            x_label="packet loss probability",
            y_label="goodput (Mbit/s)",
            x_scale="log",
        )
        made[f"figure-{number}"] = (title, f"Response function of {name}.", figure)
    return made
