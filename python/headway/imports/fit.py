"""Fits the simplest path to an imported capture: rate, base RTT, queue, random loss.

``headway.imports.path`` estimates the path from the capture alone. If the senders' control is
known, the estimate is simulated. What the capture does not show well (a rate whose queue was never
busy, a queue that was never full, the part of random losses) is then changed until the
simulation's measurements come as near as possible to the capture's: Nelder and Mead's method
(scipy.optimize.minimize), within the bounds of ``_BOUNDS``. The objective is the sum of squared
differences, each relative to its scale in ``_SCALES``.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, replace

import numpy as np

from headway.errors import HeadwayError
from headway.experiment import Bulk, Dumbbell, Experiment, Flow
from headway.imports.build import UNKNOWN_CONTROL
from headway.imports.compare import captured_rtts
from headway.imports.path import PathEstimate, estimate, measured_of
from headway.imports.simulated import measured_simulation
from headway.metrics.stats import Array
from headway.trace import Trace
from headway.units import BITS_PER_BYTE, NS_PER_S, format_rate, format_size, format_time

FIT_INTERVAL_NS = 10_000_000
"""Length of the intervals in which a capture to fit is imported."""
MOST_RUNS = 40
_SCALES = {"goodput": 0.01, "least RTT": 0.005, "mean RTT": 0.01, "largest RTT": 0.01,
           "sent again": 0.2}  # fmt: skip
"""Differences that count as one: relative, for retransmissions relative to their root."""
_BOUNDS = {"rate_bps": 0.02, "buffer_pkts": 0.15, "loss": 0.5}
"""How far a refined path may be from its estimate, as a part of it."""
_LEAST_SHARE = 0.01
"""Flows with a smaller part of the largest flow's data, such as iperf3's control connection, are
not simulated."""
_BIG_PKTS = 10_000_000


@dataclass(frozen=True)
class Fit:
    """A fitted path, its experiment, and how far the simulation is from the capture."""

    path: PathEstimate
    estimate: PathEstimate
    """The path before simulations changed it."""
    experiment: Experiment
    errors: Mapping[str, float]
    """(simulated - measured) / measured by quantity; empty if nothing was simulated."""
    runs: int
    """Number of simulations."""


def fit(
    trace: Trace,
    control: str | None = None,
    runs: int = MOST_RUNS,
    progress: Callable[[int, int], None] | None = None,
) -> Fit:
    """Fit a path to the trace of a capture, imported in intervals of about FIT_INTERVAL_NS.

    Args:
        trace: made by ``import_capture``; the capture must be at or near the senders.
        control: the senders' control; None or an unknown one only estimates the path.
        runs: most simulations; 0 only estimates the path.
        progress: called with the number of finished simulations and ``runs``.

    Raises:
        HeadwayError: if the trace is not of a capture, is not at the sender or has no RTTs.
    """
    first = _estimated(trace)
    if control is None:
        own = trace.flows[0].control
        control = None if own == UNKNOWN_CONTROL else own
    if control is None or control.startswith("kernel:") or runs == 0:
        return Fit(first, first, experiment_of(trace, first, control), {}, 0)
    wanted, unknown = _quantities(trace), _unknown(first)
    best: tuple[float, PathEstimate, Mapping[str, float]] | None = None
    done = 0

    def cost(at: Array) -> float:
        nonlocal best, done
        path = _moved(first, unknown, at)
        found = _quantities(
            measured_simulation(experiment_of(trace, path, control), _interval(trace))
        )
        differences = _differences(wanted, found)
        total = float(sum((value / _SCALES[name]) ** 2 for name, value in differences.items()))
        done += 1
        if progress is not None:
            progress(done, runs)
        if best is None or total < best[0]:
            best = (total, path, _errors(wanted, found))
        return total

    _minimize(cost, len(unknown), runs)
    assert best is not None
    return Fit(best[1], first, experiment_of(trace, best[1], control), best[2], done)


def _estimated(trace: Trace) -> PathEstimate:
    if trace.meta.get("import", {}).get("format") != "capture":
        raise HeadwayError("fit: needs a capture (pcap or pcapng); other formats lack its RTTs")
    path = estimate(trace)
    if path.rate_bps is None or path.rtt_ns is None or path.buffer_pkts is None:
        raise HeadwayError("fit: the capture has no RTT samples: it needs both directions")
    away_ns = max(measured_of(flow)["sender_side_ns"] or 0 for flow in trace.flows)
    if away_ns > path.rtt_ns / 2:
        raise HeadwayError(
            f"fit: {away_ns / 1e6:.1f} ms of the {path.rtt_ns / 1e6:.1f} ms of RTT are between "
            "the capture and the sender; capture at the sender"
        )
    return path


def _interval(trace: Trace) -> int:
    return int(trace.meta["import"]["interval_ns"])


def _unknown(path: PathEstimate) -> list[str]:
    """What the capture does not show well, by field."""
    known = {"rate_bps": path.is_busy, "buffer_pkts": path.is_queue_full, "loss": path.loss == 0}
    return [name for name, is_known in known.items() if not is_known]


def _minimize(cost: Callable[[Array], float], dimensions: int, runs: int) -> None:
    if not dimensions:
        cost(np.zeros(0))
        return
    from scipy.optimize import minimize  # loads slowly

    corners = np.vstack([np.zeros(dimensions), np.eye(dimensions) * 0.5])
    minimize(
        cost,
        np.zeros(dimensions),
        method="Nelder-Mead",
        bounds=[(-1, 1)] * dimensions,
        options={"maxfev": runs, "initial_simplex": corners, "xatol": 0.02, "fatol": 0.05},
    )


def _moved(path: PathEstimate, unknown: list[str], at: Array) -> PathEstimate:
    """The path at a point of the search, whose coordinates are between -1 and 1."""
    moved = {
        name: getattr(path, name) * (1 + _BOUNDS[name] * float(x))
        for name, x in zip(unknown, at, strict=True)
    }
    return replace(path, **moved)


def experiment_of(trace: Trace, path: PathEstimate, control: str | None) -> Experiment:
    """The experiment that repeats the capture's flows with at least _LEAST_SHARE on a path."""
    assert path.rate_bps is not None
    assert path.rtt_ns is not None
    assert path.buffer_pkts is not None
    flows = []
    for number in _large(trace):
        flow = trace.flows[number]
        own = measured_of(flow)
        end_ns = flow.last_packet_ns or trace.duration_ns
        ended = end_ns < trace.duration_ns - NS_PER_S // 2
        flows.append(
            Flow(
                app=Bulk(size=format_size(own["unique_bytes"]))
                if ended and own["unique_bytes"]
                else Bulk(),
                control=control or UNKNOWN_CONTROL,
                name=trace.experiment.flows[number].name,
                start=format_time(min(_start_ns(trace, number), trace.duration_ns - 1)),
                timestamps=own["echo"]["samples"] > 0,
            )
        )
    return Experiment(
        topology=Dumbbell(
            rate=format_rate(max(round(path.rate_bps), 1000)),
            rtt=format_time(round(path.rtt_ns)),
            buffer=f"{min(max(round(path.buffer_pkts), 1), _BIG_PKTS)} pkts",
            loss=min(path.loss, 0.5),
            access_rate=format_rate(max(10**9, 4 * round(path.rate_bps))),
        ),
        flows=tuple(flows),
        duration=format_time(trace.duration_ns),
    )


def _start_ns(trace: Trace, number: int) -> int:
    """When a flow must start to send its first full segment as in the capture."""
    flow = trace.flows[number]
    own = measured_of(flow)
    first_ns = flow.first_packet_ns or 0
    if own["first_full_ns"] is None or flow.handshake_rtt_us is None:
        return first_ns
    return max(int(own["first_full_ns"]) - flow.handshake_rtt_us * 1000, first_ns)


def _large(trace: Trace) -> list[int]:
    """The flows that are simulated."""
    sizes = [measured_of(flow)["unique_bytes"] for flow in trace.flows]
    return [number for number, size in enumerate(sizes) if size >= _LEAST_SHARE * max(sizes)]


def _quantities(trace: Trace) -> dict[str, float]:
    """What a capture and its simulation are compared by."""
    large = _large(trace)
    rtts = [captured_rtts(trace, number) for number in large]
    own = [measured_of(trace.flows[number]) for number in large]
    weights = np.array([max(one["sent_pkts"], 1) for one in own], dtype=float)

    def known(name: str) -> list[float]:
        return [value for one in rtts if (value := one[name]) is not None]

    means = [one["mean RTT, ms"] or 0.0 for one in rtts]
    return {
        "goodput": _goodput_bps(trace, large),
        "least RTT": min(known("least RTT, ms"), default=0.0),
        "mean RTT": float(np.average(means, weights=weights)),
        "largest RTT": max(known("largest RTT, ms"), default=0.0),
        "sent again": float(sum(one["retransmits_pkts"] for one in own)),
    }


def _goodput_bps(trace: Trace, flows: list[int]) -> float:
    """Goodput from the first full segment to the last packet: applications may begin slowly."""
    starts = [measured_of(trace.flows[number])["first_full_ns"] for number in flows]
    firsts = [trace.flows[number].first_packet_ns or 0 for number in flows]
    begin_ns = min(first if ns is None else ns for ns, first in zip(starts, firsts, strict=True))
    end_ns = max(trace.flows[number].last_packet_ns or 0 for number in flows)
    total = sum(measured_of(trace.flows[number])["unique_bytes"] for number in flows)
    return float(total * BITS_PER_BYTE * NS_PER_S / max(end_ns - begin_ns, 1))


def _differences(wanted: Mapping[str, float], found: Mapping[str, float]) -> dict[str, float]:
    out = {}
    for name, value in wanted.items():
        if name == "sent again":  # counts vary with their root
            out[name] = (np.sqrt(found[name]) - np.sqrt(value)) / max(np.sqrt(value), 1.0)
        else:
            out[name] = (found[name] - value) / value if value else 0.0
    return out


def _errors(wanted: Mapping[str, float], found: Mapping[str, float]) -> dict[str, float]:
    return {name: (found[name] - value) / value for name, value in wanted.items() if value}
