"""Thesis, section 6.4.2: how long one transfer takes with each startup, alone on its path.

Claim: simulated response times are those of table 6.1; fast startups help transfers of 10 kB to
1 MB on paths of 100 ms and more. Setup: a client asks a server for one response over 9.76 Mbit/s.
Run: 1 kB to 10 MB, 50, 100 and 200 ms, every scheme; other capacities; response time targets.
Check: table 6.1 within 3 % or 5 ms, and the statements.  Plot: figures 6.34 to 6.40 and 7.4.
"""

from __future__ import annotations

from collections.abc import Mapping

import numpy as np

from headway.experiment import Experiment
from headway.metrics.stats import Array
from headway.studies import _transfer_times_kernel as on_kernel
from headway.studies import _transfer_times_page as page
from headway.studies._transfer_times_claims import all_claims
from headway.studies._transfer_times_data import (
    BUFFERS_PKTS,
    CAPACITIES_BPS,
    CAPACITY_SCHEMES,
    PIECES_BYTES,
    PIECES_SCHEMES,
    QUICK_SIZES_BYTES,
    RTTS_MS,
    SCHEMES,
    SIZES_BYTES,
    TARGET_SCHEMES,
    TARGET_SIZE_BYTES,
    TARGETS_S,
    Results,
    capacity_flow,
    flow,
    pieces_flow,
    target_control,
)
from headway.studies.common import lab
from headway.studies.common.legacy import TraceStudy
from headway.studies.common.legacy_page import Findings, publish
from headway.study import StudyContext, StudyResult
from headway.trace import Trace

SPACING_S = 40.0
"""Transfers of one trial follow each other on an idle link; the longest takes 10 s."""
CWR = 2
"""From this state on Linux has reduced its window."""
WINDOW_3 = f"{lab.CONTROL}+initial-start:is_window_pkts=3"
"""Slow start from the initial window of Linux 2.6.24; that of 2.6.18, and so of the stack, is 2."""
MECHANICS_PKTS = 20
"""Queue that a Jump-Start of 45 packets overflows when it leaves at once."""


class TransferTimes(TraceStudy):
    """The study; see the module."""

    name = "transfer-times"
    title = "Transfer times: one download with each startup"
    source = "Scharf, Fast Startup Internet Congestion Control (2011), sections 6.4.2 and 7.1.3"
    description = (
        "Downloads of 1 kB to 10 MB over 9.76 Mbit/s and 50, 100 and 200 ms with every startup, "
        "beside the equations of table 6.1; path capacities of 2 Mbit/s to 1 Gbit/s; targets of "
        "100 ms to 2 s for 100 kB. On the kernel: every scheme beside the simulator's linux-6."
    )
    agreements = on_kernel.AGREEMENTS

    def experiments(self, ctx: StudyContext) -> dict[str, Experiment]:
        """A trial per scheme, RTT and queue with one flow per size; then targets, capacities."""
        if ctx.backend.name == "kernel":
            return on_kernel.experiments(quick=ctx.quick)
        trials = {}
        for scheme in SCHEMES:
            for rtt_ms in RTTS_MS:
                for buffer_pkts in BUFFERS_PKTS:
                    flows = [flow(scheme, s, SPACING_S * i) for i, s in enumerate(_sizes(ctx))]
                    trials[f"{scheme}-rtt{rtt_ms}-b{buffer_pkts}"] = lab.experiment(
                        lab.path(rtt_ms=rtt_ms, buffer_pkts=buffer_pkts),
                        flows,
                        duration_s=SPACING_S * len(flows),
                    )
        for scheme in CAPACITY_SCHEMES:
            for rate_bps in CAPACITIES_BPS:
                trials[f"capacity-{scheme}-{rate_bps / 1e6:g}"] = lab.experiment(
                    lab.path(rate_bps=rate_bps),
                    [capacity_flow(scheme, rate_bps)],
                    duration_s=SPACING_S,
                )
        for scheme in TARGET_SCHEMES:
            flows = [
                lab.requests(
                    [TARGET_SIZE_BYTES],
                    control=target_control(scheme, target_s),
                    start_s=SPACING_S * i,
                    receive_window=lab.RECEIVE_WINDOW,
                )
                for i, target_s in enumerate(TARGETS_S)
            ]
            trials[f"target-{scheme}"] = lab.experiment(
                lab.path(), flows, duration_s=SPACING_S * len(flows)
            )
        flows = [
            lab.requests([size], control=WINDOW_3, start_s=SPACING_S * i)
            for i, size in enumerate(_sizes(ctx))
        ]
        trials["window3"] = lab.experiment(lab.path(), flows, duration_s=SPACING_S * len(flows))
        for scheme in PIECES_SCHEMES:
            for piece in PIECES_BYTES:
                trials[f"pieces-{scheme}-{piece}"] = lab.experiment(
                    lab.path(), [pieces_flow(scheme, piece)], duration_s=3, sample_s=0.001
                )
        return trials | _mechanics()

    def analyse(self, ctx: StudyContext, traces: Mapping[str, Trace]) -> StudyResult:
        """Response times beside table 6.1, and the claims; of the kernel's trials the times."""
        if "mechanics-loss" not in traces:
            return publish(self, ctx, traces, on_kernel.findings(traces, quick=ctx.quick))
        sizes = np.array(_sizes(ctx))
        results = Results(
            sizes_bytes=sizes,
            times_s={
                (scheme, rtt_ms, buffer_pkts): _times_s(
                    traces[f"{scheme}-rtt{rtt_ms}-b{buffer_pkts}"], len(sizes)
                )
                for scheme in SCHEMES
                for rtt_ms in RTTS_MS
                for buffer_pkts in BUFFERS_PKTS
            },
            by_capacity_s={
                scheme: np.array(
                    [
                        _times_s(traces[f"capacity-{scheme}-{rate / 1e6:g}"], 1)[0]
                        for rate in CAPACITIES_BPS
                    ]
                )
                for scheme in CAPACITY_SCHEMES
            },
            by_target_s={
                scheme: _times_s(traces[f"target-{scheme}"], len(TARGETS_S))
                for scheme in TARGET_SCHEMES
            },
            window3_s=_times_s(traces["window3"], len(sizes)),
            by_piece_s={
                scheme: np.array(
                    [_delivered_s(traces[f"pieces-{scheme}-{piece}"]) for piece in PIECES_BYTES]
                )
                for scheme in PIECES_SCHEMES
            },
            bursts=_bursts(traces["mechanics-bursts"]),
            recovered=_recovered(traces["mechanics-loss"]),
        )
        findings = Findings(
            claims=all_claims(results),
            tables=[page.agreement_table(results), page.times_table(results)],
            figures=page.figures(results),
            data={"response_times": page.frame(results)},
            choices=page.CHOICES,
        )
        return publish(self, ctx, traces, findings)


def _sizes(ctx: StudyContext) -> tuple[float, ...]:
    return QUICK_SIZES_BYTES if ctx.quick else SIZES_BYTES


def _times_s(trace: Trace, count: int) -> Array:
    """The first response time of each flow; NaN where it did not complete."""
    times = [lab.response_times_s(trace, number) for number in range(count)]
    return np.array([own[0] if own.size else np.nan for own in times])


def _delivered_s(trace: Trace) -> float:
    """From the end of the handshake until 100 kB have been delivered, read every millisecond."""
    rows = trace["flow_counters"].filter(
        trace["flow_counters"]["delivered_bytes"] >= PIECES_BYTES[0]
    )
    return int(rows["time_ns"].to_numpy()[0]) / 1e9 - (trace.flows[0].handshake_rtt_us or 0) / 1e6


def _mechanics() -> dict[str, Experiment]:
    """Uploads, whose sender is recorded: the bursts of a Jump-Start, and one that loses packets."""
    upload = {
        "app": {"kind": "bulk", "size": "65160 B"},
        "control": f"{lab.CONTROL}+jump-start",
        "receive_buffer": lab.RECEIVE_BUFFER,
        "receive_window": lab.RECEIVE_WINDOW,
        "extra_ack": True,
        "start": "0 s",
    }
    lossy = {**upload, "control": f"{upload['control']}:pacing_chunk_pkts=64"}
    flows = {"bursts": upload, "loss": {**lossy, "app": {"kind": "bulk", "size": "2 MB"}}}
    queues = {"bursts": 1000, "loss": MECHANICS_PKTS}
    return {
        f"mechanics-{name}": Experiment.model_validate(
            {
                "topology": lab.path(buffer_pkts=queues[name]),
                "flows": [fields],
                "duration": "20 s",
                "stack": lab.STACK,
                "record": ["queue", "flows"],
            }
        )
        for name, fields in flows.items()
    }


def _bursts(trace: Trace) -> int:
    """How often an idle link got work: each timer's burst is sent before the next comes."""
    rows = trace["queue"].filter(trace["queue"]["link"] == 0).sort("time_ns", maintain_order=True)
    full = np.concatenate([[False], rows["queue_bytes"].to_numpy() >= lab.MSS_BYTES])
    return int(np.sum(~full[:-1] & full[1:]))


def _recovered(trace: Trace) -> tuple[int, int, int]:
    """(packets paced, packets sent again, cwnd once recovery ended) of the lossy Jump-Start."""
    states = (
        trace["flow_state"]
        .filter(trace["flow_state"]["flow"] == 0)
        .sort("time_ns", maintain_order=True)
    )
    state, cwnd = states["state"].to_numpy(), states["cwnd_pkts"].to_numpy()
    ends = np.flatnonzero((state[:-1] >= CWR) & (state[1:] < CWR)) + 1
    counters = trace["flow_counters"].filter(trace["flow_counters"]["flow"] == 0)
    if not ends.size:
        return 0, 0, 0
    # Until its first ACK, one round trip after the handshake's, cwnd is what is paced.
    first = states["time_ns"].to_numpy() < 2 * lab.RTT_MS * 1e6
    retransmitted = int(counters["retransmits_pkts"].to_numpy().max())
    return int(cwnd[first].max()), retransmitted, int(cwnd[ends[0]])


STUDY = TransferTimes()
