"""Plot: figures 6.42 to 6.47, and mean response times and loss by scheme and load."""

from collections.abc import Callable, Sequence

import numpy as np

from headway.figures import Curve, curves, style_of
from headway.figures.style import GREY, LIGHT, Style
from headway.publish import Page
from headway.studies.common import pairs, traffic
from headway.studies.common.pairs import Scheme
from headway.studies.common.shown import chart, figures
from headway.studies.common.traffic import Traffic
from headway.studies.load.experiments import CHIS, LOADS, MEAN_BYTES, SCHEMES, chi_key, key
from headway.studies.load.observe import Found, idle_s, processor_sharing_s
from headway.study import StudyContext
from headway.table import Table
from headway.workloads import published

_TIME, _INTERVALS = "mean response time (s)", "with 95 % intervals."


def page(_ctx: StudyContext, found: Found) -> Page:
    """Response times and loss by load, with the references."""
    shown = pairs.present((*SCHEMES, *pairs.ROUTERS, *pairs.NETWORK))

    def by_load(title: str, value: Callable[[Traffic], float]) -> Table:
        return traffic.table(found, shown, LOADS, key, title, value, column=traffic.percent)

    def drawn(schemes: Sequence[Scheme]) -> list[Curve]:
        return [traffic.means_over(found, scheme, LOADS, key) for scheme in schemes]

    at = np.array(LOADS)
    shared = np.array([processor_sharing_s(load) for load in LOADS])
    dotted, idle = Style(GREY, ".", (0, (1, 1))), np.full(len(LOADS), idle_s())
    sharing = Curve("processor sharing (eq. 6.12)", at, shared, dotted)
    slow = Curve("Slow-Start, idle link (eq. 6.11)", at, idle, Style(LIGHT, ".", "-"))
    ends = [one for one in shown if one.router is None and one.guide is None]
    routed = [one for one in shown if pairs.with_router(one)]
    thresholds = [
        (f"mean response {size / 1e3:g} kB", _by_threshold(found, size))
        for size in (MEAN_BYTES, published.MEAN_RESPONSE_BYTES)
    ]
    return Page(
        tables=[
            by_load("Mean response time in s", lambda one: one.mean_s),
            by_load("Packet loss on the downlink in %", lambda one: 100 * one.loss),
        ],
        figures=figures(
            (
                "Figures 6.42 and 6.43",
                f"Mean response time over load, end-to-end startups, {_INTERVALS}",
                chart([sharing, slow, *drawn(ends)], "load", _TIME),
            ),
            (
                "Figures 6.44 and 6.46",
                "Mean response time over load, Quick-Start with several approval algorithms, "
                f"{_INTERVALS}",
                chart(drawn(routed), "load", _TIME),
            ),
            (
                "Figure 6.45",
                f"Mean response time over load with XCP and RCP and unlimited queues, {_INTERVALS}",
                chart([sharing, *drawn([pairs.SLOW_START, *pairs.NETWORK])], "load", _TIME),
            ),
            (
                "Figure 6.47",
                "Mean response time over the size above which transfers request a rate.",
                curves(
                    thresholds,
                    x_label="threshold (bytes)",
                    y_label=_TIME,
                    x_scale="log",
                    share_y=False,
                ),
            )
            if all(lines[0].x.size for _, lines in thresholds)
            else None,
        ),
        data={"cells": traffic.cells(found)},
    )


def _by_threshold(found: Found, mean_bytes: int) -> list[Curve]:
    chis = [chi for chi in CHIS if chi_key(mean_bytes, chi) in found]
    at = np.array([max(chi, 100) for chi in chis])
    seconds = [found[chi_key(mean_bytes, chi)].seconds for chi in chis]
    slow = np.full(len(chis), found[chi_key(mean_bytes, None)].mean_s)
    return [
        traffic.with_intervals("Quick-Start, target", at, seconds, style_of("quick-start")),
        Curve("Slow-Start", at, slow, pairs.SLOW_START.style),
    ]
