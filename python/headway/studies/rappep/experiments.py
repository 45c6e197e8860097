"""Setup: the files of rap-over-satellite, with a proxy where the satellite's up-link begins.

Clients of a GEO and of a LEO satellite load Web pages and files. They are behind the satellite.
Servers are on the Internet side of the gateway with the proxy, 5 ms further (10 ms with the GEO).
Responses come down over the gateway's link. The paper's files and the satellites' clients also have
trials on the kernel.
"""

import random
from collections.abc import Iterator, Mapping
from itertools import product
from pathlib import Path
from typing import Any, NamedTuple

from headway.experiment import Experiment
from headway.report import Sketch, sketches
from headway.studies.rap_over_satellite import experiments as raw
from headway.study import Agreement, StudyContext
from headway.units import fixed_memory

# ---- Experiments with the paper's files ----

RTT_MS = 2 * raw.ONE_WAY_MS
CLEAN, LOSSY, SIDES = "p0", "p1e-2", "delays-p1e-3"
PATHS = {CLEAN: (raw.LOSSES[0], False), LOSSY: (raw.LOSSES[1], False), SIDES: (raw.SIDE_LOSS, True)}
"""The paper's paths: the loss of each, and whether its side links have different delays."""
PROXIED = {
    "tcp_pep": ("hybla+slow-start", "TCP PEP"),
    "xcp_pep": ("xcp_pep", "XCP PEP"),
    "mpcp_pep": ("mpcp_pep", "MPCP PEP"),
    "vcp_pep": ("vcp_pep", "VCP PEP"),
    "xcp_plain": ("xcp_pep:start=plain", "XCP PEP, plain start"),
    "mpcp_plain": ("mpcp_pep:start=plain", "MPCP PEP, plain start"),
    "cubic_pep": ("cubic26:initial_ssthresh=100", "CUBIC PEP"),
    "hybla6_pep": ("hybla", "TCP PEP, Hybla's start of Linux 6"),
    "hybla26_pep": ("hybla:max_exponent=0:carry=off", "TCP PEP, Hybla's start of Linux 2.6"),
}
"""Schemes with a proxy: the control of its satellite leg, and the label. The plain start is the
paper's."""
STARTS = {
    "today": ("cubic", "CUBIC, Linux 6"),
    "jump_start": ("cubic+jump-start:js_max_bytes=0", "CUBIC, Jump-Start"),
    "careful_resume": (
        "cubic+careful-resume:cr_saved_cwnd_pkts={bdp_pkts}:cr_saved_rtt_us={rtt_us}",
        "CUBIC, Careful Resume",
    ),
    "quick_start": ("cubic+quick-start", "CUBIC, Quick-Start"),
    "hybla": ("hybla", "Hybla"),
}
"""Schemes without a proxy between hosts of today's Linux: startups that only the sender changes."""
SCHEMES = raw.SCHEMES | {name: label for name, (_, label) in (PROXIED | STARTS).items()}


def _start(scheme: str, rate_bps: int, rtt_ms: int) -> str:
    """The control of a start on a path."""
    bdp_pkts = rate_bps * rtt_ms // (8 * 1000 * 1500)
    return STARTS[scheme][0].format(bdp_pkts=bdp_pkts, rtt_us=1000 * rtt_ms)


def experiments(ctx: StudyContext) -> dict[str, Experiment]:
    """Trials of the files and of the clients."""
    return _files(ctx) | _clients(ctx)


def drawn(ctx: StudyContext) -> list[Sketch]:
    """The paper's path, without and with a proxy, and each satellite's."""
    own = _clients(ctx)
    groups = [[one for key, one in own.items() if key.startswith(orbit)] for orbit in ORBITS]
    return [sketch for group in (_files(ctx).values(), *groups) for sketch in sketches(group)]


def _files(ctx: StudyContext) -> dict[str, Experiment]:
    """A trial per scheme, loss and run; runs have the same starts and delays for every scheme."""
    return raw.trials_of(SCHEMES, raw.runs(ctx), trial, seed=ctx.seed)


def trial(scheme: str, loss: float, run: int, *, control: str = "", **more: Any) -> Experiment:
    """Five files at once: as in rap-over-satellite, with a proxy, or with another start.

    ``control`` replaces that of a proxy's satellite leg; ``more`` are arguments of
    rap-over-satellite's trials.
    """
    if scheme in raw.SCHEMES:
        return raw.trial(scheme, loss, run, **more)
    fields = raw.trial("cubic26", loss, run, **more).model_dump(exclude_unset=True)
    if scheme in PROXIED:
        fields["topology"] = _proxied(fields["topology"])
        own: dict[str, Any] = {"relay": {"at_hop": 1, "control": control or PROXIED[scheme][0]}}
    else:
        fields["topology"] = {"kind": "dumbbell", **fields["topology"]}
        if scheme == "quick_start":
            fields["topology"]["quick_start"] = f"interval_ms={RTT_MS}"
        fields["stack"] = "linux-6"
        own = {
            "control": _start(scheme, raw.RATE_BPS, RTT_MS),
            "extra_ack": True,
            "wmem": fixed_memory("16 MB"),
            "data_volume": f"{raw.SIZE_BYTES} B",
            "initial_rate": f"{raw.RATE_BPS} bit/s",
        }
    flows = [{**flow, **own} for flow in fields.pop("flows")]
    return Experiment.model_validate({**fields, "flows": flows})


def _proxied(link: Mapping[str, Any]) -> dict[str, Any]:
    """Put the proxy at the satellite's router, with a side link to the senders' host."""
    way = {"rate": link["rate"], "delay": f"{raw.ONE_WAY_MS} ms", "buffer": link["buffer"]}
    side = {"rate": "1 Gbit/s", "delay": "100 us", "buffer": f"{raw.BUFFER_PKTS} pkts"}
    monitor = f"pep-monitor:rtt_ms={RTT_MS}"
    up = {**way, "loss": link.get("loss", 0.0), "routers": (monitor,)}
    return {"kind": "chain", "hops": [{"forward": side}, {"forward": up, "reverse": way}]}


# ---- The satellites' clients ----

LENGTH_S = 120.0
HANDOVER_S, OUTAGE_S = 15.0, 0.15
"""Time between handovers, and how long a handover takes the link down before it has the next
satellite's rate and delay. Packets wait meanwhile."""
DOWN = 1
"""The number of the link from the gateway to the clients."""


class Orbit(NamedTuple):
    """A satellite link. The path to the servers adds ``far_ms``, one way."""

    name: str
    down_mbps: int
    up_mbps: int
    one_way_ms: int
    far_ms: int
    buffer_pkts: int
    loss: float
    monitor: str
    """The proxy's monitor, at the downlink."""
    passes: tuple[tuple[int, int], ...] = ()
    """Downlink rate and one-way delay of each satellite in turn, in Mbit/s and ms."""

    @property
    def rtt_ms(self) -> int:
        """The round-trip time from end to end."""
        return 2 * (self.one_way_ms + self.far_ms)


ORBITS = {
    "geo": Orbit(
        "GEO: 600 ms, 50 and 5 Mbit/s", 50, 5, 290, 10, 1000, 0.0, "pep-monitor:rtt_ms=580"
    ),
    "leo": Orbit(
        "LEO: 40 ms, 100 and 20 Mbit/s, a handover every 15 s, 0.1 % loss", 100, 20, 15, 5, 400,
        1e-3, "pep-monitor:rtt_ms=36:capacity=measured", ((100, 15), (60, 18), (140, 12), (80, 16)),
    ),
}  # fmt: skip
"""The gateway knows the GEO's rate; a LEO's changes, so its monitor measures it."""


class Load(NamedTuple):
    """Files with the requests of clients: each client makes the requests of one file once."""

    name: str
    file: str
    clients: int
    starts_s: float
    """Clients begin within this time, drawn uniformly."""


LOADS = {
    "web": Load("Web pages of 1.2 MB", str(Path(__file__).with_name("page.csv")), 40, 60.0),
    "files": Load("Files of 1 MB", str(Path(__file__).with_name("file.csv")), 100, 10.0),
}
BARE = {"cubic": "CUBIC", **{name: SCHEMES[name] for name in STARTS if name != "today"}}
"""Clients' schemes from end to end, with their labels."""
BEHIND_PROXY = {
    "cubic_pep": ("cubic", "TCP PEP, CUBIC"),
    "hybla_pep": ("hybla", "TCP PEP, Hybla"),
    "bbr_pep": ("bbr", "TCP PEP, BBR"),
    "xcp_pep": ("xcp_pep", "XCP PEP"),
    "mpcp_pep": ("mpcp_pep", "MPCP PEP"),
    "vcp_pep": ("vcp_pep", "VCP PEP"),
}
"""Clients' schemes with a proxy: the control of its satellite leg, and the label."""
CLIENTS = BARE | {scheme: label for scheme, (_, label) in BEHIND_PROXY.items()}


def _clients(ctx: StudyContext) -> dict[str, Experiment]:
    """A trial per satellite, load, scheme and run; runs have the same starts for every scheme."""
    return {
        f"{orbit}_{load}-{scheme}-r{run}": _trial_of_clients(orbit, load, scheme, run, ctx.seed)
        for run in range(1, (1 if ctx.quick else 5) + 1)
        for orbit in ORBITS
        for load in LOADS
        for scheme in CLIENTS
    }


def _trial_of_clients(orbit: str, load: str, scheme: str, run: int, seed: int) -> Experiment:
    """All clients, each with its own hosts."""
    over, of = ORBITS[orbit], LOADS[load]
    chance = random.Random(f"{seed}/rappep/{orbit}/{load}/{run}")
    flow: dict[str, Any] = {
        "app": {"kind": "exchanges", "file": of.file},
        "control": _start(scheme, over.down_mbps * 10**6, over.rtt_ms)
        if scheme in STARTS
        else "cubic",
        "extra_ack": True,
        "wmem": fixed_memory("16 MB"),
        "initial_rwnd": "8 MB",
        "initial_rate": f"{over.down_mbps / 4} Mbit/s",
    }
    if scheme in BEHIND_PROXY:
        flow["relay"] = {"at_hop": 1, "control": BEHIND_PROXY[scheme][0]}
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
            "sample": "1 s",
        }
    )


def _hops(over: Orbit, scheme: str) -> list[dict[str, Any]]:
    """The satellite's up- and downlink, and the path between gateway and servers."""
    way = {"delay": f"{over.one_way_ms} ms", "buffer": f"{over.buffer_pkts} pkts"}
    up: dict[str, Any] = {**way, "rate": f"{over.up_mbps} Mbit/s"}
    down: dict[str, Any] = {**way, "rate": f"{over.down_mbps} Mbit/s", "loss": over.loss}
    far: dict[str, Any] = {"rate": "1 Gbit/s", "delay": f"{over.far_ms} ms", "buffer": "1000 pkts"}
    if scheme in BEHIND_PROXY:
        down["routers"] = (over.monitor,)
    if scheme == "quick_start":
        for link in (up, down, far):
            link["quick_start"] = f"interval_ms={over.rtt_ms}"
    if over.passes:
        down["vary"] = {"kind": "schedule", "steps": list(_handovers(over))}
    return [{"forward": up, "reverse": down}, {"forward": far}]


def _handovers(over: Orbit) -> Iterator[dict[str, str]]:
    """The link's rate and delay over time: one satellite after the other, up to the trial's end."""
    for number in range(int(LENGTH_S / HANDOVER_S)):
        rate_mbps, delay_ms = over.passes[number % len(over.passes)]
        at_s, delay = number * HANDOVER_S, f"{delay_ms} ms"
        if number:
            yield {"start": f"{at_s:g} s", "rate": "down", "delay": delay}
            at_s += OUTAGE_S
        yield {"start": f"{at_s:g} s", "rate": f"{rate_mbps} Mbit/s", "delay": delay}


# ---- On the kernel ----

PAPERS = ("tcp_pep", "xcp_pep", "mpcp_pep")
"""Schemes with the paper's proxies; two of them also run with the paper's start."""
ON_KERNEL = ("cubic26", "tcp_pep", "xcp_plain", "mpcp_plain", "xcp_pep", "mpcp_pep", "vcp_pep")
"""CUBIC from end to end, and proxies. ``rap-over-satellite`` on the kernel has the schemes with
routers from end to end, and figure 6."""
OF_ORBIT = {
    "geo": ("cubic", "hybla", "cubic_pep", "xcp_pep", "mpcp_pep"),
    "leo": ("cubic", "hybla", "cubic_pep", "bbr_pep"),
}
"""A LEO has no monitor here: a monitor can measure only at its own device's queue, and the emulated
link's queue is in another process. A monitor with a configured rate knows a single rate."""
TIMES_TABLE, USED_TABLE = "Mean completion times in s", "Use of the link in %"
_FILES = {scheme: SCHEMES[scheme] for scheme in ON_KERNEL}
AGREEMENTS = (
    *Agreement.per_row(
        _FILES,
        "{}: mean completion times on the kernel match the simulator's.",
        table=TIMES_TABLE, most=0.5, unit="s", relative=0.12,
    ),
    *Agreement.per_row(
        _FILES,
        "{}: use of the link on the kernel matches the simulator's.", prefix="kernel-used-",
        table=USED_TABLE, most=2.0, unit="% of the link", relative=0.12,
    ),
    *(
        agreement
        for orbit, load in product(OF_ORBIT, LOADS)
        for agreement in Agreement.per_row(
            {scheme: CLIENTS[scheme] for scheme in OF_ORBIT[orbit]},
            f"{LOADS[load].name}, {orbit.upper()}, {{}}: a client's mean time on the kernel "
            "matches the simulator's.", prefix=f"kernel-{orbit}-{load}-",
            table=f"{LOADS[load].name}, {ORBITS[orbit].name}", columns=("mean s",),
            most=ORBITS[orbit].rtt_ms / 1000, unit="s", relative=0.12,
        )
    ),
)  # fmt: skip


def on_kernel(ctx: StudyContext) -> dict[str, Experiment]:
    """A trial per path, scheme and run of the files; one per satellite, load and scheme of clients.

    Runs take real time, one after the other on two cores. So CUBIC's trial at 1 % loss, of two
    minutes, and the trials with side links, of one minute, run once. The quick form leaves out the
    former, schemes at 1 % that are not the paper's, and MPCP PEP with side links, which has no
    figure.
    """
    schemes = {CLEAN: ON_KERNEL, LOSSY: ON_KERNEL, SIDES: PAPERS}
    if ctx.quick:
        schemes |= {LOSSY: PAPERS, SIDES: PAPERS[:2]}
    trials = {}
    for path, (loss, delays) in PATHS.items():
        for scheme in schemes[path]:
            length_s = _length_s(scheme, path)
            for run in range(1, (1 if ctx.quick or length_s > 60 else 3) + 1):
                whole = trial(scheme, loss, run, seed=ctx.seed, delays=delays)
                trials[f"{scheme}-{path}-r{run}"] = _file_on_kernel(whole, length_s)
    for orbit, load in product(OF_ORBIT, LOADS):
        for scheme in OF_ORBIT[orbit]:
            whole = _trial_of_clients(orbit, load, scheme, 1, ctx.seed)
            small = _clients_on_kernel(whole, load, is_quick=ctx.quick)
            trials[f"{orbit}_{load}-{scheme}-r1"] = small
    return trials


def _length_s(scheme: str, path: str) -> int:
    """Upper limit of a run's length. A run ends when its files end."""
    if path == SIDES:
        return 75
    if (scheme, path) == ("cubic26", LOSSY):
        return 150
    return 60 if scheme in ("cubic26", "tcp_pep", "vcp_pep") else 40


def _file_on_kernel(whole: Experiment, length_s: int) -> Experiment:
    """Run a trial between hosts of today, with buffers in the proxy for a whole file.

    Linux's default send buffer begins below the 64 kB that a receiver's SYN-ACK announces, counted
    for copied data. Linux counts the data that the proxy splices differently.
    """
    fields: dict[str, Any] = whole.model_dump(exclude_unset=True)
    fields["topology"] = {"kind": whole.topology.kind, **fields["topology"]}
    fields["flows"] = [{**flow, "wmem": fixed_memory("16 MB")} for flow in fields["flows"]]
    return Experiment.model_validate({**fields, "stack": "linux-6", "duration": f"{length_s} s"})


def _clients_on_kernel(whole: Experiment, load: str, *, is_quick: bool) -> Experiment:
    """Remove what the kernel lacks: monitors of varying links, extra ACKs, and servers' rates.

    The quick form has the clients that begin within the first fifth of the time.
    """
    fields: dict[str, Any] = whole.model_dump(exclude_unset=True)
    for hop in fields["topology"]["hops"]:
        for link in hop.values():
            if "vary" in link:
                link.pop("routers", None)
    until_ns = round(LOADS[load].starts_s * 1e9) // 5
    fields["flows"] = [
        {name: value for name, value in flow.items() if name not in ("extra_ack", "initial_rate")}
        for flow, start_ns in zip(fields["flows"], whole.start_times_ns(), strict=True)
        if start_ns < until_ns or not is_quick
    ]
    # These durations are upper limits: a run ends when all clients have finished.
    return Experiment.model_validate({**fields, "duration": "90 s" if load == "web" else "60 s"})
