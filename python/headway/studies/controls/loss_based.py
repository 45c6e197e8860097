"""Scalable, HighSpeed, BIC, Hybla, Westwood+, and Reno as the method's reference."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from headway import models
from headway.claims import Change, Why, edited
from headway.experiment import Experiment, Flow
from headway.models._checks import Floats
from headway.studies.controls.paths import bdp_pkts, experiment, periodic
from headway.studies.controls.rows import Found, Row, slope, window_row
from headway.study import StudyContext

RTT_MS = 100.0
RENO_LOSS = 1e-3
SCALABLE_LOSSES = {"p3e-4": 3e-4, "p3e-5": 3e-5}
HIGHSPEED_LOSSES = {"p1e-4": 1e-4, "p1e-5": 1e-5}
HIGHSPEED_PKTS = {"p1e-4": 263.0, "p1e-5": 1795.0}
"""RFC 3649, section 5: the average window at a loss ratio."""
BIC_LOSSES = {"p1e-4": 1e-4, "p3e-5": 3e-5}
RTT0_MS = 25.0
HYBLA: dict[str, tuple[float, str, tuple[float, ...]]] = {
    "p1e-4": (1e-4, "hybla", (200.0,)),
    "p3e-5": (3e-5, "hybla:growth_bits=16", (50.0, 200.0, 400.0)),
}
"""Loss ratio, control and round trips in ms; Reno has RTT0 and as much loss."""

WESTWOOD_RTT_MS = 100.0
WESTWOOD_BPS = {"10": 10e6, "20": 20e6}
WESTWOOD_BUFFERS = {"10": 1.0, "20": 0.5}
"""Queues in bandwidth-delay products, by rate in Mbit/s."""
SMALL_BUFFER = 0.2
WESTWOOD_S, QUICK_WESTWOOD_S = 600.0, 120.0


def scalable_growth(windows_pkts: Floats, _last_max: float) -> Floats:
    """Scalable's per round trip: 0.01 of the window, or Reno's."""
    return np.maximum(0.01 * windows_pkts, 1.0)


def scalable_pkts(loss: float) -> float:
    """Scalable's mean window by the law with a round trip of recovery."""
    return models.cycle(loss, scalable_growth, kept=7 / 8, pause_rounds=1).mean_pkts


def scalable_26_pkts(loss: float) -> float:
    """Scalable's mean window as Linux 2.6.24 computes it with delayed ACKs."""

    def growth(windows_pkts: Floats, _last_max: float) -> Floats:
        return windows_pkts / 2 / 51

    return models.cycle(loss, growth, kept=7 / 8, pause_rounds=2).mean_pkts


def bic_pkts(loss: float) -> float:
    """BIC's mean window by its constants with a round trip of recovery."""
    return models.cycle(loss, models.bic_growth, kept=819 / 1024, pause_rounds=1).mean_pkts


def reno_pkts(loss: float, segments_per_ack: float = 1.0) -> float:
    """Reno's mean window by the square-root model, at a round trip of 1 s and segments of 1 bit."""
    return float(
        models.reno_sqrt_bps(loss, mss_bytes=1 / 8, rtt_s=1.0, segments_per_ack=segments_per_ack)
    )


def experiments(ctx: StudyContext) -> dict[str, Experiment]:
    """Every trial by key."""
    of: dict[str, Any] = {"rtt_ms": RTT_MS}
    old: dict[str, Any] = {**of, "stack": "linux-2.6", "delayed_ack": True}
    window, window_26 = reno_pkts(RENO_LOSS), reno_pkts(RENO_LOSS, 2)
    made = {
        "reno-p1e-3": periodic(ctx, "reno", RENO_LOSS, window_pkts=window, kept=0.5, **of),
        "reno26-p1e-3": periodic(ctx, "reno", RENO_LOSS, window_pkts=window_26, kept=0.5, **old),
    }
    for name, loss in SCALABLE_LOSSES.items():
        window = scalable_pkts(loss)
        made[f"scalable-{name}"] = periodic(
            ctx, "scalable", loss, window_pkts=window, kept=7 / 8, **of
        )
        made[f"scalable26-{name}"] = periodic(
            ctx, "scalable", loss, window_pkts=window, kept=7 / 8, **old
        )
    for name, loss in HIGHSPEED_LOSSES.items():
        made[f"highspeed-{name}"] = periodic(
            ctx, "highspeed", loss, window_pkts=HIGHSPEED_PKTS[name], kept=0.67, **of
        )
    for name, loss in BIC_LOSSES.items():
        window = bic_pkts(loss)
        made[f"bic-{name}"] = periodic(ctx, "bic", loss, window_pkts=window, kept=0.8, **old)
    return made | _hybla(ctx) | _westwood(ctx)


def _hybla(ctx: StudyContext) -> dict[str, Experiment]:
    made = {}
    for name, (loss, control, rtts_ms) in HYBLA.items():
        window = reno_pkts(loss)
        made[f"reno-25ms-{name}"] = periodic(
            ctx, "reno", loss, rtt_ms=RTT0_MS, window_pkts=window, kept=0.5
        )
        for rtt_ms in rtts_ms:
            made[f"hybla-{rtt_ms:g}ms-{name}"] = periodic(
                ctx,
                control,
                loss,
                rtt_ms=rtt_ms,
                window_pkts=window * rtt_ms / RTT0_MS,
                kept=0.5,
            )
    return made


def _westwood(ctx: StudyContext) -> dict[str, Experiment]:
    length_s = QUICK_WESTWOOD_S if ctx.quick else WESTWOOD_S
    made = {}
    for key, rate, buffer, stack in (
        *((f"westwood-{mbps}", mbps, WESTWOOD_BUFFERS[mbps], "linux-6") for mbps in WESTWOOD_BPS),
        ("westwood-small-buffer", "20", SMALL_BUFFER, "linux-6"),
        ("westwood26-small-buffer", "20", SMALL_BUFFER, "linux-2.6"),
    ):
        topology = {
            "rate": f"{rate} Mbit/s",
            "rtt": f"{WESTWOOD_RTT_MS:g} ms",
            "buffer": f"{buffer:g} BDP",
        }
        flow = Flow.model_validate({"control": "westwood", "start": "0 s"})
        made[key] = experiment(
            ctx,
            topology,
            [flow],
            warmup_s=30,
            length_s=length_s,
            stack=stack,
            record=("flows",),
        )
    return made


def _hybla_ratio(rtt_ms: float, name: str) -> Callable[[Found], float]:
    def of(found: Found) -> float:
        hybla, reno = found[f"hybla-{rtt_ms:g}ms-{name}"], found[f"reno-25ms-{name}"]
        return (hybla.window_pkts / rtt_ms) / (reno.window_pkts / RTT0_MS)

    return of


def _ssthresh_of(key: str) -> Callable[[Found], float]:
    return lambda found: found[key].ssthresh_pkts


_RECOVERY = "The formula leaves out recovery, a round trip without growth after each loss, {part}."

ROWS: tuple[Row, ...] = (
    window_row(
        "reno",
        1,
        "reno-p1e-3",
        "mean window at p = 1e-3, packets counted",
        "Mathis et al. 1997",
        reno_pkts(RENO_LOSS),
        within=0.10,
        why=_RECOVERY.format(part="one of 26"),
    ),
    window_row(
        "reno",
        2,
        "reno26-p1e-3",
        "mean window at p = 1e-3, ACKs counted, every second packet has one",
        "Mathis et al. 1997",
        reno_pkts(RENO_LOSS, 2),
        within=0.10,
        why=_RECOVERY.format(part="one of 37"),
    ),
    window_row(
        "scalable",
        11,
        "scalable-p3e-4",
        "mean window at p = 3e-4",
        "Kelly 2003: 0.08/p",
        0.08 / 3e-4,
        within=0.15,
        why=_RECOVERY.format(part="one of 14")
        + " Also, 0.08/p is the window at the loss. The mean over ln(8/7)/0.01 round trips is "
        "0.075/p.",
    ),
    window_row(
        "scalable",
        12,
        "scalable-p3e-4",
        "the same",
        "analytic: 1 % per round trip, 7/8 kept, one round trip of recovery",
        scalable_pkts(3e-4),
        within=0.05,
    ),
    window_row(
        "scalable",
        13,
        "scalable26-p3e-4",
        "mean window at p = 3e-4 as Linux 2.6.24 counts, 50 ACKs",
        "analytic: 1/51 packet per ACK of two, two round trips without growth",
        scalable_26_pkts(3e-4),
        within=0.05,
        why="Linux 2.6 spends an ACK on each increment. Its rate halving ends below ssthresh, so "
        "slow start takes a second round trip.",
    ),
    Row(
        "CC-014",
        "scalable",
        "slope of log window by log p, 3e-5 to 3e-4",
        "Kelly 2003",
        -1.0,
        "",
        0.02,
        slope("scalable-p3e-5", "scalable-p3e-4"),
        (("scalable-p3e-5", "window_pkts"),),
    ),
    *(
        window_row(
            "highspeed",
            number,
            f"highspeed-{name}",
            f"mean window at p = {name[1:]}",
            "RFC 3649, section 5",
            HIGHSPEED_PKTS[name],
            within=0.15,
            why="The RFC's table has growth in whole packets, and Linux takes the next larger "
            "entry.",
        )
        for number, name in ((21, "p1e-4"), (22, "p1e-5"))
    ),
    Row(
        "CC-023",
        "highspeed",
        "slope of log window by log p, 1e-5 to 1e-4",
        "RFC 3649, section 5: 0.12/p^0.835",
        -0.835,
        "",
        0.05,
        slope("highspeed-p1e-5", "highspeed-p1e-4"),
        (("highspeed-p1e-5", "window_pkts"),),
    ),
    *(
        window_row(
            "bic",
            number,
            f"bic-{name}",
            f"mean window at p = {name[1:]}, ACKs counted",
            "analytic: BIC's constants, one round trip of recovery",
            bic_pkts(loss),
            within=0.10,
        )
        for number, (name, loss) in zip((31, 32), BIC_LOSSES.items(), strict=True)
    ),
    Row(
        "CC-041",
        "hybla",
        "goodput at 200 ms over Reno's at 25 ms, p = 1e-4, growth in 1/128 packets",
        "Caini, Firrincieli 2004",
        1.0,
        "",
        0.10,
        _hybla_ratio(200.0, "p1e-4"),
        (("hybla-200ms-p1e-4", "window_pkts"),),
        why="A round trip of recovery is longer at 200 ms, and one of 11 there.",
    ),
    *(
        Row(
            f"CC-{number:03}",
            "hybla",
            f"goodput at {rtt_ms:g} ms over Reno's at 25 ms, p = 3e-5, growth_bits=16",
            "Caini, Firrincieli 2004",
            1.0,
            "",
            0.10,
            _hybla_ratio(rtt_ms, "p3e-5"),
            ((f"hybla-{rtt_ms:g}ms-p3e-5", "window_pkts"),),
        )
        for number, rtt_ms in zip((42, 43, 44), HYBLA["p3e-5"][2], strict=True)
    ),
    *(
        Row(
            f"CC-{number:03}",
            "westwood",
            f"ssthresh on {mbps} Mbit/s, 100 ms, a queue of {WESTWOOD_BUFFERS[mbps]:g} BDP",
            "Grieco, Mascolo 2004: bandwidth times RTTmin",
            bdp_pkts(WESTWOOD_BPS[mbps], WESTWOOD_RTT_MS),
            "packets",
            0.05,
            _ssthresh_of(f"westwood-{mbps}"),
            ((f"westwood-{mbps}", "ssthresh_pkts"),),
        )
        for number, mbps in ((51, "10"), (52, "20"))
    ),
    Row(
        "CC-053",
        "westwood",
        "utilization of 20 Mbit/s, 100 ms, by one flow with a queue of 0.2 BDP",
        "analytic: a window of bandwidth times RTTmin leaves no idle link",
        1.0,
        "",
        0.05,
        lambda found: found["westwood-small-buffer"].utilization,
        (("westwood-small-buffer", "utilization"),),
        spoiled=0.8,
        mended=1.45,
        cause=Why(
            "refuted",
            "Linux 6.x halves cwnd during Recovery and sets it to bandwidth times RTTmin at the "
            "end, in one step. The difference leaves as one burst, which overflows a queue that "
            "has no room for half a window. This repeats with the next losses until the burst "
            "fits.",
            (
                Change(
                    "hosts of linux-2.6, whose Recovery stops at bandwidth times RTTmin",
                    edited({"stack": "linux-2.6"}),
                    "westwood-small-buffer",
                ),
                Change(
                    "a queue of 0.5 BDP",
                    edited({"topology.buffer": "0.5 BDP"}),
                    "westwood-small-buffer",
                ),
            ),
        ),
    ),
    Row(
        "CC-054",
        "westwood",
        "the same with hosts of linux-2.6, whose rate halving stops at that window",
        "analytic: the same",
        1.0,
        "",
        0.05,
        lambda found: found["westwood26-small-buffer"].utilization,
        (("westwood26-small-buffer", "utilization"),),
        spoiled=0.8,
    ),
)
