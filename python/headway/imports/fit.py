"""Fits the simplest path to an imported capture: rate, base RTT, queue, random loss.

``headway.imports.path`` estimates the path from the capture alone. If the senders' control is
known, the estimate is simulated and changed until the simulation's measurements come as near as
possible to the capture's: Nelder and Mead's method (scipy.optimize.minimize), within the bounds
of ``_BOUNDS``. The objective is the sum of squared differences, each relative to its scale in
``_SCALES``.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, replace

import numpy as np

from headway.errors import HeadwayError
from headway.experiment import Bulk, Dumbbell, Experiment, Flow
from headway.imports.build import UNKNOWN_CONTROL
from headway.imports.compare import captured_rtts, delivered_bps
from headway.imports.path import PathEstimate, estimate
from headway.imports.simulated import measured_simulation
from headway.metrics.stats import Array
from headway.trace import Trace
from headway.units import NS_PER_S, format_rate, format_size, format_time

FIT_INTERVAL_NS = 10_000_000
"""Length of the intervals in which a capture to fit is imported."""
MOST_RUNS = 40
_SCALES = {"goodput": 0.01, "least RTT": 0.005, "mean RTT": 0.01, "largest RTT": 0.01,
           "sent again": 0.2}  # fmt: skip
"""Differences that count as one: relative, for retransmissions relative to their root."""
_BOUNDS = {"rate_bps": 0.02, "rtt_ns": 0.02, "buffer_pkts": 0.15}
"""How far a refined path may be from its estimate, as a part of it."""
_LOSS_FACTOR = 1.5
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
    wanted = _quantities(trace)
    best: tuple[float, PathEstimate, Mapping[str, float]] | None = None
    done = 0

    def cost(at: Array) -> float:
        nonlocal best, done
        path = _moved(first, at)
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

    _minimize(cost, 3 + (first.loss > 0), runs)
    assert best is not None
    return Fit(best[1], first, experiment_of(trace, best[1], control), best[2], done)


def _estimated(trace: Trace) -> PathEstimate:
    if trace.meta.get("import", {}).get("format") != "capture":
        raise HeadwayError("fit: needs a capture (pcap or pcapng); other formats lack its RTTs")
    path = estimate(trace)
    if path.rate_bps is None or path.rtt_ns is None or path.buffer_pkts is None:
        raise HeadwayError("fit: the capture has no RTT samples: it needs both directions")
    away_ns = max(
        (flow.model_extra or {})["capture"]["sender_side_ns"] or 0 for flow in trace.flows
    )
    if away_ns > path.rtt_ns / 2:
        raise HeadwayError(
            f"fit: {away_ns / 1e6:.1f} ms of the {path.rtt_ns / 1e6:.1f} ms of RTT are between "
            "the capture and the sender; capture at the sender"
        )
    return path


def _interval(trace: Trace) -> int:
    return int(trace.meta["import"]["interval_ns"])


def _minimize(cost: Callable[[Array], float], dimensions: int, runs: int) -> None:
    from scipy.optimize import minimize  # loads slowly

    corners = np.vstack([np.zeros(dimensions), np.eye(dimensions) * 0.5])
    minimize(
        cost,
        np.zeros(dimensions),
        method="Nelder-Mead",
        bounds=[(-1, 1)] * dimensions,
        options={"maxfev": runs, "initial_simplex": corners, "xatol": 0.02, "fatol": 0.05},
    )


def _moved(path: PathEstimate, at: Array) -> PathEstimate:
    """The path at a point of the search, whose coordinates are between -1 and 1."""
    moved = {
        name: getattr(path, name) * (1 + part * float(x))
        for (name, part), x in zip(_BOUNDS.items(), at[:3], strict=True)
    }
    loss = path.loss * _LOSS_FACTOR ** float(at[3]) if at.size > 3 else path.loss
    return replace(path, loss=loss, **moved)


def experiment_of(trace: Trace, path: PathEstimate, control: str | None) -> Experiment:
    """The experiment that repeats the capture's flows on a path."""
    assert path.rate_bps is not None
    assert path.rtt_ns is not None
    assert path.buffer_pkts is not None
    flows = []
    for number, flow in enumerate(trace.flows):
        own = (flow.model_extra or {})["capture"]
        end_ns = flow.last_packet_ns or trace.duration_ns
        ended = end_ns < trace.duration_ns - NS_PER_S // 2
        flows.append(
            Flow(
                app=Bulk(size=format_size(own["unique_bytes"]))
                if ended and own["unique_bytes"]
                else Bulk(),
                control=control or UNKNOWN_CONTROL,
                name=trace.experiment.flows[number].name,
                start=format_time(min(flow.first_packet_ns or 0, trace.duration_ns - 1)),
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


def _quantities(trace: Trace) -> dict[str, float]:
    """What a capture and its simulation are compared by."""
    rtts = [captured_rtts(trace, number) for number in range(len(trace.flows))]
    own = [(flow.model_extra or {})["capture"] for flow in trace.flows]
    weights = np.array([max(one["sent_pkts"], 1) for one in own], dtype=float)

    def known(name: str) -> list[float]:
        return [value for one in rtts if (value := one[name]) is not None]

    means = [one["mean RTT, ms"] or 0.0 for one in rtts]
    return {
        "goodput": delivered_bps(trace),
        "least RTT": min(known("least RTT, ms"), default=0.0),
        "mean RTT": float(np.average(means, weights=weights)),
        "largest RTT": max(known("largest RTT, ms"), default=0.0),
        "sent again": float(sum(one["retransmits_pkts"] for one in own)),
    }


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
