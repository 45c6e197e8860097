"""Setup: the recorded walk with each startup, and over a shorter path."""

from __future__ import annotations

from dataclasses import dataclass

from headway.experiment import Experiment
from headway.studies.common import sites
from headway.study import StudyContext

VOLUME = "118 MB"
"""The volume of all quarters, which the server names for its connection."""
LARGEST = "towers-near"
SHORT_RTT_MS = 50
RUNS = 3
"""Runs of each walk. A single run would not show the effect of chance."""
_QUICK_START = sites.quick_start()


@dataclass(frozen=True)
class Scheme:
    """A startup, and the part of the capacity that its router grants, in 1/1000."""

    label: str
    control: str
    threshold_permille: int = 1000

    @property
    def asks(self) -> bool:
        """Whether the server names a rate."""
        return self.control == _QUICK_START


BASE, JUMP, QUICK, LITTLE = "slow-start", "jump-start", "quick-start", "quick-start-chi"
SCHEMES = {
    BASE: Scheme("Slow-Start", "cubic+slow-start"),
    JUMP: Scheme("Jump-Start", "cubic+jump-start"),
    QUICK: Scheme("Quick-Start, 100 %", _QUICK_START),
    LITTLE: Scheme("Quick-Start, 1 %", _QUICK_START, 10),
}
SHORT = (BASE, JUMP, QUICK)
"""The startups that also run over 50 ms."""

CHOICES = (
    "The thesis' client, its models and its recording are not published. This recording walks "
    "through four quarters of 8, 18, 86 and 4 MB in 43 s. Each quarter loads first in little "
    "detail, and in full when it is near. Orderings and differences are compared, not seconds.",
    "A quarter is one response on one persistent connection, like a change of the view in the "
    "thesis. Its response time begins when the walk makes the page need it, and ends with its last "
    "byte. The page's own program comes over other connections.",
    "Hosts have the thesis' buffers and Linux's initial window of ten packets. No walk begins with "
    "the three packets of the thesis' default stack. With 8 MiB of receive buffer no startup gets "
    "more than 335 Mbit/s over 200 ms. A quarter's least possible time is computed from this rate. "
    "The window that Linux derives from this buffer is smaller.",
    "Quick-Start asks late: with every first data it asks for 82 Mbit/s. Its router grants up to 1 "
    "Gbit/s, or up to 1 % of that. The server names a volume of 118 MB. Otherwise a startup would "
    "know only nginx's first write, a head of 300 bytes, and would not act.",
    f"Each walk runs {RUNS} times, with the startups in turn, and means are judged. Intervals are "
    "Student's, 95 %. An order needs a difference whose interval excludes 0.",
    "Chosen with results in view: the volume that the server names (without it Quick-Start sent no "
    "request); slow start that is not limited after a grant, as on the thesis' hosts (with RFC "
    "4782's limit the largest quarter took 6.3 s, with Slow-Start 5.3 s); the repetitions, the "
    "intervals that an order needs, and a least time that includes the receive buffer, all after "
    "one run of each walk had been judged; the notes of C-TH-256 and 257.",
    "The machine has no graphics card. Software draws four pictures a second, and textures are not "
    "compressed. Without the emulated path the largest quarter takes about a second.",
)


def short_key(scheme: str) -> str:
    """The key of walks over 50 ms."""
    return f"{scheme}-{SHORT_RTT_MS}ms"


def key(walks: str, run: int) -> str:
    """The key of a trial: "jump-start-r2", "jump-start-50ms-r2"."""
    return f"{walks}-r{run}"


def walks_of(trial: str) -> str:
    """The key of the walks that a trial is a run of."""
    return trial.rpartition("-r")[0]


def experiments(ctx: StudyContext) -> dict[str, Experiment]:
    """Walks in turn, so that the machine's other load affects all; quick: one shorter run."""
    if ctx.quick:
        return {key(name, 1): _trial(ctx, name, sites.RTT_MS, "short") for name in (BASE, QUICK)}
    trials = {}
    for run in range(1, RUNS + 1):
        for name in SCHEMES:
            trials[key(name, run)] = _trial(ctx, name, sites.RTT_MS, "whole")
        for name in SHORT:
            trials[key(short_key(name), run)] = _trial(ctx, name, SHORT_RTT_MS, "whole")
    return trials


def _trial(ctx: StudyContext, name: str, rtt_ms: int, walk: str) -> Experiment:
    scheme = SCHEMES[name]
    return sites.trial(
        {"site": "city", "walk": walk},
        scheme.control,
        seed=ctx.seed,
        rtt_ms=rtt_ms,
        threshold_permille=scheme.threshold_permille,
        sample="200 ms",
        data_volume=VOLUME,
        initial_rate=f"{sites.ASKED_BPS} bit/s" if scheme.asks else None,
    )
