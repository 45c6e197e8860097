"""Our controls in eBPF against the kernel's own of the same names, on the same paths."""

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
from headway.validation.late import as_late

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
    of the means of ``trials`` runs. ``simulated``: the simulator promises the same on a link that
    is as late as the kernel's was. ``quiet_us``: a run whose link was later than this on average is
    repeated as one that was disturbed. ``remark`` is what to know to read the numbers.
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
    quiet_us=5,
    remark="""BBR keeps the largest of ten rounds' rate samples. Noise in the times of ACKs
therefore raises the rate and lengthens the queue, and a busy machine has more noise (docs/stack.md,
"What is not modelled"). Of the runs of a path, only the one with the least late link counts. The
simulator's link stalls when the link of the kernel's own control did. The columns "never late" have
the simulator on a link that is never late; until 2026-11-23 these were judged.
""",
)
AGAINST = (CUBIC, BBR)
"""All that are compared."""


@dataclass(frozen=True)
class Seen:
    """What one side does on a path: goodput and mean queue.

    ``queue_deviation`` is the standard deviation of its trials' mean queues, in parts of their
    mean: how far two runs of the same are apart by chance. ``lateness_us``: by how much packets
    left the emulated link late on average, in the later direction; None where nothing was late.
    """

    goodput_bps: float
    queue_bytes: float | None
    queue_deviation: float | None = None
    lateness_us: float | None = None


@dataclass(frozen=True)
class Pair:
    """One path: ours, the kernel's own, and the simulator where it is compared.

    ``sim`` is on the link that the kernel's own had, ``ideal`` on one that is never late.
    """

    against: Against
    path: str
    ours: Seen
    builtin: Seen
    sim: Seen | None = None
    ideal: Seen | None = None

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
    failures: Failures,
    repeats: int = 0,
) -> list[Pair]:
    """Run every path with ours, the kernel's own and the simulator, and compare.

    Ours and the kernel's own take turns, and who begins, so that what else the machine does meets
    both. A run that was disturbed is repeated, ``repeats`` times at most. A path of which a run
    fails is left out, and ``failures`` has it.
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
    against: Against,
    path: str,
    backends: tuple[Backend, Backend, Backend],
    trials: Sequence[Experiment],
    repeats: int,
) -> Pair:
    *live, sim = backends
    ours, builtin = (Repeating(each, repeats, against.quiet_us) for each in live)
    seen: tuple[list[Seen], list[Seen]] = ([], [])
    late: list[Experiment] = []
    for number, trial in enumerate(trials):
        for side in (0, 1) if number % 2 == 0 else (1, 0):
            trace = (ours, builtin)[side].run(trial)
            seen[side].append(seen_in(trace))
            if against.simulated and side == 1:
                late.append(as_late(trial, trace))
    simulated = [
        mean_of([seen_in(sim.run(trial)) for trial in of])
        for of in (late, trials)
        if against.simulated
    ]
    return Pair(against, path, mean_of(seen[0]), mean_of(seen[1]), *simulated)


def seen_in(trace: Trace) -> Seen:
    """One trial of one path."""
    return Seen(
        metrics.goodput_bps(trace, 0),
        metrics.queue_bytes(trace).mean,
        lateness_us=lateness_us(trace),
    )


def mean_of(trials: Sequence[Seen]) -> Seen:
    """The means over some trials of one path, and how far these are apart."""
    queues = [trial.queue_bytes for trial in trials if trial.queue_bytes is not None]
    late_us = [trial.lateness_us for trial in trials if trial.lateness_us is not None]
    mean = statistics.mean(queues) if queues else None
    return Seen(
        statistics.mean(trial.goodput_bps for trial in trials),
        mean,
        statistics.stdev(queues) / mean if mean and len(queues) > 1 else None,
        statistics.mean(late_us) if late_us else None,
    )


def section(against: Against, pairs: Sequence[Pair], measured: str) -> str:
    """The part of the page about one control, in Markdown; ``measured`` says when and where."""
    shown = ["ours", "simulator", "never late"] if against.simulated else ["ours"]
    goodput = ["goodput, its own, Mbit/s", *shown]
    queue = ["mean queue, its own, bytes", "its deviation", *shown]
    columns = ["path", *goodput, *queue, "late, us"]
    rows = "\n".join(f"| {' | '.join(_cells(pair))} |" for pair in pairs)
    trials = f", means of {against.trials} trials" if against.trials > 1 else ""
    return f"""{against.title}

{measured} One flow, a queue of 1 BDP{trials}.
The targets are goodput within {against.goodput:.0%} and mean queue within {against.queue:.0%}.
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
