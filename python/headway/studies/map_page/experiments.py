"""Setup: the map with each startup, and by target."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from headway.experiment import Experiment
from headway.studies.common import sites
from headway.study import StudyContext

VISITS, TARGET_VISITS = 10, 5
TARGETS_MS = (205, 225, 250, 300, 350, 500, 1000)


@dataclass(frozen=True)
class Scheme:
    """A startup, and the target with which it is compared with the others."""

    label: str
    control: str
    target_ms: int = 250
    names_rate: bool = False
    """The server names a rate for every connection, so that the handshake can ask for it."""


OLD, BASE, EARLY = "slow-start-3", "slow-start", "quick-start-early"
VOLUME = "1.5 MB"
SCHEMES = {
    OLD: Scheme("Slow-Start, 3 packets", "cubic+initial-start:is_window_pkts=3"),
    BASE: Scheme("Slow-Start", "cubic+slow-start"),
    "initial-start": Scheme("Initial-Start", "cubic+initial-start"),
    "jump-start": Scheme("Jump-Start", "cubic+jump-start"),
    "quick-start": Scheme("Quick-Start", sites.quick_start()),
    EARLY: Scheme("Quick-Start, early", sites.quick_start("early"), names_rate=True),
    "mega-start": Scheme("Mega-Start", "cubic+mega-start:ms_automatic=0"),
}
TARGETED = ("quick-start", "mega-start")
QUICK = (BASE, "quick-start", "mega-start")

CHOICES = (
    "The thesis' copy of the page is not published. This copy has the printed volume, 1.5 MB, and "
    "the printed order: five scripts of 9 to 742 kB, each of which requests the next, then 35 "
    "tiles.",
    "Chromium opens up to six connections to a host; the browsers of 2009 opened two to six. The "
    "server closes each connection after its response, so that each object begins with a startup. "
    "Startups act on a connection's first data. With persistent connections this is the page "
    "itself, of 1 kB, and hardly any time can be saved: in an earlier trial Slow-Start took 4.5 s.",
    "The thesis' Linux 2.6 began with three packets, today's Linux begins with ten. Slow-Start is "
    "shown with both. Statements on the thesis' default stack are judged with three packets. "
    "Initial-Start's ten packets are today's default.",
    "Every request states a target, through the same proxy to the same nginx. Startups that read "
    "no target ignore it. 250 ms is the thesis' best target.",
    "The thesis' server asks late, with its first ten packets, and its rate applies a round trip "
    "later. The 43 kB that Slow-Start sends in two flights arrive no sooner, and only two of 42 "
    "objects are larger. A second variant names a rate for all connections, "
    f"{sites.ASKED_BPS / 1e6:g} Mbit/s, and asks with its SYN-ACK.",
    "Chosen with results in view: Quick-Start's target (it was 350 ms, then 500, because ten "
    "visits had no request; it is the thesis' 250 since a fault was fixed that gave a connection "
    "an earlier one's grant); Quick-Start without RFC 4782's limit on slow start after a grant, as "
    f"on the thesis' hosts; {TARGET_VISITS} visits of other targets instead of two; the notes of "
    "C-TH-250 to 254 and of map-page-cut; map-page-times.",
)


def key(scheme: str, target_ms: int | None = None) -> str:
    """A trial's key: "jump-start", or "mega-start-500" with another target than the scheme's."""
    other = target_ms is not None and target_ms != SCHEMES[scheme].target_ms
    return f"{scheme}-{target_ms}" if other else scheme


def experiments(ctx: StudyContext) -> dict[str, Experiment]:
    """Startups with their targets, then the other targets."""
    if ctx.quick:
        return {name: _trial(ctx, name, SCHEMES[name].target_ms, 1) for name in QUICK}
    trials = {name: _trial(ctx, name, one.target_ms, VISITS) for name, one in SCHEMES.items()}
    for name in TARGETED:
        for target_ms in TARGETS_MS:
            trials.setdefault(key(name, target_ms), _trial(ctx, name, target_ms, TARGET_VISITS))
    return trials


def _trial(ctx: StudyContext, name: str, target_ms: int, visits: int) -> Experiment:
    scheme = SCHEMES[name]
    said: dict[str, Any] = {"initial_rate": f"{sites.ASKED_BPS} bit/s", "data_volume": VOLUME}
    return sites.trial(
        {"site": "map", "visits": visits, "keep_alive": False},
        scheme.control,
        seed=ctx.seed,
        deadline=f"{target_ms} ms",
        **(said if scheme.names_rate else {}),
    )
