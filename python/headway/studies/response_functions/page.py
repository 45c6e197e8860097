"""Plot: figures 6.9 to 6.11, and goodputs compared with the equations."""

from collections.abc import Callable
from functools import partial

import numpy as np
import polars as pl

from headway.figures import Curve, curves, style_of
from headway.models._checks import Floats
from headway.publish import Page
from headway.studies.common.shown import Column, figures, table
from headway.studies.response_functions.experiments import CONTROLS, Goodputs, expected_bps
from headway.study import StudyContext

_NUMBERS = {"reno": "eq. 4.7", "cubic26": "eq. 4.9", "compound": "eq. 4.10"}


def page(_ctx: StudyContext, found: Goodputs) -> Page:
    """The report's table, figures and data."""
    losses = np.array(found.losses)
    goodput = {c: np.array([found.mean_bps(c, loss) for loss in losses]) for c in CONTROLS}

    def mbps(of: Callable[[str, float], float | Floats], control: str, loss: float) -> float:
        return float(of(control, loss)) / 1e6

    columns: dict[str, Column[float]] = {"loss": lambda loss: f"{loss:.0e}"}
    p = np.geomspace(losses.min(), losses.max(), 200)
    drawn = []
    for number, (control, name) in enumerate(CONTROLS.items()):
        equation, style = _NUMBERS[control], style_of(control)
        columns[f"{name}, {equation}"] = (partial(mbps, expected_bps, control), 3)
        columns["simulated" + number * " "] = (partial(mbps, found.mean_bps, control), 3)
        lines = [
            Curve(equation, p, expected_bps(control, p) / 1e6, style),
            Curve("simulation", losses, goodput[control] / 1e6, style, line=False, markers=True),
        ]
        figure = curves(
            [(name, lines)],
            x_label="packet loss probability", y_label="goodput (Mbit/s)", x_scale="log",
        )  # fmt: skip
        drawn.append((f"Figure 6.{9 + number}", f"Response function of {name}.", figure))
    note = (
        "Equations are limited to the link's rate. Where Reno's equation gives more than CUBIC's "
        "or Compound's, the table shows Reno's. Compound's has the constant 0.255 (C-TH-011)."
    )
    title = "Goodput in Mbit/s, equations and simulation"
    return Page(
        tables=[table(title, found.losses, columns, note)],
        figures=figures(*drawn),
        data={"goodput": pl.DataFrame({"loss": losses, **goodput})},
    )
