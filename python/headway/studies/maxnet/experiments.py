"""Setup: 10 Mbit/s, 28 ms and 56 ms, one, four and two flows, and random loss."""

from __future__ import annotations

import random

from headway.experiment import Capture, Dumbbell, Experiment, Flow, Record
from headway.study import StudyContext

RATE_BPS = 10e6
RTT_MS = 28
FAR_DELAY_MS = 14
"""What host A's path has more than host C's, one way."""
BUFFERS_BYTES = {"small": 30_000, "large": 400_000}
"""As printed; and one that no flow of these hosts fills, which the printed RTTs ask for."""
SEND_BUFFERS = {"small": None, "large": "131072 B"}
"""Of the hosts: no limit; and the most that tcp_wmem gave until Linux 2.6.17, about 70 packets."""
FAST_ALPHA_PKTS = 38
"""Fitted to the RTT of four flows (fit.py): the paper does not print it."""
STACK = "linux-2.6"
CONTROLS = ("maxnet", "fast", "bic")
LAYOUTS = {"one": 1, "four": 4, "two": 2}
"""Figures 5 and 6, the first and the second half of section IV.B."""
LENGTH_S, QUICK_LENGTH_S = 60.0, 30.0
APART_S = 0.01
"""Between the starts of flows that start together."""
SAMPLE_S = 1.0
LOSSES = (0, 1, 2, 3, 4, 5)
"""Table I, %."""
LOSS_LENGTH_S = 10.0
RUNS, QUICK_RUNS = 30, 6
QUEUE = "queue-mu1024"
"""The trial whose price is held against the queue."""
WIRE = "wire"
"""The trial whose packets are looked at."""
WIRE_LENGTH_S, WIRE_LOSS = 4.0, 0.05
MU = 983
"""0.96 in 1/1024, as the paper keeps it."""
HIGHER_MU = (1003, 1014, 1024)
"""0.98, 0.99 and 1."""
FRAMED_BPS = RATE_BPS * 1500 / 1514
"""IP rate of a token bucket of 10 Mbit/s that counts Ethernet's headers, as Linux's does."""
FINE_S = 0.02
"""Between readings of the price that is held against the queue."""


def experiments(ctx: StudyContext) -> dict[str, Experiment]:
    """Figures 5 to 8 with either buffer, table I, and higher values of mu."""
    trials = {}
    for layout in LAYOUTS:
        for control in CONTROLS:
            for buffer in BUFFERS_BYTES:
                trials[key(layout, control, buffer)] = _figure(ctx, layout, control, buffer)
        for mu in (MU, *HIGHER_MU):
            trials[told(layout, mu)] = _figure(ctx, layout, "maxnet", "small", mu, FRAMED_BPS)
    trials[QUEUE] = _figure(ctx, "one", "maxnet", "large", 1024)
    for loss in LOSSES:
        for control in CONTROLS:
            for run in runs(ctx):
                trials[lossy(control, loss, run)] = _lossy(ctx, control, loss, run)
    trials[WIRE] = _captured(ctx)
    return trials


def key(layout: str, control: str, buffer: str = "small") -> str:
    """The trial of a figure: "four-bic-large"."""
    return f"{layout}-{control}-{buffer}"


def told(layout: str, mu: int) -> str:
    """A trial whose router is told more than its link carries: "told-four-mu1014"."""
    return f"told-{layout}-mu{mu}"


def lossy(control: str, loss: int, run: int) -> str:
    """A trial of table I: "loss3-fast-r2"."""
    return f"loss{loss}-{control}-r{run}"


def runs(ctx: StudyContext) -> range:
    """Numbers of the runs of table I."""
    return range(1, (QUICK_RUNS if ctx.quick else RUNS) + 1)


def path(
    control: str,
    buffer: str = "small",
    *,
    loss: float = 0.0,
    mu: int = MU,
    rate_bps: float = RATE_BPS,
) -> Dumbbell:
    """Both directions alike, with loss on every interface of the router and MaxNet's price."""
    tunables = {"mu": mu, "capacity_kbps": round(RATE_BPS / 1e3)}
    routers = [{"name": "maxnet", "tunables": tunables}] if control == "maxnet" else []
    link = {
        "rate": f"{rate_bps:.0f} bit/s",
        "buffer": f"{BUFFERS_BYTES[buffer]} B",
        "loss": loss,
        "routers": routers,
    }
    back = {**link, "delay": f"{RTT_MS / 2:g} ms"}
    return Dumbbell.model_validate({**link, "rtt": f"{RTT_MS} ms", "reverse": back})


def flows(
    layout: str,
    control: str,
    seed: int,
    buffer: str = "small",
    alpha_pkts: int = FAST_ALPHA_PKTS,
) -> list[Flow]:
    """One flow, four, or one of 56 ms and one of 28 ms, started one after the other."""
    chance = random.Random(f"{seed}/maxnet/{layout}")
    starts = [APART_S * (at + chance.random()) for at in range(LAYOUTS[layout])]
    far = [layout == "two" and at == 0 for at in range(LAYOUTS[layout])]
    return [
        Flow.model_validate(
            {
                "control": _control(control, alpha_pkts),
                "name": f"flow {at + 1}",
                "start": f"{0 if layout == 'one' else start:.6f} s",
                "delay": f"{FAR_DELAY_MS if distant else 0} ms",
                "send_buffer": SEND_BUFFERS[buffer],
            }
        )
        for at, (start, distant) in enumerate(zip(starts, far, strict=True))
    ]


def _control(name: str, alpha_pkts: int) -> dict[str, object]:
    return {"name": name, "tunables": {"alpha": alpha_pkts} if name == "fast" else {}}


def four_of_fast(ctx: StudyContext, alpha_pkts: int) -> Experiment:
    """Four flows of FAST with the larger buffer, to which alpha is fitted."""
    return _figure(ctx, "four", "fast", "large", alpha_pkts=alpha_pkts)


def _figure(
    ctx: StudyContext,
    layout: str,
    control: str,
    buffer: str,
    mu: int = MU,
    rate_bps: float = RATE_BPS,
    alpha_pkts: int = FAST_ALPHA_PKTS,
) -> Experiment:
    return _experiment(
        path(control, buffer, mu=mu, rate_bps=rate_bps),
        # a window that the send buffer limits leaves in bursts, in which no price is a queue
        flows(layout, control, ctx.seed, buffer if mu == MU else "small", alpha_pkts),
        length_s=QUICK_LENGTH_S if ctx.quick else LENGTH_S,
        seed=ctx.seed,
        record=("flows", "queue", "drops"),
        sample_s=FINE_S if mu != MU and buffer == "large" else SAMPLE_S,
    )


def _lossy(ctx: StudyContext, control: str, loss: int, run: int) -> Experiment:
    return _experiment(
        path(control, loss=loss / 100),
        flows("one", control, ctx.seed),
        length_s=LOSS_LENGTH_S,
        seed=ctx.seed * 1000 + run,
        record=("flows",) if control == "maxnet" else (),
    )


def _captured(ctx: StudyContext) -> Experiment:
    return _experiment(
        path("maxnet", loss=WIRE_LOSS),
        flows("one", "maxnet", ctx.seed),
        length_s=WIRE_LENGTH_S,
        seed=ctx.seed,
        record=(),
        capture=Capture.model_validate({"snaplen": "100 B"}),
    )


def _experiment(
    topology: Dumbbell,
    of: list[Flow],
    *,
    length_s: float,
    seed: int,
    record: tuple[Record, ...],
    capture: Capture | None = None,
    sample_s: float = SAMPLE_S,
) -> Experiment:
    return Experiment.model_validate(
        {
            "topology": topology,
            "flows": of,
            "duration": f"{length_s:g} s",
            "stack": STACK,
            "seed": seed,
            "sample": f"{sample_s:g} s",
            "record": record,
            "capture": capture,
        }
    )
