"""Setup: the recorded walk with each startup, and over a shorter path."""

from __future__ import annotations

from dataclasses import dataclass

from headway.experiment import Experiment
from headway.studies.common import sites
from headway.study import StudyContext

VOLUME = "118 MB"
"""Of all quarters: what the server says of its connection."""
LARGEST = "towers-near"
SHORT_RTT_MS = 50
RUNS = 3
"""Of each walk: one says nothing of what chance does."""
_QUICK_START = sites.quick_start()


@dataclass(frozen=True)
class Scheme:
    """A startup, and the part of the capacity that its router gives away, in 1/1000."""

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
"""Those of the path of 50 ms."""

CHOICES = (
    "The thesis' client, its models and its recording are not published. Here somebody walks "
    "through four quarters of 8, 18, 86 and 4 MB for 43 s; each comes first in little detail, then "
    "in full, when it is near. Orderings and differences are compared, not seconds.",
    "A quarter is one response on one persistent connection, as a change of the view was in the "
    "thesis; a response time is from when the walk makes the page want it to its last byte. The "
    "page's own program comes over other connections.",
    "Hosts have the thesis' buffers, and Linux's ten packets to begin with: no walk begins with "
    "the three of the thesis' default stack. With 8 MiB of receive buffer no startup gets more "
    "than 335 Mbit/s over 200 ms, and what a quarter takes at least is reckoned so; the window "
    "that Linux makes of it is smaller.",
    "Quick-Start asks for 82 Mbit/s with every first data, late; its router gives away all of 1 "
    "Gbit/s, or 1 %. The server says that 118 MB will come: nginx writes a head of 300 bytes "
    "first, and a startup that knows no more has nothing to start for.",
    f"Each walk is made {RUNS} times, the startups in turn. Judged are means. Intervals are "
    "Student's, 95 %, and an order needs a difference whose interval excludes 0.",
    "Settled with results in view: the volume that the server says (without it no request was "
    "seen); slow start that is not limited after a grant, as on the thesis' hosts (with RFC 4782's "
    "limit the largest quarter took 6.3 s, Slow-Start 5.3); the repetitions, the intervals that an "
    "order needs, and a least time that has the receive buffer in it, after one run of each walk "
    "had been judged; the notes of C-TH-256 and 257.",
    "There is no graphics card: software draws four pictures a second, and textures are not "
    "packed. On the machine itself the largest quarter takes about a second.",
)


def short_key(scheme: str) -> str:
    """Walks over 50 ms."""
    return f"{scheme}-{SHORT_RTT_MS}ms"


def key(walks: str, run: int) -> str:
    """Of a trial: "jump-start-r2", "jump-start-50ms-r2"."""
    return f"{walks}-r{run}"


def walks_of(trial: str) -> str:
    """Of whose runs a trial is one."""
    return trial.rpartition("-r")[0]


def experiments(ctx: StudyContext) -> dict[str, Experiment]:
    """Walks in turn, so that what the machine does meanwhile is shared; quick: one, shorter."""
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
