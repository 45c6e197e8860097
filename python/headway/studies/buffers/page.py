"""Plot: figures 6.56 and 6.57, and loss and epoch durations by startup and buffer."""

from __future__ import annotations

from headway.claims import Evidence
from headway.figures import Curve, curves
from headway.publish import Figures, Page
from headway.studies.buffers.experiments import BUFFERS_PKTS, SCHEMES, key
from headway.studies.common import pairs, traffic
from headway.studies.common.pairs import Scheme
from headway.studies.common.traffic import Traffic

Found = Evidence[Traffic]


def page(found: Found) -> Page:
    """Tables, figures and data."""
    shown = pairs.present(SCHEMES)
    return Page(
        tables=[
            traffic.table(found, shown, BUFFERS_PKTS, key, title, value)
            for title, value in (
                ("Packet loss on the downlink in % by buffer in packets", _loss),
                ("Mean epoch duration in ms by buffer in packets", lambda one: 1e3 * one.mean_s),
            )
        ],
        figures=_figures(found, shown),
        data={"cells": traffic.cells(found)},
    )


def _loss(one: Traffic) -> float:
    return 100 * one.loss


def _figures(found: Found, schemes: list[Scheme]) -> Figures:
    def drawn(shown: list[Scheme]) -> list[Curve]:
        return [
            traffic.over(found, s, BUFFERS_PKTS, key, lambda one: 100 * one.loss) for s in shown
        ]

    return {
        "figures-6-56-57": (
            "Figures 6.56 and 6.57",
            "Packet loss on the downlink over the bottleneck's buffer, at 35 % load.",
            curves(
                [
                    ("end to end", drawn([s for s in schemes if s.router is None])),
                    ("with routers", drawn([s for s in schemes if pairs.with_router(s)])),
                ],
                x_label="buffer (packets)",
                y_label="packet loss (%)",
                x_scale="log",
            ),
        )
    }
