"""Setup: one Web object after the other, each with its own target, by every startup."""

from __future__ import annotations

import math
from dataclasses import dataclass
from pathlib import Path

from headway.claims.why import Edit
from headway.experiment import Experiment, Flow
from headway.studies.common import lab
from headway.study import StudyContext

SIZE_BYTES = 100e3
TARGETS_S = (0.1, 0.15, 0.21, 0.25, 0.27, 0.29, 0.3, 0.35, 0.4, 0.5, 0.6, 0.7, 1.0, 1.5, 2.0)
"""The smallest are below the RTT. At 0.21 s eq. 7.1 asks for 83 Mbit/s on a link of ten."""
ONCE = Path(__file__).with_name("once.csv")
"""The object, once."""
SMALLER = Path(__file__).with_name("smaller.csv")
"""An object of 99 kB, once."""
THRICE = Path(__file__).with_name("thrice.csv")
"""The object three times, each on its own connection, with 0.6 s between them."""
SPACING_S = 40.0
"""Time between transfers, so that each begins on an idle link."""

BASE, MEGA, LATE, CORRECTED = "slow-start", "mega-start", "quick-start-late", "quick-start"
BLIND = (BASE, "initial-start", "jump-start")
"""Startups that have no interface for a target."""


@dataclass(frozen=True)
class Scheme:
    """A startup with its label."""

    label: str
    startup: str


def _late(rules: int) -> str:
    settings = {**lab.HOSTS, "qs_rules": rules}
    own = {"qs_activation": lab.LATE, "qs_min_bytes": 2 * lab.MSS_BYTES, **settings}
    return "quick-start:" + ":".join(f"{name}={value}" for name, value in own.items())


SCHEMES = {
    BASE: Scheme("Slow-Start", "slow-start"),
    "initial-start": Scheme("Initial-Start", "initial-start"),
    "jump-start": Scheme("Jump-Start", "jump-start"),
    MEGA: Scheme("Mega-Start", "mega-start:ms_automatic=0"),
    LATE: Scheme("Quick-Start, late", _late(rules=1)),
    CORRECTED: Scheme("Quick-Start, late, corrected", _late(rules=0)),
}


def download(
    control: str, target_s: float, start_s: float, file: Path, send_buffer_bytes: int | None = None
) -> Flow:
    """A client of the lab, on a new connection for each object, with a target."""
    return Flow.model_validate(
        {
            "app": {"kind": "pages", "file": str(file), "http": "1.0", "connections": 1},
            "control": control,
            "start": f"{start_s:g} s",
            "deadline": f"{target_s:g} s",
            "receive_buffer": lab.RECEIVE_BUFFER,
            "receive_window": lab.RECEIVE_WINDOW,
            "send_buffer": send_buffer_bytes and f"{send_buffer_bytes} B",
            "delayed_ack": False,
        }
    )


def named_rates(**tunables: int) -> Edit:
    """The server names the rate of eq. 7.1 for every target above the round-trip time.

    The rate is that of IP packets.
    """
    packets_bits = math.ceil(SIZE_BYTES / lab.MSS_BYTES) * lab.MTU_BYTES * 8

    def edit(experiment: Experiment) -> Experiment:
        data = experiment.model_dump(mode="json")
        for flow, target_s in zip(data["flows"], TARGETS_S, strict=True):
            flow["control"]["tunables"].update(tunables)
            flow["deadline"] = None
            if (left_s := target_s - lab.RTT_MS / 1e3) > 0:
                flow["initial_rate"] = f"{packets_bits / left_s:.0f} bit/s"
                flow["data_volume"] = f"{SIZE_BYTES:.0f} B"
        return Experiment.model_validate(data)

    return edit


def in_turn(ctx: StudyContext) -> dict[str, Experiment]:
    """A trial per scheme with the thesis' hosts, its targets one after the other."""
    return {
        name: lab.experiment(
            lab.path(),
            [
                download(f"{lab.CONTROL}+{scheme.startup}", target_s, SPACING_S * i, ONCE)
                for i, target_s in enumerate(TARGETS_S)
            ],
            duration_s=SPACING_S * len(TARGETS_S),
            seed=ctx.seed,
        )
        for name, scheme in SCHEMES.items()
    }
