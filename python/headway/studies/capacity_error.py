"""Thesis, section 6.5.3: routers that are wrong about their link.

Claim: a router that thinks its link slower than it is grants less, no more; one that thinks it ten
times faster lets a flow overshoot, which costs a timeout and some seconds, and nothing if little is
asked for. RCP needs to know its link within a factor that eq. 6.15 gives.
Setup: a long transfer with Quick-Start on 10 Mbit/s and 200 ms, the router's capacity right, a
tenth or tenfold; transfers of 1 to 100 MB over 1 Gbit/s and 233 ms with a grant above it.
Plot: figures 6.60 and 6.62.
"""

from __future__ import annotations

import math
from collections.abc import Mapping
from typing import Any

import numpy as np
import polars as pl

from headway import models
from headway.claims import Evidence as Trials
from headway.claims import Seen, Statement, between
from headway.claims import judge as evaluate
from headway.experiment import Experiment
from headway.figures import Curve, curves, style_of
from headway.studies.common import lab
from headway.studies.common.legacy import TraceStudy
from headway.studies.common.legacy_page import Figures, Findings, publish
from headway.study import StudyContext, StudyResult
from headway.table import Table
from headway.trace import Trace
from headway.units import NS_PER_S

LARGE_KBPS, SMALL_KBPS = 81_920, 5_120
"""What is asked for: more than the link has, or less (section 6.5.3.2)."""
LENGTH_S = 30.0
TRANSFER_BYTES = 100_000_000
BUFFER_PKTS = 50
FULL = 0.95
"""Part of the link's rate at which it counts as full."""
RTT_S = lab.RTT_MS / 1e3

CASES: Mapping[str, tuple[float, int, float]] = {
    # name: (the router's capacity over the link's, what is asked for, theta)
    "right": (1.0, LARGE_KBPS, 1.0),
    "under": (0.1, LARGE_KBPS, 1.0),
    "over": (10.0, LARGE_KBPS, 1.0),
    "over-small": (10.0, SMALL_KBPS, 1.0),
    "half": (1.0, LARGE_KBPS, 0.5),
}
LABELS = {
    "slow-start": "Slow-Start",
    "right": "c = r",
    "under": "c = r/10",
    "over": "c = 10 r",
    "over-small": "c = 10 r, 5.12 Mbit/s asked",
    "half": "c = r, θ = 0.5",
    "shared": "100 Mbit/s link, θ c = 10 Mbit/s",
}

LONG_BPS, LONG_RTT_MS, LONG_BUFFER_PKTS = 10**9, 233, 2000
LONG_KBPS = 1_310_720
SIZES = (1_000_000, 3_000_000, 10_000_000, 30_000_000, 100_000_000)


def _trial(
    control: Any,
    size_bytes: int,
    length_s: float,
    seed: int,
    router: Mapping[str, int] | None,
    *,
    link_bps: int = lab.LINK_BPS,
    rtt_ms: float = lab.RTT_MS,
    buffer_pkts: int = BUFFER_PKTS,
) -> Experiment:
    """One transfer from the opener, which so can ask in its SYN."""
    path = lab.path(rate_bps=link_bps, rtt_ms=rtt_ms, buffer_pkts=buffer_pkts)
    fields = path.model_dump(mode="json")
    fields["quick_start"] = router and dict(router)
    fields["access_rate"] = f"{max(10 * link_bps, 10**9)} bit/s"
    flow = {
        "app": {"kind": "bulk", "size": f"{size_bytes} B"},
        "control": control,
        "start": "0 s",
        "receive_buffer": "268435456 B" if link_bps > 10**8 else lab.RECEIVE_BUFFER,
        "receive_window": "8388480 B",
        "delayed_ack": False,
        # Else the SYN-ACK's window of 64 KiB would bound the first round trip.
        "extra_ack": True,
    }
    return Experiment.model_validate(
        {
            "topology": fields,
            "flows": [flow],
            "duration": f"{length_s:g} s",
            "stack": lab.STACK,
            "seed": seed,
            "sample": f"{RTT_S:g} s",
            "record": ("drops",),
        }
    )


class CapacityError(TraceStudy):
    """The study; see the module."""

    name = "capacity-error"
    title = "Routers that are wrong about their link's capacity"
    source = "Scharf, Fast Startup Internet Congestion Control (2011), section 6.5.3"
    description = (
        "A long transfer with Quick-Start over 10 Mbit/s and 200 ms, whose router takes the link "
        "for right, ten times slower or ten times faster; transfers of 1 to 100 MB over 1 Gbit/s "
        "and 233 ms that are granted more than the link has; RCP's bound by its equation."
    )

    def experiments(self, ctx: StudyContext) -> dict[str, Experiment]:
        """One trial per case, and per size on the long path."""
        slow = f"{lab.CONTROL}+slow-start"
        trials = {"slow-start": _trial(slow, TRANSFER_BYTES, LENGTH_S, ctx.seed, None)}
        for name, (ratio, kbps, theta) in CASES.items():
            router = {
                "capacity_kbps": round(ratio * lab.LINK_BPS / 1000),
                "threshold_permille": round(1000 * theta),
                "interval_ms": 200,
            }
            trials[name] = _trial(lab.asking(kbps), TRANSFER_BYTES, LENGTH_S, ctx.seed, router)
        trials["shared"] = _trial(
            lab.asking(LARGE_KBPS),
            10 * TRANSFER_BYTES,
            LENGTH_S,
            ctx.seed,
            {"capacity_kbps": 10_000, "interval_ms": 200},
            link_bps=100_000_000,
        )
        for size in SIZES:
            router = {"capacity_kbps": 2 * LONG_BPS // 1000, "interval_ms": 200}
            for name, control, known in (
                ("slow-start", slow, None),
                ("quick-start", lab.asking(LONG_KBPS), router),
            ):
                trials[long_key(name, size)] = _trial(
                    control,
                    size,
                    60.0,
                    ctx.seed,
                    known,
                    link_bps=LONG_BPS,
                    rtt_ms=LONG_RTT_MS,
                    buffer_pkts=LONG_BUFFER_PKTS,
                )
        return trials

    def analyse(self, ctx: StudyContext, traces: Mapping[str, Trace]) -> StudyResult:
        """Rates over time, transfer times over size, and the claims."""
        findings = Findings(
            claims=evaluate(STATEMENTS, Trials(traces)),
            choices=[
                "The transfer asks in its SYN for 81.92 Mbit/s, so that the router's capacity and "
                "not the request decides.",
                "The long path's buffer is not known: 2000 packets. Its grant is 1.31 Gbit/s, the "
                "next code above its rate.",
            ],
        )
        findings.tables = [_table(traces), _long_table(traces)]
        findings.figures = _figures(traces)
        findings.data = {"long_path": _long_rows(traces)}
        return publish(self, ctx, traces, findings)


def long_key(name: str, size_bytes: int) -> str:
    """A trial's name on the long path: "long-quick-start-3MB"."""
    return f"long-{name}-{size_bytes // 1_000_000}MB"


def granted_bps(trace: Trace) -> float:
    """What the first request got; 0 if denied, NaN without one."""
    rows = trace["approvals"].sort("time_ns")
    if not rows.height:
        return math.nan
    code = int(rows["granted_code"][0])
    return 40_000.0 * 2**code if code else 0.0


def full_after_s(trace: Trace) -> float:
    """When the link became full and stayed so for a second, seconds; NaN if it did not."""
    times, rates = lab.link_rate(trace, 0)
    full = rates >= FULL * trace.experiment.topology.links()[0][0].rate
    held = round(1 / RTT_S)
    for index in range(full.size - held + 1):
        if full[index : index + held].all():
            return float(times[index])
    return math.nan


def delivered_after_s(trace: Trace, size_bytes: int) -> float:
    """When so many bytes had been acknowledged, read every 200 ms, interpolated; seconds."""
    rows = trace["flow_counters"].filter(pl.col("flow") == 0).sort("time_ns")
    times = np.concatenate([[0.0], rows["time_ns"].to_numpy() / NS_PER_S])
    sums = np.concatenate([[0.0], rows["acked_bytes"].to_numpy().astype(np.float64)])
    if sums[-1] < size_bytes:
        return math.nan
    index = int(np.searchsorted(sums, size_bytes))
    part = (size_bytes - sums[index - 1]) / (sums[index] - sums[index - 1])
    return float(times[index - 1] + part * (times[index] - times[index - 1]))


def early_drops(trace: Trace, rounds: int = 5) -> int:
    """Packets dropped in the first round trips."""
    limit_ns = rounds * lab.RTT_MS * 1_000_000
    return trace["drops"].filter(pl.col("time_ns") < limit_ns).height


def timeouts(trace: Trace) -> int:
    """Retransmission timeouts of the transfer."""
    return int(trace["flow_counters"]["rtos"].max() or 0)  # type: ignore[arg-type]


def duration_s(trace: Trace) -> float:
    """From the first packet to the last acknowledgement, seconds; NaN if it did not end."""
    flow = trace.experiment.flows[0]
    size = getattr(flow.app, "size", None)
    return delivered_after_s(trace, size) if size else math.nan


def _table(traces: Mapping[str, Trace]) -> Table:
    return Table(
        "A long transfer",
        ["router", "granted (Mbit/s)", "full after (s)", "1 MB after (s)", "drops", "timeouts"],
        [
            [
                label,
                None if name == "slow-start" else round(granted_bps(traces[name]) / 1e6, 2),
                round(full_after_s(traces[name]), 2),
                round(delivered_after_s(traces[name], 1_000_000), 2),
                traces[name]["drops"].height,
                timeouts(traces[name]),
            ]
            for name, label in LABELS.items()
        ],
    )


def _long_rows(traces: Mapping[str, Trace]) -> pl.DataFrame:
    return pl.DataFrame(
        [
            {
                "size_bytes": size,
                **{
                    f"{name.replace('-', '_')}_s": duration_s(traces[long_key(name, size)])
                    for name in ("slow-start", "quick-start")
                },
            }
            for size in SIZES
        ]
    )


def _long_table(traces: Mapping[str, Trace]) -> Table:
    return Table(
        "Transfers over 1 Gbit/s and 233 ms, granted 1.31 Gbit/s",
        ["size (MB)", "Slow-Start (s)", "Quick-Start (s)", "drops"],
        [
            [
                row["size_bytes"] // 1_000_000,
                round(row["slow_start_s"], 2),
                round(row["quick_start_s"], 2),
                traces[long_key("quick-start", row["size_bytes"])]["drops"].height,
            ]
            for row in _long_rows(traces).to_dicts()
        ],
    )


def _figures(traces: Mapping[str, Trace]) -> Figures:
    drawn = []
    for name in ("slow-start", "right", "under", "over"):
        times, rates = lab.link_rate(traces[name], 0)
        drawn.append(Curve(LABELS[name], times, rates / 1e6, style_of(name)))
    rows = _long_rows(traces)
    long = [
        Curve(
            label,
            rows["size_bytes"].to_numpy() / 1e6,
            rows[f"{name.replace('-', '_')}_s"].to_numpy(),
            style_of(name),
            markers=True,
        )
        for name, label in (("slow-start", "Slow-Start"), ("quick-start", "Quick-Start, too much"))
    ]
    return {
        "figure-6-60": (
            "Figure 6.60",
            "Rate of a long transfer by what the router takes for its capacity.",
            curves([("", drawn)], x_label="time (s)", y_label="rate (Mbit/s)"),
        ),
        "figure-6-62": (
            "Figure 6.62",
            "Transfer time over a long path, with a grant above its rate.",
            curves(
                [("", long)],
                x_label="size (MB)",
                y_label="transfer time (s)",
                x_scale="log",
            ),
        ),
    }


Found = Trials[Trace]


def _under(found: Found) -> Seen:
    granted, full = granted_bps(found["under"]) / 1e6, full_after_s(found["under"])
    slow = full_after_s(found["slow-start"])
    return Seen(
        f"granted {granted:.2f} Mbit/s; full after {full:.1f} s, Slow-Start {slow:.1f} s",
        0 <= granted <= 0.64 and timeouts(found["under"]) <= timeouts(found["slow-start"]),
        "≤ 0.64 Mbit/s, no timeout more",
    )


def _over(found: Found) -> Seen:
    full = full_after_s(found["over"])
    return between(
        full,
        2.0,
        6.0,
        unit="s",
        note=f"{early_drops(found['over'])} packets lost in five round trips, "
        f"{timeouts(found['over'])} timeouts.",
    )


def _too_much(found: Found) -> Seen:
    ratios = {
        size: duration_s(found[long_key("quick-start", size)])
        / duration_s(found[long_key("slow-start", size)])
        for size in SIZES
    }
    words = ", ".join(f"{ratio:.2f} at {size // 1_000_000}" for size, ratio in ratios.items())
    longer = sum(ratio > 1 for ratio in ratios.values())
    return Seen(
        f"times Slow-Start's: {words} MB",
        longer > len(SIZES) / 2 and max(ratios.values()) <= 1.3,
        "longer at most sizes, within 30 %",
        note="Simulated; the thesis measured a real path.",
    )


def _half(found: Found) -> Seen:
    half, slow = (delivered_after_s(found[name], 1_000_000) for name in ("half", "slow-start"))
    return Seen(
        f"1 MB after {half:.2f} s, Slow-Start {slow:.2f} s",
        half < slow and timeouts(found["half"]) <= timeouts(found["slow-start"]),
    )


def _harmless(found: Found) -> Seen:
    drops = early_drops(found["over-small"], 3)
    return Seen(f"{drops} packets lost in three round trips", drops == 0, "none")


def _shared(found: Found) -> Seen:
    drops, granted = early_drops(found["shared"], 3), granted_bps(found["shared"]) / 1e6
    return Seen(
        f"granted {granted:.2f} Mbit/s, {drops} packets lost in three round trips",
        granted > 0 and drops == 0,
        "no loss by overshoot",
    )


def _queue(_: Found) -> Seen:
    alpha, beta, ratio = 0.4, 0.226, 1.2
    queue_bits = models.rcp.standing_queue_bits(
        assumed_bps=ratio * lab.LINK_BPS,
        rate_bps=lab.LINK_BPS,
        rtt_s=RTT_S,
        alpha=alpha,
        beta=beta,
    )
    # Eq. 6.13, which 6.14 solves, with the round-trip time that this queue makes.
    rtt_s = RTT_S + queue_bits / lab.LINK_BPS
    left = alpha * (ratio - 1) * lab.LINK_BPS - beta * queue_bits / rtt_s
    return Seen(
        f"feedback {left / lab.LINK_BPS:.1e} of the rate at b = {queue_bits / 1e6:.2f} Mbit",
        abs(left) < 1e-9 * lab.LINK_BPS,
        "0 within 1e-9",
        note="By the equations, for c = 1.2 r; RCP is not simulated yet.",
    )


def _bound(alpha: float, beta: float) -> float:
    return models.rcp.largest_capacity_ratio(alpha=alpha, beta=beta)


STATEMENTS: tuple[Statement[Found], ...] = (
    Statement("C-TH-205", "capacity taken for a tenth", "smaller grant, slower start only", _under),
    Statement("C-TH-206", "capacity taken for tenfold: full after", "several seconds", _over),
    Statement("C-TH-208", "RCP's standing queue, eq. 6.14", "b", _queue),
    Statement(
        "C-TH-209",
        "RCP's bound with 0.4 and 0.226, eq. 6.15",
        "c/r < 1.565",
        lambda _: between(_bound(0.4, 0.226), 1.5645, 1.5655),
    ),
    Statement(
        "C-TH-210",
        "error that 0.1 and 0.1 tolerate",
        "about factor three",
        lambda _: between(
            _bound(0.1, 0.1), 2.7, 3.3, note="Eq. 6.15 gives two; see the errata of the thesis."
        ),
    ),
    Statement(
        "C-TH-211",
        "needed accuracy with 0.4 and 0.226",
        "50 %",
        lambda _: between(100 * (_bound(0.4, 0.226) - 1), 45, 60, unit="%"),
    ),
    Statement(
        "C-TH-213", "grants above a real path's rate", "longer, rather small difference", _too_much
    ),
    Statement("C-TH-282", "threshold below 1", "still a certain speedup", _half),
    Statement("C-TH-283", "too large a capacity, but small requests", "no harm", _harmless),
    Statement("C-TH-284", "shared Ethernet with theta c = 10 Mbit/s", "works well", _shared),
)

STUDY = CapacityError()
