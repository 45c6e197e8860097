"""The scenarios: not all combinations, but every pair of values of every two factors."""

from __future__ import annotations

from dataclasses import dataclass

from headway.experiment import Experiment, Flow, Voip
from headway.units import bdp_bytes

RATES_MBPS = (1, 10, 100)
CONTROLS = ("reno", "cubic", "htcp")
RTTS_MS = (20, 50, 100, 200)
BUFFERS_BDP = (0.25, 1.0, 4.0)
FLOWS = (1, 2, 5)
LOSSES = (0.0, 0.01)
SMALLEST_BUFFER_BYTES = 6_000
"""A quarter of a small BDP is less than a packet; four packets always fit."""
START_GAP_MS = 200
"""Flows start one after the other, this far apart, on both backends."""


@dataclass(frozen=True)
class Scenario:
    """One row of the table."""

    rate_mbps: int
    rtt_ms: int
    buffer_bdp: float
    flows: int
    control: str
    loss: float
    voip: bool

    @property
    def key(self) -> str:
        """A name for files, which says all of it."""
        loss = "-loss" if self.loss else ""
        voip = "-voip" if self.voip else ""
        return (
            f"{self.control}-{self.flows}x-{self.rate_mbps}mbps-{self.rtt_ms}ms"
            f"-{self.buffer_bdp:g}bdp{loss}{voip}"
        )

    @property
    def buffer_bytes(self) -> int:
        """The queue's limit."""
        bdp = bdp_bytes(self.rate_mbps * 1_000_000, self.rtt_ms * 1_000_000)
        return max(int(self.buffer_bdp * bdp), SMALLEST_BUFFER_BYTES)

    def experiment(self, duration_s: int, seed: int = 1) -> Experiment:
        """The experiment; a fifth of it is warm-up."""
        flows = [
            Flow.model_validate({"control": self.control, "start": f"{i * START_GAP_MS} ms"})
            for i in range(self.flows)
        ]
        if self.voip:
            flows.append(Flow.model_validate({"app": Voip, "start": "0 s"}))
        return Experiment.model_validate(
            {
                "topology": {
                    "kind": "dumbbell",
                    "rate": f"{self.rate_mbps}Mbit/s",
                    "rtt": f"{self.rtt_ms} ms",
                    "buffer": f"{self.buffer_bytes} B",
                    "loss": self.loss,
                },
                "flows": flows,
                "duration": f"{duration_s} s",
                "warmup": f"{duration_s * 200} ms",
                "stack": "linux-6",
                "seed": seed,
            }
        )


def matrix() -> list[Scenario]:
    """All 36 scenarios, slowest links first.

    Rate, control and RTT are combined fully; the other factors follow from their indices so
    that every two values of any two factors meet at least once.
    """
    return [
        Scenario(
            rate_mbps=rate,
            rtt_ms=rtt,
            buffer_bdp=BUFFERS_BDP[(r + c + t) % 3],
            flows=FLOWS[(r + 2 * c + t) % 3],
            control=control,
            loss=LOSSES[(r * c + t // 2 + r + c) % 2],
            voip=(r + c + t) % 2 == 0,
        )
        for r, rate in enumerate(RATES_MBPS)
        for c, control in enumerate(CONTROLS)
        for t, rtt in enumerate(RTTS_MS)
    ]


def quick_matrix() -> list[Scenario]:
    """Six of them: each rate and each control twice, half of them with loss."""
    return [matrix()[index] for index in (1, 8, 14, 19, 27, 32)]
