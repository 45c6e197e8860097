"""Thesis, section 6.3.3.1: what becomes of ssthresh after a Quick-Start.

Claim: leaving ssthresh alone (QS-a) fills a link at once whatever rate was approved; setting it to
the Quick-Start window (QS-b) can be slower than slow start. Setup: the first seconds of a response
of 100 MB, 10 or 100 Mbit/s, 200 ms. Check: when the link is full.  Plot: figures 6.23 and 6.24.
"""

from __future__ import annotations

from collections.abc import Mapping

import numpy as np
import polars as pl

from headway import metrics
from headway.experiment import Experiment
from headway.figures import Panel, Series, timeseries
from headway.figures.style import BLACK, BLUE, GREEN, ORANGE, PURPLE, VERMILLION, Style
from headway.metrics.stats import Array
from headway.studies._common import claims as claim
from headway.studies._common import lab
from headway.studies._common.page import Figures, Findings, publish, seconds
from headway.study import Cell, Claim, Study, StudyContext, StudyResult, Table
from headway.trace import Trace

SIZE_BYTES = 100e6
LENGTH_S = 20.0
RTT_S = lab.RTT_MS / 1e3
FAST_BPS = 100e6
RATES_BPS = {"10": lab.LINK_BPS, "100": FAST_BPS}
APPROVED_BPS = {"10": (5.12e6,), "100": (5.12e6, 20.48e6, 81.92e6)}
STRATEGIES = {"a": "ssthresh kept", "b": "ssthresh set to the Quick-Start window"}
SSTHRESH = {"a": 0, "b": 1}
FULL_SHARE = 0.95
RECEIVE_WINDOW = "4000000 B"
"""Announced from the start: more than a round trip of 100 Mbit/s."""
COLOURS = (BLACK, BLUE, GREEN, PURPLE, VERMILLION, ORANGE, "#56B4E9")


def quick_start(strategy: str, approved_bps: float) -> str:
    """The control of a flow with a strategy and a request that will be approved."""
    return f"{lab.quick_start(approved_bps, early=True)}:qs_ssthresh={SSTHRESH[strategy]}"


class SsthreshStrategies(Study):
    """The study; see the module."""

    name = "ssthresh-strategies"
    title = "Strategies for ssthresh after a Quick-Start"
    source = "Scharf, Fast Startup Internet Congestion Control (2011), section 6.3.3.1"
    description = (
        "The first 20 s of a response of 100 MB over 10 and 100 Mbit/s, 200 ms, CUBIC: slow start "
        "beside Quick-Start with ssthresh kept (QS-a) or set (QS-b), rates of 5 to 82 Mbit/s."
    )

    def experiments(self, ctx: StudyContext) -> dict[str, Experiment]:
        """A trial per link, strategy and approved rate, and slow start on each link."""
        trials = {}
        for link, rate_bps in RATES_BPS.items():
            controls = {f"ss-{link}": f"{lab.CONTROL}+slow-start"}
            for approved in APPROVED_BPS[link]:
                for strategy in STRATEGIES:
                    name = f"qs-{strategy}-{link}-{approved / 1e6:g}"
                    controls[name] = quick_start(strategy, approved)
            for name, control in controls.items():
                flow = lab.requests(
                    [SIZE_BYTES],
                    control=control,
                    receive_window=None if name.startswith("ss") else RECEIVE_WINDOW,
                    data_volume_bytes=None if name.startswith("ss") else SIZE_BYTES,
                )
                trials[name] = lab.experiment(
                    lab.path(rate_bps=rate_bps),
                    [flow],
                    duration_s=LENGTH_S,
                    seed=ctx.seed,
                    sample_s=RTT_S,
                )
        return trials

    def analyse(self, ctx: StudyContext, traces: Mapping[str, Trace]) -> StudyResult:
        """When each link was full, and the claims."""
        full = {name: full_s(trace, _rate_bps(name)) for name, trace in traces.items()}
        timeouts = metrics.rtos(traces["ss-100"], 0, (0, int(LENGTH_S * 1e9)))
        names = list(full)
        rows: list[list[Cell]] = [
            [name, seconds(full[name]), _mbytes(traces[name], 5), _mbytes(traces[name], 20)]
            for name in names
        ]
        findings = Findings(
            claims=all_claims(full, timeouts),
            tables=[
                Table(
                    "Time from the request until a slot of 200 ms is full, and data carried",
                    ["flow", "full after s", "MB in 5 s", "MB in 20 s"],
                    rows,
                    "qs-STRATEGY-LINK-RATE, Mbit/s. A dash: not within 20 s.",
                )
            ],
            figures=_figures(traces),
            data={"full": pl.DataFrame({"flow": names, "full_after_s": list(full.values())})},
            choices=[
                "A link is full when a slot of a round trip carries 95 % of its rate. The flows of "
                "100 Mbit/s announce 4 MB of receive window from the start.",
            ],
        )
        return publish(self, ctx, traces, findings)


def _rate_bps(name: str) -> float:
    return RATES_BPS[name.split("-")[1 if name.startswith("ss") else 2]]


def full_s(trace: Trace, rate_bps: float) -> float:
    """Seconds from the end of the handshake to the end of the first full slot; NaN: never."""
    times, rates = lab.link_rate(trace)
    handshake_s = (trace.flows[0].handshake_rtt_us or 0) / 1e6
    return lab.first_above(times, rates, FULL_SHARE * rate_bps) - handshake_s


def _mbytes(trace: Trace, until_s: float) -> float:
    times, rates = lab.link_rate(trace)
    carried: Array = np.where(times <= until_s, rates, 0.0)
    return round(float(carried.sum()) * RTT_S / 8 / 1e6, 2)


def all_claims(full: Mapping[str, float], timeouts: int) -> list[Claim]:
    """C-TH-094 to 098 from the times until the links were full, NaN where they never were."""
    never = LENGTH_S
    known = {name: value if np.isfinite(value) else never for name, value in full.items()}
    kept = {name: value for name, value in known.items() if name.startswith("qs-a-100")}
    lag_s = known["qs-b-100-5.12"] - known["qs-a-100-5.12"]
    return [
        claim.shown(
            "C-TH-094",
            "10 Mbit/s: slow start can be faster than Quick-Start with QS-b",
            "Slow-Start faster",
            f"full after {known['ss-10']:.2f} s, QS-b after {known['qs-b-10-5.12']:.2f} s",
            known["ss-10"] < known["qs-b-10-5.12"],
        ),
        claim.in_range(
            "C-TH-095",
            "10 Mbit/s, QS-a: link full after",
            "almost instantaneously",
            known["qs-a-10-5.12"],
            "s",
            0,
            1,
        ),
        claim.shown(
            "C-TH-096",
            "100 Mbit/s, QS-a: link full almost at once, whatever rate was approved",
            "almost immediate",
            ", ".join(f"{name.rsplit('-', 1)[1]}: {v:.2f} s" for name, v in kept.items()),
            max(kept.values()) <= 2,
            tolerance="≤ 2 s",
            unit="Mbit/s",
        ),
        claim.in_range(
            "C-TH-097",
            "100 Mbit/s, 5.12 Mbit/s approved: QS-b fills the link later than QS-a by",
            "very slow",
            lag_s,
            "s",
            3,
            float("inf"),
            note="Not at all within 20 s." if known["qs-b-100-5.12"] == never else "",
        ),
        claim.shown(
            "C-TH-098",
            "100 Mbit/s: slow start's overshoot ends in a retransmission timeout",
            "timeout after about 3 s",
            f"{timeouts} timeouts, link full after {known['ss-100']:.2f} s",
            timeouts >= 1,
            note="The thesis calls it an artefact of its simulation: its hosts knew no "
            "backpressure, and ours do not either.",
        ),
    ]


def _figures(traces: Mapping[str, Trace]) -> Figures:
    made: Figures = {}
    for number, link in (("6.23", "10"), ("6.24", "100")):
        names = [n for n in traces if _rate_bps(n) == RATES_BPS[link]]
        lines = [
            _line(traces[name], name, Style(colour, "o"))
            for name, colour in zip(names, COLOURS, strict=False)
        ]
        made[f"figure-{number.replace('.', '-')}"] = (
            f"Figure {number}",
            f"IP rate in slots of 200 ms on {link} Mbit/s.",
            timeseries([Panel("rate (Mbit/s)", lines)], height_mm=75),
        )
    return made


def _line(trace: Trace, name: str, style: Style) -> Series:
    times, rates = lab.link_rate(trace)
    shown = times <= (10 if "100" in name else 12)
    return Series(name, times[shown] - RTT_S, rates[shown] / 1e6, style, step=True)


STUDY = SsthreshStrategies()
