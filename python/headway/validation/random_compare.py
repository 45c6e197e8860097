"""Compares a random case on both backends and decides whether the simulator differs.

A value (such as a goodput) differs if the simulator's value is outside the range of the kernel
runs' values, and further from the nearest of them than the rule for this kind of value allows.
"""

from __future__ import annotations

import statistics
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace

import numpy as np
import polars as pl

from headway import metrics
from headway.experiment import Bulk, Experiment, Link, Pingpong, Vectors
from headway.experiment.directions import server_sends_more
from headway.metrics.windows import values_with_durations
from headway.trace import Trace
from headway.units import BITS_PER_BYTE, NS_PER_S
from headway.validation import random_paths
from headway.validation.random_cases import KINDS, Case
from headway.validation.random_draws import PACKET_BYTES

ALLOWED, ALLOWED_SHARE = 0.05, 0.03
"""Allowed difference as a share of the kernel's median; for goodputs of several flows, as a share
of the link's rate."""
CLOSE = 0.01
"""If the first kernel run's relative difference from the simulator is at most this, the case gets
no further kernel runs."""

Observed = Mapping[str, float | None]
"""Values of one run by name, such as "goodput of cubic-0". None means that the event, such as the
end of a transfer, did not happen. A value whose name has no flow is of all flows together, or of
the bottleneck."""


@dataclass(frozen=True)
class Rule:
    """A value differs if the difference exceeds ``least`` and ``allowed`` × kernel's value."""

    least: float
    allowed: float = ALLOWED
    main_of: tuple[str, ...] = ()
    """The kinds of cases in which these values decide if the backends differ. Other values only
    describe a case."""


_PATHS = (random_paths.KIND,)
RULES: Mapping[str, Rule] = {
    # differences of up to 2 ms do not count, since hosts and emulator have separate clocks
    "completion time": Rule(0.002, main_of=KINDS),
    "total goodput": Rule(0, main_of=_PATHS),
    "goodput": Rule(0, main_of=KINDS),
    "response time": Rule(0.002, main_of=KINDS),
    "median delay": Rule(0.001),
    "p95 delay": Rule(0.001),
    "delay of the call": Rule(0.001, main_of=_PATHS),
    "retransmits": Rule(10, 0.25),
    "timeouts": Rule(1, 0.25),
    "limited by the peer's window": Rule(0.05),
    "limited by the send buffer": Rule(0.05),
}
"""The rule for each kind of value, in the order of the tables. Times are in seconds, rates in
bit/s."""


def observe(trace: Trace) -> Observed:
    """The values of one run."""
    experiment = trace.experiment
    ended_ns = [_ended_ns(trace, index) for index in trace.tcp_flows()]
    known_ns = [at for at in ended_ns if at is not None]
    over_ns = max(known_ns) if len(known_ns) == len(ended_ns) else experiment.duration
    values: dict[str, float | None] = {}
    for index, at in zip(trace.tcp_flows(), ended_ns, strict=True):
        values |= _of_flow(trace, index, at)
    values |= _delays(trace, over_ns)
    values["retransmits"] = sum(metrics.retransmits_pkts(trace, f) for f in trace.tcp_flows())
    values["timeouts"] = sum(metrics.rtos(trace, flow) for flow in trace.tcp_flows())
    if trace.udp_flows():
        delay = metrics.owd_distribution_us(trace)
        values["delay of the call"] = None if delay.median is None else delay.median / 1e6
    return values


_GOODPUT = "goodput of "
_LIMITED = {
    "rwnd_limited_us": "limited by the peer's window",
    "sndbuf_limited_us": "limited by the send buffer",
}


def _of_flow(trace: Trace, index: int, ended_ns: int | None) -> dict[str, float | None]:
    flow, summary = trace.experiment.flows[index], trace.flows[index]
    values: dict[str, float | None] = {}
    if _has_end(trace.experiment, index):
        start_ns = summary.first_packet_ns or 0
        length_s = None if ended_ns is None else (ended_ns - start_ns) / NS_PER_S
        values[f"completion time of {summary.name}"] = length_s
    if isinstance(flow.app, Pingpong):
        answers = trace["responses"].filter(pl.col("flow") == index)
        lengths_ns = answers["end_ns"] - answers["start_ns"]
        length_ns = float(np.median(lengths_ns.to_numpy())) if len(answers) else None
        values[f"response time of {summary.name}"] = length_ns and length_ns / NS_PER_S
    elif ended_ns is None:
        values[f"{_GOODPUT}{summary.name}"] = metrics.goodput_bps(trace, index)
    for field, kind in _LIMITED.items():
        limited_us = getattr(summary, field)
        if limited_us is not None:
            values[f"{kind} of {summary.name}"] = limited_us / 1e6
    return values


def _has_end(experiment: Experiment, index: int) -> bool:
    app = experiment.flows[index].app
    return isinstance(app, Vectors) or (isinstance(app, Bulk) and app.size is not None)


def _ended_ns(trace: Trace, index: int) -> int | None:
    """Time at which a flow had delivered all its data; None if it never had."""
    app = trace.experiment.flows[index].app
    if not isinstance(app, Vectors):
        return trace.flows[index].done_ns
    ends = trace["responses"].filter(pl.col("flow") == index)["end_ns"].to_numpy()
    return int(ends.max()) if len(ends) >= len(app.epochs) else None


def _bottleneck(experiment: Experiment, flow: int = 0) -> tuple[int, Link]:
    """The slowest link for a flow's data, with its number before it; of several the last one."""
    links = [link for hop in experiment.topology.links() for link in hop]
    route = experiment.routes(flow)[server_sends_more(experiment.flows[flow])]
    number = min(reversed(route), key=lambda number: _slowest_bps(links[number]))
    return number, links[number]


def _slowest_bps(link: Link) -> int:
    """The rate of a link, or that of its policer or shaper."""
    rates: list[int] = [bucket.rate for name in ("policer", "shaper") for bucket in link.ever(name)]
    return min([link.rate, *rates])


def _delays(trace: Trace, until_ns: int) -> dict[str, float | None]:
    """The bottleneck's queueing delay plus its propagation delay, weighted by time."""
    number, link = _bottleneck(trace.experiment)
    rows = trace["queue"].filter(pl.col("link") == number)
    queue_bytes, held_ns = values_with_durations(rows, "queue_bytes", (0, max(until_ns, 1)))
    delay = metrics.weighted_distribution(
        queue_bytes * BITS_PER_BYTE / link.rate + link.delay / NS_PER_S, held_ns
    )
    return {"median delay": delay.median, "p95 delay": delay.p95}


@dataclass(frozen=True)
class Value:
    """One value, such as a flow's goodput, on both backends."""

    name: str
    sim: float | None
    kernels: tuple[float | None, ...]
    scale: float | None = None
    """The value to which differences are relative; None uses the kernel's median."""
    least: float = 0.0
    """A difference of at most ``least`` is ignored, even if it exceeds the limits of the rule."""
    share: float | None = None
    """The allowed difference as a share of ``scale``; None uses the rule's ``allowed``."""

    @property
    def kind(self) -> str:
        """The kind of the value: its name without the flow's name."""
        return next(kind for kind in RULES if self.name.startswith(kind))

    @property
    def rule(self) -> Rule:
        """The rule that decides when the value differs."""
        return RULES[self.kind]

    @property
    def kernel(self) -> float | None:
        """The median of the kernel's runs; None if the event happened in none of them."""
        return statistics.median(self._known) if self._known else None

    @property
    def on_one_side(self) -> str | None:
        """The only backend on which the event happened: "sim" or "kernel"; otherwise None."""
        if self.sim is not None and self.kernel is None:
            return "sim"
        if self.sim is None and None not in self.kernels:
            return "kernel"
        return None

    @property
    def difference(self) -> float | None:
        """The simulator's difference from the kernel's median, relative to ``scale``."""
        kernel = self.kernel
        if self.sim is None or kernel is None:
            return None
        if self._scale:
            return (self.sim - kernel) / self._scale
        return 0.0 if self.sim == kernel else None

    @property
    def beyond(self) -> float | None:
        """The simulator's difference from the nearest kernel run; 0 within the runs' range."""
        if self.difference is None or self.sim is None:
            return None
        nearest = min(max(self.sim, min(self._known)), max(self._known))
        return (self.sim - nearest) / (self._scale or 1)

    @property
    def spread(self) -> float:
        """The range of the kernel's runs, relative to ``scale``."""
        if not self._known:
            return 0.0
        return (max(self._known) - min(self._known)) / (self._scale or 1)

    @property
    def own_difference(self) -> float | None:
        """The largest difference of a kernel run from the kernel's median, relative to ``scale``.

        None with a single run.
        """
        kernel = self.kernel
        if kernel is None or len(self._known) < 2 or not self._scale:
            return None
        return max(abs(value - kernel) for value in self._known) / self._scale

    @property
    def differs(self) -> bool:
        """Whether the simulator's value is further outside the kernel runs' range than allowed."""
        kernel, beyond = self.kernel, self.beyond
        if self.sim is None or kernel is None:
            return self.on_one_side is not None
        if beyond is None:  # the kernel's median is 0, so only the absolute limits apply
            return abs(self.sim) > max(self.least, self.rule.least)
        share = self.rule.allowed if self.share is None else self.share
        return abs(beyond) * self._scale > max(self.least, self.rule.least, share * self._scale)

    @property
    def _known(self) -> list[float]:
        return [value for value in self.kernels if value is not None]

    @property
    def _scale(self) -> float:
        return self.scale or abs(self.kernel or 0)


def _with_total(run: Observed) -> Observed:
    """The values of a run and the goodput of all its flows together."""
    goodputs = (value for name, value in run.items() if name.startswith(_GOODPUT))
    return {**run, "total goodput": sum(value or 0 for value in goodputs)}


def values_of(
    experiment: Experiment,
    sims: Sequence[Observed],
    kernels: Sequence[Observed],
    kind: str = KINDS[0],
) -> tuple[Value, ...]:
    """Every value that both backends report. The simulator's value is the median of its runs."""
    _, link = _bottleneck(experiment)
    shared = sum(flow.is_tcp for flow in experiment.flows) > 1
    numbers = {name: number for number, name in enumerate(experiment.flow_names())}
    if kind == random_paths.KIND:
        sims, kernels = ([_with_total(run) for run in runs] for runs in (sims, kernels))
    packet_s = PACKET_BYTES * BITS_PER_BYTE / link.rate
    found = []
    for name in sims[0]:
        if not all(name in run for run in (*sims, *kernels)):
            continue
        known = [one for run in sims if (one := run[name]) is not None]
        sim = statistics.median(known) if 2 * len(known) > len(sims) else None
        of_kernel = tuple(run[name] for run in kernels)
        value = Value(name, sim, of_kernel)
        if value.kind == "goodput" and shared:
            _, shares = _bottleneck(experiment, numbers[name.removeprefix(_GOODPUT)])
            value = replace(value, scale=float(_slowest_bps(shares)), share=ALLOWED_SHARE)
        elif "delay" in value.kind:
            value = replace(value, least=packet_s)
        elif "limited" in value.kind:
            ends = [run.get(f"completion time{name.removeprefix(value.kind)}") for run in kernels]
            whole_s = [end for end in ends if end] or [experiment.duration / NS_PER_S]
            value = replace(value, scale=statistics.median(whole_s))
        if sim is not None or value.kernel is not None:
            found.append(value)
    return tuple(found)


@dataclass(frozen=True)
class Result:
    """A case that ran on both backends."""

    case: Case
    values: tuple[Value, ...]
    notes: tuple[str, ...] = ()
    """Warnings of the kernel's runs."""

    @property
    def main(self) -> Value | None:
        """The main value that differs most. It decides whether the backends differ in the case."""
        return max(self._main(), key=_rank, default=None)

    @property
    def difference(self) -> float | None:
        """Absolute difference of the main value; None if the event happened on one backend only."""
        found = None if self.main is None else self.main.difference
        return None if found is None else abs(found)

    @property
    def beyond(self) -> float | None:
        """Absolute difference of the main value from the nearest of the kernel's runs."""
        found = None if self.main is None else self.main.beyond
        return None if found is None else abs(found)

    @property
    def differs(self) -> bool:
        """Whether any of the main values differs."""
        return any(value.differs for value in self._main())

    def is_similar(self, other: Result) -> bool:
        """Whether the main value differs as in ``other``: same direction, at least half as much."""
        one, two = self.main, other.main
        if one is None or two is None or not self.differs:
            return False
        if one.beyond is None or two.beyond is None:
            return one.on_one_side == two.on_one_side
        return one.beyond * two.beyond > 0 and abs(one.beyond) >= abs(two.beyond) / 2

    @property
    def is_close(self) -> bool:
        """Whether all main values are so close that no further kernel runs are needed."""
        far = [v.difference is None or abs(v.difference) > CLOSE for v in self._main()]
        return not any(far) and not self.differs

    @property
    def is_noisy(self) -> bool:
        """Whether kernel runs differ so much that more runs would probably widen their range."""
        return any(v.spread > CLOSE or None in v.kernels for v in self._main())

    def _main(self) -> list[Value]:
        return [value for value in self.values if self.case.kind in value.rule.main_of]


def _rank(value: Value) -> tuple[bool, float]:
    difference = value.difference
    return value.differs, float("inf") if difference is None else abs(difference)
