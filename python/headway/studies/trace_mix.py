"""Thesis, section 6.4.5: what fast startups do to a realistic mix of many small transfers.

Claim: most exchanges are too small to gain; those of more than 10 kB gain some hundred
milliseconds. Jump- and Initial-Start lose a little more, Mega-Start much more; Quick-Start helps
only on a lightly loaded link, or with optimistic routers or an activation threshold.
Setup: 450 host pairs with nine RTTs from 4 to 200 ms on 10 Mbit/s with 50 packets of buffer;
connection vectors like those of a campus in 2008.  Run: three hours for each scheme and load.
Plot: figures 6.50 to 6.55.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from itertools import pairwise

import numpy as np
import polars as pl

from headway.experiment import Experiment
from headway.figures import Curve, curves
from headway.studies import _trace_mix_claims as claims
from headway.studies._trace_mix_claims import LARGE, LOADS, SCHEMES, SIZES, SMALL, TAIL, key
from headway.studies._trace_mix_workload import workload_figures
from headway.studies.common import pairs
from headway.studies.common.legacy import TraceStudy
from headway.studies.common.legacy_page import Figures, Findings, publish
from headway.studies.common.pairs import Outcome, Scheme
from headway.study import StudyContext, StudyResult
from headway.table import Table
from headway.trace import Trace
from headway.workloads import Campus, Tmix, sessions, tmix

HOURS, QUICK_HOURS = 3.0, 0.1


class TraceMix(TraceStudy):
    """The study; see the module."""

    name = "trace-mix"
    title = "A realistic mix: 450 host pairs, campus traffic, every startup"
    source = "Scharf, Fast Startup Internet Congestion Control (2011), section 6.4.5"
    description = (
        "450 host pairs, RTTs of 4 to 200 ms, 10 Mbit/s, 50 packets of buffer; connection vectors "
        "like those of campus traces of 2008; three hours per startup at loads of 6 to 65 %. "
        "Epoch durations, by size, and packet loss."
    )

    takes_vectors = True

    def experiments(self, ctx: StudyContext) -> dict[str, Experiment]:
        """One trial per scheme and load."""
        hours = QUICK_HOURS if ctx.quick else HOURS
        vectors = vectors_of(ctx)
        return {
            key(scheme.key, load): pairs.workload_experiment(
                pairs.workload(vectors, load=load, hours=hours, seed=ctx.seed),
                [scheme],
                seed=ctx.seed,
            )
            for load in LOADS
            for scheme in pairs.present(SCHEMES)
        }

    def analyse(self, ctx: StudyContext, traces: Mapping[str, Trace]) -> StudyResult:
        """Epoch durations and loss of every trial, figures and claims."""
        results = {name: pairs.outcome(trace, from_opening=True) for name, trace in traces.items()}
        shown = pairs.present(SCHEMES)
        hours = QUICK_HOURS if ctx.quick else HOURS
        small = pairs.workload(vectors_of(ctx), load=SMALL, hours=hours, seed=ctx.seed)
        findings = Findings(
            claims=claims.all_claims(results, small),
            tables=[
                _table(results, shown, "Mean epoch duration in ms", lambda o: 1e3 * o.mean_s),
                _table(
                    results,
                    shown,
                    "Epoch duration that 5 % exceed, in ms",
                    lambda o: 1e3 * o.quantile_s(TAIL),
                ),
                _table(results, shown, "Packet loss on the downlink in %", lambda o: 100 * o.loss),
            ],
            figures={**_figures(results, shown), **workload_figures(sessions(small))},
            data={"cells": _cells(results)},
            choices=CHOICES,
            facts=[
                ("Epochs", f"{sum(o.rows.height for o in results.values())} in all trials"),
                ("Sessions' length", f"{hours:g} h of virtual time per trial"),
                ("Vectors", str(ctx.vectors or "drawn; see the choices")),
            ],
        )
        return publish(self, ctx, traces, findings)


CHOICES = (
    "The traces are public, but not in this repository; vectors are drawn from what the thesis "
    "prints of them. Responses: log-normal with a mean of 14 kB of which 25 % exceed 3 MSS, up to "
    "10 MB; this alone has the tail of 1.1 that the thesis reports. Requests: log-normal, mean "
    "1 kB, 1 % above 3 MSS. Exchanges per connection: geometric with mean 3; think times: "
    "log-normal, median 0.6 s, sigma 1.5, cut off at 30 s. The last two are not in the thesis; its "
    "only example has three exchanges and think times of 0.12 and 3.12 s. These two were set "
    "before any result was seen.",
    "Loads other than 6 and 35 % are not printed; 15, 50 and 65 % are taken.",
    "The thesis' 5 % quantile is the value that 5 % exceed.",
    "Each vector has a TCP connection of its own: that is what a connection vector is (section "
    "3.3.3.1), and persistent connections are a simplification of 6.4.3.1. docs/thesis-claims.md "
    "says which verdicts depend on it.",
    "An epoch lasts from the request to the response's last byte, and a connection's first from "
    "when the client opens it: the delays of about 3 s that section 6.4.5.2 lays to timeouts are "
    "those of a lost SYN, as no other timeout of that stack is near 3 s. Only C-TH-177 depends on "
    "it.",
    "Quick-Start asks with data, not in the handshake: the threshold needs the response's size "
    "(section 5.1.1.3). Section 6.4.5 does not say.",
)


def vectors_of(ctx: StudyContext) -> Campus | Tmix:
    """The file that was given, or vectors drawn from what the thesis prints."""
    if ctx.vectors is None:
        return Campus()
    _, digest = tmix.load(ctx.vectors)
    return Tmix(path=str(ctx.vectors), sha256=digest)


def _table(
    results: Mapping[str, Outcome], schemes: list[Scheme], title: str, value: pairs.Value
) -> Table:
    return pairs.table(results, schemes, LOADS, key, title, value, column=pairs.percent)


def _cells(results: Mapping[str, Outcome]) -> pl.DataFrame:
    above = [one.sized(LARGE, np.inf).rows["seconds"].mean() for one in results.values()]
    return (
        pairs.cells(results)
        .rename({"responses": "epochs"})
        .with_columns(pl.Series("mean_above_10kB_s", above))
    )


def _figures(results: Mapping[str, Outcome], schemes: list[Scheme]) -> Figures:
    ends = [scheme for scheme in schemes if scheme.router is None]
    routers = [scheme for scheme in schemes if pairs.with_router(scheme)]
    made: Figures = {}
    for name, group in (("6-50", ends), ("6-51", routers)):
        made[f"figure-{name}"] = (
            f"Figure {name.replace('-', '.')}",
            "Part of the epochs that last longer, at 35 % load.",
            curves(
                [("", [_tail(results[key(s.key, 0.35)], s) for s in group])],
                x_label="epoch duration (s)",
                y_label="part of epochs",
                x_scale="log",
                y_scale="log",
            ),
        )
    shown = [s for s in schemes if s.key in ("slow-start", "jump-start", "quick-start-chi")]
    made["figures-6-52-53"] = (
        "Figures 6.52 and 6.53",
        "Epoch duration by the response's size: mean, and dotted the quartiles.",
        curves(
            [
                (
                    f"{100 * load:g} %",
                    [curve for s in shown for curve in _by_size(results[key(s.key, load)], s)],
                )
                for load in (SMALL, 0.35)
            ],
            x_label="response (bytes)",
            y_label="epoch duration (s)",
            x_scale="log",
            y_scale="log",
        ),
    )
    made["figures-6-54-55"] = (
        "Figures 6.54 and 6.55",
        "Epoch duration that 5 % exceed over packet loss, one marker per load.",
        curves(
            [
                ("end to end", [_trade(results, s) for s in ends]),
                ("with routers", [_trade(results, s) for s in routers]),
            ],
            x_label="packet loss (%)",
            y_label="95 % quantile (s)",
        ),
    )
    return made


def _tail(one: Outcome, scheme: Scheme) -> Curve:
    ordered = np.sort(one.rows["seconds"].to_numpy())
    rank = np.unique(np.geomspace(1, max(ordered.size, 1), 300).astype(np.int64))
    return Curve(scheme.label, ordered[-rank][::-1], (rank / ordered.size)[::-1], scheme.style)


def _by_size(one: Outcome, scheme: Scheme) -> list[Curve]:
    """Mean and quartiles."""
    bins = [one.sized(a, b).rows["seconds"].to_numpy() for a, b in pairwise(SIZES)]
    kept = [i for i, values in enumerate(bins) if values.size >= claims.ENOUGH]
    x = np.sqrt(np.array(SIZES[:-1]) * np.array(SIZES[1:]))[kept]
    dotted = replace(scheme.style, dash=(0, (1, 1)))
    quartiles = [
        Curve(
            scheme.label,
            x,
            np.array([np.quantile(bins[i], q) for i in kept]),
            dotted,
        )
        for q in (0.25, 0.75)
    ]
    mean = np.array([float(bins[i].mean()) for i in kept])
    return [Curve(scheme.label, x, mean, scheme.style, markers=True), *quartiles]


def _trade(results: Mapping[str, Outcome], scheme: Scheme) -> Curve:
    found = [results[name] for load in LOADS if (name := key(scheme.key, load)) in results]
    return Curve(
        scheme.label,
        np.array([100 * one.loss for one in found]),
        np.array([one.quantile_s(TAIL) for one in found]),
        scheme.style,
        markers=True,
    )


STUDY = TraceMix()
