"""Plot: figures 6.13 and 6.14, and mean response times compared with eq. A.7."""

from __future__ import annotations

import numpy as np
import polars as pl

from headway.figures import Curve, curves, label_of, style_of
from headway.publish import Figures, Page
from headway.studies.head_of_line.experiments import (
    CONTROLS,
    LOSSES,
    OTHER_STACK,
    key,
    model_s,
)
from headway.studies.head_of_line.observe import Found, means_s
from headway.table import Table

TAIL_LOSS = 1e-2


def page(found: Found) -> Page:
    """Table, figures and data."""
    losses = np.array(LOSSES)
    means = {control: means_s(found, control) for control in CONTROLS}
    other = [means_s(found, control, OTHER_STACK) for control in CONTROLS]
    model = model_s(losses)
    others = [f"{name}, {OTHER_STACK}" for name in CONTROLS.values()]
    slow = ", ".join(
        f"{1e3 * found[key(control, TAIL_LOSS)].slow_s:.0f} ms ({name})"
        for control, name in CONTROLS.items()
    )
    return Page(
        tables=[
            Table(
                "Mean response time in ms",
                ["loss", "eq. A.7", *CONTROLS.values(), *others],
                [
                    [f"{p:g}", *(round(1e3 * float(v), 2) for v in row)]
                    for p, *row in zip(losses, model, *means.values(), *other, strict=True)
                ],
            )
        ],
        figures=_figures(found),
        data={"response_times": pl.DataFrame({"loss": losses, "model_s": model, **means})},
        facts=[("99.9 % of all times at 1 % loss are below", slow)],
    )


def _figures(found: Found) -> Figures:
    losses = np.array(LOSSES)
    shown = losses > 0
    p = np.geomspace(losses[shown].min(), losses.max(), 100)
    drawn = [Curve("eq. A.7", p, 1e3 * model_s(p), style_of("slow-start"))]
    tail = []
    for control in CONTROLS:
        name = label_of(control)
        style, mean_ms = style_of(control), 1e3 * means_s(found, control)
        widths_ms = np.array([1e3 * found[key(control, loss)].half_width_s for loss in LOSSES])
        drawn.append(
            Curve(
                name,
                losses[shown],
                mean_ms[shown],
                style,
                markers=True,
                low=(mean_ms - widths_ms)[shown],
                high=(mean_ms + widths_ms)[shown],
            )
        )
        one = found[key(control, TAIL_LOSS)]
        tail.append(Curve(name, 1e3 * one.tail_s, one.tail_share, style))
    return {
        "figure-6-13": (
            "Figure 6.13",
            "Mean response time over loss, with 95 % intervals.",
            curves(
                [("", drawn)],
                x_label="packet loss probability",
                y_label="mean response time (ms)",
                x_scale="log",
                y_scale="log",
            ),
        ),
        "figure-6-14": (
            "Figure 6.14",
            "Complementary distribution of the response time at 1 % loss.",
            curves(
                [("", tail)],
                x_label="response time (ms)",
                y_label="part of requests",
                y_scale="log",
            ),
        ),
    }
