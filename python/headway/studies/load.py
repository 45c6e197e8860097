"""Thesis, section 6.4.3: many transfers on one link, and which startup stands the load.

Claim: Jump-Start saves several hundred milliseconds at every load; Initial- and Mega-Start only on
a lightly loaded link; Quick-Start falls back to slow start as requests are denied, the later the
shorter its routers remember grants.
Setup: 200 persistent connections, 10 Mbit/s, 200 ms, 50 packets; requests of 100 bytes at
exponential intervals, truncated Pareto responses of 114 kB.  Run: loads of 5 to 90 %, two hours.
Check: beside an idle link (eq. 6.11) and processor sharing (eq. 6.12).  Plot: figures 6.42 to 6.47.
"""

from __future__ import annotations

from collections.abc import Mapping

import numpy as np

from headway.experiment import Experiment
from headway.figures import Curve, curves
from headway.figures.style import GREY, LIGHT, Style
from headway.studies import _load_claims as claims
from headway.studies._load_claims import (
    CHI_LOAD,
    CHI_MEANS,
    CHIS,
    IDLE,
    LOADS,
    ROUTERS,
    SCHEMES,
    chi_key,
    chi_scheme,
    key,
)
from headway.studies.common import lab, pairs
from headway.studies.common.legacy import TraceStudy
from headway.studies.common.legacy_page import Figures, Findings, publish
from headway.studies.common.pairs import Outcome, Scheme
from headway.study import StudyContext, StudyResult
from headway.trace import Trace
from headway.workloads import published

HOURS, QUICK_HOURS = 2.0, 0.1
IDLE_FACTOR = 5
"""The idle link has few responses and needs more time."""
PAIRS = 200


class Load(TraceStudy):
    """The study; see the module."""

    name = "load"
    title = "Bandwidth sharing: many transfers on one link, every startup"
    source = "Scharf, Fast Startup Internet Congestion Control (2011), section 6.4.3"
    description = (
        "200 persistent connections over 10 Mbit/s, 200 ms and 50 packets of buffer; truncated "
        "Pareto responses of 114 kB at exponential intervals, loads of 5 to 90 %. Mean response "
        "times of every startup beside an idle link and processor sharing; Quick-Start's routers "
        "and activation thresholds."
    )

    def experiments(self, ctx: StudyContext) -> dict[str, Experiment]:
        """One trial per scheme and load, and per activation threshold and mean size."""
        hours = QUICK_HOURS if ctx.quick else HOURS
        trials = {
            key(scheme.key, load): self._trial(
                ctx, published.LARGER_MEAN_RESPONSE_BYTES, load, hours, scheme
            )
            for load in LOADS
            for scheme in pairs.present((*SCHEMES, *ROUTERS))
        }
        trials[key("slow-start", IDLE)] = self._trial(
            ctx, published.LARGER_MEAN_RESPONSE_BYTES, IDLE, IDLE_FACTOR * hours, pairs.SLOW_START
        )
        for mean_bytes in CHI_MEANS:
            slow = chi_key(mean_bytes, None)
            trials[slow] = self._trial(ctx, mean_bytes, CHI_LOAD, hours, pairs.SLOW_START)
            for chi in CHIS:
                for scheme in pairs.present([chi_scheme(chi)]):
                    trials[chi_key(mean_bytes, chi)] = self._trial(
                        ctx, mean_bytes, CHI_LOAD, hours, scheme
                    )
        return trials

    def _trial(
        self, ctx: StudyContext, mean_bytes: int, load: float, hours: float, scheme: Scheme
    ) -> Experiment:
        return pairs.workload_experiment(
            pairs.workload(
                pairs.synthetic(mean_bytes),
                load=load,
                hours=hours,
                seed=ctx.seed,
                persistent=True,
            ),
            [scheme],
            rtts_ms=[lab.RTT_MS],
            pairs=PAIRS,
            seed=ctx.seed,
        )

    def analyse(self, ctx: StudyContext, traces: Mapping[str, Trace]) -> StudyResult:
        """Response times, references, figures and claims."""
        results = {name: pairs.outcome(trace) for name, trace in traces.items()}
        shown = pairs.present((*SCHEMES, *ROUTERS))
        findings = Findings(
            claims=claims.all_claims(results),
            tables=[
                pairs.table(
                    results,
                    shown,
                    LOADS,
                    key,
                    "Mean response time in s",
                    lambda o: o.mean_s,
                    column=pairs.percent,
                ),
                pairs.table(
                    results,
                    shown,
                    LOADS,
                    key,
                    "Packet loss on the downlink in %",
                    lambda o: 100 * o.loss,
                    column=pairs.percent,
                ),
            ],
            figures=_figures(results, shown),
            data={"cells": pairs.cells(results)},
            choices=[
                "A request that finds its connection busy waits until the response before has "
                "arrived, and its response time counts from then. At a load of 50 % that happens "
                "to about one in a hundred.",
                f"The load of figure 6.47 is not in the text; {100 * CHI_LOAD:g} % is taken, where "
                "the thesis sees the largest differences between routers.",
            ],
        )
        return publish(self, ctx, traces, findings)


def _references() -> list[Curve]:
    """An idle link with slow start, and a link that is shared evenly."""
    return [
        Curve(
            "processor sharing (eq. 6.12)",
            np.array(LOADS),
            np.array([claims.processor_sharing_s(load) for load in LOADS]),
            Style(GREY, ".", (0, (1, 1))),
        ),
        Curve(
            "Slow-Start, idle link (eq. 6.11)",
            np.array(LOADS),
            np.full(len(LOADS), claims.idle_s()),
            Style(LIGHT, ".", "-"),
        ),
    ]


def _figures(results: Mapping[str, Outcome], schemes: list[Scheme]) -> Figures:
    def drawn(shown: list[Scheme]) -> list[Curve]:
        return [pairs.over(results, s, LOADS, key, lambda o: o.mean_s) for s in shown]

    ends = [s for s in schemes if s.router is None]
    made: Figures = {
        "figures-6-42-43": (
            "Figures 6.42 and 6.43",
            "Mean response time over load, end-to-end startups.",
            curves(
                [("", [*_references(), *drawn(ends)])],
                x_label="load",
                y_label="mean response time (s)",
            ),
        ),
        "figures-6-44-46": (
            "Figures 6.44 and 6.46",
            "Mean response time over load, Quick-Start with several ways of approval.",
            curves(
                [("", drawn([s for s in schemes if pairs.with_router(s)]))],
                x_label="load",
                y_label="mean response time (s)",
            ),
        ),
    }
    thresholds = [
        (
            f"mean response {mean_bytes / 1e3:g} kB",
            [curve for curve in _by_threshold(results, mean_bytes) if curve.x.size],
        )
        for mean_bytes in CHI_MEANS
    ]
    if all(drawn_here for _, drawn_here in thresholds):
        made["figure-6-47"] = (
            "Figure 6.47",
            "Mean response time over the size above which Quick-Start is asked for.",
            curves(
                thresholds,
                x_label="threshold (bytes)",
                y_label="mean response time (s)",
                x_scale="log",
            ),
        )
    return made


def _by_threshold(results: Mapping[str, Outcome], mean_bytes: int) -> list[Curve]:
    found = [chi for chi in CHIS if chi_key(mean_bytes, chi) in results]
    slow = results[chi_key(mean_bytes, None)].mean_s
    return [
        Curve(
            "Quick-Start, target",
            np.array([max(chi, 100) for chi in found]),
            np.array([results[chi_key(mean_bytes, chi)].mean_s for chi in found]),
            chi_scheme(1).style,
            markers=True,
        ),
        Curve(
            "Slow-Start",
            np.array([max(chi, 100) for chi in found]),
            np.full(len(found), slow),
            pairs.SLOW_START.style,
        ),
    ]


STUDY = Load()
