"""Plot: figures 6.56 and 6.57, and loss and epoch durations by startup and buffer."""

from collections.abc import Callable

import numpy as np

from headway.figures import PUBLISHED, Curve, curves
from headway.publish import Page
from headway.studies.buffers.experiments import BUFFERS_PKTS, SCHEMES, Found, key, workload
from headway.studies.common import pairs, traffic
from headway.studies.common.shown import curve, figures
from headway.study import StudyContext
from headway.workloads import sessions
from headway.workloads.distribution import compared_with_thesis


def _loss(one: traffic.Traffic) -> float:
    return 100 * one.loss


_QUANTITIES: dict[str, Callable[[traffic.Traffic], float]] = {
    "Packet loss on the downlink in % by buffer in packets": _loss,
    "Mean epoch duration in ms by buffer in packets": lambda one: 1e3 * one.mean_s,
}


def page(ctx: StudyContext, found: Found) -> Page:
    """The report's tables, figures and data."""
    schemes = pairs.present(SCHEMES)

    def lines(shown: Callable[[pairs.Scheme], bool]) -> list[Curve]:
        return [traffic.over(found, s, BUFFERS_PKTS, key, _loss) for s in filter(shown, schemes)]

    # The published loss of the default stack, "between 1 and 2 %" (C-TH-195), at the buffer of 50
    # packets that the other studies use.
    published = curve(
        "Slow-Start, published",
        [pairs.BUFFER_PKTS],
        [1.5],
        PUBLISHED,
        line=False,
        low=np.array([1.0]),
        high=np.array([2.0]),
    )
    ends = [*lines(lambda scheme: scheme.router is None), published]
    return Page(
        tables=[
            *(
                traffic.table(found, schemes, BUFFERS_PKTS, key, title, value)
                for title, value in _QUANTITIES.items()
            ),
            compared_with_thesis({"carried here": sessions(workload(ctx))}),
        ],
        figures=figures(
            (
                "Figures 6.56 and 6.57",
                "Packet loss on the downlink over the bottleneck's buffer, at 35 % load.",
                curves(
                    [("end to end", ends), ("with routers", lines(pairs.with_router))],
                    x_label="buffer (packets)",
                    y_label="packet loss (%)",
                    x_scale="log",
                ),
            )
        ),
        data={"cells": traffic.cells(found)},
        facts=[("Vectors", pairs.vectors_name(ctx.vectors))],
    )
