"""The validation's scenarios: paths that cover all pairs of factors' values, and some more."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Any

from headway.engine import engine
from headway.experiment import Experiment, Flow, Voip, parse_flows
from headway.experiment.vary import Schedule, Step, outages
from headway.units import bdp_bytes, format_time

RATES_MBPS = (1, 10, 100)
CONTROLS = ("reno", "cubic", "htcp")
RTTS_MS = (20, 50, 100, 200)
BUFFERS_BDP = (0.25, 1.0, 4.0)
FLOWS = (1, 2, 5)
LOSSES = (0.0, 0.01)
SMALLEST_BUFFER_BYTES = 6_000
"""The smallest queue limit: four packets, because a quarter of a small BDP is less than a packet.
"""
START_GAP_MS, START_SPREAD_MS, TOGETHER_SPREAD_MS = 200, 100, 5
"""Flows start START_GAP_MS after each other, or together. Each start gets a random delay of at most
START_SPREAD_MS or TOGETHER_SPREAD_MS. The delay depends on the trial's seed, so it differs between
trials but not between the backends."""
DURATION_S, TRIALS = 12, 3
"""Usual length of a trial, and usual number of trials on the kernel."""
LOSSY_S, LOSSY_TRIALS = 8, 8
"""Length and number of trials of scenarios with random loss, whose trials differ most. The
backends' runs with the same seed are alike only at the beginning of a trial, so many short trials
show more than few long ones."""


@dataclass(frozen=True)
class Scenario:
    """A scenario to run on both backends, one row of the page's table.

    ``control`` may have a startup and options, as in the text of flows. ``router`` is the algorithm
    of the bottleneck's router; it has the control's name, so the key does not repeat it.
    """

    rate_mbps: int
    rtt_ms: int
    buffer_bdp: float
    flows: int
    control: str
    loss: float = 0.0
    voip: bool = False
    aqm: str = "drop-tail"
    together: bool = False
    change: str = ""
    duration_s: int = DURATION_S
    trials: int = TRIALS
    router: str = ""

    @property
    def key(self) -> str:
        """A unique name for files, built from all fields."""
        words = [
            self.control.replace("+", "-").replace(":", "-").replace("=", "-").replace("/", ""),
            f"{self.flows}x",
            f"{self.rate_mbps}mbps",
            f"{self.rtt_ms}ms",
            f"{self.buffer_bdp:g}bdp",
        ]
        if self.aqm != "drop-tail":
            words.append(self.aqm.replace(":", "-").replace("=", "-"))
        words += ["together"] * self.together + [self.change] * bool(self.change)
        words += ["loss"] * bool(self.loss) + ["voip"] * self.voip
        return "-".join(words)

    @property
    def buffer_bytes(self) -> int:
        """The queue's limit in bytes."""
        bdp = bdp_bytes(self.rate_mbps * 1_000_000, self.rtt_ms * 1_000_000)
        return max(int(self.buffer_bdp * bdp), SMALLEST_BUFFER_BYTES)

    def starts_ns(self, seed: int) -> list[int]:
        """Start time of each TCP flow in ns."""
        gap_ms, spread_ms = START_GAP_MS, START_SPREAD_MS
        if self.together:
            gap_ms, spread_ms = 0, TOGETHER_SPREAD_MS
        drawn_ns = engine.start_times_ns(seed, spread_ms * 1_000_000, [None] * self.flows)
        return [i * gap_ms * 1_000_000 + ns for i, ns in enumerate(drawn_ns)]

    def experiment(self, seed: int = 1, duration_s: int | None = None) -> Experiment:
        """The experiment of one trial; the first fifth of its time is warm-up."""
        length_s = duration_s or self.duration_s
        flows = [
            flow
            for ns in self.starts_ns(seed)
            for flow in parse_flows(f"{self.control}:start={format_time(ns)}".replace(" ", ""))
        ]
        if self.voip:
            flows.append(Flow.model_validate({"app": Voip, "start": "0 s"}))
        topology: dict[str, Any] = {
            "kind": "dumbbell",
            "rate": f"{self.rate_mbps}Mbit/s",
            "rtt": f"{self.rtt_ms} ms",
            "buffer": f"{self.buffer_bytes} B",
            "loss": self.loss,
            "aqm": self.aqm,
        }
        if self.router:
            topology["routers"] = [self.router]
        if self.change:
            topology["vary"] = _change(self.change, self.rate_mbps, self.rtt_ms, length_s)
        return Experiment.model_validate(
            {
                "topology": topology,
                "flows": flows,
                "duration": f"{length_s} s",
                "warmup": f"{length_s * 200} ms",
                "stack": "linux-6",
                "seed": seed,
            }
        )


def _change(what: str, rate_mbps: int, rtt_ms: int, length_s: int) -> Schedule:
    """A schedule for a link that changes during a trial.

    "slower": a quarter of the rate in the middle third of the trial. "farther": 1.5 times the delay
    in the middle third. "outage": the link is down for 0.7 s from the middle of the trial on.
    """
    rate, delay = f"{rate_mbps}Mbit/s", f"{rtt_ms * 500} us"
    if what == "outage":
        return outages(rate, delay, [(f"{length_s // 2} s", f"{length_s * 500 + 700} ms")])
    there = {
        "slower": (f"{rate_mbps * 250}kbit/s", delay),
        "farther": (rate, f"{rtt_ms * 750} us"),
    }[what]
    thirds = ("0 s", f"{length_s * 1000 // 3} ms", f"{length_s * 2000 // 3} ms")
    steps = [(rate, delay), there, (rate, delay)]
    return Schedule(
        steps=[
            Step(start=at, rate=step, delay=late)
            for at, (step, late) in zip(thirds, steps, strict=True)
        ]
    )


def paths() -> list[Scenario]:
    """36 paths: all combinations of rate, control and RTT.

    The other factors are chosen by index such that every two values of any two factors occur
    together at least once.
    """
    return [
        _timed(
            Scenario(
                rate_mbps=rate,
                rtt_ms=rtt,
                buffer_bdp=BUFFERS_BDP[(r + c + t) % 3],
                flows=FLOWS[(r + 2 * c + t) % 3],
                control=control,
                loss=LOSSES[(r * c + t // 2 + r + c) % 2],
                voip=(r + c + t) % 2 == 0,
            )
        )
        for r, rate in enumerate(RATES_MBPS)
        for c, control in enumerate(CONTROLS)
        for t, rtt in enumerate(RTTS_MS)
    ]


def _timed(scenario: Scenario) -> Scenario:
    """The scenario with more but shorter trials if it has random loss."""
    if not scenario.loss:
        return scenario
    return replace(scenario, duration_s=LOSSY_S, trials=LOSSY_TRIALS)


def others() -> list[Scenario]:
    """Scenarios with properties that ``paths`` does not vary; a comment names each property."""
    row = Scenario
    deep, long_s = 4.0, 20
    return [
        # queues of 4 BDP at 100 Mbit/s: socket buffers and windows may limit flows, losses come in
        # bursts
        row(100, 50, deep, 1, "reno", duration_s=long_s),
        row(100, 50, deep, 2, "reno", duration_s=long_s),
        row(100, 50, deep, 2, "cubic", duration_s=long_s),
        row(100, 20, deep, 2, "htcp", duration_s=long_s),
        row(100, 50, deep, 5, "cubic", duration_s=long_s),
        row(100, 100, deep, 2, "cubic", duration_s=long_s),
        # flows that start at the same time, so that the first losses hit all of them
        row(10, 50, 1.0, 2, "reno", together=True),
        row(10, 100, 0.25, 5, "cubic", together=True),
        row(10, 20, deep, 5, "htcp", together=True),
        row(100, 50, deep, 2, "reno", together=True, duration_s=long_s),
        row(100, 20, 1.0, 5, "cubic", together=True),
        # startups that end slow start in different ways
        row(10, 100, 1.0, 1, "cubic+slow-start"),
        row(100, 50, 1.0, 1, "reno+hystart"),
        row(10, 50, 1.0, 2, "cubic+hystart-plus-plus"),
        # AQMs that drop packets before the queue is full
        row(10, 50, deep, 2, "reno", aqm="red"),
        row(10, 100, deep, 5, "cubic", aqm="red"),
        row(100, 20, deep, 5, "htcp", aqm="red"),
        row(10, 50, 1.0, 2, "cubic", aqm="codel"),
        row(100, 20, 1.0, 5, "reno", aqm="codel"),
        # queues that mark packets with CE instead of dropping them
        row(10, 50, deep, 1, "reno:ecn=on", aqm="red:ecn=on"),
        row(10, 50, deep, 2, "cubic:ecn=on", aqm="red:ecn=on"),
        row(100, 20, deep, 5, "htcp:ecn=on", aqm="red:ecn=on"),
        row(10, 50, 1.0, 1, "reno:ecn=on", aqm="codel:ecn=on"),
        row(10, 20, 1.0, 5, "cubic:ecn=on", aqm="codel:ecn=on"),
        row(100, 50, 1.0, 2, "reno:ecn=on", aqm="codel:ecn=on"),
        # BBR, which paces by a model of the path
        row(10, 20, deep, 1, "bbr"),
        row(10, 50, 1.0, 2, "bbr"),
        row(10, 100, 1.0, 1, "bbr"),
        row(100, 20, 1.0, 1, "bbr"),
        row(100, 50, deep, 2, "bbr"),
        _timed(row(10, 50, 1.0, 1, "bbr", loss=0.01)),
        # receivers that read slowly: at a constant low rate, or in portions
        row(10, 50, 1.0, 1, "cubic:read_rate=4Mbit/s"),
        row(10, 100, 1.0, 2, "reno:read_size=200kB:read_interval=400ms"),
        row(100, 20, 1.0, 1, "cubic:read_rate=40Mbit/s"),
        # links that change
        row(10, 50, 1.0, 1, "cubic", change="slower"),
        row(20, 50, 1.0, 2, "reno", change="slower"),
        row(10, 50, 1.0, 2, "cubic", change="farther"),
        row(10, 100, 1.0, 1, "reno", change="outage"),
    ]


def matrix() -> list[Scenario]:
    """All scenarios, slowest links first: scenarios of one rate can then run in parallel."""
    return sorted([*paths(), *others()], key=lambda scenario: scenario.rate_mbps)


def quick_matrix() -> list[Scenario]:
    """Eight scenarios, one trial each: all rates and controls twice, loss, RED, a changing link."""
    known, more = paths(), others()
    chosen = [known[index] for index in (1, 8, 14, 19, 27, 32)]
    chosen += [next(s for s in more if s.aqm == "red"), next(s for s in more if s.change)]
    return [replace(scenario, trials=1, duration_s=DURATION_S) for scenario in chosen]
