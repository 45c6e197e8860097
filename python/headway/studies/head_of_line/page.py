"""Plot: figures 6.13 and 6.14, and mean response times compared with eq. A.7."""

import numpy as np
import polars as pl

from headway.figures import Curve, label_of, style_of
from headway.publish import Figures, Page
from headway.studies.common import lab
from headway.studies.common.shown import chart, curve, figures
from headway.studies.head_of_line.experiments import (
    CONTROLS,
    LOSSES,
    OTHER_STACK,
    Found,
    key,
    model_s,
)
from headway.study import StudyContext
from headway.table import Table

TAIL_LOSS = 1e-2


def page(_ctx: StudyContext, found: Found) -> Page:
    """The report's table, figures and data."""
    columns = {"eq. A.7": model_s(np.array(LOSSES)).tolist()} | {
        name + suffix: [found[key(control, loss, stack)].mean_s for loss in LOSSES]
        for stack, suffix in ((lab.STACK, ""), (OTHER_STACK, f", {OTHER_STACK}"))
        for control, name in CONTROLS.items()
    }
    rows = [
        [f"{loss:g}", *(round(1e3 * time_s, 2) for time_s in times_s)]
        for loss, *times_s in zip(LOSSES, *columns.values(), strict=True)
    ]
    means_s = {control: columns[name] for control, name in CONTROLS.items()}
    data = {"loss": LOSSES, "model_s": columns["eq. A.7"], **means_s}
    slow_ms = {name: 1e3 * found[key(c, TAIL_LOSS)].slow_s for c, name in CONTROLS.items()}
    slow = ", ".join(f"{own_ms:.0f} ms ({name})" for name, own_ms in slow_ms.items())
    return Page(
        tables=[Table("Mean response time in ms", ["loss", *columns], rows)],
        figures=_figures(found),
        data={"response_times": pl.DataFrame(data)},
        facts=[("99.9 % of all times at 1 % loss are below", slow)],
    )


def _figures(found: Found) -> Figures:
    losses = LOSSES[1:]
    p = np.geomspace(losses[0], losses[-1], 100)
    means = [Curve("eq. A.7", p, 1e3 * model_s(p), style_of("slow-start"))]
    tails = []
    for control in CONTROLS:
        name, style, tail = label_of(control), style_of(control), found[key(control, TAIL_LOSS)]
        times_s = [found[key(control, loss)].time_s for loss in losses]
        means.append(curve(name, losses, times_s, style, scale=1e3))
        tails.append(Curve(name, 1e3 * tail.tail_s, tail.tail_share, style))
    logarithmic = {"x_scale": "log", "y_scale": "log"}
    return figures(
        (
            "Figure 6.13",
            "Mean response time over loss, with 95 % intervals.",
            chart(means, "packet loss probability", "mean response time (ms)", **logarithmic),
        ),
        (
            "Figure 6.14",
            "Complementary distribution of the response time at 1 % loss.",
            chart(tails, "response time (ms)", "part of requests", y_scale="log"),
        ),
    )
