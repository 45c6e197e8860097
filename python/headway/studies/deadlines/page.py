"""Plot: response times over targets, figure 7.4."""

from collections.abc import Mapping

import numpy as np
import polars as pl

from headway.claims import Evidence
from headway.figures import Curve, curves, style_of
from headway.figures.style import LIGHT, Style
from headway.publish import Page
from headway.studies.common.beside import simulated
from headway.studies.common.shown import Column, curve, figures, table
from headway.studies.deadlines.experiments import LABELS, Answers, Found
from headway.study import StudyContext
from headway.table import Table

TITLE = "Response times in s"


def page(_ctx: StudyContext, found: Found) -> Page:
    """A table by target, and the figure; on the kernel also with the curves of its twins."""
    own = {scheme: found[scheme] for scheme in LABELS}
    twins = simulated(found)
    panels = [("kernel", own), ("simulator", twins)] if twins else [("", own)]
    caption = "over the target that the client states, 10 Mbit/s and 200 ms."
    figure = curves(
        [(title, _drawn(schemes)) for title, schemes in panels],
        x_label="target (s)",
        y_label="response time (s)",
    )
    data = [
        {"scheme": scheme, "target_s": target_s, "response_s": time_s}
        for scheme, one in own.items()
        for target_s, time_s in one.by_target().items()
    ]
    return Page(
        tables=tables(found)[0],
        figures=figures(("Figure 7.4", f"Response time of 100 kB {caption}", figure)),
        data={"response_times": pl.DataFrame(data)},
    )


def tables(found: Found) -> tuple[list[Table], list[Table]]:
    """Response times by scheme and target, and those of the twins if they ran."""
    twins = Evidence(simulated(found))
    return [_table(found)], [_table(twins)] if twins else []


def _table(found: Found) -> Table:
    times_s = {scheme: found[scheme].by_target() for scheme in LABELS}

    def at(target_s: float) -> Column[str]:
        return (lambda scheme: times_s[scheme].get(target_s), 3)

    targets_s = sorted({target_s for own in times_s.values() for target_s in own})
    columns: dict[str, Column[str]] = {f"{target_s:g} s": at(target_s) for target_s in targets_s}
    return table(TITLE, LABELS, {"startup": LABELS.get, **columns})


def _drawn(schemes: Mapping[str, Answers]) -> list[Curve]:
    ends = np.array([0.1, 2.0])
    lines = [Curve("target", ends, ends, Style(LIGHT, ".", ":"))]
    for scheme, one in schemes.items():
        lines.append(curve(LABELS[scheme], one.targets_s, one.times_s, style_of(scheme)))
    return lines
