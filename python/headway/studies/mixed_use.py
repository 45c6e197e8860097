"""Thesis, section 6.5.2: half of the hosts start fast, and what the other half feels.

Claim: Jump- and Initial-Start are fair, their users gain and the others do not lose; Mega-Start is
unfair; Quick-Start hardly touches the others and gains less.
Setup: 450 host pairs with nine RTTs on 10 Mbit/s, truncated Pareto responses of 14 kB on average,
half of each RTT's pairs with the startup and half without.  Run: loads up to 75 %.
Plot: figures 6.58 and 6.59.
"""

from __future__ import annotations

from collections.abc import Mapping

import numpy as np
import polars as pl

from headway.claims import Evidence as Trials
from headway.claims import Seen, Statement
from headway.claims import judge as evaluate
from headway.experiment import Experiment
from headway.figures import Curve, curves
from headway.metrics.stats import batch_means, confidence_interval
from headway.studies.common import pairs
from headway.studies.common.legacy import TraceStudy
from headway.studies.common.legacy_page import Figures, Findings, publish
from headway.studies.common.pairs import Outcome, Scheme
from headway.study import StudyContext, StudyResult
from headway.table import Table
from headway.trace import Trace
from headway.workloads import published

LOADS = (0.15, 0.3, 0.45, 0.6, 0.75)
SCHEMES = (pairs.JUMP_START, pairs.INITIAL_START, pairs.MEGA_START, *pairs.QUICK_STARTS)
HOURS, QUICK_HOURS = 2.0, 0.05
RTTS = len(pairs.RTTS_MS)
HARMLESS = 0.05
"""Slow start's half may be so much slower and count as not significantly slowed down."""
DEFAULT, FAST = 0, 1
"""The groups' numbers in a mixed trial."""


def key(scheme: str, load: float) -> str:
    """A trial's name: "jump-start-45"."""
    return f"{scheme}-{round(100 * load):02d}"


class MixedUse(TraceStudy):
    """The study; see the module."""

    name = "mixed-use"
    title = "Half the hosts start fast: what the others feel"
    source = "Scharf, Fast Startup Internet Congestion Control (2011), section 6.5.2"
    description = (
        "450 host pairs with RTTs of 4 to 200 ms on 10 Mbit/s, truncated Pareto responses of "
        "14 kB; in each trial half of the pairs use a startup, half slow start. Mean response "
        "times of both halves beside the case that all use slow start."
    )

    def experiments(self, ctx: StudyContext) -> dict[str, Experiment]:
        """One trial per scheme and load, and one where all use slow start."""
        hours = QUICK_HOURS if ctx.quick else HOURS
        vectors = pairs.synthetic(published.MEAN_RESPONSE_BYTES)
        trials = {}
        for load in LOADS:
            workload = pairs.workload(vectors, load=load, hours=hours, seed=ctx.seed)
            for scheme in (pairs.SLOW_START, *pairs.present(SCHEMES)):
                trials[key(scheme.key, load)] = pairs.workload_experiment(
                    workload, [pairs.SLOW_START, scheme], seed=ctx.seed
                )
        return trials

    def analyse(self, ctx: StudyContext, traces: Mapping[str, Trace]) -> StudyResult:
        """Mean response times of both halves, and the claims."""
        results = {name: pairs.outcome(trace) for name, trace in traces.items()}
        shown = [pairs.SLOW_START, *pairs.present(SCHEMES)]
        findings = Findings(
            claims=evaluate(STATEMENTS, Trials(results)),
            tables=[
                _table(results, shown, DEFAULT, "Mean response time of slow start's half in ms"),
                _table(results, shown, FAST, "Mean response time of the other half in ms"),
                _classes(results, shown[1:]),
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
            data={"cells": _cells(results)},
            choices=[
                "Each request has a connection of its own, as in trace-mix; the response time "
                "counts from the end of the handshake (section 6.4.2.1). With persistent "
                "connections the verdicts are the same. The loads are 15 to 75 %; the thesis "
                "prints the highest.",
                "That the other half is not significantly slower: the difference is within 5 % "
                "of the case that all use slow start, or within its 95 % confidence interval "
                "(ten batches, each with the same sessions in both cases).",
            ],
        )
        return publish(self, ctx, traces, findings)


def half(one: Outcome, number: int) -> Outcome:
    """One half of a trial's pairs."""
    return one.group(number, RTTS, 2)


def _table(results: Mapping[str, Outcome], schemes: list[Scheme], number: int, title: str) -> Table:
    return pairs.table(
        results,
        schemes,
        LOADS,
        key,
        title,
        lambda o: 1e3 * half(o, number).mean_s,
        column=pairs.percent,
    )


def _classes(results: Mapping[str, Outcome], schemes: list[Scheme]) -> Table:
    """Which of the thesis' five outcomes each trial is."""
    found = Trials(results)
    return Table(
        "Outcome for both halves, beside the case that all use slow start",
        ["scheme", *map(pairs.percent, LOADS)],
        [
            [
                scheme.label,
                *(
                    outcome_class(
                        _change(found, scheme.key, FAST, load),
                        _change(found, scheme.key, DEFAULT, load),
                    )
                    for load in LOADS
                ),
            ]
            for scheme in schemes
        ],
        "Good: only the scheme's half is faster; unfair: at the cost of the other. A dash: no "
        "significant difference for either.",
    )


def outcome_class(own: Change, others: Change) -> str:
    """One of the five outcomes of section 6.5.2; a dash if nothing changes significantly.

    A half's time changes if its change is above its uncertainty, and for slow start's half
    also above 5 %.
    """
    faster, slower = own[0] < -own[1], own[0] > own[1]
    helped = others[0] < -max(others[1], HARMLESS)
    harmed = others[0] > max(others[1], HARMLESS)
    if faster:
        return "ideal" if helped else "unfair" if harmed else "good"
    if harmed:
        return "detrimental"
    return "contrary" if slower else "–"


def _cells(results: Mapping[str, Outcome]) -> pl.DataFrame:
    return pl.DataFrame(
        [
            {
                "trial": name,
                "default_mean_s": half(one, DEFAULT).mean_s,
                "fast_mean_s": half(one, FAST).mean_s,
                "loss": one.loss,
                "utilization": one.utilization,
            }
            for name, one in results.items()
        ]
    )


def _figures(results: Mapping[str, Outcome], schemes: list[Scheme]) -> Figures:
    def drawn(shown: list[Scheme]) -> list[Curve]:
        return [
            Curve(
                s.label,
                np.array([1e3 * half(results[key(s.key, at)], DEFAULT).mean_s for at in LOADS]),
                np.array([1e3 * half(results[key(s.key, at)], FAST).mean_s for at in LOADS]),
                s.style,
                markers=True,
            )
            for s in shown
        ]

    return {
        "figures-6-58-59": (
            "Figures 6.58 and 6.59",
            "Mean response times of the two halves, one marker per load.",
            curves(
                [
                    ("end to end", drawn([s for s in schemes if s.router is None])),
                    ("with routers", drawn([s for s in schemes if pairs.with_router(s)])),
                ],
                x_label="slow start's half (ms)",
                y_label="the other half (ms)",
            ),
        )
    }


Found = Trials[Outcome]
Change = tuple[float, float]
"""How much longer a half takes than if all use slow start: a part, and its uncertainty."""


def _change(found: Found, scheme: str, number: int, load: float) -> Change:
    """Both trials have the same sessions, so responses are compared one by one."""
    alone = half(found[key("slow-start", load)], number).rows
    mixed = half(found[key(scheme, load)], number).rows
    both = alone.join(mixed, on=["flow", "epoch"], suffix="_mixed").sort("start_ns")
    base = float(both["seconds"].to_numpy().mean())
    off = (both["seconds_mixed"] - both["seconds"]).to_numpy()
    estimate = confidence_interval([float(mean) for mean in batch_means(off)])
    return estimate.mean / base, (estimate.half_width or 0.0) / base


def _fair(found: Found, scheme: str, margin: float) -> tuple[bool, bool, str]:
    """Whether the scheme's half gains at every load, the other loses nowhere; in words."""
    own = [_change(found, scheme, FAST, load)[0] for load in LOADS]
    others = [_change(found, scheme, DEFAULT, load) for load in LOADS]
    harmless = all(off <= margin or off - width <= 0 for off, width in others)
    words = (
        f"{scheme}: own {_parts(own)}; others {_parts([off for off, _ in others])} "
        f"at {', '.join(f'{100 * load:g}' for load in LOADS)} % load"
    )
    return all(off < 0 for off in own), harmless, words


def _parts(values: list[float]) -> str:
    return ", ".join(f"{100 * value:+.1f}" for value in values) + " %"


def _good(found: Found) -> Seen:
    seen = [_fair(found, scheme, HARMLESS) for scheme in ("jump-start", "initial-start")]
    return Seen(
        ". ".join(words for _, _, words in seen),
        all(gains and harmless for gains, harmless, _ in seen),
        "own faster, others within 5 % or their interval",
    )


def _unfair(found: Found) -> Seen:
    _, harmless, words = _fair(found, "mega-start", 0.0)
    return Seen(words, not harmless, "others significantly slower at some load")


def _quick(found: Found) -> Seen:
    quick = _fair(found, "quick-start-chi", 0.03)
    own = [_change(found, "quick-start-chi", FAST, load)[0] for load in LOADS]
    jump = [_change(found, "jump-start", FAST, load)[0] for load in LOADS]
    return Seen(
        quick[2],
        quick[1] and float(np.mean(own)) > float(np.mean(jump)),
        "others within 3 % or their interval; gain below Jump-Start's",
    )


STATEMENTS: tuple[Statement[Found], ...] = (
    Statement("C-TH-202", "Jump- and Initial-Start beside slow start", "fair", _good),
    Statement("C-TH-203", "Mega-Start beside slow start", "unfair", _unfair),
    Statement(
        "C-TH-204",
        "Quick-Start beside slow start",
        "hardly degrades others, smaller speedup",
        _quick,
    ),
)

STUDY = MixedUse()
