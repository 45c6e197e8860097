"""Plot: figures 6.56 and 6.57, and loss and epoch durations by startup and buffer."""

from __future__ import annotations

import numpy as np

from headway.claims import Evidence
from headway.figures import PUBLISHED, Curve, curves
from headway.publish import Figures, Page
from headway.studies.buffers.experiments import BUFFERS_PKTS, SCHEMES, key, workload
from headway.studies.common import pairs, traffic
from headway.studies.common.pairs import Scheme
from headway.studies.common.traffic import Traffic
from headway.study import StudyContext
from headway.workloads import sessions
from headway.workloads.distribution import beside_thesis

Found = Evidence[Traffic]


def page(ctx: StudyContext, found: Found) -> Page:
    """Tables, figures and data."""
    shown = pairs.present(SCHEMES)
    return Page(
        tables=[
            *(
                traffic.table(found, shown, BUFFERS_PKTS, key, title, value)
                for title, value in (
                    ("Packet loss on the downlink in % by buffer in packets", _loss),
                    (
                        "Mean epoch duration in ms by buffer in packets",
                        lambda one: 1e3 * one.mean_s,
                    ),
                )
            ),
            beside_thesis({"carried here": sessions(workload(ctx))}),
        ],
        figures=_figures(found, shown),
        data={"cells": traffic.cells(found)},
        facts=[("Vectors", pairs.vectors_name(ctx.vectors))],
    )


def _loss(one: Traffic) -> float:
    return 100 * one.loss


def _published() -> Curve:
    """The default stack: "between 1 and 2 %" (C-TH-195), with the other studies' buffer."""
    return Curve(
        "Slow-Start, published",
        np.array([pairs.BUFFER_PKTS]),
        np.array([1.5]),
        PUBLISHED,
        line=False,
        markers=True,
        low=np.array([1.0]),
        high=np.array([2.0]),
    )


def _figures(found: Found, schemes: list[Scheme]) -> Figures:
    def drawn(shown: list[Scheme]) -> list[Curve]:
        return [
            traffic.over(found, s, BUFFERS_PKTS, key, lambda one: 100 * one.loss) for s in shown
        ]

    ends = [scheme for scheme in schemes if scheme.router is None]
    return {
        "figures-6-56-57": (
            "Figures 6.56 and 6.57",
            "Packet loss on the downlink over the bottleneck's buffer, at 35 % load.",
            curves(
                [
                    (
                        "end to end",
                        [*drawn(ends), _published()],
                    ),
                    ("with routers", drawn([s for s in schemes if pairs.with_router(s)])),
                ],
                x_label="buffer (packets)",
                y_label="packet loss (%)",
                x_scale="log",
            ),
        )
    }
