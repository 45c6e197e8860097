"""Compares a measurement with a simulation: a table of both values of each quantity."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import polars as pl

from headway.experiment import Experiment
from headway.imports.simulated import CannotCaptureError, measured_simulation
from headway.metrics.flows import goodput_bps, goodput_tcptrace_bps
from headway.trace import Trace
from headway.units import BITS_PER_BYTE, NS_PER_S

MOST_FLOWS = 20
"""Most flows that are compared one by one."""


@dataclass(frozen=True)
class Row:
    """One quantity; None is unknown."""

    flow: str
    quantity: str
    measured: float | None
    simulated: float | None

    @property
    def difference(self) -> float | None:
        """(simulated - measured) / measured; None if it is not defined."""
        if self.measured is None or self.simulated is None:
            return None
        if self.measured == 0:
            return 0.0 if self.simulated == 0 else None
        return (self.simulated - self.measured) / self.measured


@dataclass(frozen=True)
class Compared:
    """The rows of a comparison, and both traces."""

    rows: Sequence[Row]
    measured: Trace
    simulated: Trace


def compared(measured: Trace, experiment: Experiment) -> Compared:
    """Simulate an experiment and compare it with a measurement.

    Flows are compared one by one if both have the same number, at most MOST_FLOWS; otherwise only
    all together. Raises HeadwayError if the experiment cannot run.
    """
    captured = "captured" in measured.tables and measured["captured"].height > 0
    interval_ns = measured.meta.get("import", {}).get("interval_ns")
    try:
        simulated = (
            measured_simulation(experiment, interval_ns) if interval_ns else _traced(experiment)
        )
    except CannotCaptureError:
        simulated = _traced(experiment)
    rows: list[Row] = []
    both = (measured, simulated)
    if len(measured.flows) == len(simulated.flows) <= MOST_FLOWS:
        for number, flow in enumerate(measured.flows):
            rows += _rows(flow.name, *(_of_flow(trace, number, captured) for trace in both))
    rows += _rows("all", *(_of_all(trace) for trace in both))
    return Compared(rows, measured, simulated)


def _traced(experiment: Experiment) -> Trace:
    from headway.backends.sim import SimBackend

    return SimBackend().run(experiment)


def _rows(
    flow: str, measured: Mapping[str, float | None], simulated: Mapping[str, float | None]
) -> list[Row]:
    known = [name for name in measured if measured[name] is not None]
    return [Row(flow, name, measured[name], simulated.get(name)) for name in known]


def _of_all(trace: Trace) -> dict[str, float | None]:
    rates = [goodput_bps(trace, n, (0, trace.duration_ns)) for n in trace.tcp_flows()]
    return {"goodput, kbit/s": sum(rates) / 1e3} if rates else {}


def _of_flow(trace: Trace, number: int, captured: bool) -> dict[str, float | None]:
    if not trace["flow_counters"].filter(pl.col("flow") == number).height:
        return {}
    rate = goodput_tcptrace_bps(trace, number)
    if rate is None:
        rate = goodput_bps(trace, number, (0, trace.duration_ns))
    values: dict[str, float | None] = {"goodput, kbit/s": rate / 1e3}
    last = trace.rows_of("flow_counters", "flow", number).sort("time_ns").tail(1)
    resent, sent = last["retransmits_pkts"][0], last["sent_pkts"][0]
    values["sent again, %"] = None if resent is None or not sent else 100.0 * resent / sent
    if captured:
        values |= captured_rtts(trace, number)
    else:
        srtt = trace.rows_of("flow_state", "flow", number)["srtt_us"].drop_nulls()
        values["mean srtt, ms"] = None if not len(srtt) else float(np.mean(srtt.to_numpy())) / 1e3
    return values


def captured_rtts(trace: Trace, number: int) -> dict[str, float | None]:
    """The smallest, mean and largest RTT of a flow of a capture, in ms.

    Samples of timestamps if the capture has them, otherwise of ACKs. The largest is that of the
    intervals' means, because a delayed ACK may delay a single sample.
    """
    rows = trace.rows_of("captured", "flow", number)
    kind = "echo" if rows["echo_samples"].sum() else "rtt"
    rows = rows.filter(pl.col(f"{kind}_samples") > 0)
    if not rows.height:
        return {"least RTT, ms": None, "mean RTT, ms": None, "largest RTT, ms": None}
    least, most = rows[f"{kind}_min_us"].min(), rows[f"{kind}_mean_us"].max()
    weights = rows[f"{kind}_samples"].to_numpy()
    mean = np.average(rows[f"{kind}_mean_us"].to_numpy(), weights=weights)
    return {
        "least RTT, ms": _ms(least),
        "mean RTT, ms": _ms(mean),
        "largest RTT, ms": _ms(most),
    }


def _ms(value_us: Any) -> float:
    return float(value_us) / 1e3


def delivered_bps(trace: Trace) -> float:
    """Goodput of all flows together from the first to the last packet, in bit/s."""
    first = min(flow.first_packet_ns or 0 for flow in trace.flows)
    last = max(flow.last_packet_ns or 0 for flow in trace.flows)
    total = sum(flow.unique_bytes or 0 for flow in trace.flows)
    return total * BITS_PER_BYTE * NS_PER_S / max(last - first, 1)
