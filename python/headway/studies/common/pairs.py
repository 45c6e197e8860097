"""Many host pairs on the thesis' 10 Mbit/s link: the setup of sections 6.4.3 to 6.5.2.

Clients send requests and servers respond, so responses queue on the reverse link. All schemes of a
study carry the same sessions.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path

from headway.experiment import Control, Dumbbell, Experiment, Flow, Link, Sessions
from headway.figures.style import Style, style_of
from headway.studies.common import lab, network
from headway.units import NS_PER_S
from headway.workloads import Campus, Pareto, Recorded, Tmix, Workload, tmix
from headway.workloads.workload import NAMED

Vectors = Campus | Pareto | Recorded | Tmix

RTTS_MS = (4, 28, 54, 74, 98, 124, 150, 174, 200)
"""Round-trip times of the common TCP evaluation suite. The thesis says "nine between 4 and 200
ms"."""

PAIRS = 450
"""Number of host pairs (section 6.4.5.1): 50 for each RTT."""

BUFFER_PKTS = 50

REQUEST_KBPS = 5120

RECEIVE_WINDOW = "8388480 B"
"""The largest scaled window: just below the thesis' buffers of 8 MiB."""

WARMUP_S = 60.0
DRAIN_S = 120.0
"""Time after the start of the last session, in which the last responses complete."""


@dataclass(frozen=True)
class Scheme:
    """A startup, with the settings of hosts and, where routers take part, of routers."""

    key: str
    label: str
    startup: str | None
    tunables: Mapping[str, int] = field(default_factory=dict)
    router: Mapping[str, int | str] | None = None
    """Tunables of a Quick-Start router; None: the router does not support Quick-Start."""
    foresees: bool = False
    """Whether each end knows the size of its first message when a connection opens."""
    guide: str | None = None
    """A scheme of ``network`` instead of the thesis' control and a startup."""

    @property
    def style(self) -> Style:
        """The scheme's style in figures."""
        return style_of(self.key)

    @property
    def control(self) -> Control:
        """The control of this scheme's flows."""
        if self.guide is not None:
            return Control.model_validate(network.control(self.guide))
        return Control.model_validate(
            {"name": lab.CONTROL, "startup": self.startup, "tunables": dict(self.tunables)}
        )


SLOW_START = Scheme("slow-start", "Slow-Start", "slow-start")
JUMP_START = Scheme("jump-start", "Jump-Start", "jump-start")
INITIAL_START = Scheme("initial-start", "Initial-Start", "initial-start")
MEGA_START = Scheme("mega-start", "Mega-Start", "mega-start")
SMALL_JUMP_START = Scheme(
    "jump-start-10", "Jump-Start, 10 L", "jump-start", {"js_max_bytes": 10 * lab.MSS_BYTES}
)
LARGE_INITIAL_START = Scheme(
    "initial-start-100", "Initial-Start, 100 L", "initial-start", {"is_window_pkts": 100}
)


def quick_start(
    key: str,
    label: str,
    *,
    chi_bytes: int = 1,
    algorithm: str = "target",
    interval_ms: int = 200,
    early: bool = False,
) -> Scheme:
    """Quick-Start with a router that approves by ``algorithm`` in slots of ``interval_ms``.

    Each message of more than ``chi_bytes`` requests 5.12 Mbit/s with its first data (section
    6.4.5.2). If ``early``, a connection's first message requests it in the handshake (section
    5.1.1.4). An interval of 0 is adaptive.
    """
    return Scheme(
        key,
        f"Quick-Start, {label}",
        "quick-start",
        {
            "qs_rate_kbps": REQUEST_KBPS,
            "qs_activation": lab.EARLY_OR_LATE if early else lab.LATE,
            "qs_min_bytes": chi_bytes - 1,
            **lab.HOSTS,
        },
        router={"algorithm": algorithm, "interval_ms": interval_ms},
        foresees=early,
    )


CHI_BYTES = 10_000
"""Intelligent activation requests a rate only above this size (section 6.4.3.3)."""

ROUTERS = (
    quick_start("quick-start", "target, 200 ms"),
    quick_start("quick-start-1000ms", "target, 1 s", interval_ms=1000),
    quick_start("quick-start-adaptive", "target, adaptive", interval_ms=0),
    quick_start("quick-start-fair", "fair", algorithm="fair"),
    quick_start("quick-start-optimistic", "optimistic", algorithm="optimistic"),
)
"""Approval algorithms. Every transfer requests a rate with data, because its connection is open."""

QUICK_STARTS = (
    quick_start("quick-start", "target", interval_ms=0, early=True),
    quick_start(
        "quick-start-chi", "target, above 10 kB", chi_bytes=CHI_BYTES, interval_ms=0, early=True
    ),
    quick_start(
        "quick-start-optimistic", "optimistic", algorithm="optimistic", interval_ms=0, early=True
    ),
    quick_start(
        "quick-start-chi-optimistic",
        "optimistic, above 10 kB",
        chi_bytes=CHI_BYTES,
        algorithm="optimistic",
        interval_ms=0,
        early=True,
    ),
)
"""Variants of Quick-Start with a connection per transfer: figures 6.51, 6.55, 6.57 and 6.59. The
thesis prints no interval there, and in its appendix B.3.4 that the default is automatic."""


NETWORK = tuple(Scheme(name, label, None, guide=name) for name, label in network.SCHEMES.items())
"""XCP and RCP."""


def present(schemes: Sequence[Scheme]) -> list[Scheme]:
    """The schemes that this build includes."""
    routers = "quick_start" in Link.model_fields
    return [
        scheme
        for scheme in schemes
        if (scheme.startup is None or lab.has_startup(scheme.startup))
        and (scheme.router is None or routers)
    ]


def with_router(scheme: Scheme) -> bool:
    """Whether figures about routers show a scheme: only if it uses routers or is slow start."""
    return scheme.router is not None or scheme.startup == "slow-start"


def workload(
    vectors: Vectors, *, load: float, hours: float, seed: int, persistent: bool = False
) -> Workload:
    """The workload of all schemes of a study at a load, for ``hours`` of virtual time.

    Each vector has its own connection. If ``persistent``, a host pair's vectors use one connection
    in turn.
    """
    return Workload.model_validate(
        {
            "vectors": vectors,
            "load": load,
            "rate": f"{lab.LINK_BPS} bit/s",
            "until": f"{hours * 3600:.0f} s",
            "persistent": persistent,
            "seed": seed,
        }
    )


def traced(chosen: Path | None) -> Campus | Recorded | Tmix:
    """The vectors of a study that replays traces; by default the recorded ones.

    ``chosen`` is a name of ``NAMED`` or a tmix file. Raises HeadwayError for an unreadable file.
    """
    name = next(iter(NAMED)) if chosen is None else str(chosen)
    if name in NAMED:
        return NAMED[name]
    _, digest = tmix.load(name)
    return Tmix(path=name, sha256=digest)


def vectors_name(chosen: Path | None) -> str:
    """Description of the vectors that ``traced`` chooses, for a report."""
    words = {
        "recorded": "recorded on a campus, without uploads above 1 MB",
        "recorded-all": "recorded on a campus, with the uploads above 1 MB",
        "drawn": "drawn from a model of the recorded ones",
    }
    name = next(iter(NAMED)) if chosen is None else str(chosen)
    return words.get(name, name)


def synthetic(mean_bytes: float) -> Pareto:
    """One response per vector, truncated Pareto (sections 6.4.3.1 and 6.5.2)."""
    return Pareto.model_validate({"mean": f"{mean_bytes:g} B"})


def workload_experiment(
    sessions: Workload,
    schemes: Sequence[Scheme],
    *,
    rtts_ms: Sequence[float] = RTTS_MS,
    pairs: int = PAIRS,
    buffer_pkts: int = BUFFER_PKTS,
    seed: int = 1,
) -> Experiment:
    """Host pairs with the RTTs in rotation; each RTT's pairs are split evenly over the schemes.

    With several schemes (section 6.5.2) ``scheme_number`` gives a pair's scheme.
    """
    nearest_ms = min(rtts_ms)
    hosts = [[_host(scheme, (rtt_ms - nearest_ms) / 2) for rtt_ms in rtts_ms] for scheme in schemes]
    flows = [
        hosts[scheme_number(pair, len(rtts_ms), len(schemes))][pair % len(rtts_ms)].model_copy(
            update={
                "app": Sessions(workload=sessions, pair=pair, pairs=pairs),
                "name": f"pair{pair}",
            }
        )
        for pair in range(pairs)
    ]
    until_s = sessions.until / NS_PER_S
    return Experiment.model_validate(
        {
            "topology": bottleneck(nearest_ms, buffer_pkts, schemes),
            "flows": tuple(flows),
            "duration": f"{until_s + DRAIN_S:.9g} s",
            "warmup": f"{min(WARMUP_S, until_s / 10):.9g} s",
            "stack": lab.STACK,
            "seed": seed,
            "record": (),
        }
    )


def _host(scheme: Scheme, delay_ms: float) -> Flow:
    """A host pair without an application."""
    return Flow.model_validate(
        {
            "control": scheme.control,
            "announces_first": scheme.foresees,
            "start": "0 s",
            "delay": f"{delay_ms:g} ms",
            "rmem": lab.RMEM,
            # Section 6.1.1.2: flow control never limits the start.
            "initial_rwnd": RECEIVE_WINDOW,
            # Section 6.1.1.2: quick ACKs were prolonged, so that runs are repeatable.
            "delayed_ack": False,
        }
    )


def bottleneck(rtt_ms: float, buffer_pkts: int, schemes: Sequence[Scheme]) -> Dumbbell:
    """The link. The routers at both ends support Quick-Start, XCP or RCP if a scheme needs it."""
    path = lab.path(rtt_ms=rtt_ms, buffer_pkts=buffer_pkts, router=None)
    for scheme in schemes:
        if scheme.guide is not None:
            path = network.guided(path, scheme.guide)
    wanted = [dict(scheme.router) for scheme in schemes if scheme.router is not None]
    if not wanted:
        return path
    fields = path.model_dump(mode="json")
    fields["quick_start"] = fields["reverse"]["quick_start"] = wanted[0]
    return Dumbbell.model_validate(fields)


def scheme_number(pair: int, rtts: int, schemes: int) -> int:
    """The scheme's number for a host pair. Each scheme has pairs with every RTT."""
    return pair // rtts % schemes
