"""Draws random experiments that cover every pair of options that both backends support.

A case is drawn in two steps: its settings (random_draws.py), and then numbers within the classes.
The transfer's size follows from these numbers, so that an ideal path carries the transfer in a few
seconds. A case depends on the kind, the seed and its index, not on the number of cases.
random_paths.py has the experiments of the kind "paths".
"""

from __future__ import annotations

import itertools
import math
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import Any

from headway.experiment import Experiment
from headway.registry import registry
from headway.units import growing_memory
from headway.validation import random_paths
from headway.validation.random_draws import (
    MSS_BYTES,
    PACKET_BYTES,
    Conflicts,
    Draws,
    Pair,
    PathNumbers,
    Setting,
    Space,
    rounded,
)

KINDS = ("options", "default", "startups", "several", random_paths.KIND)
"""What the cases of a kind vary: all options; only path and control; fast startups; several flows
on one link; effects of links, stars, windows and settings of hosts."""

PATH: Mapping[str, tuple[str, ...]] = {
    "rate": ("0.2-1Mbit/s", "1-5Mbit/s", "5-20Mbit/s", "20-60Mbit/s", "60-200Mbit/s"),
    "rtt": ("1-5ms", "5-20ms", "20-100ms", "100-400ms", "0.4-1.5s", "1.5-5s"),
    "buffer": ("2-8pkts", "9-50pkts", "0.1-0.7BDP", "0.7-1.5BDP", "1.5-4BDP"),
}
"""Classes of the path's properties. Every case has one class of each property."""
_EASY_PATH: Mapping[str, tuple[str, ...]] = {
    "rate": ("0.5-3Mbit/s", "3-12Mbit/s", "12-50Mbit/s"),
    "rtt": ("5-20ms", "20-80ms", "80-300ms"),
    "buffer": ("8-50pkts", "0.1-0.7BDP", "0.7-2BDP"),
}
"""Classes of the path for the kinds other than "options"."""

OPTIONS: Mapping[str, tuple[str, ...]] = {
    "loss": ("to 0.3%", "0.3-3%"),
    "reorder": ("to 2%",),
    "duplicate": ("to 1%",),
    "vary": ("slower", "faster", "farther", "outage"),
    "aqm": ("red", "codel", "drr"),
    "ecn": ("on", "off", "on/off", "bleached", "syn-dropped"),
    "flows": ("2 apart", "3-4"),
    "app": ("endless", "stopped", "vectors up", "vectors down", "pingpong"),
    "call": ("on",),
    "relay": ("same control", "other control"),
    "startup": (
        "slow-start", "hystart", "hystart-plus-plus", "hybla", "initial-start", "jump-start",
        "mega-start", "careful-resume", "quick-start",
    ),
    "sack": ("off",),
    "timestamps": ("off",),
    "delayed_ack": ("off",),
    "frto": ("off",),
    "nodelay": ("on",),
    "read": ("rate", "portions"),
    "wmem": ("4-16KiB", "16-64KiB", "64-512KiB"),
    "rmem": ("4-16KiB", "16-64KiB", "64-512KiB"),
    "initial_rwnd": ("to 64kB", "64kB-8MiB"),
    "initial_rate": ("given",),
    "data_volume": ("given",),
    "announces": ("all", "first"),
    "deadline": ("given",),
}  # fmt: skip
"""Settings of the options. A case has a few of them; the other options keep their defaults."""

ON_ONE_BACKEND = ("extra_ack", "stabilize")
"""Options of flows that the kernel backend does not support yet. A few cases have such an option,
and the report counts these cases as left out."""
_ON_ONE_BACKEND_SHARE = 0.01

_SWITCHES = ("sack", "timestamps", "delayed_ack", "frto", "nodelay", *ON_ONE_BACKEND)

_ROUTER_CONTROLS = ("xcp", "rcp", "vcp", "mpcp", "maxnet")
"""Controls that need a router with the same name and use their own header."""
_OWN_START = ("bbr", "bbr3", "xcp", "rcp", "maxnet")
_FAST = ("initial-start", "jump-start", "mega-start", "careful-resume", "quick-start")
_MOST_OPTIONS = 6
_MOST_RECEIVE_BYTES = 6 << 20
_FIRST_WINDOW_BYTES = 10 * MSS_BYTES
_LONGEST_S = 60


def controls() -> tuple[str, ...]:
    """Names of all controls that hosts can use on a kernel.

    Some are for proxies only, and kernels cannot send what controls with Accurate ECN need.
    """
    return tuple(
        c.name
        for c in registry().controls
        if not c.name.endswith("_pep") and "accurate-ecn" not in c.flags
    )


conflict = Conflicts((
    # controls with routers: the routers have one fixed rate, and the headers use the ECN bits
    (
        [f"control={name}" for name in _ROUTER_CONTROLS],
        ("relay", "vary", "ecn", "startup=quick-start"),
    ),
    ([f"control={name}" for name in _OWN_START], ("startup",)),
    # a Quick-Start router needs one host on each side and a constant rate
    (("startup=quick-start",), ("relay", "call", "vary", "app=pingpong")),
    (("read",), ("app=vectors up", "app=vectors down", "app=pingpong")),
    (("app=pingpong",), ("relay", "initial_rate", "data_volume", "announces", "deadline")),
    (("app=endless", "app=stopped"), ("deadline", "announces")),
    # "vectors down" sends data from the other side than further flows and calls do
    (("app=vectors down",), ("flows", "call")),
    (("relay",), ("call", "flows")),
    # cases with further flows use flows that last until the run's end, not transfers
    (
        ("flows",),
        ("deadline", "announces", *(f"app={app}" for app in OPTIONS["app"])),
    ),
))  # fmt: skip
"""Settings that the cases of all kinds but "paths" do not combine."""

_IN_EVERY_CASE = {*PATH, "control"}
"""Properties of which every case has a class."""


@dataclass(frozen=True)
class Case:
    """One random experiment and the settings that it was made from."""

    kind: str
    seed: int
    index: int
    settings: tuple[Setting, ...]
    experiment: Experiment

    @property
    def options(self) -> tuple[str, ...]:
        """The options that are not the default, as "sack=off"."""
        return tuple(
            f"{name}={value}" for name, value in self.settings if name not in _IN_EVERY_CASE
        )

    @property
    def pairs(self) -> set[Pair]:
        """All pairs of the case's settings."""
        return set(itertools.combinations(sorted(self.settings), 2))


def space(kind: str) -> Space:
    """The settings that the cases of a kind are drawn from."""
    plain = tuple(name for name in controls() if name not in _ROUTER_CONTROLS)
    match kind:
        case "default":
            return Space(_EASY_PATH, plain, {}, 0, 0, conflict)
        case "startups":
            startups = {"startup": OPTIONS["startup"]}
            starting = tuple(name for name in plain if name not in _OWN_START)
            return Space(_EASY_PATH, starting, startups, 1, 1, conflict, ("startup",))
        case "several":
            shared = {"flows": OPTIONS["flows"], "call": OPTIONS["call"], "aqm": ("red", "codel")}
            return Space(_EASY_PATH, plain, shared, 1, 2, conflict, ("flows",))
        case random_paths.KIND:
            return random_paths.SPACE
    least_queue_bytes = 2 * PACKET_BYTES
    return Space(
        PATH, controls(), OPTIONS, 2, _MOST_OPTIONS, conflict, least_queue_bytes=least_queue_bytes
    )


def cases(kind: str, seed: int) -> Iterator[Case]:
    """The cases of a kind and seed, as an endless iterator."""
    drawn_from = space(kind)
    left = dict.fromkeys(drawn_from.pairs())
    for index in itertools.count():
        draws = Draws(kind, seed, index)
        settings = drawn_from.settings(draws, left)
        for pair in itertools.combinations(sorted(settings), 2):
            left.pop(pair, None)
        if kind == "options":
            settings += tuple(
                (n, "on") for n in ON_ONE_BACKEND if draws.chance(_ON_ONE_BACKEND_SHARE)
            )
        make = random_paths.experiment_of if kind == random_paths.KIND else experiment_of
        yield Case(kind, seed, index, settings, make(dict(settings), draws, drawn_from))


@dataclass
class _Path(PathNumbers):
    """The path's numbers with its random loss."""

    loss: float = 0.0


def experiment_of(settings: Mapping[str, str], draws: Draws, drawn_from: Space) -> Experiment:
    """An experiment with these settings. Raises ExperimentError if they cannot be combined."""
    path = _path(settings, draws, drawn_from.least_queue_bytes)
    main = _options(settings, path, draws)
    transfer = _Transfer.of(settings, path, main, draws)
    main |= transfer.fields()
    flows = [main, *_further_flows(settings, main, path, draws)]
    if len(flows) > 1:  # flows' shares of the link are compared, so flows last until the end
        for flow in flows:
            flow["app"] = {"kind": "bulk"}
    if "call" in settings:
        stop_s = math.ceil(1.5 * transfer.ideal_s + 1)
        flows.append({"app": {"kind": "cbr", "packet": "186 B", "interval": "20 ms"},
                      "start": "0 s", "stop": f"{stop_s} s"})  # fmt: skip
    has_end = transfer.has_end and "flows" not in settings
    length_s = transfer.limit_s() if has_end else max(6, min(math.ceil(25 * path.rtt_s), 15))
    if transfer.app == "stopped":
        main["stop"] = f"{rounded(1000 * length_s * draws.between(0.3, 0.8))} ms"
    return Experiment.model_validate(
        {
            "topology": _topology(settings, path, transfer.ideal_s, draws),
            "flows": flows,
            "duration": f"{length_s} s",
            "seed": 1 + draws.below(1_000_000),
        }
    )


def _path(settings: Mapping[str, str], draws: Draws, least_queue_bytes: int) -> _Path:
    numbers = PathNumbers.draw(settings, draws, least_queue_bytes)
    loss = 0.0
    match settings.get("loss"):
        case "to 0.3%":
            loss = draws.between(0.0003, 0.003)
        case "0.3-3%":
            loss = draws.between(0.003, 0.03)
    return _Path(**vars(numbers), loss=round(loss, 4))


def _topology(
    settings: Mapping[str, str], path: _Path, ideal_s: float, draws: Draws
) -> dict[str, Any]:
    """A dumbbell, or with a relay a chain of two hops whose second hop is the bottleneck."""
    ecn = settings.get("ecn")
    aqm = settings.get("aqm", "drop-tail" if ecn in (None, "off") else "red")
    if ecn not in (None, "off") and aqm != "drr":
        aqm += ":ecn=on"
    link: dict[str, Any] = {
        "rate": f"{path.rate_bps} bit/s",
        "buffer": path.buffer,
        "aqm": aqm,
        "loss": path.loss,
    }
    half_us = path.rtt_us // 2
    if "reorder" in settings:
        link["reorder"] = round(draws.between(0.001, 0.02), 4)
        link["reorder_delay"] = f"{rounded(path.rtt_us * draws.between(0.05, 0.5))} us"
    if "duplicate" in settings:
        link["duplicate"] = round(draws.between(0.001, 0.01), 4)
    if ecn in ("bleached", "syn-dropped"):
        link["ecn"] = "bleach" if ecn == "bleached" else "drop-syn"
    if "vary" in settings:
        link["vary"] = _vary(settings["vary"], path, half_us, ideal_s, draws)
    if settings["control"] in _ROUTER_CONTROLS:
        link["routers"] = [settings["control"]]
        link["routers_at_arrival"] = True  # as on the kernel
    if settings.get("startup") == "quick-start":
        link["quick_start"] = "on"
    if "relay" in settings:
        delay_us = max(half_us // 5, 1)
        first = {"rate": f"{5 * path.rate_bps} bit/s", "delay": f"{delay_us} us",
                 "buffer": f"{max(rounded(5 * path.bdp_bytes), 100_000)} B"}  # fmt: skip
        second = {**link, "delay": f"{half_us - delay_us} us"}
        return {"kind": "chain", "hops": [{"forward": first}, {"forward": second}]}
    if settings.get("app") == "vectors down":  # data flows in the reverse direction
        link["reverse"] = {**link, "delay": f"{half_us} us"}
    return {"kind": "dumbbell", "rtt": f"{2 * half_us} us", **link}


def _vary(what: str, path: _Path, delay_us: int, ideal_s: float, draws: Draws) -> dict[str, Any]:
    begin_us = rounded(draws.between(0.2, 0.5) * ideal_s * 1e6)
    lasts_us = rounded(draws.between(0.2, 0.5) * ideal_s * 1e6)
    rate, delay = f"{path.rate_bps} bit/s", f"{delay_us} us"
    change = round(draws.between(2, 4), 1)
    if what == "outage":
        lasts_us = rounded(draws.between(0.2, 2) * 1e6)
    there = {
        "slower": (f"{rounded(path.rate_bps / change)} bit/s", delay),
        "faster": (f"{rounded(path.rate_bps * change)} bit/s", delay),
        "farther": (rate, f"{rounded(delay_us * change)} us"),
        "outage": ("down", delay),
    }[what]
    return {
        "kind": "schedule",
        "steps": [
            {"start": f"{start_us} us", "rate": step, "delay": of_step}
            for start_us, (step, of_step) in (
                (0, (rate, delay)), (begin_us, there), (begin_us + lasts_us, (rate, delay)),
            )
        ],
    }  # fmt: skip


def _options(settings: Mapping[str, str], path: _Path, draws: Draws) -> dict[str, Any]:
    """The fields of the first flow, except those of its application."""
    flow: dict[str, Any] = {"control": _control(settings, path), "start": "0 s"}
    flow |= {name: settings[name] == "on" for name in _SWITCHES if name in settings}
    for name, most in (("wmem", 0), ("rmem", _MOST_RECEIVE_BYTES)):
        if name in settings:
            size = rounded(draws.within(settings[name]))
            flow[name] = growing_memory(size, most)
    match settings.get("initial_rwnd"):
        case "to 64kB":
            flow["initial_rwnd"] = f"{rounded(draws.between(3000, 65_000))} B"
        case "64kB-8MiB":
            flow["initial_rwnd"] = f"{rounded(draws.between(66_000, 8_000_000))} B"
    if "ecn" in settings:
        flow["ecn"] = settings["ecn"] if settings["ecn"] in ("off", "on/off") else "on"
    if settings.get("startup") == "quick-start" and draws.chance(0.5):
        flow["willing_rate"] = f"{rounded(path.rate_bps * draws.between(0.1, 2))} bit/s"
    if "relay" in settings:
        other = "reno" if settings["control"] != "reno" else "cubic"
        same = settings["relay"] == "same control"
        flow["relay"] = {"at_hop": 1, "control": None if same else other}
    asks = settings.get("startup") in ("mega-start", "quick-start")
    if "initial_rate" in settings or (asks and settings.get("app") != "pingpong"):
        flow["initial_rate"] = f"{rounded(path.rate_bps * draws.between(0.2, 1.2))} bit/s"
    match settings.get("read"):
        case "rate":
            flow["read_rate"] = f"{rounded(path.rate_bps * draws.between(0.1, 1.2))} bit/s"
        case "portions":
            interval_s = draws.between(0.05, 0.5)
            portion = path.rate_bps / 8 * interval_s * draws.between(0.2, 1.5)
            flow["read_size"] = f"{max(rounded(portion), 1000)} B"
            flow["read_interval"] = f"{rounded(interval_s * 1000)} ms"
    return flow


def _control(settings: Mapping[str, str], path: _Path) -> dict[str, Any]:
    control: dict[str, Any] = {"name": settings["control"]}
    if "startup" in settings:
        control["startup"] = settings["startup"]
    if settings.get("startup") == "careful-resume":
        packets = max(rounded(path.bdp_bytes / MSS_BYTES), 4)
        control["tunables"] = {"cr_saved_cwnd_pkts": packets, "cr_saved_rtt_us": path.rtt_us}
    return control


def _further_flows(
    settings: Mapping[str, str], main: Mapping[str, Any], path: _Path, draws: Draws
) -> list[dict[str, Any]]:
    """The flows that share the link with the first flow; every second has a different control."""
    if "flows" not in settings:
        return []
    number, _, apart = settings["flows"].partition(" ")
    count = 2 if number == "2" else 3 + draws.below(2)
    other = "cubic" if settings["control"] != "cubic" else "reno"
    one_host = settings.get("startup") == "quick-start"
    flows = []
    for number_of_flow in range(1, count):
        flow: dict[str, Any] = {"start": f"{rounded(draws.between(50, 1500))} ms"}
        needs_router = settings["control"] in _ROUTER_CONTROLS
        flow["control"] = (
            main["control"] if number_of_flow % 2 == 0 or needs_router else {"name": other}
        )
        if one_host:
            same = ("sack", "timestamps", "delayed_ack", "frto", "wmem", "rmem",
                    "initial_rwnd", "ecn", "willing_rate")  # fmt: skip
            flow |= {name: main[name] for name in same if name in main}
        elif apart:
            flow["delay"] = f"{rounded(path.rtt_us * draws.between(0.1, 1))} us"
        flows.append(flow)
    return flows


@dataclass
class _Transfer:
    """The first flow's application, and the time that its transfer takes on an ideal path."""

    app: str
    size_bytes: int
    ideal_s: float
    hints: dict[str, Any]
    draws: Draws
    rtt_s: float

    @property
    def has_end(self) -> bool:
        return self.app not in ("endless", "stopped", "pingpong")

    @classmethod
    def of(
        cls, settings: Mapping[str, str], path: _Path, flow: Mapping[str, Any], draws: Draws
    ) -> _Transfer:
        rate_bps = _ideal_bps(path, flow)
        rtt_s = path.rtt_s
        most_rounds = max(1.0, 6 / rtt_s - 2)  # slow start doubles the window in each round trip
        ramp_bytes = _FIRST_WINDOW_BYTES * 2 ** min(most_rounds, 40)
        size_bytes = rounded(max(min(rate_bps / 8 * draws.between(0.7, 4), ramp_bytes), 10_000))
        rounds = 2 + math.log2(1 + size_bytes / _FIRST_WINDOW_BYTES)
        ideal_s = size_bytes * 8 / rate_bps + rounds * rtt_s
        hints: dict[str, Any] = {}
        if "data_volume" in settings:
            hints["data_volume"] = f"{size_bytes} B"
        if "announces" in settings:
            hints["announces" if settings["announces"] == "all" else "announces_first"] = True
        if "deadline" in settings:
            hints["deadline"] = f"{rounded(ideal_s * draws.between(0.5, 2) * 1000)} ms"
        return cls(settings.get("app", "bulk"), size_bytes, ideal_s, hints, draws, rtt_s)

    def fields(self) -> dict[str, Any]:
        """The fields of the first flow that describe its application and its hints."""
        return {"app": self._app(), **self.hints}

    def _app(self) -> dict[str, Any]:
        if self.app in ("endless", "stopped"):
            return {"kind": "bulk"}
        if self.app == "pingpong":
            mean_us = rounded(1e6 * self.draws.between(0.02, 0.3))
            size = rounded(self.draws.between(50, 5000))
            return {"kind": "pingpong", "request": f"{size} B", "mean_interval": f"{mean_us} us"}
        if self.app == "bulk":
            return {"kind": "bulk", "size": f"{self.size_bytes} B"}
        count = 2 + self.draws.below(4)
        epochs = []
        for _ in range(count):
            large = f"{max(rounded(self.size_bytes / count * self.draws.between(0.3, 3)), 1)} B"
            small = f"{rounded(self.draws.between(100, 2000))} B"
            think = f"{rounded(self.draws.between(1, 1500))} ms"
            both = (large, small) if self.app == "vectors up" else (small, large)
            epochs.append((*both, think))
        return {"kind": "vectors", "epochs": epochs}

    def limit_s(self) -> int:
        """Duration of the run, after which the transfer is done or has failed.

        A run ends when its transfer is done, so a long limit costs no time.
        """
        think_s = 8 if self.app.startswith("vectors") else 0
        return min(math.ceil(4 * self.ideal_s + think_s + 8), _LONGEST_S)


def _ideal_bps(path: _Path, flow: Mapping[str, Any]) -> float:
    """The rate of the first flow that link, windows, buffers, reader and random loss allow."""
    windows = [
        int(flow[name].split("/")[1].split()[0]) / 2 for name in ("wmem", "rmem") if name in flow
    ]
    bounds = [float(path.rate_bps)]
    bounds += [max(window, 2 * MSS_BYTES) * 8 / path.rtt_s for window in windows]
    if "read_rate" in flow:
        bounds.append(float(flow["read_rate"].split()[0]))
    if "read_size" in flow:
        interval_s = int(flow["read_interval"].split()[0]) / 1000
        bounds.append(int(flow["read_size"].split()[0]) * 8 / interval_s)
    # a small queue overflows repeatedly, so it bounds the window to about this size
    bounds.append((4 * path.buffer_bytes + 2 * _FIRST_WINDOW_BYTES) * 8 / path.rtt_s)
    if path.loss:
        bounds.append(8 * 1.2 * MSS_BYTES / path.rtt_s / path.loss**0.5)
    return min(bounds)
