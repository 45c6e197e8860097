"""Our CUBIC in eBPF against the kernel's own, on the same paths of the same kernel."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass

from headway import metrics
from headway.backends import Backend
from headway.experiment import Experiment
from headway.trace import Trace
from headway.validation.compare import relative

PATHS = (
    ("1Mbit/s", "50 ms"),
    ("5Mbit/s", "100 ms"),
    ("10Mbit/s", "20 ms"),
    ("10Mbit/s", "100 ms"),
    ("50Mbit/s", "40 ms"),
    ("100Mbit/s", "20 ms"),
)
"""Rate and RTT; the queue has room for one BDP."""
TITLE = "## Our CUBIC against the kernel's own"
GOODPUT, QUEUE = 0.02, 0.05
"""What ours promises: largest relative differences of goodput and of the mean queue."""


@dataclass(frozen=True)
class Pair:
    """One path: goodput and mean queue of ours and of the kernel's own."""

    path: str
    ours_bps: float
    builtin_bps: float
    ours_queue_bytes: float | None
    builtin_queue_bytes: float | None

    @property
    def goodput(self) -> float | None:
        """Relative difference of goodput, ours against the kernel's own."""
        return relative(self.ours_bps, self.builtin_bps)

    @property
    def queue(self) -> float | None:
        """Relative difference of the mean queue."""
        return relative(self.ours_queue_bytes, self.builtin_queue_bytes)

    @property
    def holds(self) -> bool:
        """Whether both differences are within what is promised."""
        return abs(self.goodput or 0.0) <= GOODPUT and abs(self.queue or 0.0) <= QUEUE


def experiments(duration_s: int) -> list[Experiment]:
    """One bulk flow on each path; a fifth of it is warm-up."""
    return [
        Experiment.model_validate(
            {
                "topology": {"kind": "dumbbell", "rate": rate, "rtt": rtt, "buffer": "1 BDP"},
                "flows": "1xcubic",
                "duration": f"{duration_s} s",
                "warmup": f"{duration_s * 200} ms",
            }
        )
        for rate, rtt in PATHS
    ]


def compare_builtin(
    ours: Backend, builtin: Backend, duration_s: int, done: Callable[[int, int, str], None]
) -> list[Pair]:
    """Run every path with both, one after the other, and compare."""
    pairs: list[Pair] = []
    for (rate, rtt), experiment in zip(PATHS, experiments(duration_s), strict=True):
        done(len(pairs), len(PATHS), f"{rate}, {rtt}")
        pairs.append(pair(f"{rate}, {rtt}", ours.run(experiment), builtin.run(experiment)))
    return pairs


def pair(path: str, ours: Trace, builtin: Trace) -> Pair:
    """Compare two traces of one path."""
    return Pair(
        path,
        metrics.goodput_bps(ours, 0),
        metrics.goodput_bps(builtin, 0),
        metrics.queue_bytes(ours).mean,
        metrics.queue_bytes(builtin).mean,
    )


def section(pairs: Sequence[Pair], measured: str) -> str:
    """The part of the page about it, in Markdown; ``measured`` says when and where."""
    rows = "\n".join(
        f"| {p.path} | {p.builtin_bps / 1e6:.3f} | {p.goodput or 0:+.2%} "
        f"| {p.builtin_queue_bytes or 0:.0f} | {p.queue or 0:+.1%} | {'yes' if p.holds else 'no'} |"
        for p in pairs
    )
    return f"""{TITLE}

{measured} One flow, a queue of 1 BDP.
Promised: goodput within {GOODPUT:.0%}, mean queue within {QUEUE:.0%}.

| path | goodput, its own, Mbit/s | ours | mean queue, its own, bytes | ours | holds |
|---|---|---|---|---|---|
{rows}
"""
