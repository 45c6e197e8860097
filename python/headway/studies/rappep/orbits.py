"""Setup: web pages and a hundred files over a GEO and a LEO satellite, with and without a proxy.

Clients are behind the satellite. Servers are on the Internet side of the gateway with the proxy, 5
ms further (10 ms with the GEO). Responses come down over the gateway's link.
"""

from __future__ import annotations

import random
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from headway.experiment import Exchanges, Experiment
from headway.study import StudyContext

RUNS, QUICK_RUNS = 5, 1
LENGTH_S, SAMPLE_S = 120.0, 1.0
HANDOVER_S, OUTAGE_S = 15.0, 0.15
"""Time between handovers, and how long a handover takes the link down before it has the next
satellite's rate and delay. Packets wait meanwhile."""


@dataclass(frozen=True)
class Orbit:
    """A satellite link. The path to the servers adds ``far_ms``, one way."""

    name: str
    down_bps: int
    up_bps: int
    one_way_ms: int
    far_ms: int
    buffer_pkts: int
    loss: float
    monitor: str
    """The proxy's monitor, at the downlink."""
    passes: tuple[tuple[int, int], ...] = ()
    """Downlink rate and one-way delay of each satellite in turn, in bit/s and ms."""

    @property
    def rtt_ms(self) -> int:
        """The round-trip time from end to end."""
        return 2 * (self.one_way_ms + self.far_ms)


ORBITS = {
    "geo": Orbit(
        "GEO: 600 ms, 50 and 5 Mbit/s",
        50_000_000,
        5_000_000,
        290,
        10,
        1000,
        0.0,
        "pep-monitor:rtt_ms=580",
    ),
    "leo": Orbit(
        "LEO: 40 ms, 100 and 20 Mbit/s, a handover every 15 s, 0.1 % loss",
        100_000_000,
        20_000_000,
        15,
        5,
        400,
        1e-3,
        "pep-monitor:rtt_ms=36:capacity=measured",
        ((100_000_000, 15), (60_000_000, 18), (140_000_000, 12), (80_000_000, 16)),
    ),
}
"""The gateway knows the GEO's rate; a LEO's changes, so its monitor measures it."""


@dataclass(frozen=True)
class Load:
    """What clients ask for: each runs the exchanges of a file once."""

    name: str
    file: Path
    clients: int
    starts_s: float
    """Clients begin within this time, drawn uniformly."""

    @property
    def response_bytes(self) -> int:
        """Bytes of all responses to a client."""
        return int(Exchanges(file=str(self.file)).table().response_bytes.sum())


_HERE = Path(__file__).parent
LOADS = {
    "web": Load("Web pages of 1.2 MB", _HERE / "page.csv", 40, 60.0),
    "files": Load("Files of 1 MB", _HERE / "file.csv", 100, 10.0),
}
BARE = {
    "cubic": "CUBIC",
    "jump_start": "CUBIC, Jump-Start",
    "careful_resume": "CUBIC, Careful Resume",
    "quick_start": "CUBIC, Quick-Start",
    "hybla": "Hybla",
}
"""Schemes from end to end."""
PROXIED = {
    "cubic_pep": ("cubic", "TCP PEP, CUBIC"),
    "hybla_pep": ("hybla", "TCP PEP, Hybla"),
    "bbr_pep": ("bbr", "TCP PEP, BBR"),
    "xcp_pep": ("xcp_pep", "XCP PEP"),
    "mpcp_pep": ("mpcp_pep", "MPCP PEP"),
    "vcp_pep": ("vcp_pep", "VCP PEP"),
}
"""Schemes with a proxy: the control of its satellite leg, and the label."""
SCHEMES = {**BARE, **{scheme: name for scheme, (_, name) in PROXIED.items()}}
DOWN = 1
"""The number of the link from the gateway to the clients."""


def key(orbit: str, load: str, scheme: str, run: int) -> str:
    """A trial's name: "geo_web-xcp_pep-r1"."""
    return f"{orbit}_{load}-{scheme}-r{run}"


def runs(ctx: StudyContext) -> range:
    """Numbers of the runs."""
    return range(1, (QUICK_RUNS if ctx.quick else RUNS) + 1)


def experiments(ctx: StudyContext) -> dict[str, Experiment]:
    """A trial per satellite, load, scheme and run; runs have the same starts for every scheme."""
    return {
        key(orbit, load, scheme, run): trial(orbit, load, scheme, run, seed=ctx.seed)
        for run in runs(ctx)
        for orbit in ORBITS
        for load in LOADS
        for scheme in SCHEMES
    }


def trial(orbit: str, load: str, scheme: str, run: int, *, seed: int) -> Experiment:
    """All clients, each with its own hosts."""
    over, of = ORBITS[orbit], LOADS[load]
    chance = random.Random(f"{seed}/rappep/{orbit}/{load}/{run}")
    flow: dict[str, Any] = {
        "app": {"kind": "exchanges", "file": str(of.file)},
        "control": _control(over, scheme),
        "extra_ack": True,
        "send_buffer": "16 MB",
        "receive_window": "8 MB",
        "initial_rate": f"{over.down_bps // 4} bit/s",
    }
    if scheme in PROXIED:
        flow["relay"] = {"at_hop": 1, "control": PROXIED[scheme][0]}
    flows = [
        {**flow, "name": f"client {i + 1}", "start": f"{of.starts_s * chance.random():.6f} s"}
        for i in range(of.clients)
    ]
    return Experiment.model_validate(
        {
            "topology": {"kind": "chain", "hops": _hops(over, scheme)},
            "flows": flows,
            "duration": f"{LENGTH_S:g} s",
            "stack": "linux-6",
            "seed": seed * 1000 + run,
            "sample": f"{SAMPLE_S:g} s",
        }
    )


def _control(over: Orbit, scheme: str) -> str:
    bdp_pkts = over.down_bps * over.rtt_ms // (8 * 1000 * 1500)
    known = f"cr_saved_cwnd_pkts={bdp_pkts}:cr_saved_rtt_us={1000 * over.rtt_ms}"
    return {
        "jump_start": "cubic+jump-start:js_max_bytes=0",
        "careful_resume": f"cubic+careful-resume:{known}",
        "quick_start": "cubic+quick-start",
        "hybla": "hybla",
    }.get(scheme, "cubic")


def _hops(over: Orbit, scheme: str) -> list[dict[str, Any]]:
    """The satellite's up- and downlink, and the path between gateway and servers."""
    up: dict[str, Any] = {
        "rate": f"{over.up_bps} bit/s",
        "delay": f"{over.one_way_ms} ms",
        "buffer": f"{over.buffer_pkts} pkts",
    }
    down = {**up, "rate": f"{over.down_bps} bit/s", "loss": over.loss}
    far: dict[str, Any] = {"rate": "1 Gbit/s", "delay": f"{over.far_ms} ms", "buffer": "1000 pkts"}
    if scheme in PROXIED:
        down["routers"] = (over.monitor,)
    if scheme == "quick_start":
        for link in (up, down, far):
            link["quick_start"] = f"interval_ms={over.rtt_ms}"
    if over.passes:
        down["vary"] = _handovers(over)
    return [{"forward": up, "reverse": down}, {"forward": far}]


def _handovers(over: Orbit) -> dict[str, Any]:
    """One satellite after the other, all in turn, up to the trial's end."""
    steps = []
    for number in range(int(LENGTH_S / HANDOVER_S)):
        rate_bps, delay_ms = over.passes[number % len(over.passes)]
        at_s = number * HANDOVER_S
        if number:
            steps.append({"start": f"{at_s:g} s", "rate": "down", "delay": f"{delay_ms} ms"})
            at_s += OUTAGE_S
        steps.append(
            {"start": f"{at_s:g} s", "rate": f"{rate_bps} bit/s", "delay": f"{delay_ms} ms"}
        )
    return {"kind": "schedule", "steps": steps}
