"""Paper 000: Quick-Start in Linux, on 10 Mbit/s with 100 or 200 ms.

Claim: Quick-Start at 5.12 Mbit/s fills the link at once where slow start needs a second or two,
as long as ssthresh is not lowered; transfers of 10 kB to 1 MB gain most; Web pages gain with large
files and little load. Setup: one client, one server, Reno or CUBIC of Linux 2.6.20. Check: figures
9 to 14, and the same of the thesis' section 6.4.4.  Plot: figures 9 to 14.

Scharf, Strotbek: "Performance Evaluation of Quick-Start TCP with a Linux Kernel Implementation",
2008.
"""

from __future__ import annotations

from collections.abc import Mapping

import numpy as np
import polars as pl

from headway.experiment import Experiment
from headway.metrics.stats import Array
from headway.studies import _quickstart_linux_kernel as on_kernel
from headway.studies import _quickstart_linux_page as page
from headway.studies import _quickstart_linux_web as web
from headway.studies._quickstart_linux_claims import all_claims
from headway.studies._quickstart_linux_data import (
    CONTROLS,
    LOAD_HTTP,
    LOAD_SCHEMES,
    LOAD_USERS,
    MODELS,
    QUICK_LOAD_USERS,
    RTTS_MS,
    SHARES,
    SIZES_BYTES,
    SPEEDUP_RTTS_MS,
    TRACES,
    WEB_SCHEMES,
    Results,
    control_of,
)
from headway.studies.common import lab
from headway.studies.common.legacy import TraceStudy
from headway.studies.common.legacy_page import Findings, publish
from headway.study import StudyContext, StudyResult
from headway.trace import Trace
from headway.workloads.surge import WebPage

TRACE_S = 25.0
SPACING_S = 40.0
PAGES, QUICK_PAGES = 200, 25
LOAD_S, QUICK_LOAD_S = 3600.0, 200.0
SHORTEST_THINK_S = 2.0
"""So a user asks for fewer pages than fit with this between them."""
STAGGER_S = 7.0
"""Users start within one think time."""


class QuickstartLinux(TraceStudy):
    """The study; see the module."""

    name = "quickstart-linux"
    title = "Quick-Start in Linux"
    source = (
        "Scharf, Strotbek: Performance Evaluation of Quick-Start TCP with a Linux Kernel "
        "Implementation (2008); Scharf, thesis (2011), section 6.4.4"
    )
    description = (
        "10 Mbit/s and 100 or 200 ms: rates after the start with Reno and CUBIC of Linux 2.6.20, "
        "with and without Quick-Start and a lowered ssthresh; speedup over size and RTT; SURGE's "
        "Web pages for one user, for many, and with part of the capacity for Quick-Start. On the "
        "kernel: the downloads beside the simulator's linux-6."
    )
    agreements = on_kernel.AGREEMENTS

    def experiments(self, ctx: StudyContext) -> dict[str, Experiment]:
        """Traces of the start, sweeps over sizes, and Web users."""
        if ctx.backend.name == "kernel":
            return on_kernel.experiments(quick=ctx.quick, seed=ctx.seed)
        return {
            **_trace_trials(ctx),
            **_size_trials(ctx),
            **_web_trials(ctx),
            **_load_trials(ctx),
            **_share_trials(ctx),
        }

    def analyse(self, ctx: StudyContext, traces: Mapping[str, Trace]) -> StudyResult:
        """Rates, speedups, page times, and the claims; of the kernel's trials response times."""
        if on_kernel.is_its(traces):
            return publish(self, ctx, traces, on_kernel.findings(traces, quick=ctx.quick))
        results = _results(ctx, traces)
        findings = Findings(
            claims=all_claims(results),
            tables=page.tables(results),
            figures=page.figures(results),
            data={"web": _web_frame(results)},
            choices=page.CHOICES,
        )
        return publish(self, ctx, traces, findings)


def _trace_trials(ctx: StudyContext) -> dict[str, Experiment]:
    trials = {}
    for rtt_ms in RTTS_MS:
        for control in CONTROLS:
            for kind in TRACES:
                flow = lab.requests(
                    [20e6],
                    control=control_of(control, kind),
                    receive_window=None if kind == "ss" else lab.RECEIVE_WINDOW,
                    data_volume_bytes=None if kind == "ss" else 20e6,
                    delayed_ack=True,
                )
                trials[f"trace-{rtt_ms}-{control}-{kind}"] = lab.experiment(
                    lab.path(rtt_ms=rtt_ms),
                    [flow],
                    duration_s=TRACE_S,
                    seed=ctx.seed,
                    sample_s=rtt_ms / 1e3,
                )
    return trials


def _size_trials(ctx: StudyContext) -> dict[str, Experiment]:
    trials = {}
    for rtt_ms in SPEEDUP_RTTS_MS:
        for control in CONTROLS:
            for kind in ("ss", "qs"):
                flows = [
                    lab.requests(
                        [size],
                        control=control_of(control, kind),
                        start_s=SPACING_S * number,
                        receive_window=None if kind == "ss" else lab.RECEIVE_WINDOW,
                        data_volume_bytes=None if kind == "ss" else size,
                        delayed_ack=True,
                    )
                    for number, size in enumerate(SIZES_BYTES)
                ]
                trials[f"sizes-{rtt_ms}-{control}-{kind}"] = lab.experiment(
                    lab.path(rtt_ms=rtt_ms),
                    flows,
                    duration_s=SPACING_S * len(flows),
                    seed=ctx.seed,
                )
    return trials


def _web_trials(ctx: StudyContext) -> dict[str, Experiment]:
    return {
        f"web-{model}-{http}-{control}-{scheme}": web.one_user(
            model, http, CONTROLS[control], scheme, count=_pages(ctx), seed=ctx.seed
        )
        for model in MODELS
        for http in web.HTTP
        for control in CONTROLS
        for scheme in WEB_SCHEMES
    }


def _load_trials(ctx: StudyContext) -> dict[str, Experiment]:
    length_s = QUICK_LOAD_S if ctx.quick else LOAD_S
    trials = {}
    for scheme in LOAD_SCHEMES:
        for http in LOAD_HTTP:
            for users in _users(ctx):
                flows = [
                    web.user(
                        _load_pages(ctx.seed, number, length_s),
                        http,
                        CONTROLS["cubic"],
                        scheme,
                        start_s=STAGGER_S * number / users,
                    )
                    for number in range(users)
                ]
                trials[f"load-{http}-{scheme}-n{users}"] = lab.experiment(
                    lab.path(buffer_pkts=1000), flows, duration_s=length_s, seed=ctx.seed
                )
    return trials


def _share_trials(ctx: StudyContext) -> dict[str, Experiment]:
    pages = web.user_pages("large", ctx.seed, 0, _pages(ctx))
    trials = {}
    for share in SHARES:
        made = web.one_user(
            "large", "1.1", CONTROLS["cubic"], "quick-start", count=len(pages), seed=ctx.seed
        )
        router = f"{lab.ROUTER}:threshold_permille={1000 * share:.0f}"
        trials[f"share-{100 * share:.0f}"] = made.model_copy(
            update={"topology": lab.path(router=router)}
        )
    return trials


def _pages(ctx: StudyContext) -> int:
    return QUICK_PAGES if ctx.quick else PAGES


def _users(ctx: StudyContext) -> tuple[int, ...]:
    return QUICK_LOAD_USERS if ctx.quick else LOAD_USERS


def _results(ctx: StudyContext, traces: Mapping[str, Trace]) -> Results:
    count = _pages(ctx)
    own = {model: web.user_pages(model, ctx.seed, 0, count) for model in MODELS}
    users = _users(ctx)
    length_s = QUICK_LOAD_S if ctx.quick else LOAD_S
    return Results(
        rates={
            (rtt, control, kind): _rate(traces[f"trace-{rtt}-{control}-{kind}"])
            for rtt in RTTS_MS
            for control in CONTROLS
            for kind in TRACES
        },
        times_s={
            (rtt, control, kind): np.array(
                [
                    lab.response_times_s(traces[f"sizes-{rtt}-{control}-{kind}"], number)[0]
                    for number in range(len(SIZES_BYTES))
                ]
            )
            for rtt in SPEEDUP_RTTS_MS
            for control in CONTROLS
            for kind in ("ss", "qs")
        },
        pages_s={
            (model, http, control, scheme): web.page_times_s(
                traces[f"web-{model}-{http}-{control}-{scheme}"], own[model], http
            )
            for model in MODELS
            for http in web.HTTP
            for control in CONTROLS
            for scheme in WEB_SCHEMES
        },
        page_bytes={model: np.array([p.bytes for p in own[model]]) for model in MODELS},
        users=np.array(users),
        load_s={
            (http, scheme): np.array(
                [
                    _mean_page_s(traces[f"load-{http}-{scheme}-n{n}"], http, n, ctx.seed, length_s)
                    for n in users
                ]
            )
            for http in LOAD_HTTP
            for scheme in LOAD_SCHEMES
        },
        share_s={
            share: float(
                web.page_times_s(traces[f"share-{100 * share:.0f}"], own["large"], "1.1").mean()
            )
            for share in SHARES
        },
    )


def _rate(trace: Trace) -> tuple[Array, Array]:
    """(seconds since the end of the handshake, IP bit/s) in slots of a round trip."""
    times, rates = lab.link_rate(trace)
    return times - (trace.flows[0].handshake_rtt_us or 0) / 1e6, rates


def _load_pages(seed: int, number: int, length_s: float) -> list[WebPage]:
    return web.user_pages("large", seed, number, int(length_s / SHORTEST_THINK_S))


def _mean_page_s(trace: Trace, http: str, users: int, seed: int, length_s: float) -> float:
    """Mean time of all users' complete pages."""
    times = []
    for number in range(users):
        pages = _load_pages(seed, number, length_s)
        times.append(web.page_times_s(trace, pages, http, flow=number))
    joined = np.concatenate(times)
    return float(joined.mean()) if joined.size else length_s


def _web_frame(results: Results) -> pl.DataFrame:
    return pl.DataFrame(
        [
            {
                "model": model,
                "http": http,
                "control": control,
                "scheme": scheme,
                "pages": times.size,
                "mean_s": float(times.mean()),
            }
            for (model, http, control, scheme), times in results.pages_s.items()
        ]
    )


STUDY = QuickstartLinux()
