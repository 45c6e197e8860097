"""Thesis, sections 4.5, 6.3.3.2 and 6.3.3.3: how routers approve Quick-Start requests.

Claim: the target algorithm grants what is unused and not granted already, at most
(theta c - u) / (Omega Delta) per second, and unfairly; the fair algorithm shares better and grants
less; the optimistic one grants everybody and overbooks tenfold.
Setup: two routers of 100 Mbit/s with cross traffic; a pattern of 28 transfers on 10 Mbit/s; a
generator of requests without data.  Check: every grant beside its equation.
Plot: figures 6.25 to 6.31.
"""

from __future__ import annotations

from collections.abc import Mapping

import numpy as np
import polars as pl

from headway.experiment import Experiment
from headway.figures import Curve, curves, style_of
from headway.figures.style import GREY, Style
from headway.studies import _approval_claims as claims
from headway.studies import _approval_records as records
from headway.studies import _approval_setup as setup
from headway.studies.common import lab
from headway.studies.common.legacy import TraceStudy
from headway.studies.common.legacy_claims import unchecked
from headway.studies.common.legacy_page import Figures, Findings, publish
from headway.study import StudyContext, StudyResult
from headway.table import Table
from headway.trace import Trace
from headway.units import NS_PER_S


class ApprovalControl(TraceStudy):
    """The study; see the module."""

    name = "approval-control"
    title = "Approval control: who gets a rate from a Quick-Start router"
    source = "Scharf, Fast Startup Internet Congestion Control (2011), sections 4.5 and 6.3.3"
    description = (
        "Quick-Start routers with the target, fair and optimistic algorithms: three transfers "
        "through two routers with cross traffic, a pattern of 28 transfers, and requests without "
        "data in an open loop. Grants, load estimates, granted bandwidth and fairness."
    )

    def experiments(self, ctx: StudyContext) -> dict[str, Experiment]:
        """See ``_approval_setup``."""
        return setup.experiments(quick=ctx.quick, seed=ctx.seed)

    def analyse(self, ctx: StudyContext, traces: Mapping[str, Trace]) -> StudyResult:
        """Grants beside their equations, figures and claims."""
        findings = Findings(
            claims=[
                *claims.all_claims(traces),
                unchecked(
                    "C-TH-040",
                    "round-trip time that a receiver assumes for its buffer",
                    "500 ms",
                    "Receivers of both backends have buffers of a fixed size.",
                ),
            ],
            choices=[
                "The mix of request rates in figure 6.29 is not printed: 0.64, 1.28, 2.56, 5.12 "
                "and 10.24 Mbit/s, equally often. C-TH-112 to 114 and 116 hold with every mix that "
                "was tried, of rates from 80 kbit/s to 82 Mbit/s; C-TH-115 only where all rates "
                "are small beside the link's 100 Mbit/s. Else the fair algorithm, which cuts the "
                "large ones, is fairer than approving all.",
                "Transfers of the pattern ask for the default rate of 10 Mbit/s. The parking lot's "
                "round-trip time is 200 ms.",
                "A router's slots begin when its counters are first read, at time 0.",
            ],
        )
        findings.tables = [_load_table(traces), _lot_table(traces["lot-cross"])]
        findings.figures = _figures(traces)
        findings.data = {"load": _load_rows(traces)}
        return publish(self, ctx, traces, findings)


def _load_rows(traces: Mapping[str, Trace]) -> pl.DataFrame:
    return pl.DataFrame(
        [
            {
                "trial": name,
                "requested_bps_per_s": records.per_second(trace, "requested_code"),
                "granted_bps_per_s": records.per_second(trace, "granted_code"),
                "jain_index": records.fairness(trace),
                "jain_index_if_all_were_approved": records.best_fairness(trace),
            }
            for name, trace in traces.items()
            if name.startswith("load-")
        ]
    )


def _load_table(traces: Mapping[str, Trace]) -> Table:
    return Table(
        "Granted Mbit/s per second and Jain's index of the grants",
        ["trial", "requested", "granted", "Jain", "if all were approved"],
        [
            [
                row["trial"],
                round(row["requested_bps_per_s"] / setup.MBIT, 1),
                round(row["granted_bps_per_s"] / setup.MBIT, 1),
                round(row["jain_index"], 3),
                round(row["jain_index_if_all_were_approved"], 3),
            ]
            for row in _load_rows(traces).to_dicts()
        ],
    )


def _lot_table(trace: Trace) -> Table:
    rows = trace["approvals"].filter(pl.col("flow") == 0).sort("time_ns", "link").to_dicts()
    return Table(
        "Requests of the parking lot with cross traffic",
        ["time (s)", "router", "asked", "granted", "load", "outstanding"],
        [
            [
                round(row["time_ns"] / NS_PER_S, 3),
                1 + row["link"] // 2,
                *(
                    round(setup.rate_bps(row[name]) / setup.MBIT, 2)
                    for name in ("requested_code", "granted_code")
                ),
                round(row["usage_bps"] / setup.MBIT, 2),
                round(row["outstanding_bps"] / setup.MBIT, 2),
            ]
            for row in rows
        ],
        note="Rates in Mbit/s.",
    )


def _figures(traces: Mapping[str, Trace]) -> Figures:
    made: Figures = {}
    made["figures-6-25-26"] = (
        "Figures 6.25 and 6.26",
        "Parking lot: rate of the first router's link over time.",
        curves(
            [
                (title, [_rate(traces[name], "link 1", setup.ROUTER_1, "quick-start")])
                for name, title in (("lot-alone", "alone"), ("lot-cross", "with cross traffic"))
            ],
            x_label="time (s)",
            y_label="rate (Mbit/s)",
        ),
    )
    for number, names in (("6-27", ("target", "ewma")), ("6-28", ("fair", "optimistic"))):
        made[f"figure-{number}"] = (
            f"Figure {number.replace('-', '.')}",
            "Pattern of 28 transfers: estimated load as a line, granted rates as markers.",
            curves(
                [(name, _pattern(traces[f"pattern-{name}"])) for name in names],
                x_label="time (s)",
                y_label="rate (Mbit/s)",
            ),
        )
    series = [("target", ms) for ms in setup.INTERVALS_MS] + [("fair", 200), ("optimistic", 200)]
    for number, caption, label in (
        ("6-30", "Granted over requested bandwidth.", "granted (Mbit/s per s)"),
        ("6-31", "Jain's index of all granted rates.", "Jain's index"),
    ):
        drawn = [
            _over_requests(traces, algorithm, ms, fairness=number == "6-31")
            for algorithm, ms in series
        ]
        if number == "6-31":
            trial = [setup.load_key("optimistic", 200, requested) for requested in setup.REQUESTED]
            best = np.array([records.best_fairness(traces[name]) for name in trial])
            x = np.array(setup.REQUESTED) / setup.MBIT
            drawn.append(Curve("optimum", x, best, Style(GREY, ".", (0, (1, 1)))))
        made[f"figure-{number}"] = (
            f"Figure {number.replace('-', '.')}",
            caption,
            curves(
                [("", drawn)],
                x_label="requested (Mbit/s per s)",
                y_label=label,
                x_scale="log",
                y_scale="linear" if number == "6-31" else "log",
            ),
        )
    return made


def _rate(trace: Trace, label: str, link: int, style: str) -> Curve:
    times, rates = lab.link_rate(trace, link)
    return Curve(label, times, rates / setup.MBIT, style_of(style))


def _pattern(trace: Trace) -> list[Curve]:
    counters = trace["approval_counters"].filter(pl.col("link") == lab.DOWNLINK).sort("time_ns")
    granted = records.of_link(trace, lab.DOWNLINK).filter(pl.col("granted_code") > 0)
    return [
        Curve(
            "estimated load",
            counters["time_ns"].to_numpy() / NS_PER_S,
            counters["usage_bps"].to_numpy() / setup.MBIT,
            style_of("slow-start"),
        ),
        Curve(
            "granted",
            granted["time_ns"].to_numpy() / NS_PER_S,
            np.array([setup.rate_bps(code) for code in granted["granted_code"]]) / setup.MBIT,
            style_of("quick-start"),
            line=False,
            markers=True,
        ),
    ]


def _over_requests(
    traces: Mapping[str, Trace], algorithm: str, interval_ms: int, *, fairness: bool
) -> Curve:
    trials = [
        traces[setup.load_key(algorithm, interval_ms, requested)] for requested in setup.REQUESTED
    ]
    values = [
        records.fairness(trace)
        if fairness
        else records.per_second(trace, "granted_code") / setup.MBIT
        for trace in trials
    ]
    return Curve(
        f"{algorithm}, {interval_ms} ms",
        np.array(setup.REQUESTED) / setup.MBIT,
        np.array(values),
        style_of(f"{algorithm}-{interval_ms}"),
        markers=True,
    )


STUDY = ApprovalControl()
