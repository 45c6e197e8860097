"""Our controls in eBPF against the kernel's own of the same names, on the same paths."""

from __future__ import annotations

import statistics
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


@dataclass(frozen=True)
class Against:
    """A control that the kernel has, too, and what ours promises beside it.

    ``goodput`` and ``queue`` are the largest relative differences of goodput and of the mean queue,
    of the means of ``trials`` runs. ``simulated``: the simulator promises the same.
    """

    control: str
    called: str
    paths: tuple[tuple[str, str], ...]
    goodput: float
    queue: float
    trials: int = 1
    simulated: bool = False

    @property
    def title(self) -> str:
        """The heading of its section."""
        return f"## Our {self.called} against the kernel's own"

    def experiments(self, duration_s: int, trial: int = 0) -> list[Experiment]:
        """One bulk flow on each path; a fifth of it is warm-up."""
        return [
            Experiment.model_validate(
                {
                    "topology": {"kind": "dumbbell", "rate": rate, "rtt": rtt, "buffer": "1 BDP"},
                    "flows": f"1x{self.control}",
                    "duration": f"{duration_s} s",
                    "warmup": f"{duration_s * 200} ms",
                    "seed": 1 + trial,
                }
            )
            for rate, rtt in self.paths
        ]


CUBIC = Against("cubic", "CUBIC", PATHS, goodput=0.02, queue=0.05)
BBR = Against(
    "bbr",
    "BBR",
    (*PATHS, ("20Mbit/s", "200 ms"), ("50Mbit/s", "10 ms")),
    goodput=0.02,
    queue=0.10,
    trials=3,
    simulated=True,
)
AGAINST = (CUBIC, BBR)
"""All that are compared."""


@dataclass(frozen=True)
class Seen:
    """What one side does on a path: goodput and mean queue."""

    goodput_bps: float
    queue_bytes: float | None


@dataclass(frozen=True)
class Pair:
    """One path: ours, the kernel's own, and the simulator where it is compared."""

    against: Against
    path: str
    ours: Seen
    builtin: Seen
    sim: Seen | None = None

    def differences(self, of: Seen) -> tuple[float, float]:
        """Relative differences of goodput and of the mean queue to the kernel's own."""
        goodput = relative(of.goodput_bps, self.builtin.goodput_bps)
        return goodput or 0.0, relative(of.queue_bytes, self.builtin.queue_bytes) or 0.0

    @property
    def holds(self) -> bool:
        """Whether all differences are within what is promised."""
        sides = [self.ours] if self.sim is None else [self.ours, self.sim]
        return all(
            abs(goodput) <= self.against.goodput and abs(queue) <= self.against.queue
            for goodput, queue in map(self.differences, sides)
        )


def compare_builtin(
    against: Against,
    backends: tuple[Backend, Backend, Backend],
    duration_s: int,
    done: Callable[[int, int, str], None],
) -> list[Pair]:
    """Run every path with ours, the kernel's own and the simulator, in turn, and compare."""
    ours, builtin, sim = backends
    trials = [against.experiments(duration_s, trial) for trial in range(against.trials)]
    pairs: list[Pair] = []
    for (rate, rtt), *path in zip(against.paths, *trials, strict=True):
        done(len(pairs), len(against.paths), f"{against.called}, {rate}, {rtt}")
        seen = [seen_in([side.run(trial) for trial in path]) for side in (ours, builtin)]
        simulated = seen_in([sim.run(trial) for trial in path]) if against.simulated else None
        pairs.append(Pair(against, f"{rate}, {rtt}", seen[0], seen[1], simulated))
    return pairs


def seen_in(traces: Sequence[Trace]) -> Seen:
    """The means over some trials of one path."""
    queues = [mean for t in traces if (mean := metrics.queue_bytes(t).mean) is not None]
    return Seen(
        statistics.mean(metrics.goodput_bps(trace, 0) for trace in traces),
        statistics.mean(queues) if queues else None,
    )


def section(against: Against, pairs: Sequence[Pair], measured: str) -> str:
    """The part of the page about one control, in Markdown; ``measured`` says when and where."""
    shown = ["ours", "simulator"] if against.simulated else ["ours"]
    columns = ["path", "goodput, its own, Mbit/s", *shown, "mean queue, its own, bytes", *shown]
    rows = "\n".join(f"| {' | '.join(_cells(pair))} |" for pair in pairs)
    trials = f", means of {against.trials} trials" if against.trials > 1 else ""
    return f"""{against.title}

{measured} One flow, a queue of 1 BDP{trials}.
Promised: goodput within {against.goodput:.0%}, mean queue within {against.queue:.0%}.

| {" | ".join(columns)} | holds |
|{"---|" * (len(columns) + 1)}
{rows}
"""


def _cells(pair: Pair) -> list[str]:
    sides = [pair.ours] if pair.sim is None else [pair.ours, pair.sim]
    differences = [pair.differences(side) for side in sides]
    return [
        pair.path,
        f"{pair.builtin.goodput_bps / 1e6:.3f}",
        *(f"{goodput:+.2%}" for goodput, _ in differences),
        f"{pair.builtin.queue_bytes or 0:.0f}",
        *(f"{queue:+.1%}" for _, queue in differences),
        "yes" if pair.holds else "no",
    ]
