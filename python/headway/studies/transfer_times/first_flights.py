"""Setup: uploads whose sender is recorded, to observe a startup's first round trip."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from headway.experiment import Experiment, Flow
from headway.studies.common import lab
from headway.studies.transfer_times.schemes import BASE
from headway.study import StudyContext

JUMP = f"{lab.CONTROL}+jump-start"
MEGA = f"{lab.CONTROL}+mega-start"
FLIGHT_BPS = 100e6
"""Ten times the pacing rate, so that bursts arrive separately and are not queued together."""


@dataclass(frozen=True)
class Flight:
    """An upload that is observed for one round trip."""

    control: str
    size_bytes: float
    rtt_ms: float


JUMPS = {
    # s, K_data and K_rate decide in turn
    "jump-20kB-rtt200": Flight(JUMP, 20e3, 200),
    "jump-50kB-rtt200": Flight(JUMP, 50e3, 200),
    "jump-1MB-rtt200": Flight(JUMP, 1e6, 200),
    "jump-1MB-rtt50": Flight(JUMP, 1e6, 50),
    "jump-20kB-rtt10": Flight(JUMP, 20e3, 10),
}
"""First flights of eq. 4.12."""
TIMED = {
    **JUMPS,
    # one timer, and as many as there are ticks
    "jump-4kB-rtt200": Flight(JUMP, 3.0 * lab.MSS_BYTES, 200),
    "jump-65kB-rtt10": Flight(f"{JUMP}:js_max_rate_kbps=0", 45.0 * lab.MSS_BYTES, 10),
}
"""First flights of eq. 5.1."""
SPACED_MBPS = (10, 12, 15, 24, 96)
SPACED = {
    f"mega-{mbps}Mbps-rtt50": Flight(
        f"{MEGA}:ms_rate_kbps={1000 * mbps}:pacing_chunk_pkts=1", 2e6, 50
    )
    for mbps in SPACED_MBPS
}
"""First flights whose packets should leave one by one."""
FLIGHTS = {**TIMED, **SPACED}

LOSSY_PKTS = (10, 20, 30, 40)
"""Queues that a Jump-Start of 45 packets overflows if all packets leave at once."""
LOSSY_SIZE_BYTES = 2e6

PIECES_BYTES = (100_000, 10_000, 4_000)
"""Sizes of an application's writes. The first is all of the data that is timed."""
PIECES_SCHEMES = (BASE, "jump-start")
PIECES_BPS = 320e6
"""The application's rate, for all sizes of its writes."""
PIECES_LENGTH_S = 6.0
"""Long enough for the echo of the first write to return through the full queue."""


def flight_key(name: str) -> str:
    """Key of a first flight's trial: "flight-jump-20kB-rtt200"."""
    return f"flight-{name}"


def recovery_key(buffer_pkts: int) -> str:
    """Key of a trial in which a flight loses packets: "recovery-b20"."""
    return f"recovery-b{buffer_pkts}"


def pieces_key(scheme: str, piece_bytes: int) -> str:
    """Key of an upload that is written in pieces: "pieces-jump-start-4000"."""
    return f"pieces-{scheme}-{piece_bytes}"


def flights(ctx: StudyContext) -> dict[str, Experiment]:
    """First flights over a link that is never full."""
    return {
        flight_key(name): lab.experiment(
            lab.path(rate_bps=FLIGHT_BPS, rtt_ms=one.rtt_ms),
            [_upload({"kind": "bulk", "size": f"{one.size_bytes:.0f} B"}, one.control)],
            duration_s=2,
            seed=ctx.seed,
            record=("queue",),
        )
        for name, one in FLIGHTS.items()
    }


def recoveries(ctx: StudyContext) -> dict[str, Experiment]:
    """Jump-Starts whose packets leave at once, into queues that overflow."""
    return {
        recovery_key(buffer_pkts): lab.experiment(
            lab.path(buffer_pkts=buffer_pkts),
            [
                _upload(
                    {"kind": "bulk", "size": f"{LOSSY_SIZE_BYTES:.0f} B"},
                    f"{JUMP}:pacing_chunk_pkts=64",
                )
            ],
            duration_s=20,
            seed=ctx.seed,
            record=("flows", "drops"),
        )
        for buffer_pkts in LOSSY_PKTS
    }


def pieces(ctx: StudyContext) -> dict[str, Experiment]:
    """The same application and data with writes of several sizes; all data is echoed."""
    return {
        pieces_key(scheme, piece): lab.experiment(
            lab.path(),
            [
                _upload(
                    {
                        "kind": "pingpong",
                        "request": f"{piece} B",
                        "mean_interval": f"{8e6 * piece / PIECES_BPS:g} us",
                    },
                    f"{lab.CONTROL}+{scheme}",
                )
            ],
            duration_s=PIECES_LENGTH_S,
            seed=ctx.seed,
            sample_s=0.001,
        )
        for scheme in PIECES_SCHEMES
        for piece in PIECES_BYTES
    }


def _upload(app: dict[str, str], control: str) -> Flow:
    fields: dict[str, Any] = {
        "app": app,
        "control": control,
        "receive_buffer": lab.RECEIVE_BUFFER,
        "receive_window": lab.RECEIVE_WINDOW,
        "extra_ack": True,
        "delayed_ack": False,
        "nodelay": True,
        "start": "0 s",
    }
    return Flow.model_validate(fields)
