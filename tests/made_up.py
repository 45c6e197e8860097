"""Made-up measurements of headwayctl: evidence for the studies of a live kernel.

A live kernel never gives the same numbers twice, so tests judge made-up numbers instead.
"""

from __future__ import annotations

import dataclasses
import json
import tempfile
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import Any

import numpy as np

from headway.backends import Recorded
from headway.studies.city import experiments as city
from headway.studies.common.beside import SIMULATED, BesideSimulator
from headway.studies.common.measured import MeasuredStudy, Measurement
from headway.studies.deadlines.experiments import Responses
from headway.studies.map_page import experiments as map_page
from headway.studies.web_surge.experiments import MODELS
from headway.studies.web_surge.kernel import PAGES, WAYS, Times
from headway.study import Study, StudyContext, discover

PARTS = (0, 500_000, 900_000, 990_000, 999_000, 1_000_000)

TURNS = (1.0, 1.1, 0.99)
"""Factor by which the made-up machine is slower in each turn of a measurement."""


def option(command: Sequence[str], name: str, default: str = "") -> str:
    """The value of an option on a command line."""
    return command[command.index(name) + 1] if name in command else default


def router_bench(command: Sequence[str], *, more_ns: float = 20.0) -> Measurement:
    """Results of `headwayctl router bench`, made up.

    A packet takes 2 us without an eBPF program; 1 us of this is for sending. With the program a
    packet takes ``more_ns`` more, and with a request in it another 300 ns more. With an empty
    program it takes 10 ns more.
    """
    share = int(option(command, "--requests"))
    program_ns = more_ns + 3.0 * share
    sides = {"plain": 2000.0, "empty": 2010.0, "without": 2000.0, "with": 2000.0 + program_ns}

    def turn(slower: float) -> dict[str, Any]:
        return {
            side: {
                "packets": 1000,
                "rate_pps": 1e9 / (ns * slower),
                "clock_pps": 4e5,
                "cpu_ns": ns * slower,
            }
            for side, ns in sides.items()
        }

    delays = {
        side: {
            "packets": 1000,
            "lost": 0,
            "mean_us": ns / 1e3,
            "quantiles_us": [[part, ns / 1e3 * (1 + part / 1e6)] for part in PARTS],
        }
        for side, ns in sides.items()
    }
    return {
        "rounds": [turn(slower) for slower in TURNS],
        "sending_cpu_ns": 1000.0,
        "program_ns": program_ns,
        "delays": delays,
        "delay_rounds_us": [
            {side: ns / 1e3 * slower for side, ns in sides.items()} for slower in TURNS
        ],
    }


MSS_BYTES = 1448
RTT_US = 200_000
LINK_PKTS = 166
"""The packets that 10 Mbit/s and 200 ms hold in a round trip."""


def window_bench(command: Sequence[str]) -> Measurement:
    """Results of `headwayctl host window-bench`, made up.

    The sender's window begins with the smaller of the receiver's first window and the startup's
    window. It doubles with every round trip until the link is full.
    """
    small = int(option(command, "--first-window", "10000"))
    size_bytes = int(option(command, "--bytes").removesuffix("B"))
    flight_pkts = 45 if "cubic+jump-start" in command else 2
    late_us = 0
    if "--ignore-peer" in command:
        late_us = 30_000
    else:
        flight_pkts = min(flight_pkts, small)
    if "--extra-ack" in command:
        flight_pkts = LINK_PKTS
    time_us, cwnd_pkts, sent_pkts = RTT_US, flight_pkts, 0.0
    windows, arrived = [], [(RTT_US // 2, 1)]
    while sent_pkts * MSS_BYTES < size_bytes:
        round_pkts = min(cwnd_pkts, LINK_PKTS, size_bytes / MSS_BYTES - sent_pkts)
        for part in range(10):
            cwnd_bytes = round(cwnd_pkts * (1 + part / 10) * MSS_BYTES)
            seen = {"cwnd_bytes": cwnd_bytes, "window_bytes": 2 * cwnd_bytes}
            windows.append({"time_us": time_us + part * RTT_US // 10, **seen})
        sent_pkts += round_pkts
        time_us += round(RTT_US * max(round_pkts / LINK_PKTS, cwnd_pkts < LINK_PKTS))
        arrived.append((time_us + late_us, round(sent_pkts * MSS_BYTES)))
        cwnd_pkts *= 2

    def transfer(later_us: int) -> dict[str, Any]:
        return {
            "took_us": arrived[-1][0] + later_us,
            "windows": windows,
            "arrived": [[us + later_us, count] for us, count in arrived],
            "window_limited_us": late_us,
            "retransmits_pkts": 0,
        }

    return {
        "control": option(command, "--control"),
        "bytes": size_bytes,
        "rounds": [transfer(later_us) for later_us in (0, 900, 300)],
        "counters": {},
        "on_time": True,
        "warnings": [],
    }


MEASURE: Mapping[str, Callable[[Sequence[str]], Measurement]] = {
    "overhead": router_bench,
    "receive-window": window_bench,
}
"""For each live study with commands of headwayctl, a function that makes up their output."""


def context(out_dir: Any) -> StudyContext:
    """A context for a live study's quick form with made-up measurements."""
    return StudyContext(out_dir, Recorded("kernel"), quick=True)


def whole(study: Study[Any, Any], ctx: StudyContext) -> StudyContext:
    """A context for made-up trials: the full form, unless the study's trials are measurements."""
    return dataclasses.replace(ctx, quick=ctx.quick and isinstance(study, MeasuredStudy))


def map_loads(key: str) -> map_page.Loads:
    """Ten visits as in the thesis: a target time of 250 ms saves two seconds per visit, a target
    time of 1 s saves none.
    """
    load_s = {"slow-start-3": 9.6, "slow-start": 8.0, "initial-start": 8.1, "jump-start": 7.0}
    target_ms = int(key.rpartition("-")[2]) if key[-1].isdigit() and key not in load_s else 250
    target_s = 6.0 + 2.0 * min(abs(target_ms - 250) / 750, 1.0)
    mean_s = load_s.get(key, target_s)
    return map_page.Loads(mean_s + np.linspace(-0.1, 0.1, 10), 1.5e6)


def walk(key: str) -> city.Walk:
    """A walk through two districts of the city. Startups that know more about the path are faster;
    each further run is one percent slower.
    """
    order = ("quick-start", "quick-start-chi", "jump-start", "slow-start")
    walks, _, run = key.rpartition("-r")
    scheme = walks.removesuffix("-50ms")
    volumes = np.array([8e6, 86e6])
    response_s = np.array([1.2, 2.4]) * (1 + 0.5 * order.index(scheme)) * (1 + int(run) / 100)
    time_s = np.arange(0.0, 40.0, 0.2)
    slow = 1 + order.index(scheme)
    rate_mbps = 400 * np.exp(-(((time_s - 10 - 2 * slow) / slow) ** 2))
    return city.Walk(
        ("harbour-near", "towers-near"), volumes, np.array([1.0, 9.0]), response_s, time_s,
        rate_mbps,
    )  # fmt: skip


def responses(key: str) -> Responses:
    """Three downloads: Mega-Start meets its target times, Quick-Start is a round trip late."""
    scheme, _, target_ms = key.removeprefix(SIMULATED).rpartition("-t")
    target_s = int(target_ms) / 1e3
    slow_s = {"slow-start": 1.04, "jump-start": 0.43}.get(scheme, 0.65)
    may_ask = scheme.startswith("quick-start")
    hears = target_s > 0.2 and (may_ask or scheme == "mega-start")
    took_s = min(max(target_s, 0.285) + 0.2 * may_ask, slow_s) if hears else slow_s
    asked = 3.0 if may_ask and 0.2 < target_s < slow_s else 0.0
    return Responses(took_s + np.array([0.0, 0.004, 0.001]), asked)


def pages(key: str) -> Times:
    """Load times of the pages of both Web models: small pages gain little from fast startups, large
    pages more, and pages over HTTP/1.0 most."""
    saved = 0.0 if key.endswith("slow-start") else 1.0
    first = [(1.0 - 0.1 * saved, 2.0 - 0.4 * saved)] * len(WAYS)
    first[0] = (2.0 - 0.1 * saved, 5.0 - 1.2 * saved)
    users = [[way[model] + 0.1 * page for page in range(PAGES)]
             for model in range(len(MODELS)) for way in first]  # fmt: skip
    return Times(tuple(tuple(user) for user in users))


SEEN: Mapping[str, Callable[[str], Any]] = {
    "map-page": map_loads,
    "city": walk,
    "deadlines": responses,
    "web-surge": pages,
}
"""For each study that a live kernel judges by traces, a function that makes up the observation of
the trial with a key."""


def rows(name: str, ctx: StudyContext) -> dict[str, Any]:
    """Made-up observations of a live study by the trial's key.

    For a study with traces, they are those of its full form and, if it compares itself with the
    simulator, also of the simulated trials.
    """
    study = discover()[name].live()
    assert study is not None
    if not isinstance(study, MeasuredStudy):
        with tempfile.TemporaryDirectory() as folder:
            here = dataclasses.replace(whole(study, ctx), out_dir=Path(folder))
            keys = list(study.experiments(here))
        if isinstance(study, BesideSimulator):
            keys += [f"{SIMULATED}{key}" for key in keys]
        return {key: SEEN[name](key) for key in keys}
    made = {key: MEASURE[name](command) for key, command in study.commands(ctx).items()}
    # Give tuples and keys the types that they would have after reading a JSON file.
    return dict(json.loads(json.dumps(made)))
