"""Thesis, section 6.5.1: what the bottleneck's buffer does to the loss of each startup.

Claim: about 50 packets lose least; below 100 packets Jump-Start doubles the loss, above nothing
changes; Mega-Start loses 5 % and more; Quick-Start hardly more than slow start.
Setup: the mix of trace-mix at 35 % load.  Run: buffers of 10 to 500 packets.
Plot: figures 6.56 and 6.57.
"""

from __future__ import annotations

from collections.abc import Mapping

import numpy as np

from headway.claims import Evidence as Trials
from headway.claims import Seen, Statement, between
from headway.claims import judge as evaluate
from headway.experiment import Experiment
from headway.figures import Curve, curves
from headway.studies import trace_mix
from headway.studies.common import pairs
from headway.studies.common.legacy import TraceStudy
from headway.studies.common.legacy_page import Figures, Findings, publish
from headway.studies.common.pairs import Outcome, Scheme
from headway.study import StudyContext, StudyResult
from headway.trace import Trace

LOAD = 0.35
BUFFERS_PKTS = (10, 20, 50, 75, 100, 150, 250, 500)
SCHEMES = (
    pairs.SLOW_START,
    pairs.JUMP_START,
    pairs.INITIAL_START,
    pairs.MEGA_START,
    *pairs.QUICK_STARTS,
)
HOURS, QUICK_HOURS = trace_mix.HOURS, 0.05
"""Section 6.5.1: "all other parameters are set like in the previous section"."""


def key(scheme: str, buffer_pkts: float) -> str:
    """A trial's name: "jump-start-b50"."""
    return f"{scheme}-b{buffer_pkts:g}"


class Buffers(TraceStudy):
    """The study; see the module."""

    name = "buffers"
    title = "Small and large buffers: the loss of every startup"
    source = "Scharf, Fast Startup Internet Congestion Control (2011), section 6.5.1"
    description = (
        "The mix of trace-mix at 35 % load over bottleneck buffers of 10 to 500 packets: packet "
        "loss on the downlink and epoch durations of every startup."
    )

    takes_vectors = True

    def experiments(self, ctx: StudyContext) -> dict[str, Experiment]:
        """One trial per scheme and buffer, all with the same sessions."""
        hours = QUICK_HOURS if ctx.quick else HOURS
        workload = pairs.workload(trace_mix.vectors_of(ctx), load=LOAD, hours=hours, seed=ctx.seed)
        return {
            key(scheme.key, buffer): pairs.workload_experiment(
                workload, [scheme], buffer_pkts=buffer, seed=ctx.seed
            )
            for buffer in BUFFERS_PKTS
            for scheme in pairs.present(SCHEMES)
        }

    def analyse(self, ctx: StudyContext, traces: Mapping[str, Trace]) -> StudyResult:
        """Loss over buffer, and the claims."""
        results = {name: pairs.outcome(trace, from_opening=True) for name, trace in traces.items()}
        shown = pairs.present(SCHEMES)
        title = "Packet loss on the downlink in % by buffer in packets"
        findings = Findings(
            claims=evaluate(STATEMENTS, Trials(results)),
            tables=[
                pairs.table(results, shown, BUFFERS_PKTS, key, title, lambda o: 100 * o.loss),
                pairs.table(
                    results,
                    shown,
                    BUFFERS_PKTS,
                    key,
                    "Mean epoch duration in ms by buffer in packets",
                    lambda o: 1e3 * o.mean_s,
                ),
            ],
            figures=_figures(results, shown),
            data={"cells": pairs.cells(results)},
            choices=trace_mix.CHOICES,
        )
        return publish(self, ctx, traces, findings)


def _figures(results: Mapping[str, Outcome], schemes: list[Scheme]) -> Figures:
    def drawn(shown: list[Scheme]) -> list[Curve]:
        return [pairs.over(results, s, BUFFERS_PKTS, key, lambda o: 100 * o.loss) for s in shown]

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


Found = Trials[Outcome]


def _losses(found: Found, scheme: str, buffers: tuple[int, ...] = BUFFERS_PKTS) -> list[float]:
    """Loss in % for each buffer."""
    return [100 * found[key(scheme, buffer)].loss for buffer in buffers]


def _words(values: list[float], buffers: tuple[int, ...] = BUFFERS_PKTS) -> str:
    shown = (f"{value:.2f} at {buffer}" for value, buffer in zip(values, buffers, strict=True))
    return ", ".join(shown)


_SMALL = tuple(buffer for buffer in BUFFERS_PKTS if buffer < 100)
_LARGE = tuple(buffer for buffer in BUFFERS_PKTS if buffer > 100)


def _slow_loss(found: Found) -> Seen:
    losses = _losses(found, "slow-start")
    holds = min(losses) >= 0.7 and max(losses) <= 2.5
    return Seen(f"% {_words(losses)}", holds, "0.7 to 2.5 % at every buffer")


def _least_loss(found: Found) -> Seen:
    losses = _losses(found, "slow-start")
    return between(float(BUFFERS_PKTS[int(np.argmin(losses))]), 20, 150, unit="packets")


def _ratio(found: Found, buffers: tuple[int, ...]) -> list[float]:
    pairs_of = zip(
        _losses(found, "jump-start", buffers), _losses(found, "slow-start", buffers), strict=True
    )
    return [jump / slow for jump, slow in pairs_of]


def _doubled(found: Found) -> Seen:
    ratios = _ratio(found, _SMALL)
    return Seen(
        f"times {_words(ratios, _SMALL)}",
        all(1.5 <= ratio <= 2.5 for ratio in ratios),
        "1.5 to 2.5 times at every buffer",
    )


def _same(found: Found) -> Seen:
    ratios = _ratio(found, _LARGE)
    return Seen(
        f"times {_words(ratios, _LARGE)}",
        all(0.8 <= ratio <= 1.2 for ratio in ratios),
        "±20 % at every buffer",
    )


def _initial_less(found: Found) -> Seen:
    initial, jump = (_losses(found, s, _SMALL) for s in ("initial-start", "jump-start"))
    return Seen(
        f"% {_words(initial, _SMALL)}; Jump-Start {_words(jump, _SMALL)}",
        all(a < b for a, b in zip(initial, jump, strict=True)),
    )


def _mega(found: Found) -> Seen:
    return between(
        max(_losses(found, "mega-start")), 4.0, np.inf, unit="%", note="The largest of all buffers."
    )


def _quick(found: Found) -> Seen:
    slow = _losses(found, "slow-start")
    more = {
        s.key: max(a - b for a, b in zip(_losses(found, s.key), slow, strict=True))
        for s in pairs.QUICK_STARTS
    }
    words = ", ".join(f"{name} at most {value:+.2f}" for name, value in more.items())
    return Seen(words, max(more.values()) < 1.0, "< +1", "percentage points")


STATEMENTS: tuple[Statement[Found], ...] = (
    Statement("C-TH-195", "loss with the default stack", "between 1 and 2 %", _slow_loss),
    Statement("C-TH-196", "buffer with the least loss", "about 50 packets", _least_loss),
    Statement(
        "C-TH-197",
        "Jump-Start's loss beside Slow-Start's, buffers below 100 packets",
        "about twice",
        _doubled,
    ),
    Statement(
        "C-TH-198",
        "Jump-Start's loss beside Slow-Start's, buffers above 100 packets",
        "hardly any difference",
        _same,
    ),
    Statement(
        "C-TH-199",
        "Initial-Start's loss beside Jump-Start's, small buffers",
        "less",
        _initial_less,
    ),
    Statement("C-TH-200", "Mega-Start's loss at the path's full rate", "5 % or more", _mega),
    Statement(
        "C-TH-201",
        "Quick-Start's additional loss",
        "less than 1 %, and only below 100 packets",
        _quick,
    ),
)

STUDY = Buffers()
