"""Compares our eBPF controls with the kernel's own controls of these names on equal paths."""

from __future__ import annotations

import math
import statistics
from collections.abc import Callable, Sequence
from dataclasses import dataclass

from headway import metrics
from headway.backends import Backend
from headway.backends.repeating import Repeating, lateness_us
from headway.errors import HeadwayError
from headway.experiment import Experiment
from headway.trace import Trace
from headway.validation.compare import relative
from headway.validation.failed import Failures
from headway.validation.stalls import with_stalls

PATHS = (
    ("1Mbit/s", "50 ms"),
    ("5Mbit/s", "100 ms"),
    ("10Mbit/s", "20 ms"),
    ("10Mbit/s", "100 ms"),
    ("50Mbit/s", "40 ms"),
    ("100Mbit/s", "20 ms"),
)
"""Rate and RTT of each compared path. The queue limit of each path is one BDP."""


@dataclass(frozen=True)
class BuiltinTarget:
    """A control that both Headway and the kernel have, and how much the two may differ.

    ``goodput`` and ``queue`` are the largest relative differences allowed between the means of
    ``trials`` runs, for goodput and for the mean queue. With ``simulated``, the same limits apply
    to the simulator, whose link then delivers packets late whenever the emulated link of the
    kernel's run did. A run counts as disturbed and is repeated if packets left its link late by
    more than ``quiet_us`` on average. ``remark`` explains the numbers in the page's section.
    """

    control: str
    called: str
    paths: tuple[tuple[str, str], ...]
    goodput: float
    queue: float
    trials: int = 1
    simulated: bool = False
    quiet_us: float = math.inf
    remark: str = ""

    @property
    def title(self) -> str:
        """The heading of the control's section."""
        return f"## Our {self.called} against the kernel's own"

    def experiments(self, duration_s: int, trial: int = 0) -> list[Experiment]:
        """One experiment per path: a bulk flow, with the first fifth of the time as warm-up."""
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


CUBIC = BuiltinTarget("cubic", "CUBIC", PATHS, goodput=0.02, queue=0.05)
BBR = BuiltinTarget(
    "bbr",
    "BBR",
    (*PATHS, ("20Mbit/s", "200 ms"), ("50Mbit/s", "10 ms")),
    goodput=0.02,
    queue=0.10,
    trials=3,
    simulated=True,
    quiet_us=5,
    remark="""BBR keeps the largest of ten rounds' rate samples. Noise in the times of ACKs
therefore raises the rate and lengthens the queue, and a busy machine has more noise (docs/stack.md,
"What is not modelled"). Of several runs on a path, only the run whose link was least late counts.
The column "simulator" has the simulator with a link that stalls whenever the link in the run of the
kernel's own control stalled. The columns "never late" have the simulator with a link that never
stalls; until 2026-11-23 these were judged.
""",
)
BUILTIN_TARGETS = (CUBIC, BBR)
"""The controls that are compared."""


@dataclass(frozen=True)
class Measurement:
    """Goodput and mean queue of one implementation on a path.

    ``queue_deviation`` is the standard deviation of the trials' mean queues divided by their
    mean: it shows how much runs differ by chance. ``lateness_us`` is the mean delay with which
    packets left the emulated link after their due time, in the direction with the larger delay;
    None if no packet was late.
    """

    goodput_bps: float
    queue_bytes: float | None
    queue_deviation: float | None = None
    lateness_us: float | None = None


@dataclass(frozen=True)
class Pair:
    """The results on one path: with our control, with the kernel's own, and in the simulator.

    Two results are of the simulator, if it is compared: ``sim`` with a link that was late whenever
    the link in the run of the kernel's own control was late, and ``ideal`` with a link that is
    never late.
    """

    against: BuiltinTarget
    path: str
    ours: Measurement
    builtin: Measurement
    sim: Measurement | None = None
    ideal: Measurement | None = None

    def differences(self, of: Measurement) -> tuple[float, float]:
        """Relative differences in goodput and mean queue of a result from the kernel's control."""
        goodput = relative(of.goodput_bps, self.builtin.goodput_bps)
        return goodput or 0.0, relative(of.queue_bytes, self.builtin.queue_bytes) or 0.0

    @property
    def holds(self) -> bool:
        """Whether all differences are within the allowed limits."""
        sides = [self.ours] if self.sim is None else [self.ours, self.sim]
        return all(
            abs(goodput) <= self.against.goodput and abs(queue) <= self.against.queue
            for goodput, queue in map(self.differences, sides)
        )


def compare_builtin(
    against: BuiltinTarget,
    backends: tuple[Backend, Backend, Backend],
    duration_s: int,
    done: Callable[[int, int, str], None],
    failures: Failures,
    repeats: int = 0,
) -> list[Pair]:
    """Run every path with our control, the kernel's own and the simulator, and compare them.

    Runs of our control and of the kernel's own alternate, and which of the two runs first
    alternates, too. Other load on the machine then affects both alike. A disturbed run is repeated
    up to ``repeats`` times. A path with a failed run is left out and added to ``failures``.
    """
    trials = [against.experiments(duration_s, trial) for trial in range(against.trials)]
    pairs: list[Pair] = []
    for number, ((rate, rtt), *path) in enumerate(zip(against.paths, *trials, strict=True)):
        called = f"{against.called}, {rate}, {rtt}"
        done(number, len(against.paths), called)
        try:
            pairs.append(_pair(against, f"{rate}, {rtt}", backends, path, repeats))
        except HeadwayError as error:
            failures.add(called, error)
    return pairs


def _pair(
    against: BuiltinTarget,
    path: str,
    backends: tuple[Backend, Backend, Backend],
    trials: Sequence[Experiment],
    repeats: int,
) -> Pair:
    *live, sim = backends
    ours, builtin = (Repeating(each, repeats, against.quiet_us) for each in live)
    measurements: tuple[list[Measurement], list[Measurement]] = ([], [])
    late: list[Experiment] = []
    for number, trial in enumerate(trials):
        for side in (0, 1) if number % 2 == 0 else (1, 0):
            trace = (ours, builtin)[side].run(trial)
            measurements[side].append(measurement_of(trace))
            if against.simulated and side == 1:
                late.append(with_stalls(trial, trace))
    simulated = [
        mean_of([measurement_of(sim.run(trial)) for trial in of])
        for of in (late, trials)
        if against.simulated
    ]
    return Pair(against, path, mean_of(measurements[0]), mean_of(measurements[1]), *simulated)


def measurement_of(trace: Trace) -> Measurement:
    """Goodput and mean queue of one trial on one path."""
    return Measurement(
        metrics.goodput_bps(trace, 0),
        metrics.queue_bytes(trace).mean,
        lateness_us=lateness_us(trace),
    )


def mean_of(trials: Sequence[Measurement]) -> Measurement:
    """The means over the trials of one path, and the deviation between the trials."""
    queues = [trial.queue_bytes for trial in trials if trial.queue_bytes is not None]
    late_us = [trial.lateness_us for trial in trials if trial.lateness_us is not None]
    mean = statistics.mean(queues) if queues else None
    return Measurement(
        statistics.mean(trial.goodput_bps for trial in trials),
        mean,
        statistics.stdev(queues) / mean if mean and len(queues) > 1 else None,
        statistics.mean(late_us) if late_us else None,
    )


def section(against: BuiltinTarget, pairs: Sequence[Pair], measured: str) -> str:
    """The page's section on one control, in Markdown; ``measured`` gives the date and machine."""
    shown = ["ours", "simulator", "never late"] if against.simulated else ["ours"]
    goodput = ["goodput, its own, Mbit/s", *shown]
    queue = ["mean queue, its own, bytes", "its deviation", *shown]
    columns = ["path", *goodput, *queue, "late, us"]
    rows = "\n".join(f"| {' | '.join(_cells(pair))} |" for pair in pairs)
    trials = f", means of {against.trials} trials" if against.trials > 1 else ""
    return f"""{against.title}

{measured} One flow, a queue of 1 BDP{trials}.
The targets: with our congestion control, goodput is within {against.goodput:.0%} and the mean
queue within {against.queue:.0%} of the values with the kernel's own.
"Its deviation" is the standard deviation of the trials of the kernel's own control. "Late" is how
late packets left the emulated link on average.
{against.remark}
| {" | ".join(columns)} | holds |
|{"---|" * (len(columns) + 1)}
{rows}
"""


def _cells(pair: Pair) -> list[str]:
    sides = [side for side in (pair.ours, pair.sim, pair.ideal) if side is not None]
    differences = [pair.differences(side) for side in sides]
    return [
        pair.path,
        f"{pair.builtin.goodput_bps / 1e6:.3f}",
        *(f"{goodput:+.2%}" for goodput, _ in differences),
        f"{pair.builtin.queue_bytes or 0:.0f}",
        _known(pair.builtin.queue_deviation, "{:.1%}"),
        *(f"{queue:+.1%}" for _, queue in differences),
        _known(pair.builtin.lateness_us, "{:.0f}"),
        "yes" if pair.holds else "no",
    ]


def _known(value: float | None, form: str) -> str:
    return "–" if value is None else form.format(value)
